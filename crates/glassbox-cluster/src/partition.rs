//! A partition's primary: data, scheme, and stream to the backups.

use std::collections::VecDeque;

use glassbox::shard::Shard;

use crate::address::Address;
use crate::arrived::{Arrived, Multi, Single};
use crate::backup::{Backup, Waits};
use crate::message::{Fragment, FragmentWork, Message, Recovered};
use crate::outbox::Outbox;
use crate::scheme::{Scheme, SchemeKind};
use crate::store::Store;
use crate::stream::Stream;

/// Bytes of rows in one message to a backup that joins.
const ROWS_BYTES: usize = 1 << 20;

/// The primary of a partition.
#[derive(Debug)]
pub struct Partition {
    store: Store,
    scheme: Scheme,
    kind: SchemeKind,
    /// Backups that wait for the rows.
    joining: Vec<(Address, u64)>,
    /// What arrived while the rows cannot be sent yet, because something is under way: it begins after that.
    held_back: VecDeque<(Address, Message)>,
}

impl Partition {
    /// A primary with these rows, which these backups have too.
    pub fn new(shard: Shard, kind: SchemeKind, backups: &[Address]) -> Self {
        Self::following(shard, kind, Stream::new(backups, 0))
    }

    fn following(shard: Shard, kind: SchemeKind, stream: Stream) -> Self {
        let cascades = matches!(kind, SchemeKind::Speculation | SchemeKind::LocalSpeculation);
        let (store, scheme) = (Store::new(shard, stream, cascades), Scheme::new(kind));
        Self { store, scheme, kind, joining: Vec::new(), held_back: VecDeque::new() }
    }

    /// The primary that a backup becomes. What it holds undecided is run again in the same order, and comes to the
    /// same: so its votes hold.
    pub(crate) fn promoted(backup: Backup, kind: SchemeKind, out: &mut Outbox) -> Self {
        let (shard, held, waiting, committed) = backup.into_parts();
        let mut partition = Self::following(shard, kind, Stream::new(&[], held));
        partition.store.committed = committed;
        for waits in waiting {
            let arrived = match waits {
                Waits::Prepared(txn, round, part) => {
                    let (call, participants, work) = (part.call, part.participants, FragmentWork::Run(part.given));
                    Arrived::Multi(Multi::new(Fragment { txn, round, call, participants, work, settled: 0 }))
                }
                Waits::Speculative(part) => {
                    let Some((client, id)) = part.origin else { continue };
                    Arrived::Single(Single { client, id, call: part.call })
                }
            };
            partition.scheme.arrives(&mut partition.store, arrived, out);
        }
        while partition.proceed(out) {}
        partition
    }

    /// The scheme.
    pub fn scheme(&self) -> SchemeKind {
        self.kind
    }

    /// The rows.
    pub fn shard(&mut self) -> &mut Shard {
        self.store.shard()
    }

    /// Counts on these backups only.
    pub(crate) fn keep_backups(&mut self, backups: &[Address], out: &mut Outbox) {
        self.joining.retain(|(joining, _)| backups.contains(joining));
        self.store.stream.keep(backups, out);
        self.let_join(out);
    }

    /// A message arrives. What is none for a primary is passed over.
    pub fn handle(&mut self, from: Address, message: Message, out: &mut Outbox) {
        let begins = match &message {
            Message::Call { .. } => true,
            Message::Fragment(fragment) => self.scheme.multis().iter().all(|multi| multi.txn() != fragment.txn),
            _ => false,
        };
        if begins && !self.joining.is_empty() {
            return self.held_back.push_back((from, message));
        }
        self.take(from, message, out);
        self.let_join(out);
    }

    fn take(&mut self, from: Address, message: Message, out: &mut Outbox) {
        match message {
            Message::Call { id, call } => {
                self.scheme.arrives(&mut self.store, Arrived::Single(Single { client: from, id, call }), out);
            }
            Message::Fragment(fragment) if fragment.coordinator() == from => {
                self.store.settle(from, fragment.settled);
                self.scheme.arrives(&mut self.store, Arrived::Multi(Multi::new(fragment)), out);
            }
            Message::Decide { txn, commit } if txn.coordinator == from => {
                self.store.hear(txn);
                self.held_back.retain(|(_, it)| !matches!(it, Message::Fragment(fragment) if fragment.txn == txn));
                self.scheme.decided(&mut self.store, txn, commit, out);
            }
            Message::Held { sequence } => self.store.stream.hears(from, sequence, out),
            Message::Join { since } => {
                self.joining.retain(|(joining, _)| *joining != from);
                self.joining.push((from, since));
            }
            Message::AskHeard => {
                let heard = self.store.heard(from);
                self.store.stream.send_when_held(from, Message::HeardSoFar(heard), out);
            }
            Message::Recover => {
                // The coordinator before asked for it, and nobody waits for it any more.
                self.held_back.retain(|(asked, it)| *asked != from || !matches!(it, Message::Fragment(_)));
                let multis = self.scheme.multis();
                let own = multis.iter().filter(|multi| multi.txn().coordinator == from);
                let undecided = own.map(|multi| multi.undecided()).collect();
                let committed = self.store.recover(from);
                self.store.stream.send_when_held(from, Message::Recovered(Recovered { undecided, committed }), out);
            }
            _ => {}
        }
    }

    /// Sends the rows to those who wait for them, when nothing is under way in them.
    fn let_join(&mut self, out: &mut Outbox) {
        if !self.joining.is_empty() {
            if !self.scheme.is_idle() {
                return;
            }
            let sequence = self.store.stream.last();
            for (backup, since) in std::mem::take(&mut self.joining) {
                self.store
                    .shard()
                    .copy(ROWS_BYTES, |table, rows| out.send(backup, Message::Rows { since, table, rows }));
                out.send(backup, Message::State { since, sequence });
                self.store.stream.add(backup);
            }
        }
        if !self.held_back.is_empty() {
            for (from, message) in std::mem::take(&mut self.held_back) {
                self.take(from, message, out);
            }
        }
    }

    /// Runs one thing that waited and can be run now; whether there was one. To be called, when no message is there to
    /// be handled, until it says `false`.
    pub fn proceed(&mut self, out: &mut Outbox) -> bool {
        let proceeded = self.scheme.proceed(&mut self.store, out);
        self.let_join(out);
        proceeded
    }

    /// Whether nothing is under way or waiting.
    pub fn is_idle(&self) -> bool {
        self.scheme.is_idle() && self.held_back.is_empty()
    }
}
