//! The state machines on real threads: links that transport their messages in order, and loops that drive them.
//!
//! Problem: a state machine returns the messages to send and never waits. A driver has to wait for it, deliver what
//! arrives, and keep the order of sending between two parties. The naive way, a thread for each connection and a lock
//! around the state machine, hands every message over twice and lets two threads contend for data that the design gives
//! to one.
//!
//! Design: a [`Node`] is one thread with its [`Link`] ([`drive`]). It handles what has arrived, one message after the
//! other; then it runs waiting work; then it sends its output, busy-waits for as long as a sleep would cost, and
//! sleeps. So the more there is to do, the more messages go in one write. There are two links: queues between threads
//! of one process ([`Cluster`]), and [`Sockets`]. A [`Client`] has a link too. An [`Operator`] decides configurations,
//! and a [`Watcher`] advises on the scheme. Within one process a client runs its call on an idle node itself
//! (`shared_node.rs`).
//!
//! A link can delay every message by half a round trip, to show a network on one machine. Measurements report the round
//! trip that was injected.

mod agreeing;
mod channel;
mod client;
mod cluster;
mod commands;
mod connection;
mod dialing;
mod driver;
mod inline;
mod journal_writer;
mod link;
mod node;
mod operator;
mod oversized;
mod processes;
mod queues;
mod receiving;
mod shape;
mod shared_node;
mod sockets;
mod status;
mod timing;
mod watcher;

pub use client::{Client, Then, Ticket};
pub use cluster::Cluster;
pub use commands::{Command, Decisions, MAX_WAIT_SECONDS, force_directory_of};
pub use driver::drive;
pub use inline::Inline;
pub use journal_writer::JournalWriter;
pub use link::{Link, LinkEvent, ask};
pub use node::Node;
pub use operator::{Operator, Recorder, Standings};
pub use processes::Processes;
pub use queues::Queues;
pub use shape::{Identity, Shape};
pub use shared_node::Driven;
pub use sockets::Sockets;
pub use status::{ProcessStatus, Status};
pub use watcher::Watcher;
