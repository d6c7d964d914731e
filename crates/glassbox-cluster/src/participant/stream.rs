//! A primary's stream to its backups: what they are to do, and what may be told once they hold it.

use std::collections::VecDeque;

use crate::protocol::address::Address;
use crate::protocol::entry::Entry;
use crate::protocol::message::Message;
use crate::protocol::outbox::Outbox;

/// Numbers entries, and holds back what depends on them.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    /// Each backup, and the last entry that it holds.
    backups: Vec<(Address, u64)>,
    /// The last entry's number; the first is 1.
    last: u64,
    /// Messages, by the entry that the backups have to hold before they go; in order.
    waiting: VecDeque<(u64, Address, Message)>,
    /// What is done is in the stream already, and done again.
    repeats: bool,
}

impl Stream {
    /// A stream that goes on after this entry, which all of these backups hold.
    pub(crate) fn new(backups: &[Address], last: u64) -> Self {
        let backups = backups.iter().map(|&backup| (backup, last)).collect();
        Self { backups, last, waiting: VecDeque::new(), repeats: false }
    }

    /// The stream of one that takes it over after this entry: its backups are still to come, and what it holds
    /// undecided is done again first. Its journal, if it has one, goes on.
    pub(crate) fn going_on(journal: Option<Address>, last: u64) -> Self {
        Self { repeats: true, ..Self::new(journal.as_slice(), last) }
    }

    /// All that is in the stream already was done again.
    pub(crate) fn has_repeated(&mut self, out: &mut Outbox) {
        self.repeats = false;
        if !self.waiting.is_empty() {
            self.append(|| Entry::Mark, out);
        }
    }

    /// The last entry's number.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Goes to another backup too, which has everything so far.
    pub(crate) fn add(&mut self, backup: Address) {
        self.backups.retain(|(known, _)| *known != backup);
        self.backups.push((backup, self.last));
    }

    /// Goes to these only, as far as it did before.
    pub(crate) fn keep(&mut self, backups: &[Address], out: &mut Outbox) {
        self.backups.retain(|(backup, _)| backups.contains(backup));
        self.tell_held(out);
    }

    /// Goes to one backup no more.
    pub(crate) fn forget(&mut self, backup: Address, out: &mut Outbox) {
        self.backups.retain(|(known, _)| *known != backup);
        self.tell_held(out);
    }

    /// Whether anybody follows: entries need not be made otherwise.
    pub(crate) fn is_followed(&self) -> bool {
        !self.backups.is_empty()
    }

    /// Sends an entry to all backups.
    pub(crate) fn append(&mut self, entry: impl FnOnce() -> Entry, out: &mut Outbox) {
        if !self.is_followed() || self.repeats {
            return;
        }
        self.last += 1;
        let entry = Box::new(entry());
        for &(backup, _) in &self.backups {
            out.send(backup, Message::Replicate { sequence: self.last, entry: entry.clone() });
        }
    }

    /// Sends a message when everything so far is held by all backups. What says something of the rows must not come
    /// from a primary that is none any more without knowing it, so there is always something to be held.
    pub(crate) fn send_when_held(&mut self, to: Address, message: Message, out: &mut Outbox) {
        if !self.is_followed() {
            return out.send(to, message);
        }
        if self.repeats {
            return self.waiting.push_back((self.last + 1, to, message));
        }
        if self.held() >= self.last {
            self.append(|| Entry::Mark, out);
        }
        if self.held() >= self.last {
            out.send(to, message);
        } else {
            self.waiting.push_back((self.last, to, message));
        }
    }

    /// A backup holds everything up to `sequence`.
    pub(crate) fn hears(&mut self, from: Address, sequence: u64, out: &mut Outbox) {
        for (backup, held) in &mut self.backups {
            if *backup == from {
                *held = sequence.clamp(*held, self.last);
            }
        }
        self.tell_held(out);
    }

    fn tell_held(&mut self, out: &mut Outbox) {
        let held = self.held();
        while let Some(&(needed, ..)) = self.waiting.front()
            && needed <= held
        {
            let (_, to, message) = self.waiting.pop_front().expect("it was there a moment ago");
            out.send(to, message);
        }
    }

    /// The last entry that all backups hold.
    fn held(&self) -> u64 {
        self.backups.iter().map(|&(_, held)| held).min().unwrap_or(self.last)
    }
}
