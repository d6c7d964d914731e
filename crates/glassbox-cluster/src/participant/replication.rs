//! A primary's replication stream, and the messages that wait until backups have acknowledged it.

use std::collections::VecDeque;

use glassbox::research::shard::Shard;

use crate::protocol::address::Address;
use crate::protocol::entry::{Base, Entry};
use crate::protocol::message::Message;
use crate::protocol::outbox::Outbox;

/// Numbers entries, and holds messages that depend on them.
#[derive(Debug, Default)]
pub(crate) struct ReplicationStream {
    /// Each backup, and the last entry that it acknowledged.
    backups: Vec<(Address, u64)>,
    /// Backups that owed an acknowledgement at the last look: the last entry that they had acknowledged, and since when
    /// that was so, in microseconds.
    owing: Vec<(Address, u64, u64)>,
    /// The last entry's sequence number; the first is 1.
    last: u64,
    /// Messages with the entry that all backups have to acknowledge first, in order.
    waiting: VecDeque<(u64, Address, Message)>,
    /// Whether runs are being redone whose entries are in the stream already.
    repeats: bool,
}

impl ReplicationStream {
    /// A stream that continues after this entry, which all of these backups have.
    pub(crate) fn new(backups: &[Address], last: u64) -> Self {
        let backups = backups.iter().map(|&backup| (backup, last)).collect();
        Self { backups, owing: Vec::new(), last, waiting: VecDeque::new(), repeats: false }
    }

    /// The stream of a promoted backup: its own backups will join later, and its undecided runs are redone first. Its
    /// journal, if it has one, continues.
    pub(crate) fn going_on(journal: Option<Address>, last: u64) -> Self {
        Self { repeats: true, ..Self::new(journal.as_slice(), last) }
    }

    /// The undecided runs have been redone.
    pub(crate) fn finish_redo(&mut self, out: &mut Outbox) {
        self.repeats = false;
        if !self.waiting.is_empty() {
            self.append(|| Entry::NoOp, out);
        }
    }

    /// The last entry's sequence number.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Adds a backup that has everything so far.
    pub(crate) fn add(&mut self, backup: Address) {
        self.backups.retain(|(known, _)| *known != backup);
        self.owing.retain(|(known, ..)| *known != backup);
        self.backups.push((backup, self.last));
    }

    /// Restricts the stream to these backups.
    pub(crate) fn keep(&mut self, backups: &[Address], out: &mut Outbox) {
        self.backups.retain(|(backup, _)| backups.contains(backup));
        self.send_acked(out);
    }

    /// Removes a backup.
    pub(crate) fn forget(&mut self, backup: Address, out: &mut Outbox) {
        self.backups.retain(|(known, _)| *known != backup);
        self.send_acked(out);
    }

    /// Whether there is a backup or journal: entries need not be made otherwise.
    pub(crate) fn is_replicated(&self) -> bool {
        !self.backups.is_empty()
    }

    /// Sends an entry to all backups.
    pub(crate) fn append(&mut self, entry: impl FnOnce() -> Entry, out: &mut Outbox) {
        if !self.is_replicated() || self.repeats {
            return;
        }
        self.last += 1;
        let entry = Box::new(entry());
        for &(backup, _) in &self.backups {
            out.send(backup, Message::Replicate { sequence: self.last, entry: entry.clone() });
        }
    }

    /// Sends a message once all backups have acknowledged everything so far. If nothing is unacknowledged, a marker is
    /// appended: a deposed primary that does not know of its successor must not report on its rows.
    pub(crate) fn send_when_acked(&mut self, to: Address, message: Message, out: &mut Outbox) {
        if !self.is_replicated() {
            return out.send(to, message);
        }
        if self.repeats {
            return self.waiting.push_back((self.last + 1, to, message));
        }
        if self.held() >= self.last {
            self.append(|| Entry::NoOp, out);
        }
        if self.held() >= self.last {
            out.send(to, message);
        } else {
            self.waiting.push_back((self.last, to, message));
        }
    }

    /// Sends a message once all backups have acknowledged this entry.
    pub(crate) fn send_when_held(&mut self, sequence: u64, to: Address, message: Message, out: &mut Outbox) {
        if self.held() >= sequence {
            return out.send(to, message);
        }
        let at = self.waiting.partition_point(|(needed, ..)| *needed <= sequence);
        self.waiting.insert(at, (sequence, to, message));
    }

    /// A backup acknowledges everything up to `sequence`.
    pub(crate) fn on_ack(&mut self, from: Address, sequence: u64, out: &mut Outbox) {
        for (backup, held) in &mut self.backups {
            if *backup == from {
                *held = sequence.clamp(*held, self.last);
            }
        }
        self.send_acked(out);
    }

    fn send_acked(&mut self, out: &mut Outbox) {
        let held = self.held();
        while let Some(&(needed, ..)) = self.waiting.front()
            && needed <= held
        {
            let (_, to, message) = self.waiting.pop_front().expect("it was there a moment ago");
            out.send(to, message);
        }
    }

    /// Looks which backups owe an acknowledgement, and returns the first one that has acknowledged nothing for longer
    /// than this limit, and whether all backups have, if there are several. Looks are compared with each other, so that
    /// entries and acknowledgements need no clock.
    pub(crate) fn unresponsive(&mut self, me: Address, limit_us: u64, now_us: u64) -> Option<(Address, bool)> {
        let before = std::mem::take(&mut self.owing);
        for &(backup, held) in self.backups.iter().filter(|(backup, held)| *backup != me && *held < self.last) {
            let known = before.iter().find(|(other, at, _)| (*other, *at) == (backup, held));
            self.owing.push((backup, held, known.map_or(now_us, |(.., since_us)| *since_us)));
        }
        let is_late = |(.., since_us): &&(Address, u64, u64)| now_us > since_us + limit_us;
        let (first, _, _) = self.owing.iter().find(is_late)?;
        let others = self.backups.iter().filter(|(backup, _)| *backup != me).count();
        Some((*first, others > 1 && self.owing.iter().filter(is_late).count() == others))
    }

    /// The last entry that all backups have acknowledged.
    pub(crate) fn held(&self) -> u64 {
        self.backups.iter().map(|&(_, held)| held).min().unwrap_or(self.last)
    }
}

/// Bytes of rows in one message.
const ROWS_BYTES: usize = 1 << 20;

/// Entries in one message.
const ENTRIES: usize = 1 << 10;

/// Sends all rows of a replica without active transactions, and its state besides them, to one that asked to join in
/// this epoch. It receives everything in one go: it may be the only replica left a moment later.
pub(crate) fn send_state(shard: &mut Shard, base: &Base, (to, since): (Address, u64), out: &mut Outbox) {
    let mut pieces = 0;
    shard.copy(ROWS_BYTES, |table, rows| {
        pieces += 1;
        out.send(to, Message::Rows { since, table, rows });
    });
    for entries in base.remembered.chunks(ENTRIES) {
        pieces += 1;
        out.send(to, Message::Remember { since, entries: entries.to_vec() });
    }
    let base = Box::new(Base { held: base.held, scheme: base.scheme, remembered: Vec::new() });
    out.send(to, Message::State { since, pieces, base });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Case 35: only a backup that owes acknowledgements, and sends none at all for the limit, is reported.
    #[test]
    fn a_backup_is_unresponsive_when_it_acknowledges_nothing_for_the_limit() {
        let replica = |replica| Address::Replica { partition: 0, replica };
        let (me, mut out) = (replica(0), Outbox::default());
        let mut stream = ReplicationStream::new(&[replica(1), replica(2), me], 0);
        assert_eq!(stream.unresponsive(me, 100, 1_000), None, "nothing is owed");
        stream.append(|| Entry::NoOp, &mut out);
        stream.append(|| Entry::NoOp, &mut out);
        assert_eq!(stream.unresponsive(me, 100, 2_000), None, "owed since now");
        stream.on_ack(replica(1), 1, &mut out);
        assert_eq!(stream.unresponsive(me, 100, 2_101), Some((replica(2), false)), "the other one makes progress");
        assert_eq!(stream.unresponsive(me, 100, 2_202), Some((replica(1), true)), "its journal is none of them");
        stream.on_ack(replica(1), 2, &mut out);
        stream.forget(replica(2), &mut out);
        assert_eq!(stream.unresponsive(me, 100, 9_000), None);
    }
}
