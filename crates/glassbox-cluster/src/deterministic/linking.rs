//! Participants that are gone or late: an executor exchanges with those of another replica set too.

use crate::deterministic::executor::Executor;
use crate::deterministic::peers::Oldest;
use crate::protocol::address::Address;
use crate::protocol::message::{Message, StopReason};
use crate::protocol::outbox::Outbox;

/// Repeats (5 s by default) after which the own set's participant is not waited for any more.
const MAX_PATIENT_REPEATS: u32 = 8;
/// Bytes of exchanges that are sent again at once.
const AGAIN_BYTES: usize = 1 << 20;
/// The pause before linked replicas are asked again is doubled this many times.
const MAX_REPEATS: u32 = 10;

impl Executor {
    /// Keeps what others may need, as with a journal, and has its bases in its memory.
    pub(crate) fn keep_in_memory(&mut self) {
        (self.bases.has_journal, self.bases.in_memory) = (true, true);
    }

    /// When it has to be called again, in microseconds.
    pub(crate) fn next_tick_us(&self) -> Option<u64> {
        if self.broken.is_some() {
            return None;
        }
        let halt = self.halt.as_ref().map(|halt| halt.next_tick_us());
        self.bases.next_copy_us().into_iter().chain(self.next_look_us()).chain(halt).min()
    }

    /// When it looks whether the oldest transaction waits for long, in microseconds.
    fn next_look_us(&self) -> Option<u64> {
        let is_watched = !self.active.is_empty() && self.peers.has_others();
        is_watched.then(|| self.oldest.map_or(0, |oldest| oldest.late_at_us))
    }

    /// Sends rows that are due, and looks whether the oldest transaction waits for long.
    pub(crate) fn tick(&mut self, now_us: u64, out: &mut Outbox) {
        if self.broken.is_some() {
            return;
        }
        if let Some(why) = self.halt.as_mut().and_then(|halt| halt.overdue(now_us)) {
            self.broken = Some(why);
            return;
        }
        if self.bases.copy_on(&mut self.shard, &self.order, now_us, out) {
            self.go_on(out);
        }
        if self.next_look_us().is_some_and(|at_us| now_us >= at_us) {
            self.look(now_us, out);
        }
    }

    /// Looks whether the oldest transaction waits for long.
    fn look(&mut self, now_us: u64, out: &mut Outbox) {
        let Some((&place, txn)) = self.active.first_key_value() else { return };
        let late_us = u64::from(self.order.late_us);
        let Some(before) = self.oldest.filter(|oldest| oldest.place == place) else {
            self.oldest = Some(Oldest { place, repeats: 0, late_at_us: now_us + late_us });
            return;
        };
        let mut repeats = before.repeats;
        for partition in txn.awaits(self.index().into()).iter() {
            match self.peers.next_of(partition as u8) {
                Some(other) => self.link(other, out),
                // One that was joining when it was asked has not heard it. Each answer is long, so it has time.
                None => {
                    repeats = (before.repeats + 1).min(MAX_REPEATS);
                    let (executed, own) = (self.executed(), self.peers.own(partition as u8));
                    let linked = self.peers.of(partition as u8).filter(|it| Some(*it) != own);
                    linked.for_each(|it| out.send(it, Message::ResumeAfter(executed)));
                }
            }
        }
        self.oldest = Some(Oldest { place, repeats, late_at_us: now_us + (late_us << repeats) });
    }

    /// Exchanges with a replica of another set.
    fn link(&mut self, other: Address, out: &mut Outbox) {
        if self.peers.link(other) {
            let executed = self.executed();
            out.send(other, Message::ResumeAfter(executed));
        }
    }

    /// All inputs up to this epoch have ended.
    pub(crate) fn executed(&self) -> u64 {
        self.epochs.first_key_value().map_or(self.epoch, |(epoch, _)| epoch - 1)
    }

    /// Another partition's replica asks for the exchanges about inputs after an epoch: it was restarted, or those of
    /// its own set are gone or late.
    pub(super) fn send_again(&mut self, from: Address, after: u64, out: &mut Outbox) {
        let Some(to) = from.partition() else { return };
        let is_own = self.peers.own(to) == Some(from);
        if !is_own {
            self.link(from, out);
        }
        if !self.peers.keeps_after(to, after) {
            let why = Box::new(StopReason::Forgotten { after });
            return out.send(from, Message::Stop { why, joins: true });
        }
        let (mut inputs, mut bytes, mut last) = (0, 0, after);
        let most_inputs = self.order.again_at_once(false);
        for (input, sent) in self.peers.kept_after(to, after) {
            if input.epoch > last && (inputs >= most_inputs || bytes >= AGAIN_BYTES) {
                return out.send(from, Message::SentUpTo(last));
            }
            for exchange in sent {
                bytes += exchange.bytes();
                out.send(from, Message::Exchange(Box::new(exchange.clone())));
            }
            (inputs, last) = (inputs + 1, input.epoch);
        }
        // It has everything, so the others need not send it.
        for other in if is_own { self.peers.end_links(to) } else { Vec::new() } {
            out.send(other, Message::Unlink);
        }
    }

    /// Whether it exchanges with this replica.
    pub(crate) fn exchanges_with(&self, other: Address) -> bool {
        let partition = other.partition().filter(|partition| *partition != self.index());
        partition.is_some_and(|partition| self.peers.of(partition).any(|it| it == other))
    }

    /// Asks others for more of what they have sent, once it has executed what it has of it.
    pub(super) fn ask_for_more(&mut self, out: &mut Outbox) {
        let executed = self.executed();
        for other in self.peers.take_unsent(executed) {
            out.send(other, Message::ResumeAfter(executed));
        }
    }

    /// Whether it stops when this party says so: the participant of the own replica set may have what one of another
    /// set does not keep any more, unless it is silent for long.
    pub(crate) fn obeys(&self, from: Address, why: &StopReason) -> bool {
        if matches!(why, StopReason::Forgotten { after } if *after < self.executed()) {
            // Others sent it meanwhile.
            return false;
        }
        let is_silent = self.oldest.is_some_and(|oldest| oldest.repeats >= MAX_PATIENT_REPEATS);
        let is_own = |partition| self.peers.own(partition).is_none_or(|own| own == from);
        from.partition().is_none_or(|partition| is_own(partition) || is_silent)
    }
}
