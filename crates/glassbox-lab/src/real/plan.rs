//! The measurements on this machine, and their order.

use std::time::Duration;

use glassbox_cluster::SchemeKind;
use glassbox_cluster::run::Shape;
use glassbox_sim::cluster::{ALL, Load};

use super::drive::{CLIENTS, Threading, Trial, run};
use crate::calibrate::INJECTED_US;
use crate::low_overhead::series::percent;
use crate::measurement::{Progress, Spread};
use crate::points::{Point, Points};

/// In results, the experiment: on this machine.
pub const EXPERIMENT: &str = "low-overhead-real";
/// In results, the experiment: simulated with what was measured here.
pub const PREDICTED: &str = "low-overhead-calibrated";
/// In results, transactions per second.
pub(crate) const THROUGHPUT: &str = "throughput";

/// In results, the figure of a round trip.
pub fn figure(threads: Threading, round_trip_us: u64) -> String {
    match threads {
        Threading::Many => format!("{round_trip_us} µs"),
        Threading::One => format!("{round_trip_us} µs, one thread"),
    }
}

/// The threads and round trips with which all shares are measured.
pub fn sweeps(round_trips_us: &[u64]) -> impl Iterator<Item = (Threading, u64)> {
    let on = |threads| round_trips_us.iter().map(move |&us| (threads, us));
    [Threading::Many, Threading::One].into_iter().flat_map(on)
}

/// The schemes, by their names in results.
pub const SCHEMES: [(&str, SchemeKind); 3] =
    [("blocking", SchemeKind::Blocking), ("speculation", SchemeKind::Speculation), ("locking", SchemeKind::Locking)];

/// The extent of the measurement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterPlan {
    /// Injected round trips, in microseconds.
    pub round_trips_us: Vec<u64>,
    /// Shares of transactions on two partitions, in percent.
    pub shares: Vec<u64>,
    /// Numbers of clients, the usual first, for the longer round trips, where the usual number does not saturate.
    pub clients: Vec<u32>,
    /// Measurements of each.
    pub rounds: usize,
    /// The warm-up of each measurement.
    pub warm_up: Duration,
    /// The measured time of each.
    pub time: Duration,
    /// Seed of the inputs.
    pub seed: u64,
}

impl ClusterPlan {
    /// The full measurement, or a quick one.
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

    /// The approximate duration, in seconds.
    pub fn seconds(&self) -> f64 {
        let runs = self.cells().len() * self.rounds * SCHEMES.len();
        runs as f64 * (self.warm_up + self.time + Duration::from_millis(25)).as_secs_f64()
    }

    fn cells(&self) -> Vec<SweepPoint> {
        let each = |(threads, us)| {
            let figure = figure(threads, us);
            let cell = |share| SweepPoint::of_share(&figure, threads, us, (share, Load::default()));
            self.shares.iter().copied().map(cell).collect::<Vec<_>>()
        };
        let of_load = |(name, load)| {
            let figure = of_load(name);
            let cell = |share| SweepPoint::of_share(&figure, Threading::Many, OTHER_LOADS_US, (share, load));
            self.shares.iter().copied().map(cell).collect::<Vec<_>>()
        };
        let more = |us| {
            let cell = move |&clients: &u32| {
                let usual = (BY_CLIENTS_SHARE, Load::default());
                let usual = SweepPoint::of_share(&by_clients(us), Threading::Many, us, usual);
                SweepPoint { x: clients.into(), clients, ..usual }
            };
            self.clients.iter().map(cell)
        };
        let sweeps = sweeps(&self.round_trips_us).flat_map(each);
        sweeps
            .chain(BY_CLIENTS_US.into_iter().flat_map(more))
            .chain(OTHER_LOADS.into_iter().flat_map(of_load))
            .collect()
    }
}

/// In results, the figure of a round trip by clients instead of shares.
pub(super) fn by_clients(us: u64) -> String {
    format!("{us} µs, {BY_CLIENTS_SHARE} % on two partitions, by clients")
}

/// The round trips of these figures, and their share in percent.
pub(super) const BY_CLIENTS_US: [u64; 2] = [40, 200];
const BY_CLIENTS_SHARE: u64 = 10;
/// The loads of Figures 5 to 7 of the paper, with the most conflicts, aborts and rounds that it has.
pub(super) const OTHER_LOADS: [(&str, Load); 3] = [
    ("Figure 5: 100 % conflicts", Load { conflicts: ALL, ..NO_LOAD }),
    ("Figure 6: 10 % aborts", Load { aborts: percent(10), ..NO_LOAD }),
    ("Figure 7: two rounds", Load { two_rounds: ALL, ..NO_LOAD }),
];
const NO_LOAD: Load = Load { several: 0, conflicts: 0, aborts: 0, two_rounds: 0 };
/// Their round trip.
const OTHER_LOADS_US: u64 = 40;

/// In results, the figure of one of these loads.
pub(super) fn of_load(name: &str) -> String {
    format!("{name}, round trip {OTHER_LOADS_US} µs")
}

/// In results, ratios within a round.
pub(super) const RATIOS: &str = "ratios";

/// A point of a figure.
struct SweepPoint {
    figure: String,
    x: u64,
    threads: Threading,
    us: u64,
    load: Load,
    clients: u32,
}

impl SweepPoint {
    /// The usual clients, with this share in percent on two partitions, and whatever else the load has.
    fn of_share(figure: &str, threads: Threading, us: u64, (share, load): (u64, Load)) -> Self {
        let load = Load { several: percent(share), ..load };
        Self { figure: figure.to_owned(), x: share, threads, us, load, clients: CLIENTS }
    }
}

/// Measures, and adds the results to `points`.
///
/// # Errors
/// When a cluster fails, or a check fails afterwards.
pub fn measure(plan: &ClusterPlan, watch: &dyn Progress, points: &mut Points) -> anyhow::Result<()> {
    let cells = plan.cells();
    let mut rates = vec![[const { Vec::new() }; SCHEMES.len()]; cells.len()];
    for round in 0..plan.rounds {
        for (at, cell) in cells.iter().enumerate() {
            if watch.interrupted() {
                break;
            }
            let &SweepPoint { ref figure, x, threads, us, load, clients } = cell;
            let description = format!("real, {figure}, at {x}, {clients} clients");
            watch.step(round * cells.len() + at, plan.rounds * cells.len(), &description);
            for (rates, (_, scheme)) in rates[at].iter_mut().zip(SCHEMES) {
                let round_trip = Duration::from_micros(us);
                let shape = Shape::new(scheme, 2).with_round_trip(round_trip);
                let (auto, seed, &ClusterPlan { warm_up, time, .. }) = (false, plan.seed + round as u64, plan);
                rates.push(run(&Trial { shape, threads, auto, load, clients, warm_up, time, seed })?.per_second);
            }
        }
    }
    for (SweepPoint { figure, x, .. }, rates) in cells.iter().zip(&rates).filter(|(_, rates)| !rates[0].is_empty()) {
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
