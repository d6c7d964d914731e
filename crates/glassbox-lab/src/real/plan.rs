//! What is measured on this machine, and in which order.

use std::time::Duration;

use glassbox_cluster::SchemeKind;
use glassbox_cluster::run::Shape;
use glassbox_sim::cluster::Load;

use super::drive::{Threads, Trial, run};
use super::{CLIENTS, THROUGHPUT, figure, sweeps};
use crate::calibrate::INJECTED_US;
use crate::low_overhead::percent;
use crate::points::{Point, Points};
use crate::spread::Spread;
use crate::watch::Watch;

/// The schemes, by their names in results.
pub const SCHEMES: [(&str, SchemeKind); 3] =
    [("blocking", SchemeKind::Blocking), ("speculation", SchemeKind::Speculation), ("locking", SchemeKind::Locking)];

/// How much is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Injected round trips, in microseconds.
    pub round_trips_us: Vec<u64>,
    /// Shares of transactions on two partitions, in percent.
    pub shares: Vec<u64>,
    /// Clients, the usual ones first, where these cannot ask for enough: with the longer round trips.
    pub clients: Vec<u32>,
    /// Times that each is measured.
    pub rounds: usize,
    /// Before anything counts, each time.
    pub warm_up: Duration,
    /// That counts, each time.
    pub time: Duration,
    /// Of the inputs.
    pub seed: u64,
}

impl Plan {
    /// Everything, or a first look.
    pub fn new(quick: bool, seed: u64) -> Self {
        let ms = Duration::from_millis;
        if quick {
            let (round_trips_us, shares, clients) = (vec![40, 200], vec![0, 10, 50], vec![CLIENTS, 320]);
            return Self { round_trips_us, shares, clients, rounds: 2, warm_up: ms(20), time: ms(80), seed };
        }
        let (round_trips_us, shares) = (INJECTED_US.to_vec(), vec![0, 2, 5, 10, 20, 30, 50, 75, 100]);
        let clients = vec![CLIENTS, 80, 160, 320];
        Self { round_trips_us, shares, clients, rounds: 5, warm_up: ms(100), time: ms(300), seed }
    }

    /// How long it takes, about, in seconds.
    pub fn seconds(&self) -> f64 {
        let runs = self.cells().len() * self.rounds * SCHEMES.len();
        runs as f64 * (self.warm_up + self.time + Duration::from_millis(25)).as_secs_f64()
    }

    fn cells(&self) -> Vec<Cell> {
        let each = |(threads, us)| {
            let figure = figure(threads, us);
            let cell = |share| Cell { figure: figure.clone(), x: share, threads, us, share, clients: CLIENTS };
            self.shares.iter().copied().map(cell).collect::<Vec<_>>()
        };
        let more = |us| {
            let cell = move |&clients: &u32| {
                let (figure, x, threads) = (by_clients(us), u64::from(clients), Threads::Many);
                Cell { figure, x, threads, us, share: BY_CLIENTS_SHARE, clients }
            };
            self.clients.iter().map(cell)
        };
        sweeps(&self.round_trips_us).flat_map(each).chain(BY_CLIENTS_US.into_iter().flat_map(more)).collect()
    }
}

/// In results, by clients instead of shares: with a round trip.
pub(super) fn by_clients(us: u64) -> String {
    format!("{us} µs, {BY_CLIENTS_SHARE} % on two partitions, by clients")
}

/// With which ones, and with which share, in percent.
pub(super) const BY_CLIENTS_US: [u64; 2] = [40, 200];
const BY_CLIENTS_SHARE: u64 = 10;
/// In results, ratios within a round.
pub(super) const RATIOS: &str = "ratios";

/// A point of a figure.
struct Cell {
    figure: String,
    x: u64,
    threads: Threads,
    us: u64,
    share: u64,
    clients: u32,
}

/// Measures, and adds to `points`.
///
/// # Errors
/// When a cluster fails, or is not in order afterwards.
pub fn measure(plan: &Plan, watch: &dyn Watch, points: &mut Points) -> anyhow::Result<()> {
    let cells = plan.cells();
    let mut rates = vec![[const { Vec::new() }; SCHEMES.len()]; cells.len()];
    for round in 0..plan.rounds {
        for (at, cell) in cells.iter().enumerate() {
            if watch.interrupted() {
                break;
            }
            let &Cell { threads, us, share, clients, .. } = cell;
            let words = format!("real, {}, {share} %, {clients} clients", figure(threads, us));
            watch.step(round * cells.len() + at, plan.rounds * cells.len(), &words);
            for (rates, (_, scheme)) in rates[at].iter_mut().zip(SCHEMES) {
                let round_trip = Duration::from_micros(us);
                let shape = Shape { scheme, partitions: 2, replicas: 1, coordinators: 1, round_trip };
                let load = Load { several: percent(share), ..Load::default() };
                let (auto, seed, &Plan { warm_up, time, .. }) = (false, plan.seed + round as u64, plan);
                rates.push(run(&Trial { shape, threads, auto, load, clients, warm_up, time, seed })?.per_second);
            }
        }
    }
    for (Cell { figure, x, .. }, rates) in cells.iter().zip(&rates).filter(|(_, rates)| !rates[0].is_empty()) {
        for ((row, _), rates) in SCHEMES.iter().zip(rates) {
            put(points, figure, row, *x, (THROUGHPUT, "1/s"), Spread::of(rates.iter().copied()));
        }
        let [blocking, speculation, locking] = rates;
        for (metric, base) in [("over blocking", blocking), ("over locking", locking)] {
            let ratios = Spread::of_ratios(speculation, base);
            put(points, &format!("{RATIOS}, {figure}"), "speculation", *x, (metric, "times"), ratios);
        }
    }
    Ok(())
}

pub(super) fn put(points: &mut Points, figure: &str, row: &str, x: u64, (metric, unit): (&str, &str), spread: Spread) {
    let [figure, row, metric, unit] = [figure, row, metric, unit].map(str::to_owned);
    let (x, value, spread) = (x as f64, spread.median, spread.middle_half());
    points.0.push(Point { figure, row, x, metric, value, spread, unit });
}
