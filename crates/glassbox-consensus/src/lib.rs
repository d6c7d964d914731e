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

use std::sync::Arc;

/// A record that a driver writes to its disk. Records are restored from in the order of their numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// Counts from 1.
    pub number: u64,
    /// What to write.
    pub record: Vec<u8>,
}

/// What was decided, in the order of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decided {
    /// What a member has proposed, and its place in the log. Places grow, with gaps.
    Data(u64, Arc<[u8]>),
    /// A state that some member gave to [`Agreement::begin_base`]: it stands for everything before, which is not
    /// decided again.
    State(Arc<[u8]>),
}

/// What a driver has to do.
#[derive(Debug, Default)]
pub struct Output {
    /// Messages to send, with their receivers. They may be lost, delayed or sent twice.
    pub messages: Vec<(u64, Vec<u8>)>,
    /// Records to write. When they are durable, [`Agreement::forced`] is called.
    pub writes: Vec<Write>,
    /// What was decided.
    pub decided: Vec<Decided>,
}

/// Who leads, as far as a member knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Leadership {
    /// The term, which grows with each election.
    pub term: u64,
    /// The leader of the term.
    pub leader: Option<u64>,
    /// Whether this member is the leader and has everything that was decided in earlier terms.
    pub is_ready: bool,
}
