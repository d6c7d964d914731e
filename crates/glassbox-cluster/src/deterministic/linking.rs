//! Participants that are gone or late: an executor exchanges with those of another replica set too.

use crate::deterministic::executor::Executor;
use crate::deterministic::peers::Oldest;
use crate::protocol::address::Address;
use crate::protocol::message::Message;
use crate::protocol::outbox::Outbox;

/// The pause before linked replicas are asked again is doubled this many times.
const MAX_REPEATS: u32 = 10;

impl Executor {
    /// When it has to be called again, in microseconds.
    pub(crate) fn next_tick_us(&self) -> Option<u64> {
        let is_watched = !self.active.is_empty() && self.peers.has_others() && self.broken.is_none();
        is_watched.then(|| self.oldest.map_or(0, |oldest| oldest.late_at_us))
    }

    /// Looks whether the oldest transaction waits for long.
    pub(crate) fn tick(&mut self, now_us: u64, out: &mut Outbox) {
        if self.next_tick_us().is_none_or(|at_us| now_us < at_us) {
            return;
        }
        let Some((&place, txn)) = self.active.first_key_value() else { return };
        let late_us = u64::from(self.late_us);
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
        if self.peers.own(to) == Some(from) {
            for other in self.peers.end_links(to) {
                out.send(other, Message::Unlink);
            }
        } else {
            self.link(from, out);
        }
        for exchange in self.peers.kept_after(to, after) {
            out.send(from, Message::Exchange(Box::new(exchange.clone())));
        }
    }
}
