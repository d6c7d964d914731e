//! Partitions of a Glassbox database that are separate processes and exchange messages.
//!
//! *Low Overhead Concurrency Control for Partitioned Main Memory Databases* (Jones, Abadi, Madden, SIGMOD 2010) as
//! state machines without threads, sockets or clocks: each receives a message and returns the messages to send. The
//! same code runs over threads, over sockets and in a simulator.
//!
//! - [`Partition`]: the primary of a partition, under one of several concurrency-control schemes ([`SchemeKind`]);
//! - [`Backup`]: applies the primary's replication stream;
//! - [`Coordinator`]: orders and decides distributed transactions by two-phase commit;
//! - [`Router`]: a client's state machine, which routes its calls;
//! - [`Sequencer`] and [`Executor`]: deterministic execution (*An Evaluation of the Advantages and Disadvantages of
//!   Deterministic Database Systems*, Ren, Thomson, Abadi, VLDB 2014);
//! - [`journal`]: a replica's log on disk;
//! - [`run`]: transports messages, between threads or over sockets;
//! - [`wire`]: the frames on a socket.

pub mod auto;
mod client;
mod coordinator;
mod deterministic;
mod node;
mod participant;
mod protocol;
pub mod run;
mod scheduler;
mod scheme;
mod sequencer;
pub mod wire;

/// A replica's journal: its records, and a replica's recovery from them.
pub mod journal {
    pub use crate::node::journal::JournalReplay;
    pub use crate::node::recovered::RecoveredReplica;
    pub use crate::protocol::entry::{Base, FORMAT, Record};
}

pub use client::router::{Answered, EndedCalls, Router};
pub use coordinator::commit::{Coordinator, Ended};
pub use deterministic::executor::Executor;
pub use deterministic::hot_backup::HotBackup;
pub use deterministic::merge::Merge;
pub use deterministic::sequencer::Sequencer;
pub use deterministic::throttle::Throttle;
pub use node::member::Member;
pub use node::role::{MakeShard, Role};
pub use participant::backup::Backup;
pub use participant::partition::Partition;
pub use protocol::address::{Address, Group, Session, TxnId};
pub use protocol::configuration::{
    AgreementSettings, Configuration, DeadlockRule, Replicas, SchedulerKind, SchemeKind,
};
pub use protocol::entry::{Entry, Part};
pub use protocol::input::{
    Exchange, ExchangeContent, Input, InputBatch, InputId, InputKeys, MAX_ARGUMENT_BYTES, OrderSettings,
};
pub use protocol::message::{
    Fragment, FragmentEnd, FragmentResult, FragmentWork, GroupChange, Message, Outcome, Packet, Parts,
    ReconnaissanceEnd, ReconnaissanceRequest, ReconnaissanceResult, Recovered, Submission, Turn, Undecided, Wait,
    Waiter, WaiterId,
};
pub use protocol::outbox::{Action, Outbox, Work};
pub use scheduler::{LogPlace, MakeScheduler, Scheduler, new_scheduler};
pub use scheme::waits_for::WaitsFor;
