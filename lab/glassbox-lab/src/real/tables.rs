//! Tables and sections: measurements, predictions, and their differences.

use super::auto;
use super::drive::Threading;
use super::plan::{
    self, BY_CLIENTS_US, MICRO_BY_PROCESSES, OTHER_LOADS, RATIOS, SCHEMES, THROUGHPUT, TPCC_BY_PROCESSES,
    TPCC_BY_THREADS, figure, sweeps,
};
use crate::calibrate::INJECTED_US;
use crate::figures::{Curve, Curves, Stroke, curves};
use crate::low_overhead::series::colour;
use crate::low_overhead::{figure8, figure9};
use crate::points::{Point, Points};
use crate::section::{Figure, Section, Table};
use glassbox_workloads::format;

/// Maximum difference of an accurate prediction from the measurement, in percent.
const MAX_DIFFERENCE: f64 = 15.0;

/// The unit of an axis.
const OF_SHARE: &str = "% of transactions on two partitions";

fn of<'a>(points: &'a Points, figure: &str, row: &str) -> Vec<&'a Point> {
    let is = |it: &&Point| it.figure == figure && it.row == row && it.metric == THROUGHPUT;
    points.0.iter().filter(is).collect()
}

/// Throughput by share at a round trip; `what` is "real" or "simulated".
pub fn throughput(points: &Points, (threads, us): (Threading, u64), what: &str) -> Option<Table> {
    let figure = figure(threads, us);
    by_x(points, &figure, format!("round trip {figure}, {what}"), &|share| format!("{share} %"))
}

/// Throughput by clients, and with other loads by share: figures of the results, with the units of their axes, and
/// their tables.
pub fn others(points: &Points) -> Vec<(String, &'static str, Table)> {
    let by_clients = |us| {
        let figure = plan::by_clients(us);
        let table = by_x(points, &figure, format!("{figure} (real)"), &|clients| format!("{clients}"))?;
        Some((figure, "clients", table))
    };
    let of_load = |(name, _)| {
        let figure = plan::of_load(name);
        let table = by_x(points, &figure, format!("{figure} (real)"), &|share| format!("{share} %"))?;
        Some((figure, OF_SHARE, table))
    };
    let other = |(figure, x_unit, mark): (&str, &'static str, &str)| {
        let table = by_x(points, figure, format!("{figure} (real)"), &|x| format!("{x}{mark}"))?;
        Some((figure.to_owned(), x_unit, table))
    };
    let (warehouses, of_share) = (("warehouses", ""), (OF_SHARE, " %"));
    let [(figure8, _), (figure9, _)] = TPCC_BY_THREADS;
    let others =
        [(figure8, warehouses), (figure9, of_share), (MICRO_BY_PROCESSES, of_share), (TPCC_BY_PROCESSES, warehouses)];
    let others = others.into_iter().filter_map(|(figure, (x_unit, mark))| other((figure, x_unit, mark)));
    let of_loads = OTHER_LOADS.into_iter().filter_map(of_load);
    BY_CLIENTS_US.into_iter().filter_map(by_clients).chain(of_loads).chain(others).collect()
}

fn by_x(points: &Points, figure: &str, first: String, name: &dyn Fn(f64) -> String) -> Option<Table> {
    let header = std::iter::once(first).chain(SCHEMES.map(|(row, _)| row.to_owned())).collect();
    let row = |x: f64| {
        let cell = |row: &str| {
            let point = points.at(figure, row, x, THROUGHPUT);
            point.map_or_else(String::new, |it| {
                let spread =
                    it.spread.map_or_else(String::new, |spread| format!(" ± {}", format::number(spread / 2.0)));
                format::number(it.value) + &spread
            })
        };
        std::iter::once(name(x)).chain(SCHEMES.map(|(row, _)| cell(row))).collect()
    };
    let rows: Vec<_> = of(points, figure, SCHEMES[0].0).into_iter().map(|point| row(point.x)).collect();
    (!rows.is_empty()).then_some(Table { header, rows })
}

/// The difference of the prediction from the measurement, in percent of the latter.
pub fn apart(real: &Points, predicted: &Points) -> Table {
    let mut rows = Vec::new();
    for (threads, us) in sweeps(&INJECTED_US) {
        let figure = figure(threads, us);
        for (scheme, _) in SCHEMES {
            let apart = of(real, &figure, scheme).into_iter().filter_map(|point| {
                let predicted = predicted.at(&figure, scheme, point.x, THROUGHPUT)?;
                Some((point.x, 100.0 * (predicted.value / point.value - 1.0)))
            });
            let apart: Vec<_> = apart.collect();
            let Some(farthest) = apart.iter().copied().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs())) else { continue };
            let near = apart.iter().filter(|(_, percent)| percent.abs() <= MAX_DIFFERENCE).count();
            rows.push(vec![
                format!("{figure}, {scheme}"),
                format!("{:+.0} % at {} %", farthest.1, farthest.0),
                format!("{near} of {}", apart.len()),
                if near == apart.len() { "met" } else { "NOT MET" }.to_owned(),
            ]);
        }
    }
    let header = ["simulated with this machine's constants, compared with real", "largest", "within 15 %", "goal"];
    Table { header: header.map(str::to_owned).to_vec(), rows }
}

/// The throughput of speculation over that of the others, with 10 % of transactions on two partitions; with more
/// clients where forty do not saturate every scheme.
pub fn goals(real: &Points) -> Table {
    let most = of(real, &plan::by_clients(200), SCHEMES[0].0).last().map_or(0.0, |point| point.x);
    let forty = |us| (format!("{us} µs"), figure(Threading::Many, us), 10.0);
    let more = |us| (format!("{us} µs, {most} clients"), plan::by_clients(us), most);
    let goals = [
        (forty(40), "over blocking", Some(1.8)),
        (forty(40), "over locking", Some(1.15)),
        (more(40), "over locking", Some(1.15)),
        (forty(200), "over blocking", None),
        (more(200), "over blocking", Some(4.0)),
    ];
    let row = |((name, figure, x), metric, goal): &((String, String, f64), &str, Option<f64>)| {
        let point = real.at(&format!("{RATIOS}, {figure}"), "speculation", *x, metric)?;
        let spread = point.spread.map_or_else(String::new, |spread| format!("{spread:.2}"));
        let met = goal.map(|goal| if point.value >= goal { "met" } else { "NOT MET" });
        let goal = goal.map(|goal| format!("at least {goal}")).unwrap_or_default();
        let name = format!("{name}, speculation {metric}");
        Some(vec![name, format!("{:.2}", point.value), spread, goal, met.unwrap_or_default().to_owned()])
    };
    let header =
        ["real, 10 % on two partitions", "times", "interquartile range", "goal", ""].map(str::to_owned).to_vec();
    Table { header, rows: goals.iter().filter_map(row).collect() }
}

/// The figures of a section: one for each round trip.
fn drawn(points: &Points, what: &str) -> Vec<Figure> {
    let each = |sweep: (Threading, u64)| {
        let figure = figure(sweep.0, sweep.1);
        let title = format!("Without conflicts, round trip {figure} ({what})");
        Some(one(points, &figure, title, (what, OF_SHARE), throughput(points, sweep, what)?))
    };
    sweeps(&INJECTED_US).filter_map(each).collect()
}

fn one(points: &Points, figure: &str, title: String, (what, x_unit): (&str, &str), table: Table) -> Figure {
    let curve = |row: &str| {
        let points = of(points, figure, row).into_iter().map(|point| (point.x, point.value)).collect();
        Curve { name: row.to_owned(), colour: colour(row), stroke: Stroke::Dotted, points }
    };
    let svg = curves(&Curves {
        unit: format!("transactions per second ({what})"),
        x_unit: x_unit.to_owned(),
        x_names: &[],
        curves: SCHEMES.iter().map(|(row, _)| curve(row)).collect(),
    });
    Figure { title, svg, caption: String::new(), table: Some(table) }
}

const AUTO_CAPTION: &str = "`Auto` starts with another scheme in each round, and has some time to find the best.";

/// The question of the measurements.
const QUESTION: &str =
    "Which scheme makes the most transactions on this machine, by the share of those on two partitions?";
/// The question of the predictions.
const QUESTION_OF_PREDICTIONS: &str = "Which scheme would make the most transactions, if all that differed from the \
                                       paper were what work and messages cost?";
/// The terms of both sections.
const TERMS: &[(&str, &str)] = &[
    ("blocking", "a partition runs nothing else while a transaction on several partitions waits for its outcome"),
    ("speculation", "it runs the next transactions meanwhile, and undoes them if the outcome is an abort"),
    ("locking", "it runs others meanwhile, which request locks"),
    ("round trip", "the time that a message and its answer take; half of it is injected at each message"),
];

/// The answer.
fn answer(points: &Points, how: &str) -> Option<String> {
    let figure = figure(Threading::Many, 40);
    let rate = |row: &str| points.at(&figure, row, 10.0, THROUGHPUT).map(|point| point.value);
    let [blocking, speculation, locking] = SCHEMES.map(|(row, _)| rate(row));
    let speculation = speculation?;
    Some(format!(
        "{how}, with 10 % on two partitions and a round trip of 40 µs, speculation makes {:.2} times the transactions \
         of blocking, and {:.2} times those of locking.",
        speculation / blocking?,
        speculation / locking?
    ))
}

/// The section of the measurements.
pub fn real(points: &Points) -> Section {
    let mut figures = drawn(points, "real");
    let each = |(figure, x_unit, table): (String, _, _)| {
        one(points, &figure, format!("{figure} (real)"), ("real", x_unit), table)
    };
    figures.extend(others(points).into_iter().map(each));
    let title = "Speculation compared with the others (real)";
    figures.push(Figure::of_table(title, "Ratios within a round.", goals(points)));
    figures.push(Figure::of_table("The scheme that the advisor finds (real)", AUTO_CAPTION, auto::table(points)));
    let method = "Two partitions, a coordinator and clients, forty unless stated otherwise, as threads of one process \
                  on this machine; messages are delayed by half of the given round trip. All clients share one thread. \
                  \"One thread\": all machines and clients share one. \"Processes\": each machine is a process, and \
                  all clients are one more, without added delay; on few cores what is measured then is mostly the \
                  system's sockets and its scheduler.";
    Section {
        id: "low-overhead-real".to_owned(),
        title: "Low overhead concurrency control, on this machine".to_owned(),
        question: QUESTION,
        is_supplement: true,
        answered_by: "",
        terms: TERMS,
        lead: answer(points, "On this machine").unwrap_or_else(|| method.to_owned()),
        facts: vec![("method".to_owned(), method.to_owned())],
        outcomes: String::new(),
        figures,
        ..Section::default()
    }
}

/// The section of the predictions.
pub fn predicted(points: &Points) -> Section {
    let method = "The same cluster in virtual time, with the costs of work and messages measured on this machine, on \
                  as many processors as it has. TPC-C with a round trip of 40 µs.";
    let what = "simulated, calibrated";
    let mut figures = drawn(points, what);
    figures.extend([figure8::figure(points, what), figure9::figure(points, what)].into_iter().flatten());
    Section {
        id: "low-overhead-calibrated".to_owned(),
        title: "Low overhead concurrency control, with constants from this machine".to_owned(),
        question: QUESTION_OF_PREDICTIONS,
        is_supplement: true,
        answered_by: "",
        terms: TERMS,
        lead: answer(points, "With this machine's costs, simulated").unwrap_or_else(|| method.to_owned()),
        facts: vec![("method".to_owned(), method.to_owned())],
        outcomes: String::new(),
        figures,
        ..Section::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::low_overhead::tpcc::FIGURE_8;

    #[test]
    fn measurements_and_predictions_are_labelled() {
        let (mut real, mut predicted) = (Points::default(), Points::default());
        for (at, (row, _)) in SCHEMES.into_iter().enumerate() {
            for share in [0.0, 10.0] {
                real.put(&figure(Threading::Many, 40), row, share, THROUGHPUT, 1_000.0, "1/s");
                predicted.put(&figure(Threading::Many, 40), row, share, THROUGHPUT, 1_000.0 + 100.0 * at as f64, "1/s");
            }
        }
        let last = |table: Table| table.rows.into_iter().map(|row| row.last().cloned()).collect::<Vec<_>>();
        assert_eq!(last(apart(&real, &predicted)), ["met", "met", "NOT MET"].map(|it| Some(it.to_owned())));
        real.put(&format!("{RATIOS}, 40 µs"), "speculation", 10.0, "over blocking", 1.7, "times");
        assert_eq!(last(goals(&real)), [Some("NOT MET".to_owned())]);
        let titles = |section: Section| section.figures.into_iter().map(|figure| figure.title).collect::<Vec<_>>();
        assert!(titles(super::real(&real)).iter().all(|title| title.ends_with("(real)")));
        let title = "Without conflicts, round trip 40 µs (simulated, calibrated)";
        predicted.put(FIGURE_8, "speculation", 2.0, THROUGHPUT, 1_000.0, "1/s");
        let tpcc = "Figure 8. TPC-C by warehouses (simulated, calibrated)";
        assert_eq!(titles(super::predicted(&predicted)), [title, tpcc]);
    }
}
