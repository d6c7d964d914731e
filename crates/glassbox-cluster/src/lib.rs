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

mod address;
mod answered;
mod arrived;
pub mod auto;
mod backup;
mod committed;
mod configuration;
mod configuring;
mod coordinator;
mod entry;
mod heard;
mod here;
pub mod journal;
mod life;
mod member;
mod message;
mod order;
mod ordering;
mod outbox;
mod partition;
mod pending;
mod recovery;
mod role;
mod router;
pub mod run;
mod scheme;
mod store;
mod stream;
mod succession;
mod told;
mod turn;
mod verdict;
pub mod wire;

pub use address::{Address, Life, TxnId};
pub use answered::Answered;
pub use backup::Backup;
pub use configuration::{Configuration, Replicas};
pub use coordinator::Coordinator;
pub use member::{MakeShard, Member, Packet};
pub use message::{
    Entry, Fragment, FragmentEnd, FragmentResult, FragmentWork, Message, Outcome, Part, Parts, Recovered, Submission,
    Undecided,
};
pub use outbox::{Action, Outbox, Work};
pub use partition::Partition;
pub use pending::Ended;
pub use role::Role;
pub use router::{EndedNow, Router};
pub use scheme::SchemeKind;
pub use turn::Turn;
