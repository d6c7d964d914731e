//! The measurements on this machine, and their order.

use std::time::Duration;

use glassbox_cluster::SchemeKind;
use glassbox_cluster::run::Shape;
use glassbox_sim::cluster::{ALL, Load, Tpcc, Workload};
use glassbox_workloads::tpcc::Scale;

use super::drive::{CLIENTS, Threading, Trial, run};
use super::processes::{Rows, Start, run_processes};
use crate::calibrate::INJECTED_US;
use crate::low_overhead::plan::TpccPlan;
use crate::low_overhead::series::percent;
use crate::low_overhead::tpcc::{self, FIGURE_8, FIGURE_9};
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
    /// Numbers of warehouses, and shares of New-Orders on two partitions, in percent.
    pub tpcc: TpccPlan,
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
            let (tpcc, warm_up, time) = (tpcc_plan(&[2, 20], &[0, 50]), ms(20), ms(80));
            return Self { round_trips_us, shares, tpcc, clients, rounds: 2, warm_up, time, seed };
        }
        let (round_trips_us, shares) = (INJECTED_US.to_vec(), vec![0, 2, 5, 10, 20, 30, 50, 75, 100]);
        let (clients, warm_up, time) = (vec![CLIENTS, 80, 160, 320], ms(100), ms(300));
        let tpcc = tpcc_plan(&[2, 4, 8, 12, 20], &[0, 2, 10, 30, 50, 100]);
        Self { round_trips_us, shares, tpcc, clients, rounds: 5, warm_up, time, seed }
    }

    /// The approximate duration, in seconds.
    pub fn seconds(&self) -> f64 {
        let of = |cell: SweepPoint| match cell.cell {
            MeasuredLoad::Micro { place: Place::Processes, .. }
            | MeasuredLoad::Tpcc { place: Place::Processes, .. } => STARTING_PROCESSES,
            _ => Duration::from_millis(25),
        };
        let once = self.cells().into_iter().map(|cell| (self.warm_up + self.time + of(cell)).as_secs_f64());
        once.sum::<f64>() * (self.rounds * SCHEMES.len()) as f64
    }

    fn cells(&self) -> Vec<SweepPoint> {
        let micro = |place, us, load| MeasuredLoad::Micro { place, us, load, clients: CLIENTS };
        let by_share = |figure: String, place, us, load: Load| {
            let cell = move |&share: &u64| SweepPoint {
                figure: figure.clone(),
                x: share,
                cell: micro(place, us, Load { several: percent(share), ..load }),
            };
            self.shares.iter().map(cell).collect::<Vec<_>>()
        };
        let more = |us| {
            let load = Load { several: percent(BY_CLIENTS_SHARE), ..Load::default() };
            let cell = move |&clients: &u32| SweepPoint {
                figure: by_clients(us),
                x: clients.into(),
                cell: MeasuredLoad::Micro { place: Place::Threads(Threading::Many), us, load, clients },
            };
            self.clients.iter().map(cell)
        };
        let of_tpcc = |(name, of, place, us): (&str, &str, _, _)| {
            let points = tpcc::points(&self.tpcc).into_iter();
            // A point for each scheme, of which each cell has all.
            let of_first = points.filter(|it| it.figure == of && it.row == SCHEMES[0].0);
            let cell = |it: tpcc::TpccPoint| MeasuredLoad::Tpcc { place, us, load: it.settings.load };
            of_first.map(|it| SweepPoint { figure: name.to_owned(), x: it.x, cell: cell(it) }).collect::<Vec<_>>()
        };
        let many = Place::Threads(Threading::Many);
        let sweeps = sweeps(&self.round_trips_us);
        let mut cells: Vec<_> = sweeps
            .flat_map(|(threads, us)| by_share(figure(threads, us), Place::Threads(threads), us, NO_LOAD))
            .chain(BY_CLIENTS_US.into_iter().flat_map(more))
            .collect();
        for (name, load) in OTHER_LOADS {
            cells.extend(by_share(of_load(name), many, OTHER_LOADS_US, load));
        }
        for (name, of) in TPCC_BY_THREADS {
            cells.extend(of_tpcc((name, of, many, OTHER_LOADS_US)));
        }
        cells.extend(by_share(MICRO_BY_PROCESSES.to_owned(), Place::Processes, 0, NO_LOAD));
        cells.extend(of_tpcc((TPCC_BY_PROCESSES, FIGURE_8, Place::Processes, 0)));
        cells
    }
}

/// About how long processes take to begin.
const STARTING_PROCESSES: Duration = Duration::from_millis(200);

/// TPC-C of the scale with which the costs are measured.
fn tpcc_plan(warehouses: &[u16], shares: &[u64]) -> TpccPlan {
    TpccPlan { warehouses: warehouses.to_vec(), shares: shares.to_vec(), scale: Scale::small(1) }
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

/// In results, TPC-C by threads, and the figures of the paper.
pub(super) const TPCC_BY_THREADS: [(&str, &str); 2] = [
    ("Figure 8: TPC-C by warehouses, round trip 40 µs", FIGURE_8),
    ("Figure 9: New-Order by share on two partitions, round trip 40 µs", FIGURE_9),
];
/// In results, the load of Figure 4 and that of Figure 8 by processes, over sockets.
pub(super) const MICRO_BY_PROCESSES: &str = "Figure 4: without conflicts, processes";
pub(super) const TPCC_BY_PROCESSES: &str = "Figure 8: TPC-C by warehouses, processes";

/// In results, ratios within a round.
pub(super) const RATIOS: &str = "ratios";

/// A point of a figure.
struct SweepPoint {
    figure: String,
    x: u64,
    cell: MeasuredLoad,
}

/// Where machines run.
#[derive(Debug, Clone, Copy)]
enum Place {
    Threads(Threading),
    Processes,
}

/// A load that is measured under each scheme.
enum MeasuredLoad {
    Micro { place: Place, us: u64, load: Load, clients: u32 },
    Tpcc { place: Place, us: u64, load: Tpcc },
}

impl MeasuredLoad {
    /// Transactions per second under a scheme.
    fn run(&self, plan: &ClusterPlan, (scheme, seed): (SchemeKind, u64), start: Start<'_>) -> anyhow::Result<f64> {
        match *self {
            Self::Micro { place, us, load, clients } => {
                place.run(&plan.trial((scheme, us), (load, clients), seed), Rows::Micro(clients, load), start)
            }
            Self::Tpcc { place, us, load } => {
                place.run(&plan.trial((scheme, us), (load, CLIENTS), seed), Rows::Tpcc(load), start)
            }
        }
    }

    const fn clients(&self) -> u32 {
        match self {
            Self::Micro { clients, .. } => *clients,
            Self::Tpcc { .. } => CLIENTS,
        }
    }
}

impl Place {
    fn run<W: Workload>(self, trial: &Trial<W>, rows: Rows, start: Start<'_>) -> anyhow::Result<f64> {
        let result = match self {
            Self::Threads(threads) => run(&Trial { threads, ..*trial }),
            Self::Processes => run_processes(trial, rows, start),
        };
        Ok(result?.per_second)
    }
}

impl ClusterPlan {
    /// A measurement of a load by so many clients, under a scheme with such a round trip.
    fn trial<W>(&self, (scheme, us): (SchemeKind, u64), (load, clients): (W, u32), seed: u64) -> Trial<W> {
        let shape = Shape::new(scheme, 2).with_round_trip(Duration::from_micros(us));
        let (threads, auto, &Self { warm_up, time, .. }) = (Threading::Many, false, self);
        Trial { shape, threads, auto, load, clients, warm_up, time, seed }
    }
}

/// Measures, and adds the results to `points`. `start` starts processes.
///
/// # Errors
/// When a cluster fails, or a check fails afterwards.
pub fn measure(plan: &ClusterPlan, start: Start<'_>, watch: &dyn Progress, points: &mut Points) -> anyhow::Result<()> {
    let cells = plan.cells();
    let mut rates = vec![[const { Vec::new() }; SCHEMES.len()]; cells.len()];
    for round in 0..plan.rounds {
        for (at, cell) in cells.iter().enumerate() {
            if watch.interrupted() {
                break;
            }
            let SweepPoint { figure, x, cell } = cell;
            let description = format!("real, {figure}, at {x}, {} clients", cell.clients());
            watch.step(round * cells.len() + at, plan.rounds * cells.len(), &description);
            // Each round begins with another scheme.
            for place in 0..SCHEMES.len() {
                let place = (place + round) % SCHEMES.len();
                rates[at][place].push(cell.run(plan, (SCHEMES[place].1, plan.seed + round as u64), start)?);
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
