//! Tables and sections: what was measured, what was predicted, and how far they are apart.

use super::auto_table;
use super::plan::{self, BY_CLIENTS_US, RATIOS, SCHEMES};
use super::{THROUGHPUT, Threads, figure, sweeps};
use crate::calibrate::INJECTED_US;
use crate::figures::{Curve, Curves, Stroke, curves};
use crate::format;
use crate::low_overhead::{colour, figure8, figure9};
use crate::points::{Point, Points};
use crate::report::{Figure, Section, Table};

/// How far a prediction may be from what is measured, in percent.
const NEAR: f64 = 15.0;

fn of<'a>(points: &'a Points, figure: &str, row: &str) -> Vec<&'a Point> {
    let is = |it: &&Point| it.figure == figure && it.row == row && it.metric == THROUGHPUT;
    points.0.iter().filter(is).collect()
}

/// Throughput by share at a round trip; `what` says whether it is real or simulated.
pub fn throughput(points: &Points, (threads, us): (Threads, u64), what: &str) -> Option<Table> {
    let figure = figure(threads, us);
    by_x(points, &figure, format!("round trip {figure}, {what}"), &|share| format!("{share} %"))
}

/// Throughput by clients, by what each is called in results.
pub fn by_clients(points: &Points) -> Vec<(String, Table)> {
    let table = |us| {
        let figure = plan::by_clients(us);
        let table = by_x(points, &figure, format!("{figure} (real)"), &|clients| format!("{clients}"))?;
        Some((figure, table))
    };
    BY_CLIENTS_US.into_iter().filter_map(table).collect()
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

/// How far the prediction is from what was measured, in percent of the latter.
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
            let near = apart.iter().filter(|(_, percent)| percent.abs() <= NEAR).count();
            rows.push(vec![
                format!("{figure}, {scheme}"),
                format!("{:+.0} % at {} %", farthest.1, farthest.0),
                format!("{near} of {}", apart.len()),
                if near == apart.len() { "met" } else { "MISSED" }.to_owned(),
            ]);
        }
    }
    let header = ["simulated with constants from here, beside what is real", "farthest", "within 15 %", "goal"];
    Table { header: header.map(str::to_owned).to_vec(), rows }
}

/// How many times speculation is as fast as the others, with a tenth of all transactions on two partitions. Where forty
/// clients cannot ask for more than one scheme does, what counts is with more.
pub fn goals(real: &Points) -> Table {
    let most = of(real, &plan::by_clients(200), SCHEMES[0].0).last().map_or(0.0, |point| point.x);
    let forty = |us| (format!("{us} µs"), figure(Threads::Many, us), 10.0);
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
        let met = goal.map(|goal| if point.value >= goal { "met" } else { "MISSED" });
        let goal = goal.map(|goal| format!("at least {goal}")).unwrap_or_default();
        let name = format!("{name}, speculation {metric}");
        Some(vec![name, format!("{:.2}", point.value), spread, goal, met.unwrap_or_default().to_owned()])
    };
    let header = ["real, 10 % on two partitions", "times", "middle half", "goal", ""].map(str::to_owned).to_vec();
    Table { header, rows: goals.iter().filter_map(row).collect() }
}

/// The figures of a section: one for each round trip.
fn drawn(points: &Points, what: &str) -> Vec<Figure> {
    let each = |sweep: (Threads, u64)| {
        let figure = figure(sweep.0, sweep.1);
        let title = format!("Without conflicts, round trip {figure} ({what})");
        let x_unit = "% of transactions on two partitions";
        Some(one(points, &figure, title, (what, x_unit), throughput(points, sweep, what)?))
    };
    sweeps(&INJECTED_US).filter_map(each).collect()
}

fn one(points: &Points, figure: &str, title: String, (what, x_unit): (&str, &str), table: Table) -> Figure {
    let curve = |row: &str| {
        let points = of(points, figure, row).into_iter().map(|point| (point.x, point.value)).collect();
        Curve { name: row.to_owned(), colour: colour(row), stroke: Stroke::Dotted, points }
    };
    let svg = curves(&Curves {
        unit: format!("transactions a second ({what})"),
        x_unit: x_unit.to_owned(),
        curves: SCHEMES.iter().map(|(row, _)| curve(row)).collect(),
    });
    Figure { title, svg, caption: String::new(), table: Some(table) }
}

const AUTO_CAPTION: &str = "`Auto` begins with another scheme each time, and is given a while to find the best.";

/// The section of what was measured.
pub fn real(points: &Points) -> Section {
    let mut figures = drawn(points, "real");
    let each =
        |(figure, table): (String, _)| one(points, &figure, format!("{figure} (real)"), ("real", "clients"), table);
    figures.extend(by_clients(points).into_iter().map(each));
    let (title, caption) =
        ("Speculation beside the others (real)".to_owned(), "Ratios of neighbouring runs.".to_owned());
    figures.push(Figure { title, svg: String::new(), caption, table: Some(goals(points)) });
    let (title, caption) = ("The scheme that is found (real)".to_owned(), AUTO_CAPTION.to_owned());
    figures.push(Figure { title, svg: String::new(), caption, table: Some(auto_table(points)) });
    let lead = "Partitions, coordinator and clients, forty where nothing else is said, as threads of one process on \
                this machine, two partitions; messages are held up for half of the round trip that is named. The \
                clients are one thread. On one thread: all of them are.";
    Section {
        id: "low-overhead-real".to_owned(),
        title: "Low overhead concurrency control, on this machine".to_owned(),
        lead: lead.to_owned(),
        figures,
        ..Section::default()
    }
}

/// The section of what was simulated with constants from here.
pub fn predicted(points: &Points) -> Section {
    let lead = "The same cluster in virtual time, with what work and messages were measured to take on this machine, \
                on as many processors as it has. TPC-C with a round trip of 40 µs.";
    let what = "simulated, calibrated";
    let mut figures = drawn(points, what);
    figures.extend([figure8::figure(points, what), figure9::figure(points, what)].into_iter().flatten());
    Section {
        id: "low-overhead-calibrated".to_owned(),
        title: "Low overhead concurrency control, with constants from this machine".to_owned(),
        lead: lead.to_owned(),
        figures,
        ..Section::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_real_and_what_is_predicted_is_told_apart() {
        let (mut real, mut predicted) = (Points::default(), Points::default());
        for (at, (row, _)) in SCHEMES.into_iter().enumerate() {
            for share in [0.0, 10.0] {
                real.put(&figure(Threads::Many, 40), row, share, THROUGHPUT, 1_000.0, "1/s");
                predicted.put(&figure(Threads::Many, 40), row, share, THROUGHPUT, 1_000.0 + 100.0 * at as f64, "1/s");
            }
        }
        let last = |table: Table| table.rows.into_iter().map(|row| row.last().cloned()).collect::<Vec<_>>();
        assert_eq!(last(apart(&real, &predicted)), ["met", "met", "MISSED"].map(|it| Some(it.to_owned())));
        real.put(&format!("{RATIOS}, 40 µs"), "speculation", 10.0, "over blocking", 1.7, "times");
        assert_eq!(last(goals(&real)), [Some("MISSED".to_owned())]);
        let titles = |section: Section| section.figures.into_iter().map(|figure| figure.title).collect::<Vec<_>>();
        assert!(titles(super::real(&real)).iter().all(|title| title.ends_with("(real)")));
        let title = "Without conflicts, round trip 40 µs (simulated, calibrated)";
        predicted.put(figure8::FIGURE, "speculation", 2.0, THROUGHPUT, 1_000.0, "1/s");
        let tpcc = "Figure 8. TPC-C by warehouses (simulated, calibrated)";
        assert_eq!(titles(super::predicted(&predicted)), [title, tpcc]);
    }
}
