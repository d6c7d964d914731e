//! A deterministic node: the lock thread and the workers, or one thread that does the work of both.

use std::collections::VecDeque;

use glassbox::procedure::Declared;
use glassbox::research::shard::{DeclaredKeys, KeyRequest, Touch, WatchedKey};
use glassbox_cluster::{LogPlace, Scheduler, SchedulerKind, new_scheduler};

use super::{Cluster, OpenInput, OrderedEvent, SLOT_BITS};
use crate::determinism::events::uniform;
use crate::determinism::pace::{JobCost, NodeLag, NodePace, paces};
use crate::determinism::settings::{BusyPart, DeterministicSettings, EvaluationSettings, NodeShape};

/// The table of all rows, for the scheduler.
const SPACE: u32 = 1;

/// Work of the lock thread.
#[derive(Debug, Clone, Copy)]
pub(super) enum LockWork {
    /// Requests all locks of a part of an input.
    Request { slot: usize, part: usize },
    /// Releases those of an input that has ended.
    Release { place: LogPlace },
}

/// Work of a worker.
#[derive(Debug, Clone, Copy)]
pub(super) enum WorkerJob {
    /// Begins a reconnaissance at its home.
    LookUp { slot: usize },
    /// Reads the index at another node.
    RemoteLookUp { slot: usize },
    /// Receives the keys that were found there.
    LookedUp { slot: usize },
    /// Receives a remote read.
    Receive { slot: usize, part: usize, order: u64 },
    /// Reads and pushes; runs, if the input is on one node.
    Start { slot: usize, part: usize },
    /// Runs, with all remote reads.
    Finish { slot: usize, part: usize },
}

/// A node.
pub(super) struct OrderedNode {
    pub pace: NodePace,
    scheduler: Box<dyn Scheduler>,
    /// Ordered parts without locks.
    pub backlog: VecDeque<(usize, usize)>,
    releases: VecDeque<(LogPlace, usize)>,
    is_locking: bool,
    in_flight: usize,
    /// Inputs with all remote reads, the last one first; messages; reconnaissance; then ready inputs, which the
    /// scheduler has. One thread ends ready inputs before it receives a message.
    complete: Vec<WorkerJob>,
    pub messages: VecDeque<WorkerJob>,
    pub others: VecDeque<WorkerJob>,
    idle_workers: usize,
    /// Inputs with known keys, for the next epoch.
    pub found: Vec<usize>,
    pub outstanding: usize,
    /// Calls that have arrived, in part.
    pub arrived: f64,
    pub lag: NodeLag,
}

impl OrderedNode {
    /// All nodes of a cluster.
    pub fn all(settings: &EvaluationSettings, kind: &DeterministicSettings) -> Vec<Self> {
        let of = |pace| Self {
            pace,
            scheduler: new_scheduler(kind.scheduler),
            backlog: VecDeque::new(),
            releases: VecDeque::new(),
            is_locking: false,
            in_flight: 0,
            complete: Vec::new(),
            messages: VecDeque::new(),
            others: VecDeque::new(),
            idle_workers: match settings.shape {
                NodeShape::LockThread => settings.cores - 1,
                NodeShape::OneThread => 1,
            },
            found: Vec::new(),
            outstanding: 0,
            arrived: 0.0,
            lag: NodeLag::default(),
        };
        paces(settings).into_iter().map(of).collect()
    }

    /// The next message, or reconnaissance.
    fn next_received(&mut self) -> Option<WorkerJob> {
        self.messages.pop_front().or_else(|| self.others.pop_front())
    }
}

/// Lock requests of these rows, or of their table.
fn declared(rows: &[u32], is_whole: bool) -> DeclaredKeys {
    if is_whole {
        let all = KeyRequest { space: SPACE, low: WatchedKey::Short(0), high: WatchedKey::End, touch: Touch::Write };
        return DeclaredKeys::new(vec![all], Declared::Complete);
    }
    let request = |row: &u32| {
        let key = WatchedKey::Short(u128::from(*row));
        KeyRequest { space: SPACE, low: key.clone(), high: key, touch: Touch::Write }
    };
    DeclaredKeys::new(rows.iter().map(request).collect(), Declared::Complete)
}

impl Cluster<'_> {
    /// Gives idle threads work.
    pub(super) fn go_on(&mut self, at: usize) {
        match self.settings.shape {
            NodeShape::LockThread => {
                self.work_next(at);
                self.lock_next(at);
            }
            NodeShape::OneThread => self.step(at),
        }
    }

    /// Gives the lock thread its next work, unless it has some.
    fn lock_next(&mut self, at: usize) {
        if !self.nodes[at].is_locking
            && let Some(work) = self.next_release(at).or_else(|| self.next_request(at))
        {
            self.begin_lock(at, work);
        }
    }

    /// Gives idle workers work: messages first.
    fn work_next(&mut self, at: usize) {
        while self.nodes[at].idle_workers > 0 {
            let node = &mut self.nodes[at];
            let next = node.complete.pop().or_else(|| node.next_received());
            let Some(job) = next.or_else(|| self.next_ready(at)) else { return };
            self.begin_work(at, job);
        }
    }

    /// Gives an only thread its next work, in production's order: inputs that can end, then requests, then a message.
    fn step(&mut self, at: usize) {
        if self.nodes[at].idle_workers == 0 {
            return;
        }
        if let Some(work) = self.next_release(at) {
            self.begin_lock(at, work);
        } else if let Some(job) = self.nodes[at].complete.pop().or_else(|| self.next_ready(at)) {
            self.begin_work(at, job);
        } else if let Some(work) = self.next_request(at) {
            self.begin_lock(at, work);
        } else if let Some(job) = self.nodes[at].next_received() {
            self.begin_work(at, job);
        }
    }

    fn next_release(&mut self, at: usize) -> Option<(LockWork, usize)> {
        self.nodes[at].releases.pop_front().map(|(place, rows)| (LockWork::Release { place }, rows))
    }

    /// The request of the next input's locks, unless too many inputs have theirs.
    fn next_request(&mut self, at: usize) -> Option<(LockWork, usize)> {
        let node = &mut self.nodes[at];
        if node.in_flight >= self.kind.max_in_flight {
            return None;
        }
        let next = if self.kind.is_canary { node.backlog.pop_back() } else { node.backlog.pop_front() };
        let (slot, part) = next?;
        Some((LockWork::Request { slot, part }, self.inputs[slot].keys.parts[part].rows.len()))
    }

    fn begin_lock(&mut self, at: usize, (work, rows): (LockWork, usize)) {
        let times = &self.settings.times;
        let lock_ns = if self.kind.scheduler == SchedulerKind::Vll { times.lock_vll_ns } else { times.lock_ns };
        let cost = JobCost::of(BusyPart::Locks, rows as u64 * lock_ns / 2);
        let node = &mut self.nodes[at];
        match self.settings.shape {
            NodeShape::LockThread => node.is_locking = true,
            NodeShape::OneThread => node.idle_workers -= 1,
        }
        let ns = node.pace.begin(cost, self.events.now(), &mut self.dice);
        self.events.after(ns, OrderedEvent::LockEnd { node: at, work });
    }

    pub(super) fn end_lock(&mut self, at: usize, work: LockWork) {
        let node = &mut self.nodes[at];
        match self.settings.shape {
            NodeShape::LockThread => node.is_locking = false,
            NodeShape::OneThread => node.idle_workers += 1,
        }
        match work {
            LockWork::Request { slot, part } => {
                let input = &self.inputs[slot];
                node.scheduler.request(input.place(slot), &declared(&input.keys.parts[part].rows, input.locks_tables));
                node.in_flight += 1;
            }
            LockWork::Release { place } => {
                node.scheduler.release(place);
                node.in_flight -= 1;
            }
        }
        self.go_on(at);
    }

    fn begin_work(&mut self, at: usize, job: WorkerJob) {
        let cost = self.begin_job(at, job);
        let node = &mut self.nodes[at];
        node.idle_workers -= 1;
        let ns = node.pace.begin(cost, self.events.now(), &mut self.dice);
        self.events.after(ns, OrderedEvent::WorkerEnd { node: at, job });
    }

    /// The next input that the scheduler lets run.
    fn next_ready(&mut self, at: usize) -> Option<WorkerJob> {
        let place = self.nodes[at].scheduler.next_ready()?;
        let slot = (place & ((1 << SLOT_BITS) - 1)) as usize;
        let part = self.inputs[slot].keys.parts.iter().position(|part| part.node == at).expect("it is a participant");
        Some(WorkerJob::Start { slot, part })
    }

    /// A job begins; its cost.
    fn begin_job(&mut self, at: usize, job: WorkerJob) -> JobCost {
        let times = &self.settings.times;
        let (message, lookup) = (times.message_ns, times.lookup_ns);
        let ns = match job {
            WorkerJob::LookUp { slot } => {
                let input = &self.inputs[slot];
                let before = self.settings.workload.before_lookup * self.run_ns(input) as f64;
                before as u64 + if input.index_part() == 0 { lookup } else { message }
            }
            WorkerJob::RemoteLookUp { .. } => 2 * message + lookup,
            WorkerJob::LookedUp { .. } | WorkerJob::Receive { .. } => message,
            WorkerJob::Start { slot, part } => self.begin_part(at, slot, part),
            WorkerJob::Finish { slot, part } => {
                let input = &self.inputs[slot];
                let rows = input.keys.parts[part].rows.len() as u64;
                rows * times.record_ns / 2 + self.compute_ns(input, part)
            }
        };
        JobCost::of(BusyPart::Useful, ns)
    }

    /// An input has its locks: its index entry is compared, and reading begins; the cost.
    fn begin_part(&mut self, at: usize, slot: usize, part: usize) -> u64 {
        let (now, times) = (self.events.now(), &self.settings.times);
        let input = &mut self.inputs[slot];
        input.parts[part].has_started = true;
        let rows = &input.keys.parts[part].rows;
        self.check.begin(at, rows, (input.order, true));
        let others = input.keys.parts.len() as u64 - 1;
        let mut ns = 0;
        if input.keys.is_dependent && part == input.index_part() {
            ns += times.lookup_ns;
            let exposed = now - input.found_at;
            self.report.exposed_ns += if now >= self.measured.0 { exposed } else { 0 };
            let kept = (-self.settings.workload.volatility * exposed as f64 / 1e9).exp();
            input.is_outdated = uniform(&mut self.dice) >= kept && !input.locks_tables;
        }
        let reads = rows.len() as u64 * times.record_ns;
        let input = &self.inputs[slot];
        match others {
            0 if input.is_outdated => ns,
            0 => ns + reads + self.compute_ns(input, part),
            _ => ns + reads / 2 + others * times.message_ns,
        }
    }

    /// The work of a whole transaction on one node.
    fn run_ns(&self, input: &OpenInput) -> u64 {
        let rows: usize = input.keys.parts.iter().map(|part| part.rows.len()).sum();
        rows as u64 * self.settings.times.record_ns + self.settings.workload.compute_ns
    }

    fn compute_ns(&self, input: &OpenInput, part: usize) -> u64 {
        let compute = self.settings.workload.compute_ns;
        if !self.kind.own_part {
            return compute;
        }
        let rows: usize = input.keys.parts.iter().map(|part| part.rows.len()).sum();
        compute * input.keys.parts[part].rows.len() as u64 / rows as u64
    }

    pub(super) fn end_job(&mut self, at: usize, job: WorkerJob) {
        self.nodes[at].idle_workers += 1;
        match job {
            WorkerJob::LookUp { slot } => {
                let input = &mut self.inputs[slot];
                let index = input.index_part();
                if index == 0 {
                    input.found_at = self.events.now();
                    self.nodes[at].found.push(slot);
                } else {
                    let to = input.keys.parts[index].node;
                    self.send((at, to), WorkerJob::RemoteLookUp { slot });
                }
            }
            WorkerJob::RemoteLookUp { slot } => {
                self.inputs[slot].found_at = self.events.now();
                let home = self.inputs[slot].home();
                self.send((at, home), WorkerJob::LookedUp { slot });
            }
            WorkerJob::LookedUp { slot } => self.nodes[at].found.push(slot),
            WorkerJob::Receive { slot, part, order } => {
                debug_assert_eq!(self.inputs[slot].order, order, "a participant waits for all remote reads");
                self.inputs[slot].parts[part].received += 1;
                self.continue_part(at, slot, part);
            }
            WorkerJob::Start { slot, part } => self.end_start(at, slot, part),
            WorkerJob::Finish { slot, part } => self.end_part(at, slot, part),
        }
        self.go_on(at);
    }

    fn send(&mut self, (from, to): (usize, usize), job: WorkerJob) {
        let at = self.links.arrival((from, to), self.events.now(), &mut self.dice);
        self.events.at(at, OrderedEvent::Arrive { node: to, job });
    }

    /// A participant has read: it pushes its rows to the others.
    fn end_start(&mut self, at: usize, slot: usize, part: usize) {
        let input = &mut self.inputs[slot];
        let (parts, order) = (input.keys.parts.len(), input.order);
        if parts == 1 {
            return self.end_part(at, slot, part);
        }
        input.parts[part].has_read = true;
        for other in (0..parts).filter(|other| *other != part) {
            let to = self.inputs[slot].keys.parts[other].node;
            self.send((at, to), WorkerJob::Receive { slot, part: other, order });
        }
        self.continue_part(at, slot, part);
    }

    /// Runs a part that has all rows; drops it, if the index has changed.
    fn continue_part(&mut self, at: usize, slot: usize, part: usize) {
        let input = &self.inputs[slot];
        let run = input.parts[part];
        if run.has_read && run.received + 1 == input.keys.parts.len() {
            if input.is_outdated {
                self.end_part(at, slot, part);
            } else {
                self.nodes[at].complete.push(WorkerJob::Finish { slot, part });
            }
        }
    }

    /// A part has ended at its participant: its locks are to be released.
    fn end_part(&mut self, at: usize, slot: usize, part: usize) {
        let input = &mut self.inputs[slot];
        let rows = &input.keys.parts[part].rows;
        self.check.end(at, rows, input.order);
        self.nodes[at].releases.push_back((input.place(slot), rows.len()));
        input.remaining -= 1;
        if input.remaining == 0 {
            self.end_input(slot);
        }
        if self.settings.shape == NodeShape::LockThread {
            self.lock_next(at);
        }
    }
}
