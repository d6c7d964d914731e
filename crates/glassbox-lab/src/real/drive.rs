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
use glassbox_sim::cluster::{Load, Micro};
use glassbox_workloads::micro::{ABORT_CHOSEN, ReadWrite, catalog};

/// Under locking, the lock timeout, in addition to some round trips.
const PATIENCE: Duration = Duration::from_millis(3);
/// Maximum time for all calls in flight to end.
const MAX_END: Duration = Duration::from_secs(5);

/// Clients, each of which calls again when it receives its answer. As in the paper.
pub const CLIENTS: u32 = 40;
/// A run of a cluster under a load.
#[derive(Debug, Clone, Copy)]
pub struct Trial {
    /// The cluster.
    pub shape: Shape,
    /// Which machine runs on which thread.
    pub threads: Threading,
    /// Whether an advisor changes the scheme, which starts as the shape's. Not on one thread.
    pub auto: bool,
    /// The load of the clients.
    pub load: Load,
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

struct Clients<'a, L> {
    link: &'a mut L,
    router: Router,
    out: Outbox,
    micros: Vec<Micro>,
    /// The client of each call.
    calls: HashMap<u64, usize>,
    began: Instant,
    patience: Duration,
    looked: Instant,
    finished: u64,
}

impl<L: Link> Clients<'_, L> {
    /// The time, which only a coordinating client needs: the timeout of a transaction starts at the call.
    fn now_us(&self) -> u64 {
        if self.router.coordinates() { self.began.elapsed().as_micros() as u64 } else { 0 }
    }

    fn call(&mut self, client: usize) -> Result<(), Error> {
        let call = self.micros[client].draw();
        let now_us = self.now_us();
        let id = self.router.call(call, now_us, u64::from(call.stamp), &mut self.out)?;
        self.calls.insert(id, client);
        Ok(())
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
                    let client = self.calls.remove(&id).context("an answer without a call")?;
                    let answered = self.router.take(id).context("an answer without a result")?;
                    match answered.output::<ReadWrite>() {
                        Ok(_) => {}
                        Err(Error::Aborted(abort)) if abort.code == ABORT_CHOSEN => {}
                        Err(error) => return Err(error.into()),
                    }
                    self.finished += 1;
                    if again {
                        self.call(client)?;
                    }
                }
            }
            self.send();
            letter = self.link.receive(Duration::ZERO);
        }
        if self.router.coordinates() && self.looked.elapsed() > self.patience / 4 {
            self.looked = Instant::now();
            let now_us = self.now_us();
            self.router.restart_timed_out(self.patience.as_micros() as u64, now_us, &mut self.out);
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
pub fn run(trial: &Trial) -> anyhow::Result<TrialResult> {
    let Trial { shape, .. } = *trial;
    let catalog = Arc::new(catalog());
    let shard = |it| shard(&catalog, it, shape.partitions, trial.clients);
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
fn call(
    trial: &Trial,
    catalog: &Arc<Catalog>,
    link: &mut impl Link,
    advised: Option<&Cluster>,
) -> anyhow::Result<TrialResult> {
    let Trial { shape, load, .. } = *trial;
    let micro = |client| Micro::new(client, shape.partitions, load, trial.seed);
    let mut clients = Clients {
        link,
        router: Router::new(Address::Client(0), Arc::clone(catalog), shape.configuration(), 0),
        out: Outbox::default(),
        micros: (0..trial.clients).map(micro).collect(),
        calls: HashMap::new(),
        began: Instant::now(),
        patience: PATIENCE + shape.round_trip * 8,
        looked: Instant::now(),
        finished: 0,
    };
    for client in 0..trial.clients as usize {
        clients.call(client)?;
    }
    clients.send();
    let ends = AtomicBool::new(false);
    let (per_second, scheme) = std::thread::scope(|scope| {
        let ends = &ends;
        let advised = advised.map(|cluster| scope.spawn(move || advise(cluster, trial.clients, ends)));
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
