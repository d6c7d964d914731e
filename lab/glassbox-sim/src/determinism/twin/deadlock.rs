//! Deadlocks: waits-for edges, victims, restarts; and the rules that avoid waiting instead.

use super::locks::LockAnswer;
use super::{JobEnd, NewWork, PartId, PartPhase, SLOT_BITS, TwinCluster, TwinEvent, TwinMessage};
use crate::determinism::pace::JobCost;
use crate::determinism::settings::{BusyPart, ConflictRule, NodeShape};

impl TwinCluster<'_> {
    fn detects(&self) -> bool {
        matches!(self.kind.rule, ConflictRule::Detect | ConflictRule::DetectWithoutDeadlocks)
    }

    /// Whether a part is restarted rather than requesting a lock.
    pub(super) fn must_die(&self, at: usize, id: PartId, row: u32) -> bool {
        let holder = || self.nodes[at].locks.last(row, id.slot);
        match self.kind.rule {
            ConflictRule::NoWait => holder().is_some(),
            // A queue's transactions are ever older, so the last one is the oldest.
            ConflictRule::WaitDie => holder().is_some_and(|last| self.txns[last].age < self.txns[id.slot].age),
            ConflictRule::Detect | ConflictRule::DetectWithoutDeadlocks | ConflictRule::Sorted => false,
        }
    }

    /// A part waits, unless it got the lock meanwhile: a local deadlock is looked for, and machine 0 is told.
    pub(super) fn note_wait(&mut self, at: usize, id: PartId) {
        if !self.detects() || self.txn_of(id).is_none_or(|txn| txn.parts[id.part].phase != PartPhase::Waiting) {
            return;
        }
        let txn = &self.txns[id.slot];
        let row = txn.keys.parts[id.part].rows[txn.parts[id.part].locked];
        // The transaction in front may be another one by now.
        let LockAnswer::Behind(slot) = self.nodes[at].locks.request(row, id.slot) else { return };
        let behind = self.txns[slot].attempt;
        let graph = &mut self.nodes[at].graph;
        graph.set(id.attempt, at, &[behind]);
        if graph.deadlock(id.attempt).is_some() {
            return self.abort_here(at, id);
        }
        self.txns[id.slot].parts[id.part].has_edge = true;
        self.send((at, 0), TwinMessage::Wait { of: id, at, behind: Some(behind) });
    }

    /// A waiting part is behind another transaction than before.
    pub(super) fn move_edge(&mut self, at: usize, waiter: usize, behind: usize) {
        if !self.detects() {
            return;
        }
        let (id, behind) = (self.id_at(at, waiter), self.txns[behind].attempt);
        let part = self.txns[waiter].parts[id.part];
        if part.phase == PartPhase::Waiting && part.has_edge {
            self.nodes[at].graph.set(id.attempt, at, &[behind]);
            self.send((at, 0), TwinMessage::Wait { of: id, at, behind: Some(behind) });
        }
    }

    /// Machine 0 changes its graph, and searches it.
    pub(super) fn begin_edge(&mut self, of: PartId, at: usize, behind: Option<u64>) -> (JobCost, JobEnd) {
        let times = &self.settings.times;
        let (message_ns, cost) = (times.message_ns, JobCost::of(BusyPart::Deadlocks, times.edge_ns));
        let behind = behind.filter(|_| self.txn_of(of).is_some());
        self.graph.set(of.attempt, at, behind.as_slice());
        if behind.is_none() {
            return (cost, JobEnd::Nothing);
        }
        let mut messages = 0;
        // One edge may close several cycles.
        while let Some(youngest) = self.graph.deadlock(of.attempt).and_then(|cycle| cycle.into_iter().max()) {
            let victim = PartId { slot: (youngest & ((1 << SLOT_BITS) - 1)) as usize, part: 0, attempt: youngest };
            self.graph.remove(youngest);
            // A graph of messages may be late: a transaction with all locks is in no deadlock.
            if let Some(txn) = self.txn_of(victim).filter(|txn| txn.unlocked > 0) {
                txn.is_aborted = true;
                messages += txn.keys.parts.len() as u64;
                self.abort_parts(0, victim);
            }
        }
        (cost.and(BusyPart::Deadlocks, messages * message_ns), JobEnd::Nothing)
    }

    /// Sends all participants of a victim the abort.
    fn abort_parts(&mut self, at: usize, victim: PartId) {
        for part in 0..self.txns[victim.slot].keys.parts.len() {
            let node = self.txns[victim.slot].keys.parts[part].node;
            self.send((at, node), TwinMessage::Abort(PartId { part, ..victim }));
        }
    }

    /// A participant aborts a transaction that cannot go on.
    pub(super) fn abort_here(&mut self, at: usize, id: PartId) {
        let Some(txn) = self.txn_of(id) else { return };
        txn.is_aborted = true;
        for other in (0..self.txns[id.slot].keys.parts.len()).filter(|other| *other != id.part) {
            let node = self.txns[id.slot].keys.parts[other].node;
            self.send((at, node), TwinMessage::Abort(PartId { part: other, ..id }));
        }
        self.end_aborted(at, id);
    }

    /// A part of an aborted transaction ends; after the last one the transaction is submitted again.
    pub(super) fn end_aborted(&mut self, at: usize, id: PartId) {
        let txn = &self.txns[id.slot];
        debug_assert!(txn.is_aborted && txn.attempt == id.attempt, "its try lasts until all parts have ended");
        let rows = txn.keys.parts[id.part].rows.clone();
        let locked = txn.parts[id.part].locked;
        self.check.abort(at, &rows[..locked], id.attempt);
        self.nodes[at].graph.remove(id.attempt);
        self.release(at, id, &rows);
        if self.txns[id.slot].remaining > 0 {
            return;
        }
        let now = self.events.now();
        self.report.victims += u64::from((self.measured.0..self.measured.1).contains(&now));
        self.graph.remove(id.attempt);
        let times = &self.settings.times;
        let wait = if self.detects() { times.resubmission_ns } else { times.retry_ns };
        self.events.after(wait, TwinEvent::Resubmit { slot: id.slot });
    }

    /// A victim is new work of its home again.
    pub(super) fn resubmit(&mut self, slot: usize) {
        let id = self.begin_attempt(slot);
        if self.settings.shape == NodeShape::OneThread {
            return self.submit(id);
        }
        let home = self.txns[slot].keys.parts[0].node;
        self.take_in(home, NewWork::Victim(id));
        self.work_next(home);
    }

    /// Work that was not begun arrives at its node.
    pub(super) fn take_in(&mut self, at: usize, work: NewWork) {
        let now = self.events.now();
        if let NewWork::Part(id) = work {
            self.nodes[at].lag.add(now, id.slot, id.attempt);
        }
        self.nodes[at].intake.push_back((now, work));
    }
}
