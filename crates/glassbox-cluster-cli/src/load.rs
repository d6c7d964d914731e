//! The clients of a cluster: threads in a closed loop.

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use glassbox::Error;
use glassbox::procedure::{Abort, Procedure};
use glassbox_cluster::run::{Client, Sockets};
use glassbox_workloads::contention::{ContentionCall, ContentionClient};
use glassbox_workloads::micro::Micro;
use glassbox_workloads::tpcc::{self, ABORT_UNUSED_ITEM, Inputs, Kind, Settings};
use hdrhistogram::Histogram;

use super::absence::Absence;
use super::arguments::LoadOptions;
use super::config::{Config, Workload};
use super::incidents::{Incidents, Watch};
use glassbox_program::exit;

/// The results of one type of transaction.
#[derive(Debug, Clone)]
pub struct Tally {
    /// Of all answered calls, in nanoseconds.
    pub latency: Histogram<u64>,
    /// Of the answered calls, those that aborted as intended.
    pub aborted: u64,
    /// In addition: calls with an unknown outcome.
    pub uncertain: u64,
}

impl Tally {
    /// An empty tally.
    pub fn new() -> Self {
        Self {
            latency: Histogram::new_with_bounds(1, 100_000_000_000, 2).expect("constants"),
            aborted: 0,
            uncertain: 0,
        }
    }

    /// Adds another tally.
    pub fn add(&mut self, other: &Self) {
        self.latency.add(&other.latency).expect("all have the same bounds");
        self.aborted += other.aborted;
        self.uncertain += other.uncertain;
    }
}

/// The results of a run.
#[derive(Debug, Default)]
pub struct Measured {
    /// By type.
    pub tallies: BTreeMap<(usize, &'static str), Tally>,
    pub seconds: f64,
    /// Restarts of transactions that clients coordinate.
    pub retries: u64,
    /// Calls that were refused because a partition is late.
    pub refused: u64,
    /// Why clients ended early.
    pub failed: Vec<String>,
    pub interrupted: bool,
    /// The absence of a host.
    pub absence: Option<Absence>,
}

struct Calling<'a> {
    client: Client<Sockets>,
    watch: &'a Watch,
    measured: Measured,
}

impl Calling<'_> {
    /// Calls, waits, and notes the outcome; an abort with the code `may` is intended.
    fn run<P: Procedure>(&mut self, kind: (usize, &'static str), procedure: P, may: u32) {
        let began = Instant::now();
        let ticket = match self.client.submit(procedure) {
            Ok(ticket) => ticket,
            Err(error) => return self.measured.failed.push(error.to_string()),
        };
        let home = ticket.home();
        let output = self.client.wait(ticket);
        if output.is_ok() {
            self.watch.answered(home, began);
        }
        let tally = self.measured.tallies.entry(kind).or_insert_with(Tally::new);
        match output {
            Ok(_) => {}
            Err(Error::Aborted(Abort { code, .. })) if code == may => tally.aborted += 1,
            Err(Error::OutcomeUnknown { .. }) => return tally.uncertain += 1,
            Err(Error::Overloaded { retry_after_us, .. }) => {
                self.measured.refused += 1;
                return std::thread::sleep(Duration::from_micros(retry_after_us.into()));
            }
            Err(error) => return self.measured.failed.push(error.to_string()),
        }
        tally.latency.saturating_record(began.elapsed().as_nanos() as u64);
    }
}

impl tpcc::Call for Calling<'_> {
    type Answer = ();

    fn call<P: Procedure + Copy>(&mut self, kind: Kind, procedure: &P) {
        self.run((kind as usize, kind.name()), *procedure, ABORT_UNUSED_ITEM);
    }
}

fn connect(config: &Config, number: u32, until: Instant) -> anyhow::Result<Client<Sockets>> {
    let patience = until.saturating_duration_since(Instant::now());
    config.processes().connect(number, config.catalog(), patience).map_err(anyhow::Error::msg)
}

fn work(
    config: &Config,
    seed: u64,
    (number, client): (u32, Client<Sockets>),
    watch: &Watch,
    stop: &AtomicBool,
) -> Measured {
    let mut calling = Calling { client, watch, measured: Measured::default() };
    let goes_on = |calling: &Calling| !stop.load(Ordering::Relaxed) && calling.measured.failed.is_empty();
    match &config.workload {
        Workload::Tpcc { scale, seed: load_seed } => {
            let settings = Settings { load_seed: *load_seed, seed, ..Settings::new(*scale) };
            let mut inputs = Inputs::new(&settings, u64::from(number));
            while goes_on(&calling) {
                inputs.next().give(&mut calling);
            }
        }
        Workload::Contention { load } => {
            let mut caller = ContentionClient::new(number, config.partitions, *load, seed);
            while goes_on(&calling) {
                match caller.draw() {
                    ContentionCall::Increment(call) => calling.run((0, "increment"), call, NO_ABORT),
                    ContentionCall::Listed(call) => calling.run((1, "dependent"), call, NO_ABORT),
                    ContentionCall::Relist(call) => calling.run((2, "relist"), call, NO_ABORT),
                }
            }
        }
        Workload::Micro { load, .. } => {
            let mut micro = Micro::new(number, config.partitions, *load, seed);
            while goes_on(&calling) {
                let call = micro.draw();
                let kind =
                    if call.keys.iter().any(|key| key.0 != call.keys[0].0) { (1, "several") } else { (0, "one") };
                calling.run(kind, call, glassbox_workloads::micro::ABORT_CHOSEN);
            }
        }
    }
    calling.measured.retries = calling.client.retries();
    calling.measured
}

/// The code of no abort.
const NO_ABORT: u32 = u32::MAX;

/// How long the last answers may take before the user is told what is waited for.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// Runs the clients, once all are connected, and at the same time this many rounds of incidents, and the absence of a
/// host while the log grows by so many bytes.
pub fn run(
    load: &LoadOptions,
    config: &Config,
    until: Instant,
    incidents: &mut Incidents<'_>,
    (rounds, away): (u32, Option<u64>),
) -> anyhow::Result<Measured> {
    // All clients connect before the first call: the time until the cluster runs is not measured.
    let clients = (0..load.clients).map(|number| connect(config, number, until)).collect::<anyhow::Result<Vec<_>>>()?;
    let (stop, barrier, watch) = (AtomicBool::new(false), Barrier::new(clients.len() + 1), incidents.watch);
    let mut measured = std::thread::scope(|scope| {
        let (stop, barrier) = (&stop, &barrier);
        let thread = |(number, client): (u32, Client<Sockets>)| {
            scope.spawn(move || {
                barrier.wait();
                work(config, load.common.seed, (number, client), watch, stop)
            })
        };
        let threads: Vec<_> = (0..).zip(clients).map(thread).collect();
        barrier.wait();
        let began = Instant::now();
        let mut sum = Measured::default();
        let mut went = incidents.run(rounds);
        if let (Ok(()), Some(bytes)) = (&went, away) {
            went = incidents.be_away(bytes).map(|absence| sum.absence = Some(absence));
        }
        while went.is_ok()
            && began.elapsed().as_secs_f64() < load.seconds
            && !exit::interrupted()
            && !threads.iter().all(ScopedJoinHandle::is_finished)
        {
            std::thread::sleep(Duration::from_millis(10));
            went = incidents.report_ended();
        }
        sum.seconds = began.elapsed().as_secs_f64();
        stop.store(true, Ordering::Relaxed);
        wait_for_last_answers(&threads, incidents)?;
        for thread in threads {
            let one = thread.join().expect("clients do not panic");
            for (kind, tally) in &one.tallies {
                sum.tallies.entry(*kind).or_insert_with(Tally::new).add(tally);
            }
            sum.retries += one.retries;
            sum.refused += one.refused;
            sum.failed.extend(one.failed);
        }
        went.map(|()| sum)
    })?;
    measured.interrupted = exit::interrupted();
    Ok(measured)
}

/// Waits until all clients have their last answers, and reports a long wait.
fn wait_for_last_answers<T>(threads: &[ScopedJoinHandle<'_, T>], incidents: &mut Incidents<'_>) -> anyhow::Result<()> {
    let (began, mut is_told) = (Instant::now(), false);
    loop {
        let waiting = threads.iter().filter(|it| !it.is_finished()).count();
        if waiting == 0 {
            return Ok(());
        }
        incidents.report_ended()?;
        if !is_told && began.elapsed() > LAST_ANSWERS {
            is_told = true;
            eprintln!(
                "{waiting} of {} clients wait for the answers to their last calls{}; interrupt twice to end without \
                 them",
                threads.len(),
                incidents.missing()
            );
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
