//! The actions of a state machine: messages to send, journal requests, and the work it did, which a simulator charges.

use crate::protocol::address::Address;
use crate::protocol::entry::Base;
use crate::protocol::message::Message;

/// An action of a state machine, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Send a message. An entry of the stream that a replica sends to itself is to be written to its journal.
    Send(Address, Message),
    /// Send a message that was ready in this earlier epoch.
    SendEarlier(u64, Address, Message),
    /// Discard the journal: this replica is sent other rows.
    Forget,
    /// Tell the operator.
    Report(String),
    /// The rows are frozen: write a base of them to the journal.
    Base(Box<Base>),
    /// Work was done; a simulator charges its cost.
    Work(Work),
}

/// Work that costs time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Work {
    /// A single-partition transaction was run.
    Single {
        /// The run kept an undo buffer.
        undo: bool,
        /// The run took locks, or recorded what it touched.
        watched: bool,
    },
    /// A fragment of a distributed transaction was run, or rows were read for it.
    Fragment {
        /// The run took locks, or recorded what it touched.
        watched: bool,
    },
    /// A run stopped early: the procedure aborted, or a lock was not free.
    Stopped,
    /// A run was undone.
    Undo,
    /// The decision of a distributed transaction was carried out.
    Decide,
}

/// Collects the actions of a state machine.
#[derive(Debug, Default)]
pub struct Outbox {
    /// In order.
    pub actions: Vec<Action>,
}

impl Outbox {
    /// Adds a message to send.
    pub fn send(&mut self, to: Address, message: Message) {
        self.actions.push(Action::Send(to, message));
    }

    /// Adds work that was done.
    pub fn did(&mut self, work: Work) {
        self.actions.push(Action::Work(work));
    }
}
