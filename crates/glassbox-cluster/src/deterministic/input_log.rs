//! The input log as a sequencer sees it: it proposes entries, and learns which of them are decided.
//!
//! A decided entry is never lost and never changes its place, whichever members fail. Only then may a partition receive
//! it.

use crate::participant::replication::ReplicationStream;
use crate::protocol::address::Address;
use crate::protocol::entry::Entry;
use crate::protocol::message::Message;
use crate::protocol::outbox::Outbox;

/// Decides on entries, in the order in which they are proposed.
pub(crate) trait InputLog {
    /// Proposes the next entry. Positions count from 1.
    fn propose(&mut self, entry: impl FnOnce() -> Entry, out: &mut Outbox);

    /// The position of the last entry that was proposed.
    fn proposed(&self) -> u64;

    /// The position of the last entry that is decided.
    fn decided(&self) -> u64;

    /// Sends a message once everything that was proposed is decided, and it is certain that no other sequencer has
    /// replaced this one before.
    fn send_when_decided(&mut self, to: Address, message: Message, out: &mut Outbox);

    /// Receives an acknowledgement of a member that keeps the log.
    fn on_ack(&mut self, from: Address, position: u64, out: &mut Outbox);
}

/// A log that is decided once the disk of this machine has it, and each hot backup: all of them, not a majority. The
/// paper's first way to order inputs (VLDB 2014, section 2.3).
#[derive(Debug, Default)]
pub(crate) struct LocalLog {
    stream: ReplicationStream,
}

impl LocalLog {
    /// A log that continues after this position, which all of these members have.
    pub(crate) fn new(members: &[Address], position: u64) -> Self {
        Self { stream: ReplicationStream::new(members, position) }
    }

    /// Adds a member that has everything so far: the sequencer's journal, or a hot backup.
    pub(crate) fn add(&mut self, member: Address) {
        self.stream.add(member);
    }

    /// Does not wait for a member any more.
    pub(crate) fn forget(&mut self, member: Address, out: &mut Outbox) {
        self.stream.forget(member, out);
    }

    /// Does not wait for other members than these any more.
    pub(crate) fn keep(&mut self, members: &[Address], out: &mut Outbox) {
        self.stream.keep(members, out);
    }
}

impl InputLog for LocalLog {
    fn propose(&mut self, entry: impl FnOnce() -> Entry, out: &mut Outbox) {
        self.stream.append(entry, out);
    }

    fn proposed(&self) -> u64 {
        self.stream.last()
    }

    fn decided(&self) -> u64 {
        self.stream.held()
    }

    fn send_when_decided(&mut self, to: Address, message: Message, out: &mut Outbox) {
        self.stream.send_when_acked(to, message, out);
    }

    fn on_ack(&mut self, from: Address, position: u64, out: &mut Outbox) {
        self.stream.on_ack(from, position, out);
    }
}
