//! A load that shifts every few seconds.
//!
//! Each scheme is the best for some part of it, so a fixed choice is wrong most of the time.

use std::thread;

use glassbox_cluster::SchemeKind;
use glassbox_sim::cluster::{ALL, Load, Settings, World};

use super::grid::{ADVICE_US, AUTO, FIRST, SCHEMES};
use crate::claim::{Claim, own_check};
use crate::figures::{Colour, Curve, Curves, Stroke, curves};
use crate::low_overhead::plan::SimulationPlan;
use crate::low_overhead::series::{PERCENT, THROUGHPUT, colour, curve};
use crate::points::Points;
use crate::section::{Figure, Table};
use glassbox_workloads::format;

/// Its name in results.
const FIGURE: &str = "Auto, a load that shifts";
/// The parts, in order, with their names.
const PARTS: [(&str, Load); 4] = [
    ("10 % on two partitions", load(10, 0, 0, 0)),
    ("all on two partitions", load(100, 0, 0, 0)),
    ("30 %, 60 % conflicts", load(30, 60, 0, 0)),
    ("30 %, in two rounds, 10 % aborts", load(30, 0, 10, ALL)),
];
/// A point of a curve is the throughput of this interval.
const STEP_US: u64 = 100_000;

const fn load(several: u64, conflicts: u64, aborts: u64, two_rounds: u64) -> Load {
    Load { several: several * PERCENT, conflicts: conflicts * PERCENT, aborts: aborts * PERCENT, two_rounds }
}

fn rows() -> Vec<(&'static str, SchemeKind, u64)> {
    let fixed = SCHEMES.map(|(name, scheme)| (name, scheme, 0));
    fixed.into_iter().chain([(AUTO, FIRST, ADVICE_US)]).collect()
}

/// Runs all of them concurrently.
pub(crate) fn simulate(plan: &SimulationPlan, points: &mut Points) {
    let run = |scheme, advice_us| {
        let settings = Settings { advice_us, ..Settings::of_the_paper(scheme, PARTS[0].1, plan.seed) };
        let mut world = World::new(settings);
        world.keep_history(false);
        let mut throughput = Vec::new();
        for (_, load) in PARTS {
            world.shift_to(load);
            let steps = plan.part_ms * 1_000 / STEP_US;
            throughput.extend((0..steps).map(|_| world.run_us(STEP_US).per_second));
        }
        throughput
    };
    let rows = rows();
    let throughputs: Vec<Vec<f64>> = thread::scope(|scope| {
        let running: Vec<_> = rows.iter().map(|&(_, scheme, us)| scope.spawn(move || run(scheme, us))).collect();
        running.into_iter().map(|it| it.join().expect("a simulation ends")).collect()
    });
    for ((name, ..), throughput) in rows.iter().zip(throughputs) {
        for (at, per_second) in throughput.into_iter().enumerate() {
            let seconds = (at + 1) as f64 * STEP_US as f64 / 1e6;
            points.put(FIGURE, name, seconds, THROUGHPUT, per_second, "1/s");
        }
    }
}

/// The mean of each part.
fn means(points: &Points, row: &str) -> Option<Vec<f64>> {
    let curve = curve(points, FIGURE, row);
    let each = curve.len() / PARTS.len();
    let mean = |part: &[(f64, f64)]| part.iter().map(|point| point.1).sum::<f64>() / part.len() as f64;
    (each > 0).then(|| curve.chunks_exact(each).map(mean).collect())
}

fn mean(parts: &[f64]) -> f64 {
    parts.iter().sum::<f64>() / parts.len() as f64
}

/// The figure, if it was simulated.
pub(crate) fn figure(points: &Points) -> Option<Figure> {
    let mut table_rows = Vec::new();
    for (name, ..) in rows() {
        let parts = means(points, name)?;
        let cells = parts.iter().chain([&mean(&parts)]).map(|value| format::number(*value)).collect::<Vec<_>>();
        table_rows.push([vec![name.to_owned()], cells].concat());
    }
    let names = PARTS.iter().map(|(name, _)| (*name).to_owned());
    let header = ["simulated".to_owned()].into_iter().chain(names).chain(["all".to_owned()]).collect();
    let drawn = rows().into_iter().map(|(name, ..)| Curve {
        name: name.to_owned(),
        colour: if name == AUTO { Colour(0x22, 0x22, 0x22) } else { colour(name) },
        stroke: Stroke::Thin,
        points: curve(points, FIGURE, name),
    });
    let svg = curves(&Curves {
        unit: "transactions per second (simulated)".to_owned(),
        x_unit: "virtual seconds".to_owned(),
        x_names: &[],
        curves: drawn.collect(),
    });
    let caption = "The load shifts four times, and each scheme is the best for some of it. In the table: transactions \
                   per second.";
    Some(Figure {
        title: "Auto, where the load shifts (simulated)".to_owned(),
        svg,
        caption: caption.to_owned(),
        table: Some(Table { header, rows: table_rows }),
    })
}

/// The claims about it.
pub(crate) fn claims(points: &Points) -> Vec<Option<Claim>> {
    let mean_of = |row| means(points, row).map(|parts| mean(&parts));
    let best = SCHEMES.iter().filter_map(|(name, _)| mean_of(name)).reduce(f64::max);
    let ahead = mean_of(AUTO).zip(best).map(|(auto, best)| 100.0 * (auto / best - 1.0));
    vec![own_check((FIGURE, "ahead of the best scheme by"), ahead, (1.0, 100.0), "%")]
}
