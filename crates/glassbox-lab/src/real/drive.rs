//! Clients on one thread, each of which waits for its answer before it calls again.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use glassbox::{Catalog, Error};
use glassbox_cluster::run::{Cluster, Inline, Link, LinkEvent, Shape};
use glassbox_cluster::{Action, Address, Outbox, Packet, Router, SchemeKind};
use glassbox_sim::cluster::{Load, Micro};
use glassbox_workloads::micro::{ABORT_CHOSEN, ReadWrite, catalog};

use super::shard;

/// Under locking, how long a transaction may take before it is tried again, besides some round trips.
const PATIENCE: Duration = Duration::from_millis(3);
/// How long everything that is under way may take to end.
const END: Duration = Duration::from_secs(5);

/// What is run.
#[derive(Debug, Clone, Copy)]
pub struct Trial {
    /// The cluster.
    pub shape: Shape,
    /// Who works on which thread.
    pub threads: Threads,
    /// The shape's scheme is only what it begins with: it is watched. Not on one thread.
    pub auto: bool,
    /// What clients ask for.
    pub load: Load,
    /// How many there are.
    pub clients: u32,
    /// Before anything counts.
    pub warm_up: Duration,
    /// That counts.
    pub time: Duration,
    /// Of the inputs.
    pub seed: u64,
}

/// On which threads everybody works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    /// Each machine on its own, the clients on one.
    Many,
    /// All on one: nobody has to be given a core first.
    One,
}

/// What one run came to.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    /// Transactions a second.
    pub per_second: f64,
    /// Transactions that were tried again because of deadlocks.
    pub retries: u64,
    /// The scheme at the end.
    pub scheme: SchemeKind,
}

struct Clients<'a, L> {
    link: &'a mut L,
    router: Router,
    out: Outbox,
    micros: Vec<Micro>,
    /// Whose call it is.
    calls: HashMap<u64, usize>,
    began: Instant,
    patience: Duration,
    looked: Instant,
    finished: u64,
}

impl<L: Link> Clients<'_, L> {
    /// Only who coordinates asks for the time: its patience with a transaction counts from the call on.
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

    /// Takes in what has arrived; those who were answered call again, if they are to.
    fn turn(&mut self, again: bool) -> anyhow::Result<()> {
        self.link.flush();
        let mut letter = self.link.receive(Duration::from_millis(1));
        while let Some(heard) = letter {
            if let LinkEvent::Message(from, packet) = heard {
                let now_us = self.now_us();
                for id in self.router.handle(from, packet, now_us, &mut self.out) {
                    let client = self.calls.remove(&id).context("an answer that nobody waits for")?;
                    let answered = self.router.take(id).context("an end that is none")?;
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

/// Whoever watches a cluster looks at so long a stretch of time.
const STRETCH: Duration = Duration::from_millis(30);

/// Watches a cluster and changes its scheme as that suggests, until `ends`; the scheme at the end.
fn advise(cluster: &Cluster, clients: u32, ends: &AtomicBool) -> anyhow::Result<SchemeKind> {
    let (mut watcher, mut operator) = (cluster.watcher(clients), cluster.operator());
    let mut now = cluster.shape().scheme;
    while !ends.load(Ordering::Relaxed) {
        std::thread::sleep(watcher.pause(STRETCH));
        // Who was busy for long is asked again.
        if let Ok(Some(scheme)) = watcher.look() {
            operator.change_scheme(scheme).map_err(anyhow::Error::msg)?;
            now = scheme;
        }
    }
    Ok(now)
}

/// Runs a cluster and its clients; everything is in order when it ends.
///
/// # Errors
/// When the cluster fails, or is not in order afterwards.
pub fn run(trial: &Trial) -> anyhow::Result<Run> {
    let Trial { shape, .. } = *trial;
    let catalog = Arc::new(catalog());
    let shard = |it| shard(&catalog, it, shape.partitions, trial.clients);
    let (run, machines) = match trial.threads {
        Threads::Many => {
            let cluster = Cluster::start(shape, Arc::clone(&catalog), shard)?;
            let mut client = cluster.client();
            let run = call(trial, &catalog, client.link(), trial.auto.then_some(&cluster))?;
            drop(client);
            (run, cluster.stop().map_err(anyhow::Error::msg)?)
        }
        Threads::One => {
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

/// Has the clients of a cluster call over this link, while somebody watches `advised`; all calls have ended afterwards.
fn call(trial: &Trial, catalog: &Arc<Catalog>, link: &mut impl Link, advised: Option<&Cluster>) -> anyhow::Result<Run> {
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
        let scheme = advised.map_or(Ok(shape.scheme), |it| it.join().expect("whoever watches does not panic"));
        anyhow::Ok((per_second?, scheme?))
    })?;
    let ending = Instant::now();
    while !clients.calls.is_empty() {
        ensure!(ending.elapsed() < END, "{} calls never end", clients.calls.len());
        clients.turn(false)?;
    }
    Ok(Run { per_second, retries: clients.router.retries(), scheme })
}

#[cfg(test)]
mod tests {
    use glassbox_sim::cluster::ALL;

    use super::*;

    /// Clients have rows of their own, so nobody waits for anybody, and nobody loses patience unless the machine stops
    /// for a while; it may do that now and then.
    #[test]
    fn without_conflicts_transactions_are_not_tried_again() {
        for threads in [Threads::Many, Threads::One] {
            let (scheme, round_trip) = (SchemeKind::Locking, Duration::from_micros(10));
            let shape = Shape { scheme, partitions: 2, replicas: 1, coordinators: 1, round_trip };
            let load = Load { several: ALL, ..Load::default() };
            let (warm_up, time) = (Duration::from_millis(10), Duration::from_millis(60));
            let mut calm = (1..=5).filter(|&seed| {
                let trial = Trial { shape, threads, auto: false, load, clients: 40, warm_up, time, seed };
                let Run { per_second, retries, scheme } = run(&trial).unwrap();
                assert!(per_second > 0.0 && scheme == SchemeKind::Locking);
                (retries as f64) < per_second * time.as_secs_f64() / 10.0
            });
            assert!(calm.next().is_some(), "{threads:?}");
        }
    }
}
