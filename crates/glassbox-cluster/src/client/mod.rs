//! The client's state machine: it routes calls, coordinates its own transactions under locking and OCC, and keeps
//! outcomes.

pub(crate) mod ordered_call;
mod ordering;
mod reconnaissance;
pub(crate) mod router;
mod session;
