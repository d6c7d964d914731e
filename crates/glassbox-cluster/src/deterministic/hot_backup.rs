//! A hot backup of the sequencer: has the same log, and takes over when a configuration makes it the sequencer.
//!
//! The sequencer sends an epoch to partitions only when all of its hot backups have acknowledged it. So whatever a
//! partition has received is in the log of the successor, and epochs that no partition has received may be in it too:
//! they keep their place.

use super::epoch_log::EpochLog;
use crate::protocol::address::Address;
use crate::protocol::configuration::SchemeKind;
use crate::protocol::entry::{Base, Entry};
use crate::protocol::message::Message;
use crate::protocol::outbox::{Action, Outbox};

/// Follows the stream of a sequencer. Also what a sequencer's journal is read into.
#[derive(Debug, Clone)]
pub struct HotBackup {
    pub(crate) log: EpochLog,
    /// The position of the last entry.
    pub(crate) held: u64,
    sequencer: Address,
    /// Its own address, if it has a journal: it then acknowledges what the journal has forced.
    pub(super) journal: Option<Address>,
    /// Why it follows no more.
    lost: Option<String>,
}

impl HotBackup {
    /// A backup with an empty log, from the beginning of a cluster or after this position.
    pub(crate) fn new(sequencer: Address, held: u64) -> Self {
        Self { log: EpochLog::new(1), held, sequencer, journal: None, lost: None }
    }

    /// An empty log that this number of replica sets execute.
    pub(crate) fn of_sets(sequencer: Address, sets: u8) -> Self {
        Self { log: EpochLog::new(sets), ..Self::new(sequencer, 0) }
    }

    /// A backup with this log, which this number of replica sets execute.
    ///
    /// # Errors
    /// When it is none of a sequencer.
    pub(crate) fn following(sequencer: Address, base: Base, sets: u8) -> Result<Self, String> {
        Ok(Self { log: EpochLog::of(base.remembered, sets)?, ..Self::new(sequencer, base.held) })
    }

    /// This backup, with a journal.
    #[must_use]
    pub(crate) fn with_journal(self, me: Address) -> Self {
        Self { journal: Some(me), ..self }
    }

    /// Begins a base of the present log.
    pub(crate) fn base(&self, scheme: SchemeKind, out: &mut Outbox) {
        if self.lost.is_none() {
            out.actions.push(Action::Base(Box::new(self.log.base(self.held, scheme))));
        }
    }

    /// Why it follows no more, if that is so.
    pub fn lost(&self) -> Option<&str> {
        self.lost.as_deref()
    }

    /// Receives a message. Messages of other parties than its sequencer are ignored.
    pub(crate) fn handle(&mut self, from: Address, message: Message, out: &mut Outbox) {
        match message {
            Message::Ack { sequence } if self.journal == Some(from) => {
                out.send(self.sequencer, Message::Ack { sequence });
            }
            Message::Replicate { sequence, entry } if from == self.sequencer => self.follow(sequence, *entry, out),
            _ => {}
        }
    }

    fn follow(&mut self, position: u64, entry: Entry, out: &mut Outbox) {
        if self.lost.is_some() || position <= self.held {
            return;
        }
        let kept =
            self.journal.map(|me| (me, Message::Replicate { sequence: position, entry: Box::new(entry.clone()) }));
        match (self.append(position, entry), kept) {
            // The journal only gets entries that could be applied, because recovery applies them again.
            (Ok(()), Some((me, kept))) => out.send(me, kept),
            (Ok(()), None) => out.send(self.sequencer, Message::Ack { sequence: position }),
            (Err(why), _) => self.lost = Some(why),
        }
    }

    /// Applies an entry that the base has.
    pub(crate) fn remember(&mut self, entry: Entry) -> Result<(), String> {
        self.log.apply(entry)
    }

    /// Applies the next entry of the stream.
    ///
    /// # Errors
    /// When it is none of an input log, or an entry before it is missing.
    pub(crate) fn append(&mut self, position: u64, entry: Entry) -> Result<(), String> {
        if position != self.held + 1 {
            return Err(format!("entry {position} follows entry {}: entries are missing", self.held));
        }
        self.log.apply(entry)?;
        self.held = position;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backup_follows_its_sequencer_alone_and_stops_at_a_gap() {
        let (sequencer, other, me) = (Address::Coordinator(0), Address::Coordinator(2), Address::Coordinator(1));
        let epoch =
            |sequence, epoch| Message::Replicate { sequence, entry: Box::new(Entry::Inputs(epoch, Vec::new())) };
        let mut backup = HotBackup::new(sequencer, 0).with_journal(me);
        let mut out = Outbox::default();
        backup.handle(other, epoch(1, 1), &mut out);
        assert!(out.actions.is_empty() && backup.held == 0);
        backup.handle(sequencer, epoch(1, 1), &mut out);
        backup.handle(sequencer, epoch(1, 1), &mut out);
        backup.handle(me, Message::Ack { sequence: 1 }, &mut out);
        let sent: Vec<_> = out.actions.drain(..).collect();
        assert!(matches!(&sent[..], [
            Action::Send(journal, Message::Replicate { sequence: 1, .. }),
            Action::Send(to, Message::Ack { sequence: 1 }),
        ] if *journal == me && *to == sequencer));
        // An epoch that goes back, and then an entry that is missing.
        let mut behind = HotBackup::new(sequencer, 0);
        behind.handle(sequencer, epoch(1, 5), &mut out);
        behind.handle(sequencer, epoch(2, 4), &mut out);
        assert!(behind.lost().is_some_and(|why| why.contains("epoch 4")), "{behind:?}");
        backup.handle(sequencer, epoch(3, 3), &mut out);
        assert!(backup.lost().is_some_and(|why| why.contains("entries are missing")), "{backup:?}");
        out.actions.clear();
        backup.handle(sequencer, epoch(2, 2), &mut out);
        backup.base(SchemeKind::Blocking, &mut out);
        assert!(out.actions.is_empty(), "what it has is not acknowledged or written any more: {out:?}");
    }
}
