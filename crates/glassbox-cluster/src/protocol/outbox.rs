//! What a state machine wants done: messages to be sent, and the work that it did, for those who charge for it.

use crate::protocol::address::Address;
use crate::protocol::entry::Base;
use crate::protocol::message::Message;

/// Something that a machine did, or wants done, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// A message is to be sent; to itself, an entry of the stream: it is to be written to the journal.
    Send(Address, Message),
    /// What the journal has is of no use any more: this replica gets other rows.
    Forget,
    /// The rows were fixed: the journal is to make a base of them.
    Base(Box<Base>),
    /// Work was done; a simulator charges its cost.
    Work(Work),
}

/// Work that costs time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Work {
    /// A single-partition transaction was run.
    Single {
        /// What it overwrote was kept.
        undo: bool,
        /// It took locks, or noted what it touched.
        watched: bool,
    },
    /// A fragment of a transaction of several partitions was run, or rows were found for it.
    Fragment {
        /// It took locks, or noted what it touched.
        watched: bool,
    },
    /// A run stopped early: a procedure's abort, or a lock that was not free.
    Stopped,
    /// A run was taken back.
    Undo,
    /// The end of a transaction of several partitions was carried out.
    Decide,
}

/// Collects what a machine wants done.
#[derive(Debug, Default)]
pub struct Outbox {
    /// In the order in which it was done.
    pub actions: Vec<Action>,
}

impl Outbox {
    /// A message is to be sent.
    pub fn send(&mut self, to: Address, message: Message) {
        self.actions.push(Action::Send(to, message));
    }

    /// Work was done.
    pub fn did(&mut self, work: Work) {
        self.actions.push(Action::Work(work));
    }
}
