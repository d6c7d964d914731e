//! One order of the transactions of several coordinators.
//!
//! The coordinators pass a token, the turn, which assigns each transaction its place at each partition ([`turn`]). A
//! partition executes first fragments in the order of their places ([`reorder_buffer`]).

pub(crate) mod reorder_buffer;
pub(crate) mod turn;
