//! A partition's primary: data, concurrency-control scheme, and replication stream.

use std::collections::VecDeque;

use glassbox::research::shard::{Call, Shard};

use crate::auto::Counters;
use crate::participant::backup::{Backup, UndecidedRun};
use crate::participant::replication::{ReplicationStream, send_state};
use crate::participant::store::Store;
use crate::participant::txn::{Announced, DistributedTxn, LocalTxn, Txn};
use crate::protocol::address::{Address, Session, TxnId};
use crate::protocol::configuration::SchemeKind;
use crate::protocol::input::OrderSettings;
use crate::protocol::message::{Fragment, FragmentEnd, FragmentWork, Message};
use crate::protocol::outbox::{Action, Outbox};
use crate::scheme::Scheme;
use crate::sequencer::reorder_buffer::ReorderBuffer;

/// The primary of a partition.
#[derive(Debug)]
pub struct Partition {
    pub(crate) store: Store,
    pub(crate) scheme: Scheme,
    pub(crate) kind: SchemeKind,
    /// The scheme that follows once no transaction is active.
    next: Option<SchemeKind>,
    /// Backups that wait for the rows.
    joining: Vec<(Address, u64)>,
    /// Whether the journal waits for another base.
    base_due: bool,
    /// Messages that would begin a transaction while the partition drains.
    pub(crate) held_back: VecDeque<(Address, Message)>,
    /// The order of several coordinators.
    order: ReorderBuffer,
    /// Whether backups receive a call before it is run.
    overlaps: bool,
    /// Calls that backups hold and that run next. Nothing else is active then.
    announced: VecDeque<Announced>,
    /// Whether entries of announced calls may not have left.
    has_unsent: bool,
    /// The number of announced calls that have ended since the last entry about it, and the places of those that have
    /// not committed.
    ended: (u32, Vec<u32>),
}

/// Maximum number of announced calls that have not been run, or whose end is not in the stream.
const MAX_ANNOUNCED: usize = 16;

impl Partition {
    /// A primary with these rows, whose backups have the same rows.
    pub fn new(shard: Shard, kind: SchemeKind, backups: &[Address]) -> Self {
        Self::of(Store::new(shard, ReplicationStream::new(backups, 0), kind), kind)
    }

    fn of(store: Store, kind: SchemeKind) -> Self {
        Self {
            store,
            scheme: Scheme::new(kind),
            kind,
            next: None,
            joining: Vec::new(),
            base_due: false,
            held_back: VecDeque::new(),
            order: ReorderBuffer::default(),
            overlaps: false,
            announced: VecDeque::new(),
            has_unsent: false,
            ended: (0, Vec::new()),
        }
    }

    /// Promotes a backup. Calls that it holds are run, and undecided runs executed again, in the same order and under
    /// the same scheme. They have the same results, so answers and votes hold.
    pub(crate) fn promoted(backup: Backup, out: &mut Outbox) -> Self {
        let kind = backup.scheme();
        let (store, waiting, announced) = backup.into_store();
        let mut partition = Self::of(store, kind);
        let (count, mut refused) = (announced.len() as u32, Vec::new());
        for (place, part) in (0..).zip(announced) {
            let is_done = LocalTxn::of_part(part).is_some_and(|single| partition.store.run_held(&single, out));
            refused.extend((!is_done).then_some(place));
        }
        for waits in waiting {
            let arrived = match waits {
                UndecidedRun::Prepared(txn, round, part) => {
                    let (call, participants, work) = (part.call, part.participants, FragmentWork::Run(part.given));
                    let (settled, place, before) = (0, 0, None);
                    let fragment = Fragment { txn, round, call, participants, work, settled, place, before };
                    Txn::Distributed(DistributedTxn::new(fragment))
                }
                UndecidedRun::Speculative(part) => {
                    let Some(single) = LocalTxn::of_part(part) else { continue };
                    Txn::Local(single)
                }
            };
            partition.scheme.arrives(&mut partition.store, arrived, out);
        }
        while partition.proceed(out) {}
        partition.store.stream.finish_redo(out);
        if count > 0 {
            partition.store.end_announced(count, refused, out);
        }
        partition.report_orphans(out);
        partition
    }

    /// Begins a journal with a base of the present rows.
    pub(crate) fn begin_journal(&mut self, me: Address, out: &mut Outbox) {
        self.store.stream.add(me);
        self.renew_base(out);
    }

    /// Begins another base of the journal once no transaction is active.
    pub(crate) fn renew_base(&mut self, out: &mut Outbox) {
        self.base_due = true;
        self.go_on(out);
    }

    /// The scheme.
    pub fn scheme(&self) -> SchemeKind {
        self.kind
    }

    /// The workload counters.
    pub fn seen(&self) -> Counters {
        self.store.seen
    }

    /// The share of runs that write the hottest row, if enough runs were [sampled](Self::sample).
    pub fn hottest(&self) -> Option<f64> {
        self.store.sampler.hottest()
    }

    /// Turns sampling of runs on or off.
    pub fn sample(&mut self, on: bool) {
        self.store.sampler.turn(on);
    }

    /// The rows.
    pub fn shard(&mut self) -> &mut Shard {
        self.store.shard()
    }

    /// Replicates to these backups only.
    pub(crate) fn keep_backups(&mut self, backups: &[Address], out: &mut Outbox) {
        self.joining.retain(|(joining, _)| backups.contains(joining));
        self.store.stream.keep(backups, out);
        self.go_on(out);
    }

    /// Changes the scheme once no transaction is active. Held first fragments of distributed transactions are refused:
    /// they began elsewhere under the former scheme.
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

    /// Has a distributed transaction that has not begun here restarted.
    pub(crate) fn refuse(&mut self, from: Address, fragment: Fragment, out: &mut Outbox) {
        if fragment.coordinator() == from {
            self.answer_at_once(fragment, FragmentEnd::Again, out);
        }
    }

    fn answer_at_once(&mut self, fragment: Fragment, end: FragmentEnd, out: &mut Outbox) {
        self.store.report(&DistributedTxn { end: Some(end), ..DistributedTxn::new(fragment) }, None, out);
    }

    /// The coordinators restart their order: each restarts the transactions that have not begun here.
    pub(crate) fn begin_order(&mut self) {
        self.order = ReorderBuffer::default();
        self.held_back.retain(|(_, message)| !matches!(message, Message::Fragment(fragment) if fragment.place > 0));
    }

    /// Receives a message. Messages that no primary handles are ignored.
    pub fn handle(&mut self, from: Address, message: Message, out: &mut Outbox) {
        match message {
            Message::Call { id, call } if self.overlaps && self.may_announce() => {
                self.announce(LocalTxn { client: from, id, call }, out);
            }
            // An acknowledgement needs no row.
            Message::Ack { .. } => self.admit(from, message, out),
            message => {
                if self.has_announced() {
                    while self.run_announced(out) {}
                    self.go_on(out);
                }
                self.receive(from, message, out);
            }
        }
    }

    fn receive(&mut self, from: Address, message: Message, out: &mut Outbox) {
        match message {
            // The hot path.
            Message::Call { id, call } if !self.waits_for_rest() => self.run(from, id, call, out),
            // A client's transactions are not part of the coordinators' order.
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

    /// Whether backups can hold a call before it is run: no other transaction is active or waits.
    fn may_announce(&self) -> bool {
        let is_alone = self.scheme.is_bare() && !self.waits_for_rest() && self.held_back.is_empty();
        is_alone && self.store.stream.is_replicated() && self.store.broken.is_none()
    }

    /// Has backups hold a call while those before it are run, *Low Overhead Concurrency Control*, section 3.2.
    fn announce(&mut self, single: LocalTxn, out: &mut Outbox) {
        let announced = self.store.announce(single, out);
        self.has_unsent = true;
        self.announced.push_back(announced);
        if self.announced.len() > MAX_ANNOUNCED {
            self.run_announced(out);
        }
    }

    /// Runs the next announced call; whether there was one.
    ///
    /// The answer of a commit waits until backups have acknowledged that they hold the call, and everything before:
    /// this proves that this was the primary after the call had arrived. Any other answer waits until they have
    /// acknowledged that the call has not committed.
    fn run_announced(&mut self, out: &mut Outbox) -> bool {
        let Some(Announced { single, sequence }) = self.announced.pop_front() else { return false };
        let (is_done, answer) = self.store.run_announced(&single, out);
        let (count, refused) = &mut self.ended;
        if !is_done {
            refused.push(*count);
        }
        *count += 1;
        if !is_done || self.announced.is_empty() || *count as usize >= MAX_ANNOUNCED {
            let (count, refused) = std::mem::take(&mut self.ended);
            self.store.end_announced(count, refused, out);
        }
        if is_done {
            self.store.stream.send_when_held(sequence, single.client, answer, out);
        } else {
            self.store.stream.send_when_acked(single.client, answer, out);
        }
        true
    }

    /// Whether calls were announced since the last time, whose entries should leave before the next run.
    pub(crate) fn take_unsent(&mut self) -> bool {
        std::mem::take(&mut self.has_unsent)
    }

    /// Whether announced calls wait.
    pub(crate) fn has_announced(&self) -> bool {
        !self.announced.is_empty()
    }

    /// Sets whether backups receive calls before they are run, and whether two-phase locking is without two-phase
    /// commit.
    pub(crate) fn set_order(&mut self, order: OrderSettings) {
        (self.overlaps, self.store.commits_at_once) = (order.overlap, order.without_commit);
    }

    #[inline]
    fn run(&mut self, client: Address, id: u64, call: Call, out: &mut Outbox) {
        self.scheme.arrives(&mut self.store, Txn::Local(LocalTxn { client, id, call }), out);
    }

    /// Handles a message, or holds it back while the partition drains.
    fn admit(&mut self, from: Address, message: Message, out: &mut Outbox) {
        match &message {
            Message::Fragment(fragment) if self.store.is_over(fragment.txn) => {
                out.send(from, Message::SessionOver(fragment.txn.session().number));
            }
            _ if self.waits_for_rest() && self.begins(&message) => self.held_back.push_back((from, message)),
            _ => {
                self.take(from, message, out);
                self.go_on(out);
            }
        }
    }

    /// Whether this is the first message of a transaction here.
    fn begins(&self, message: &Message) -> bool {
        let Message::Fragment(fragment) = message else { return matches!(message, Message::Call { .. }) };
        self.scheme.multis().iter().all(|multi| multi.txn() != fragment.txn)
    }

    /// Whether the partition drains: no transaction begins before the active ones have ended.
    pub(crate) fn waits_for_rest(&self) -> bool {
        self.next.is_some() || !self.joining.is_empty() || self.base_due
    }

    fn take(&mut self, from: Address, message: Message, out: &mut Outbox) {
        match message {
            Message::Call { id, call } => self.run(from, id, call, out),
            Message::Fragment(fragment) if fragment.coordinator() == from => {
                if fragment.before.is_some_and(|session| self.store.over.contains(&session)) {
                    return self.answer_at_once(*fragment, FragmentEnd::Unclear, out);
                }
                self.store.committed.settle(TxnId { coordinator: from, sequence: fragment.settled });
                self.scheme.arrives(&mut self.store, Txn::Distributed(DistributedTxn::new(*fragment)), out);
            }
            Message::Decide { txn, commit } if self.decides(from, txn) => {
                if txn.coordinator == from {
                    self.store.decisions.add(txn);
                }
                self.order.abort(txn);
                self.held_back.retain(|(_, it)| !matches!(it, Message::Fragment(fragment) if fragment.txn == txn));
                self.scheme.decided(&mut self.store, txn, commit, out);
            }
            Message::Ack { sequence } => self.store.stream.on_ack(from, sequence, out),
            Message::Join { since } => {
                // A joining backup has no rows, whatever it acknowledged before: it is not waited for until it has
                // them.
                self.store.stream.forget(from, out);
                self.joining.retain(|(joining, _)| *joining != from);
                self.joining.push((from, since));
            }
            Message::QueryAcks => {
                let (session, received) = self.store.decisions.from(from);
                self.store.stream.send_when_acked(from, Message::DecisionAcks { session, received }, out);
            }
            Message::Recover(session) => self.recover(from, session, out),
            Message::SessionForgotten(session) => self.store.forget_session(session, out),
            Message::SessionOver(number) if matches!(from, Address::Client(_)) => {
                self.over(Session::new(from, number), out)
            }
            _ => {}
        }
    }

    /// Once no transaction is active: changes the scheme, sends rows to joining backups, and handles the held messages.
    #[inline]
    fn go_on(&mut self, out: &mut Outbox) {
        if self.waits_for_rest() || !self.held_back.is_empty() {
            self.go_on_after_rest(out);
        }
    }

    fn go_on_after_rest(&mut self, out: &mut Outbox) {
        if self.waits_for_rest() {
            if !self.scheme.is_idle() || self.has_announced() {
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
        let base = self.store.base(self.kind);
        for (backup, since) in std::mem::take(&mut self.joining) {
            send_state(self.store.shard(), &base, (backup, since), out);
            self.store.stream.add(backup);
        }
    }

    /// Runs one waiting transaction that can proceed; whether there was one. To be called, when there is no message to
    /// handle, until it returns `false`.
    pub fn proceed(&mut self, out: &mut Outbox) -> bool {
        let proceeded = self.run_announced(out) || self.scheme.proceed(&mut self.store, out);
        self.go_on(out);
        proceeded
    }

    /// Whether no transaction is active or waiting.
    pub fn is_idle(&self) -> bool {
        self.scheme.is_idle() && self.held_back.is_empty() && self.order.is_empty() && !self.has_announced()
    }
}
