//! Admission, and the steps of a transaction: locks, remote reads, the run, two-phase commit.
//!
//! In production's shape a client is a machine of its own at its home's site, so coordination takes no time of a
//! node's thread. A distributed transaction has two rounds and a decision, each of which is a message to every
//! participant: rows are locked and read, the procedure is run with the rows of all, and the run is committed. The
//! client has its answer with the decision. *Low Overhead Concurrency Control*, section 4.3; production's twin is built
//! on its locking.

use super::locks::{LockAnswer, Released};
use super::{
    JobEnd, NewWork, OpenTxn, PartId, PartPhase, PartState, SLOT_BITS, TwinCluster, TwinEvent, TwinJob, TwinMessage,
    TwinNode,
};
use crate::determinism::events::{exponential, uniform};
use crate::determinism::pace::JobCost;
use crate::determinism::settings::{
    Admission, BusyPart, ConflictRule, EvaluationSettings, NodeShape, OfferedLoad, ProcessModel, TwinSettings,
};
use crate::determinism::workload::{MAX_PARTS, TxnKeys};

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
    /// Gives idle workers work: messages, then what goes on, then new work.
    pub(super) fn work_next(&mut self, at: usize) {
        while self.nodes[at].idle_workers > 0 {
            let node = &mut self.nodes[at];
            let next = match self.settings.shape {
                NodeShape::LockThread => {
                    let received = node.messages.pop_front().map(TwinJob::Receive);
                    received.or_else(|| node.resumed.pop_front()).or_else(|| self.admit(at))
                }
                NodeShape::OneThread => node.next_of_one_thread(),
            };
            let Some(job) = next else { return };
            let (cost, end) = self.begin_job(at, job);
            let node = &mut self.nodes[at];
            node.idle_workers -= 1;
            let ns = node.pace.begin(cost, self.events.now(), &mut self.dice);
            self.events.after(ns, TwinEvent::JobEnd { node: at, end });
        }
    }

    /// New work, if a node admits any.
    fn admit(&mut self, at: usize) -> Option<TwinJob> {
        let max_active = match self.kind.process {
            ProcessModel::ActiveTxnMap => self.kind.max_active * self.settings.cores,
            ProcessModel::BlockingThreads(threads) => threads,
        };
        let node = &mut self.nodes[at];
        if node.active >= max_active || node.waiting >= self.kind.max_waiting {
            let passes = self.kind.admission == Admission::PassesParts;
            let is_part = |(_, work): &(u64, NewWork)| matches!(work, NewWork::Part(_));
            let part = node.intake.iter().position(is_part).filter(|_| passes)?;
            let (_, work) = node.intake.remove(part)?;
            return self.begin_work(at, work, 0);
        }
        let (came, work) = self.next_work(at)?;
        self.begin_work(at, work, came)
    }

    /// The first new work that has arrived.
    fn next_work(&mut self, at: usize) -> Option<(u64, NewWork)> {
        let now = self.events.now();
        let node = &mut self.nodes[at];
        let OfferedLoad::PerSecond(rate) = self.settings.offered else { return node.intake.pop_front() };
        let called = (node.taken as f64 * 1e9 / rate) as u64;
        if node.intake.front().is_some_and(|(came, _)| *came <= called) || !self.accepts {
            return node.intake.pop_front();
        }
        if called > now {
            if !std::mem::replace(&mut node.awaits_call, true) {
                self.events.at(called, TwinEvent::Call { node: at });
            }
            return node.intake.pop_front();
        }
        node.taken += 1;
        Some((called, NewWork::Call))
    }

    /// The first job of new work.
    fn begin_work(&mut self, at: usize, work: NewWork, came: u64) -> Option<TwinJob> {
        match work {
            NewWork::Part(id) => Some(TwinJob::Lock(id)),
            NewWork::Victim(id) => Some(self.first_job(at, id)),
            NewWork::Call if !self.accepts => self.admit(at),
            NewWork::Call => {
                let keys = self.settings.workload.draw(at, self.nodes.len(), &mut self.dice);
                let refused = self.nodes[at].lag.refused();
                if self.settings.offered == OfferedLoad::Saturating {
                    self.take_in(at, NewWork::Call);
                } else if keys.parts.len() == 1 && refused > 0.0 && uniform(&mut self.dice) < refused {
                    self.report.refusals += u64::from(self.events.now() >= self.measured.0);
                    return self.admit(at);
                }
                let id = self.open(came, keys);
                Some(self.first_job(at, id))
            }
        }
    }

    pub(super) fn open(&mut self, called_at: u64, keys: TxnKeys) -> PartId {
        self.count.issue();
        let slot = self.free.pop().unwrap_or_else(|| {
            self.txns.push(OpenTxn::default());
            self.txns.len() - 1
        });
        self.txns[slot] = OpenTxn { called_at, keys, ..OpenTxn::default() };
        let id = self.begin_attempt(slot);
        self.txns[slot].age = id.attempt;
        id
    }

    /// A try of a transaction, with all parts as new ones.
    pub(super) fn begin_attempt(&mut self, slot: usize) -> PartId {
        self.attempts += 1;
        let attempt = self.attempts << SLOT_BITS | slot as u64;
        let txn = &mut self.txns[slot];
        let parts = txn.keys.parts.len();
        txn.parts = [PartState::default(); MAX_PARTS];
        (txn.attempt, txn.remaining, txn.unlocked, txn.awaited, txn.is_aborted) = (attempt, parts, parts, 0, false);
        PartId { slot, part: 0, attempt }
    }

    /// The first job of an admitted transaction at its home.
    fn first_job(&mut self, at: usize, id: PartId) -> TwinJob {
        self.activate(at, id);
        let is_first = self.kind.rule != ConflictRule::Sorted || self.next_part(id, None) == Some(0);
        if is_first { TwinJob::Lock(id) } else { TwinJob::Forward(id) }
    }

    fn activate(&mut self, at: usize, id: PartId) {
        let part = &mut self.txns[id.slot].parts[id.part];
        if !std::mem::replace(&mut part.is_active, true) {
            self.nodes[at].active += 1;
        }
    }

    /// With sorted participants: the one that locks after a node, or first.
    fn next_part(&self, id: PartId, after: Option<usize>) -> Option<usize> {
        let parts = self.txns[id.slot].keys.parts.iter().enumerate();
        let later = parts.filter(|(_, part)| after.is_none_or(|after| part.node > after));
        later.min_by_key(|(_, part)| part.node).map(|(nth, _)| nth)
    }

    /// Sends a message to another participant.
    pub(super) fn send_to(&mut self, from: usize, id: PartId, to: usize, message: fn(PartId) -> TwinMessage) {
        let node = self.txns[id.slot].keys.parts[to].node;
        self.send((from, node), message(PartId { part: to, ..id }));
    }

    fn send_to_others(&mut self, from: usize, id: PartId, message: fn(PartId) -> TwinMessage) {
        for other in (0..self.txns[id.slot].keys.parts.len()).filter(|other| *other != id.part) {
            self.send_to(from, id, other, message);
        }
    }

    /// A job begins: its cost, and its end.
    fn begin_job(&mut self, at: usize, job: TwinJob) -> (JobCost, JobEnd) {
        let (message, switch) = (self.settings.times.message_ns, self.switch_ns());
        match job {
            TwinJob::Lock(id) => match self.txn_of(id) {
                Some(_) => self.lock_rows(at, id),
                None => (JobCost::default(), JobEnd::Nothing),
            },
            TwinJob::Forward(id) => {
                if let Some(first) = self.next_part(id, None) {
                    self.send_to(at, id, first, TwinMessage::Begin);
                }
                (JobCost::of(BusyPart::Useful, message), JobEnd::Nothing)
            }
            TwinJob::Run(id) => {
                let rows = self.txns[id.slot].keys.parts[id.part].rows.len() as u64;
                let run = rows * self.settings.times.record_ns / 2 + self.settings.workload.compute_ns;
                let txn = &self.txns[id.slot];
                let messages = match self.kind.two_phase_commit {
                    true if self.is_one_thread() => 1,
                    true if id.part == 0 => txn.keys.parts.len() as u64 - 1,
                    true => u64::from(txn.parts[id.part].is_asked),
                    false => 0,
                };
                let cost = JobCost::of(BusyPart::Useful, run + switch).and(BusyPart::Commit, messages * message);
                (cost, JobEnd::Run(id))
            }
            TwinJob::Receive(received) => self.begin_receive(at, received),
        }
    }

    fn begin_receive(&mut self, at: usize, received: TwinMessage) -> (JobCost, JobEnd) {
        let (message, switch) = (self.settings.times.message_ns, self.switch_ns());
        let commit = |messages: u64| JobCost::of(BusyPart::Commit, messages * message + switch);
        let end = JobEnd::Receive(received);
        match received {
            TwinMessage::Wait { of, at: waits_at, behind } => self.begin_edge(of, waits_at, behind),
            TwinMessage::Begin(_) | TwinMessage::Push(_) => (JobCost::of(BusyPart::Useful, message), end),
            TwinMessage::Abort(_) => (JobCost::of(BusyPart::Deadlocks, message), end),
            TwinMessage::Prepare(id) => {
                let has_run = self.txns[id.slot].parts[id.part].phase == PartPhase::HasRun;
                (commit(1 + u64::from(has_run)), end)
            }
            TwinMessage::Prepared(id) => {
                let txn = &self.txns[id.slot];
                let others = txn.keys.parts.len() as u64 - 1;
                (commit(if txn.awaited == 1 { 1 + others } else { 1 }), end)
            }
            TwinMessage::Commit(id) => {
                debug_assert!(self.txns[id.slot].keys.parts[id.part].node == at);
                (commit(if self.is_one_thread() { 1 } else { 2 }), end)
            }
            TwinMessage::Committed(_) => (commit(1), end),
        }
    }

    /// Locks a part's rows, as far as they are free; with all of them, reads, and on one node runs.
    fn lock_rows(&mut self, at: usize, id: PartId) -> (JobCost, JobEnd) {
        let message = self.settings.times.message_ns;
        let mut cost = JobCost::default();
        if self.txns[id.slot].parts[id.part].phase == PartPhase::New {
            cost = self.begin_part(at, id);
        } else {
            cost = cost.and(BusyPart::Locks, self.switch_ns());
        }
        if std::mem::take(&mut self.txns[id.slot].parts[id.part].has_edge) {
            cost = cost.and(BusyPart::Deadlocks, message);
            self.send((at, 0), TwinMessage::Wait { of: id, at, behind: None });
        }
        let rows = std::mem::take(&mut self.txns[id.slot].keys.parts[id.part].rows);
        let mut locked = self.txns[id.slot].parts[id.part].locked;
        let mut end = JobEnd::HasLocks(id);
        for &row in &rows[locked..] {
            if self.must_die(at, id, row) {
                end = JobEnd::Dies(id);
                break;
            }
            cost = cost.and(BusyPart::Locks, self.settings.times.lock_ns);
            if let LockAnswer::Behind(_) = self.nodes[at].locks.request(row, id.slot) {
                end = JobEnd::Waits(id);
                break;
            }
            locked += 1;
            self.check.begin(at, &[row], (id.attempt, false));
        }
        let (count, parts) = (rows.len() as u64, self.txns[id.slot].keys.parts.len() as u64);
        self.txns[id.slot].keys.parts[id.part].rows = rows;
        let is_dependent = self.txns[id.slot].keys.is_dependent;
        let messages = if self.is_one_thread() { 1 } else { parts - 1 };
        let part = &mut self.txns[id.slot].parts[id.part];
        (part.locked, part.phase) = (locked, PartPhase::Locking);
        let times = &self.settings.times;
        cost = match end {
            JobEnd::Waits(_) => {
                part.phase = PartPhase::Waiting;
                self.nodes[at].waiting += 1;
                cost.and(BusyPart::Deadlocks, times.cycle_ns + message)
            }
            JobEnd::Dies(_) => cost.and(BusyPart::Deadlocks, (parts - 1) * message),
            _ => {
                let lookup = if is_dependent && id.part == 0 { times.lookup_ns } else { 0 };
                let read = match parts {
                    1 => count * times.record_ns + self.settings.workload.compute_ns,
                    _ => count * times.record_ns / 2 + messages * message,
                };
                cost.and(BusyPart::Useful, read + lookup)
            }
        };
        (cost, end)
    }

    /// A part begins; the cost of the messages that say so.
    fn begin_part(&mut self, at: usize, id: PartId) -> JobCost {
        self.activate(at, id);
        let message = self.settings.times.message_ns;
        let others = self.txns[id.slot].keys.parts.len() as u64 - 1;
        if id.part > 0 || self.is_one_thread() && others > 0 {
            return JobCost::of(BusyPart::Useful, message);
        }
        if self.kind.rule == ConflictRule::Sorted || others == 0 {
            return JobCost::default();
        }
        self.send_to_others(at, id, TwinMessage::Begin);
        if self.kind.rule == ConflictRule::DetectWithoutDeadlocks {
            for part in &self.txns[id.slot].keys.parts {
                self.nodes[part.node].locks.request(part.rows[0], id.slot);
            }
        }
        JobCost::of(BusyPart::Useful, others * message)
    }

    pub(super) fn end_job(&mut self, at: usize, end: JobEnd) {
        match end {
            JobEnd::Nothing => {}
            JobEnd::Waits(id) => self.note_wait(at, id),
            JobEnd::Dies(id) => self.abort_here(at, id),
            JobEnd::HasLocks(id) => {
                if self.txn_of(id).is_some() {
                    self.end_locks(at, id);
                }
            }
            JobEnd::Run(id) => self.end_run(at, id),
            JobEnd::Receive(TwinMessage::Abort(id)) => self.end_aborted(at, id),
            JobEnd::Receive(message) => self.end_receive(at, message),
        }
    }

    fn end_locks(&mut self, at: usize, id: PartId) {
        let txn = &mut self.txns[id.slot];
        txn.unlocked -= 1;
        if txn.is_local() {
            return self.end_part(at, id);
        }
        txn.parts[id.part].phase = PartPhase::HasRead;
        if self.is_one_thread() {
            return self.report_round(at, id);
        }
        self.send_to_others(at, id, TwinMessage::Push);
        if self.kind.rule == ConflictRule::Sorted
            && let Some(next) = self.next_part(id, Some(at))
        {
            self.send_to(at, id, next, TwinMessage::Begin);
        }
        self.continue_part(at, id);
    }

    /// Runs a part that has all rows.
    fn continue_part(&mut self, at: usize, id: PartId) {
        let txn = &self.txns[id.slot];
        let part = &txn.parts[id.part];
        if part.phase == PartPhase::HasRead && part.received + 1 == txn.keys.parts.len() {
            self.nodes[at].resumed.push_front(TwinJob::Run(id));
        }
    }

    fn end_run(&mut self, at: usize, id: PartId) {
        if !self.kind.two_phase_commit {
            return self.end_part(at, id);
        }
        self.txns[id.slot].parts[id.part].phase = PartPhase::HasRun;
        if self.is_one_thread() {
            return self.report_round(at, id);
        }
        let txn = &mut self.txns[id.slot];
        if id.part == 0 {
            txn.awaited = txn.keys.parts.len() - 1;
            self.send_to_others(at, id, TwinMessage::Prepare);
        } else if txn.parts[id.part].is_asked {
            self.send_to(at, id, 0, TwinMessage::Prepared);
        }
    }

    fn end_receive(&mut self, at: usize, message: TwinMessage) {
        match message {
            TwinMessage::Push(id) => {
                let is_from_client = self.is_one_thread();
                if let Some(txn) = self.txn_of(id) {
                    txn.parts[id.part].received += if is_from_client { txn.keys.parts.len() - 1 } else { 1 };
                    self.continue_part(at, id);
                }
            }
            TwinMessage::Prepare(id) => {
                let part = &mut self.txns[id.slot].parts[id.part];
                part.is_asked = true;
                if part.phase == PartPhase::HasRun {
                    self.send_to(at, id, 0, TwinMessage::Prepared);
                }
            }
            TwinMessage::Prepared(id) | TwinMessage::Committed(id) => {
                let txn = &mut self.txns[id.slot];
                txn.awaited -= 1;
                if txn.awaited > 0 {
                    return;
                }
                if matches!(message, TwinMessage::Committed(_)) {
                    self.end_part(at, id);
                } else {
                    txn.awaited = txn.keys.parts.len() - 1;
                    self.send_to_others(at, id, TwinMessage::Commit);
                }
            }
            TwinMessage::Commit(id) => {
                if !self.is_one_thread() {
                    self.send_to(at, id, 0, TwinMessage::Committed);
                }
                self.end_part(at, id);
            }
            TwinMessage::Begin(_) | TwinMessage::Abort(_) | TwinMessage::Wait { .. } => {}
        }
    }

    /// A part has ended: its locks are released, and perhaps its transaction has ended.
    fn end_part(&mut self, at: usize, id: PartId) {
        let rows = self.txns[id.slot].keys.parts[id.part].rows.clone();
        self.check.end(at, &rows, id.attempt);
        self.release(at, id, &rows);
        if self.txns[id.slot].remaining > 0 {
            return;
        }
        if !self.is_one_thread() || self.txns[id.slot].is_local() || !self.kind.two_phase_commit {
            self.answer(id.slot);
        }
        self.txns[id.slot].attempt = 0;
        self.count.end();
        self.free.push(id.slot);
    }

    /// Releases locks and requests of a part, which ends.
    pub(super) fn release(&mut self, at: usize, id: PartId, rows: &[u32]) {
        let part = &mut self.txns[id.slot].parts[id.part];
        if std::mem::take(&mut part.is_active) {
            self.nodes[at].active -= 1;
        }
        if part.phase == PartPhase::Waiting {
            self.nodes[at].waiting -= 1;
        }
        part.phase = PartPhase::Ended;
        self.txns[id.slot].remaining -= 1;
        for &row in rows {
            match self.nodes[at].locks.release(row, id.slot) {
                Released::Granted(waiter) => self.grant(at, waiter),
                Released::Moved { waiter, behind } => self.move_edge(at, waiter, behind),
                Released::Unchanged => {}
            }
        }
    }

    /// A waiting part gets its lock, and goes on.
    fn grant(&mut self, at: usize, slot: usize) {
        let id = self.id_at(at, slot);
        let txn = &mut self.txns[slot];
        // An oracle's request may be granted before its part has begun.
        if txn.parts[id.part].phase == PartPhase::Waiting {
            txn.parts[id.part].phase = PartPhase::Locking;
            let node = &mut self.nodes[at];
            node.waiting -= 1;
            node.graph.set(id.attempt, at, &[]);
            node.resumed.push_back(TwinJob::Lock(id));
        }
    }

    /// The part of a transaction at a node.
    pub(super) fn id_at(&self, at: usize, slot: usize) -> PartId {
        let txn = &self.txns[slot];
        let part = txn.keys.parts.iter().position(|part| part.node == at).expect("it has a lock there");
        PartId { slot, part, attempt: txn.attempt }
    }

    // Clients, and the coordination of their transactions, in production's shape.

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
