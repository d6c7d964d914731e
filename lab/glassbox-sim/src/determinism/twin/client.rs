//! Clients: their next calls; and the coordination of their transactions, in production's shape.
//!
//! A client is a machine of its own at its home's site, so coordination takes no time of a node's thread. A distributed
//! transaction has two rounds and a decision, each of which is a message to every participant: rows are locked and
//! read, the procedure is run with the rows of all, and the run is committed. The client has its answer with the
//! decision. *Low Overhead Concurrency Control*, section 4.3; production's twin is built on its locking.

use super::{NewWork, PartId, PartPhase, TwinCluster, TwinEvent, TwinJob, TwinMessage, TwinNode};
use crate::determinism::events::exponential;
use crate::determinism::settings::{ConflictRule, EvaluationSettings, NodeShape, OfferedLoad, TwinSettings};

impl TwinNode {
    /// The next work in production's order: messages as they have arrived, then transactions whose locks were granted.
    pub(super) fn next_of_one_thread(&mut self) -> Option<TwinJob> {
        // Received with its rows.
        if matches!(self.resumed.front(), Some(TwinJob::Run(_))) {
            return self.resumed.pop_front();
        }
        match self.messages.pop_front() {
            Some(TwinMessage::Begin(part)) => Some(TwinJob::Lock(part)),
            Some(message) => Some(TwinJob::Receive(message)),
            None => self.resumed.pop_front(),
        }
    }
}

impl TwinCluster<'_> {
    /// Asserts that production's shape has such a twin.
    pub(super) fn assert_possible(settings: &EvaluationSettings, kind: &TwinSettings) {
        let has_rule = !matches!(kind.rule, ConflictRule::DetectWithoutDeadlocks | ConflictRule::Sorted);
        assert!(has_rule, "clients that coordinate lock at all participants at once: {:?} is impossible", kind.rule);
        let has_clients = matches!(settings.offered, OfferedLoad::Clients { .. });
        assert!(has_clients, "clients coordinate: offer the load of clients, and not {:?}", settings.offered);
    }

    /// A client of a home calls.
    pub(super) fn call_again(&mut self, home: usize) {
        if self.settings.shape == NodeShape::LockThread {
            self.take_in(home, NewWork::Call);
            self.work_next(home);
        } else if self.accepts {
            let keys = self.settings.workload.draw(home, self.nodes.len(), &mut self.dice);
            let id = self.open(self.events.now(), keys);
            self.submit(id);
        }
    }

    /// A client sends all participants their first fragments.
    pub(super) fn submit(&mut self, id: PartId) {
        self.send_to_all(id, TwinMessage::Begin);
    }

    fn send_to_all(&mut self, id: PartId, message: fn(PartId) -> TwinMessage) {
        let home = self.txns[id.slot].keys.parts[0].node;
        for part in 0..self.txns[id.slot].keys.parts.len() {
            self.send_to(home, id, part, message);
        }
    }

    /// A participant sends the client the end of a round.
    pub(super) fn report_round(&mut self, at: usize, id: PartId) {
        let home = self.txns[id.slot].keys.parts[0].node;
        let arrival = self.links.arrival((at, home), self.events.now(), &mut self.dice);
        self.events.at(arrival, TwinEvent::Report { of: id });
    }

    /// The client begins the next round after the last report, or decides.
    pub(super) fn end_report(&mut self, id: PartId) {
        let Some(txn) = self.txn_of(id) else { return };
        txn.awaited += 1;
        if txn.awaited < txn.keys.parts.len() {
            return;
        }
        txn.awaited = 0;
        if txn.parts[id.part].phase == PartPhase::HasRun {
            self.answer(id.slot);
            self.send_to_all(id, TwinMessage::Commit);
        } else {
            self.send_to_all(id, TwinMessage::Push);
        }
    }

    /// A transaction is answered, and its client calls again.
    pub(super) fn answer(&mut self, slot: usize) {
        let now = self.events.now();
        let is_measured = (self.measured.0..self.measured.1).contains(&now);
        let txn = &self.txns[slot];
        let home = txn.keys.parts[0].node;
        self.report.finish(home, txn.class(), (now, now - txn.called_at), is_measured);
        if let OfferedLoad::Clients { pause_ns, .. } = self.settings.offered {
            let pause = if pause_ns == 0 { 0.0 } else { pause_ns as f64 * exponential(&mut self.dice) };
            self.events.after(pause as u64, TwinEvent::CallAgain { home });
        }
    }
}
