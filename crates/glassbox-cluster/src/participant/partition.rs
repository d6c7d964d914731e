//! A partition's primary: data, scheme, and stream to the backups.

use std::collections::VecDeque;

use glassbox::shard::{Call, Shard};

use crate::auto::Seen;
use crate::participant::arrived::{Arrived, Multi, Single};
use crate::participant::backup::{Backup, Waits};
use crate::participant::store::Store;
use crate::participant::stream::Stream;
use crate::protocol::address::{Address, Life, TxnId};
use crate::protocol::message::{Fragment, FragmentEnd, FragmentWork, Message};
use crate::protocol::outbox::{Action, Outbox};
use crate::protocol::scheme_kind::SchemeKind;
use crate::scheme::Scheme;
use crate::sequencer::reorder_buffer::Order;

/// Bytes of rows in one message to a backup that joins.
const ROWS_BYTES: usize = 1 << 20;

/// Entries in one message to it.
const ENTRIES: usize = 1 << 14;

/// The primary of a partition.
#[derive(Debug)]
pub struct Partition {
    pub(crate) store: Store,
    pub(crate) scheme: Scheme,
    pub(crate) kind: SchemeKind,
    /// The scheme that comes when what is under way has ended.
    next: Option<SchemeKind>,
    /// Backups that wait for the rows.
    joining: Vec<(Address, u64)>,
    /// The journal waits for another base.
    base_due: bool,
    /// What arrived while something is under way that has to end first: it begins after that.
    pub(crate) held_back: VecDeque<(Address, Message)>,
    /// Of several coordinators.
    order: Order,
}

impl Partition {
    /// A primary with these rows, which these backups have too.
    pub fn new(shard: Shard, kind: SchemeKind, backups: &[Address]) -> Self {
        Self::of(Store::new(shard, Stream::new(backups, 0), kind), kind)
    }

    fn of(store: Store, kind: SchemeKind) -> Self {
        let scheme = Scheme::new(kind);
        let (joining, held_back, order) = (Vec::new(), VecDeque::new(), Order::default());
        Self { store, scheme, kind, next: None, joining, base_due: false, held_back, order }
    }

    /// The primary that a backup becomes. What it holds undecided is run again in the same order and under the same
    /// scheme, and comes to the same: so its votes hold.
    pub(crate) fn promoted(backup: Backup, out: &mut Outbox) -> Self {
        let kind = backup.scheme();
        let (store, waiting) = backup.into_store();
        let mut partition = Self::of(store, kind);
        for waits in waiting {
            let arrived = match waits {
                Waits::Prepared(txn, round, part) => {
                    let (call, participants, work) = (part.call, part.participants, FragmentWork::Run(part.given));
                    let (settled, place, before) = (0, 0, None);
                    let fragment = Fragment { txn, round, call, participants, work, settled, place, before };
                    Arrived::Multi(Multi::new(fragment))
                }
                Waits::Speculative(part) => {
                    let Some((client, id)) = part.origin else { continue };
                    Arrived::Single(Single { client, id, call: part.call })
                }
            };
            partition.scheme.arrives(&mut partition.store, arrived, out);
        }
        while partition.proceed(out) {}
        partition.store.stream.has_repeated(out);
        partition.tell_left(out);
        partition
    }

    /// Writes what it does to its journal, which begins with a base of the rows as they are.
    pub(crate) fn begin_journal(&mut self, me: Address, out: &mut Outbox) {
        self.store.stream.add(me);
        self.renew_base(out);
    }

    /// Has a base made of the rows as they are when nothing is under way.
    pub(crate) fn renew_base(&mut self, out: &mut Outbox) {
        self.base_due = true;
        self.go_on(out);
    }

    /// The scheme.
    pub fn scheme(&self) -> SchemeKind {
        self.kind
    }

    /// What it has counted.
    pub fn seen(&self) -> Seen {
        self.store.seen
    }

    /// The share of runs that write the most wanted row, if enough were [sampled](Self::sample).
    pub fn hottest(&self) -> Option<f64> {
        self.store.sampler.hottest()
    }

    /// Notes of a few runs what they touch, or of none.
    pub fn sample(&mut self, on: bool) {
        self.store.sampler.turn(on);
    }

    /// The rows.
    pub fn shard(&mut self) -> &mut Shard {
        self.store.shard()
    }

    /// Counts on these backups only.
    pub(crate) fn keep_backups(&mut self, backups: &[Address], out: &mut Outbox) {
        self.joining.retain(|(joining, _)| backups.contains(joining));
        self.store.stream.keep(backups, out);
        self.go_on(out);
    }

    /// Runs what begins from now on under another scheme, once what is under way has ended. Transactions of several
    /// partitions that would begin here and began elsewhere before that are not among them.
    pub(crate) fn switch(&mut self, kind: SchemeKind, out: &mut Outbox) {
        self.next = Some(kind);
        for (from, message) in std::mem::take(&mut self.held_back) {
            match message {
                Message::Fragment(fragment) => self.refuse(from, *fragment, out),
                message => self.held_back.push_back((from, message)),
            }
        }
        self.go_on(out);
    }

    /// Has a transaction of several partitions that would begin here tried again.
    pub(crate) fn refuse(&mut self, from: Address, fragment: Fragment, out: &mut Outbox) {
        if fragment.coordinator() == from {
            self.answer_at_once(fragment, FragmentEnd::Again, out);
        }
    }

    fn answer_at_once(&mut self, fragment: Fragment, end: FragmentEnd, out: &mut Outbox) {
        self.store.report(&Multi { end: Some(end), ..Multi::new(fragment) }, None, out);
    }

    /// Several coordinators order their transactions anew: each begins anew what has not begun here.
    pub(crate) fn begin_order(&mut self) {
        self.order = Order::default();
        self.held_back.retain(|(_, message)| !matches!(message, Message::Fragment(fragment) if fragment.place > 0));
    }

    /// A message arrives. What is none for a primary is passed over.
    pub fn handle(&mut self, from: Address, message: Message, out: &mut Outbox) {
        match message {
            // Most messages are these.
            Message::Call { id, call } if !self.waits_for_rest() => self.run(from, id, call, out),
            // A client's transactions have no place among these.
            Message::Fragment(fragment) if fragment.place > 0 && !matches!(from, Address::Coordinator(_)) => {}
            Message::Fragment(fragment) if fragment.place > 0 && fragment.coordinator() == from => {
                self.order.put(*fragment);
                while let Some(fragment) = self.order.due() {
                    self.admit(fragment.coordinator(), Message::Fragment(Box::new(fragment)), out);
                }
            }
            message => self.admit(from, message, out),
        }
    }

    #[inline]
    fn run(&mut self, client: Address, id: u64, call: Call, out: &mut Outbox) {
        self.scheme.arrives(&mut self.store, Arrived::Single(Single { client, id, call }), out);
    }

    /// Takes a message in its turn, or holds it back.
    fn admit(&mut self, from: Address, message: Message, out: &mut Outbox) {
        match &message {
            Message::Fragment(fragment) if self.store.is_over(fragment.txn) => {
                out.send(from, Message::Over(fragment.txn.life().number));
            }
            _ if self.waits_for_rest() && self.begins(&message) => self.held_back.push_back((from, message)),
            _ => {
                self.take(from, message, out);
                self.go_on(out);
            }
        }
    }

    /// Whether nothing of its transaction is under way here.
    fn begins(&self, message: &Message) -> bool {
        let Message::Fragment(fragment) = message else { return matches!(message, Message::Call { .. }) };
        self.scheme.multis().iter().all(|multi| multi.txn() != fragment.txn)
    }

    /// Whether nothing begins before what is under way has ended.
    pub(crate) fn waits_for_rest(&self) -> bool {
        self.next.is_some() || !self.joining.is_empty() || self.base_due
    }

    fn take(&mut self, from: Address, message: Message, out: &mut Outbox) {
        match message {
            Message::Call { id, call } => self.run(from, id, call, out),
            Message::Fragment(fragment) if fragment.coordinator() == from => {
                if fragment.before.is_some_and(|life| self.store.over.contains(&life)) {
                    return self.answer_at_once(*fragment, FragmentEnd::Unclear, out);
                }
                self.store.committed.settle(TxnId { coordinator: from, sequence: fragment.settled });
                self.scheme.arrives(&mut self.store, Arrived::Multi(Multi::new(*fragment)), out);
            }
            Message::Decide { txn, commit } if self.decides(from, txn) => {
                if txn.coordinator == from {
                    self.store.heard.add(txn);
                }
                self.order.give_up(txn);
                self.held_back.retain(|(_, it)| !matches!(it, Message::Fragment(fragment) if fragment.txn == txn));
                self.scheme.decided(&mut self.store, txn, commit, out);
            }
            Message::Held { sequence } => self.store.stream.hears(from, sequence, out),
            Message::Join { since } => {
                // Whatever it held before, it has nothing now: nobody waits for it until it has the rows.
                self.store.stream.forget(from, out);
                self.joining.retain(|(joining, _)| *joining != from);
                self.joining.push((from, since));
            }
            Message::AskHeard => {
                let (life, heard) = self.store.heard.from(from);
                self.store.stream.send_when_held(from, Message::HeardSoFar { life, heard }, out);
            }
            Message::Recover(life) => self.recover(from, life, out),
            Message::Ended(life) => self.store.forget_life(life, out),
            Message::Over(number) if matches!(from, Address::Client(_)) => self.over(Life::new(from, number), out),
            _ => {}
        }
    }

    /// When nothing is under way: begins the next scheme, sends the rows to those who wait for them, and goes on.
    #[inline]
    fn go_on(&mut self, out: &mut Outbox) {
        if self.waits_for_rest() || !self.held_back.is_empty() {
            self.go_on_after_rest(out);
        }
    }

    fn go_on_after_rest(&mut self, out: &mut Outbox) {
        if self.waits_for_rest() {
            if !self.scheme.is_idle() {
                return;
            }
            if let Some(kind) = self.next.take() {
                (self.kind, self.scheme) = (kind, Scheme::new(kind));
                self.store.begin_scheme(kind, out);
            }
            self.send_rows(out);
            if std::mem::take(&mut self.base_due) {
                self.store.shard().fix();
                out.actions.push(Action::Base(Box::new(self.store.base(self.kind))));
            }
        }
        for (from, message) in std::mem::take(&mut self.held_back) {
            self.take(from, message, out);
        }
    }

    fn send_rows(&mut self, out: &mut Outbox) {
        if self.joining.is_empty() {
            return;
        }
        let mut base = Box::new(self.store.base(self.kind));
        let remembered = std::mem::take(&mut base.remembered);
        for (backup, since) in std::mem::take(&mut self.joining) {
            let mut pieces = 0;
            self.store.shard().copy(ROWS_BYTES, |table, rows| {
                pieces += 1;
                out.send(backup, Message::Rows { since, table, rows });
            });
            for entries in remembered.chunks(ENTRIES) {
                pieces += 1;
                out.send(backup, Message::Remember { since, entries: entries.to_vec() });
            }
            // It has all of it at once: it may be the only one that is left a moment later.
            out.send(backup, Message::State { since, pieces, base: base.clone() });
            self.store.stream.add(backup);
        }
    }

    /// Runs one thing that waited and can be run now; whether there was one. To be called, when no message is there to
    /// be handled, until it says `false`.
    pub fn proceed(&mut self, out: &mut Outbox) -> bool {
        let proceeded = self.scheme.proceed(&mut self.store, out);
        self.go_on(out);
        proceeded
    }

    /// Whether nothing is under way or waiting.
    pub fn is_idle(&self) -> bool {
        self.scheme.is_idle() && self.held_back.is_empty() && self.order.is_empty()
    }
}
