//! The state machines on real threads: somebody who carries their messages, in order, and calls them.
//!
//! Problem: the machines say what is to be sent and never wait. Somebody has to wait for them, bring what arrives, and
//! keep between two parties the order of sending. The naive way, a thread for each connection and a lock around the
//! machine, hands every message over twice and lets two threads meet at the data that the whole design gives to one.
//!
//! Design: a machine ([`Node`]) is one thread and its [`Link`] ([`drive`]): it takes what has arrived, one message
//! after the other; when nothing has, it does what waited; when nothing waits, it sends what it has to say, looks for
//! more for as long as a sleep would cost, and sleeps. So the more there is to do, the more goes in one write. There
//! are two links: queues between threads of one process ([`Cluster`]), and [`Sockets`]. A [`Client`] has one, too. Who
//! is who is decided by an [`Operator`]; which scheme suits is said by a [`Watcher`]. Within one process a client takes
//! a machine that has nothing to do, and runs its call there itself (`seat.rs`).
//!
//! A link can be told to be slow: every message then arrives half a round trip later than it would have. That is how
//! a network is shown on one machine; whoever prints what was measured so prints the round trip beside it.

mod client;
mod cluster;
mod connection;
mod conversation;
mod dialing;
mod driver;
mod inline;
mod keeper;
mod link;
mod node;
mod operator;
mod queues;
mod receiving;
mod seat;
mod shape;
mod sockets;
mod timing;
mod watcher;

pub use client::Client;
pub use client::{Then, Ticket};
pub use cluster::Cluster;
pub use driver::drive;
pub use inline::Inline;
pub use keeper::Keeper;
pub use link::ask;
pub use link::{Letter, Link};
pub use node::Node;
pub use operator::{Operator, Standings};
pub use queues::Queues;
pub use seat::Driven;
pub use shape::Identity;
pub use shape::Shape;
pub use sockets::Sockets;
pub use watcher::Watcher;
