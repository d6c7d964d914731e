//! Periodic events, which are scheduled as long as a client waits.

use glassbox_cluster::{Address, Outbox};

use super::workload::Workload;
use super::world::{Event, World};

impl<W: Workload> World<W> {
    /// Clients restart transactions that exceed their timeout: they may be in a distributed deadlock.
    pub(super) fn lose_patience(&mut self) {
        for number in 0..self.settings.clients {
            let (mut out, now_ns, patience_us) = (Outbox::default(), self.now_ns, self.settings.patience_us);
            self.client(number).restart_timed_out(patience_us, now_ns, &mut out);
            self.carry_out(Address::Client(number), now_ns, out);
        }
        self.schedule_while_waiting(self.settings.patience_us / 4, Event::LosePatience);
    }

    /// When everything has ended nothing is scheduled, so that the world comes to rest.
    pub(super) fn schedule_while_waiting(&mut self, in_us: u64, event: Event) {
        if in_us > 0 && (0..self.settings.clients).any(|number| self.client(number).is_waiting()) {
            self.schedule(self.now_ns + in_us * 1_000, event);
        }
    }
}
