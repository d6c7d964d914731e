//! Partitions of a Glassbox database that are processes of their own and talk by messages.
//!
//! *Low Overhead Concurrency Control for Partitioned Main Memory Databases* (Jones, Abadi, Madden, SIGMOD 2010) as
//! state machines without threads, sockets or clocks: each is handed a message and says what is to be sent. So the same
//! code runs wherever something carries messages, and in a simulator.
//!
//! - [`Partition`]: the primary of a partition, under one of several schemes ([`SchemeKind`]);
//! - [`Backup`]: repeats what the primary decided;
//! - [`Coordinator`]: orders and decides transactions of several partitions;
//! - [`Router`]: a client's part: sends a call where it has to go;
//! - [`journal`]: what a replica writes to a disk;
//! - [`run`]: carries their messages, between threads or over sockets;
//! - [`wire`]: what goes over a socket.

pub mod auto;
mod client;
mod coordinator;
mod node;
mod participant;
mod protocol;
pub mod run;
mod scheme;
mod sequencer;
pub mod wire;

/// A replica's journal: its records, and a replica's recovery from them.
pub mod journal {
    pub use crate::node::journal::{Reading, Recovered};
    pub use crate::protocol::entry::{Base, FORMAT, Record};
}

pub use client::answered::Answered;
pub use client::router::{EndedNow, Router};
pub use coordinator::commit::Coordinator;
pub use coordinator::pending::Ended;
pub use node::member::Member;
pub use node::role::{MakeShard, Role};
pub use participant::backup::Backup;
pub use participant::partition::Partition;
pub use protocol::address::{Address, Life, TxnId};
pub use protocol::configuration::{Configuration, Replicas};
pub use protocol::entry::{Entry, Part};
pub use protocol::message::{
    Fragment, FragmentEnd, FragmentResult, FragmentWork, Message, Outcome, Packet, Parts, Recovered, Submission, Turn,
    Undecided,
};
pub use protocol::outbox::{Action, Outbox, Work};
pub use protocol::scheme_kind::SchemeKind;
