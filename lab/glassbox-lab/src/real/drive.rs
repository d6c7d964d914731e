//! Runs clusters on this machine: clients on one thread, each of which waits for its answer before it calls again.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use glassbox::research::shard::Shard;
use glassbox::{Catalog, Error};
use glassbox_cluster::run::{Cluster, Inline, Link, LinkEvent, Shape};
use glassbox_cluster::{Action, Address, Outbox, Packet, Router, SchemeKind};
use glassbox_sim::cluster::{CallOf, Caller, Load, Micro, Settings, Workload};

/// Under locking, the lock timeout, in addition to some round trips.
const PATIENCE: Duration = Duration::from_millis(3);
/// Maximum time for all calls in flight to end.
const MAX_END: Duration = Duration::from_secs(5);

/// Clients, each of which calls again when it receives its answer. As in the paper.
pub const CLIENTS: u32 = 40;

/// A run of a cluster under a load.
#[derive(Debug, Clone, Copy)]
pub struct Trial<W = Load> {
    /// The cluster.
    pub shape: Shape,
    /// Which machine runs on which thread.
    pub threads: Threading,
    /// Whether an advisor changes the scheme, which starts as the shape's. Not on one thread.
    pub auto: bool,
    /// The load of the clients.
    pub load: W,
    /// The number of clients.
    pub clients: u32,
    /// The warm-up.
    pub warm_up: Duration,
    /// The measured time.
    pub time: Duration,
    /// Seed of the inputs.
    pub seed: u64,
}

/// The threads of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threading {
    /// One for each machine, and one for the clients.
    Many,
    /// All machines and clients on one, which never waits for a core.
    One,
}

/// The result of one run.
#[derive(Debug, Clone, Copy)]
pub struct TrialResult {
    /// Transactions per second.
    pub per_second: f64,
    /// Transactions that were restarted because of deadlocks.
    pub retries: u64,
    /// The scheme at the end.
    pub scheme: SchemeKind,
}

/// A partition with the microbenchmark's rows.
pub(crate) fn shard(catalog: &Catalog, partition: u8, partitions: u8, clients: u32) -> Result<Shard, Error> {
    let mut shard = Shard::new(catalog, usize::from(partition), usize::from(partitions), 1 << 20)?;
    Micro::fill(&mut shard, clients, partitions);
    Ok(shard)
}

impl<W: Workload> Trial<W> {
    /// The rows and the clients.
    fn settings(&self) -> Settings<W> {
        let (clients, partitions) = (self.clients, self.shape.partitions);
        Settings { clients, partitions, ..Settings::of_the_paper(self.shape.scheme, self.load, self.seed) }
    }

    /// A partition with its rows.
    fn shard(&self, catalog: &Catalog, partition: u8, table_bytes: usize) -> Result<Shard, Error> {
        let mut shard = Shard::new(catalog, partition.into(), self.shape.partitions.into(), table_bytes)?;
        W::fill(&self.settings(), &mut shard);
        Ok(shard)
    }
}

struct Clients<'a, L, W: Workload> {
    link: &'a mut L,
    router: Router,
    out: Outbox,
    callers: Vec<W::Caller>,
    /// Each call, and its client.
    calls: HashMap<u64, (usize, CallOf<W>)>,
    began: Instant,
    /// Turns so far, as microseconds: the time of clients that are counted.
    turns: Option<u64>,
    patience_us: u64,
    looked_us: u64,
    finished: u64,
}

impl<'a, L: Link, W: Workload> Clients<'a, L, W> {
    fn new(trial: &Trial<W>, catalog: &Arc<Catalog>, link: &'a mut L) -> Self {
        let settings = trial.settings();
        Self {
            link,
            router: Router::new(Address::Client(0), Arc::clone(catalog), trial.shape.configuration(), 0),
            out: Outbox::default(),
            callers: (0..trial.clients).map(|client| W::caller(&settings, client)).collect(),
            calls: HashMap::new(),
            began: Instant::now(),
            turns: None,
            patience_us: (PATIENCE + trial.shape.round_trip * 8).as_micros() as u64,
            looked_us: 0,
            finished: 0,
        }
    }

    /// The first call of each client.
    fn begin(&mut self) {
        (0..self.callers.len()).for_each(|client| self.call(client));
        self.send();
    }

    /// The time, which only a coordinating client needs: the timeout of a transaction starts at the call.
    fn now_us(&self) -> u64 {
        match self.turns {
            Some(turns) => turns,
            None if self.router.coordinates() => self.began.elapsed().as_micros() as u64,
            None => 0,
        }
    }

    fn call(&mut self, client: usize) {
        let call = self.callers[client].draw();
        let now_us = self.now_us();
        let id = W::Caller::send(&call, &mut self.router, now_us, &mut self.out);
        self.calls.insert(id, (client, call));
    }

    fn send(&mut self) {
        let epoch = self.router.epoch();
        for action in self.out.actions.drain(..) {
            if let Action::Send(to, message) = action {
                self.link.send(to, Packet { epoch, message });
            }
        }
    }

    /// Handles the messages that have arrived. With `again`, clients that received an answer call again.
    fn turn(&mut self, again: bool) -> anyhow::Result<()> {
        self.link.flush();
        let mut letter = self.link.receive(Duration::from_millis(1));
        while let Some(received) = letter {
            if let LinkEvent::Message(from, packet) = received {
                let now_us = self.now_us();
                for id in self.router.handle(from, packet, now_us, &mut self.out) {
                    let (client, call) = self.calls.remove(&id).context("an answer without a call")?;
                    let answered = self.router.take(id).context("an answer without a result")?;
                    match W::Caller::output(&call, answered) {
                        // As the load says.
                        Ok(_) | Err(Error::Aborted(_)) => {}
                        Err(error) => return Err(error.into()),
                    }
                    self.finished += 1;
                    if again {
                        self.call(client);
                    }
                }
            }
            self.send();
            letter = self.link.receive(Duration::ZERO);
        }
        self.turns.iter_mut().for_each(|turns| *turns += 1);
        let now_us = self.now_us();
        if self.router.coordinates() && now_us > self.looked_us + self.patience_us / 4 {
            self.looked_us = now_us;
            self.router.restart_timed_out(self.patience_us, now_us, &mut self.out);
            self.send();
        }
        Ok(())
    }

    fn run(&mut self, time: Duration) -> anyhow::Result<f64> {
        let (began, finished) = (Instant::now(), self.finished);
        while began.elapsed() < time {
            self.turn(true)?;
        }
        Ok((self.finished - finished) as f64 / began.elapsed().as_secs_f64())
    }
}

/// Turns after which a counted transaction that waits is restarted.
const PATIENCE_TURNS: u64 = 100;

/// Runs the clients of a cluster on one thread until so many calls have ended, then until so many more have ended,
/// within `count`. Time is turns, so that it is the same each time.
///
/// # Errors
/// When the cluster fails.
pub(crate) fn run_counted<W: Workload>(
    trial: &Trial<W>,
    (warm_up, counted): (usize, usize),
    count: &mut dyn FnMut(&mut dyn FnMut()),
) -> anyhow::Result<()> {
    let catalog = Arc::new(W::catalog());
    let shard = |partition| trial.shard(&catalog, partition, COUNTED_TABLE_BYTES);
    let mut client = Inline::start(trial.shape, Arc::clone(&catalog), shard)?;
    let mut clients = Clients::<_, W>::new(trial, &catalog, client.link());
    (clients.turns, clients.patience_us) = (Some(0), PATIENCE_TURNS);
    clients.begin();
    let run = |clients: &mut Clients<'_, _, W>, calls: usize| {
        let until = clients.finished + calls as u64;
        while clients.finished < until {
            clients.turn(true)?;
        }
        anyhow::Ok(())
    };
    run(&mut clients, warm_up)?;
    let mut result = Ok(());
    count(&mut || result = run(&mut clients, counted));
    result
}

/// Address space is limited under valgrind.
const COUNTED_TABLE_BYTES: usize = 64 << 20;

/// The interval of the advisor.
const ADVICE_INTERVAL: Duration = Duration::from_millis(30);

/// Follows the advisor of a cluster until `ends`. Returns the scheme at the end.
fn advise(cluster: &Cluster, clients: u32, ends: &AtomicBool) -> anyhow::Result<SchemeKind> {
    let (mut watcher, mut operator) = (cluster.watcher(clients), cluster.operator());
    let mut now = cluster.shape().scheme;
    while !ends.load(Ordering::Relaxed) {
        std::thread::sleep(watcher.pause(ADVICE_INTERVAL));
        // A machine that was too busy to answer is asked in the next interval.
        if let Ok(Some(scheme)) = watcher.look() {
            operator.change_scheme(scheme).map_err(anyhow::Error::msg)?;
            now = scheme;
        }
    }
    Ok(now)
}

/// Runs a cluster and its clients, and checks the cluster afterwards.
///
/// # Errors
/// When the cluster fails, or a check fails afterwards.
pub fn run<W: Workload>(trial: &Trial<W>) -> anyhow::Result<TrialResult> {
    let Trial { shape, .. } = *trial;
    let catalog = Arc::new(W::catalog());
    let shard = |partition| trial.shard(&catalog, partition, W::TABLE_BYTES);
    let (run, machines) = match trial.threads {
        Threading::Many => {
            let cluster = Cluster::start(shape, Arc::clone(&catalog), shard)?;
            let mut client = cluster.client();
            let run = call(trial, &catalog, client.link(), trial.auto.then_some(&cluster))?;
            drop(client);
            (run, cluster.stop().map_err(anyhow::Error::msg)?)
        }
        Threading::One => {
            let mut client = Inline::start(shape, Arc::clone(&catalog), shard)?;
            (call(trial, &catalog, client.link(), None)?, client.link().stop())
        }
    };
    for (address, mut member) in machines {
        if let Some(wrong) = member.unfinished() {
            bail!("{address}: {wrong}");
        }
        if let Some(Err(wrong)) = member.shard().map(|shard| shard.verify()) {
            bail!("{address}: {wrong}");
        }
    }
    Ok(run)
}

/// Runs the clients of a cluster over this link, with an advisor for `advised`. All calls have ended when it returns.
pub(super) fn call<W: Workload>(
    trial: &Trial<W>,
    catalog: &Arc<Catalog>,
    link: &mut impl Link,
    advised: Option<&Cluster>,
) -> anyhow::Result<TrialResult> {
    let shape = trial.shape;
    let mut clients = Clients::<_, W>::new(trial, catalog, link);
    clients.begin();
    let ends = AtomicBool::new(false);
    let (per_second, scheme) = std::thread::scope(|scope| {
        let (ends, count) = (&ends, trial.clients);
        let advised = advised.map(|cluster| scope.spawn(move || advise(cluster, count, ends)));
        let per_second = clients.run(trial.warm_up).and_then(|_| clients.run(trial.time));
        ends.store(true, Ordering::Relaxed);
        let scheme = advised.map_or(Ok(shape.scheme), |it| it.join().expect("the advisor does not panic"));
        anyhow::Ok((per_second?, scheme?))
    })?;
    let ending = Instant::now();
    while !clients.calls.is_empty() {
        ensure!(ending.elapsed() < MAX_END, "{} calls have not ended", clients.calls.len());
        clients.turn(false)?;
    }
    Ok(TrialResult { per_second, retries: clients.router.retries(), scheme })
}

#[cfg(test)]
mod tests {
    use glassbox_sim::cluster::ALL;

    use super::*;

    /// Clients have rows of their own, so no lock is waited for, and none times out unless the machine pauses, which
    /// may happen now and then.
    #[test]
    fn without_conflicts_no_transaction_is_restarted() {
        for threads in [Threading::Many, Threading::One] {
            let (scheme, round_trip) = (SchemeKind::Locking, Duration::from_micros(10));
            let shape = Shape::new(scheme, 2).with_round_trip(round_trip);
            let load = Load { several: ALL, ..Load::default() };
            let (warm_up, time) = (Duration::from_millis(10), Duration::from_millis(60));
            let mut calm = (1..=5).filter(|&seed| {
                let trial = Trial { shape, threads, auto: false, load, clients: 40, warm_up, time, seed };
                let TrialResult { per_second, retries, scheme } = run(&trial).unwrap();
                assert!(per_second > 0.0 && scheme == SchemeKind::Locking);
                (retries as f64) < per_second * time.as_secs_f64() / 10.0
            });
            assert!(calm.next().is_some(), "{threads:?}");
        }
    }
}
