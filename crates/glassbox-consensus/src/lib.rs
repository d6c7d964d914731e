//! A log that a majority of members agrees on: Raft (Ongaro and Ousterhout, 2014) as a machine without I/O.
//!
//! The protocol is that of the library `openraft`; this crate gives it a clock, a log store and a network that a driver
//! moves. [`Agreement`] is one member. The driver tells it the time, hands it the messages of other members, and takes
//! what it puts out: messages to send, records to write, and what was decided. So production and the simulator run the
//! same code, and the same inputs in the same order have the same outputs.
//!
//! The library's tasks run on the executor of `openraft-rt-sim`, which polls tasks in the order in which they became
//! runnable. Its clock is virtual, and here it follows the driver's: it is moved only when nothing is runnable, and
//! never past the time that the driver tells.

mod agreement;
mod rpc;
mod shared;
mod store;
mod stored;
mod types;

pub use agreement::{Agreement, Settings};
pub use types::{Decided, Leadership, Output, Write};
