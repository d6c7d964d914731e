//! The experiment's section of a report.

use super::checks::{claims, places, value};
use super::measure::{LOCK_WAIT, NEED_DISK, NEW_ORDERS, READ_TIME, SIZES, THROUGHPUT};
use super::plan::{COMPUTATION, FASTER, HERE, LATENCY, POOLS, SESSIONS};
use super::policy::Policy;
use super::tables;
use crate::claim::Claim;
use crate::figures::{Bar, Colour, Curve, Curves, Stacked, Stroke, curves, stacked};
use crate::points::Points;
use crate::section::{Figure, Section, Table};
use glassbox_workloads::format;

/// The introduction of the section.
const LEAD: &str = "A transaction that reads the disk while it holds locks makes all others that need them wait for \
                    its disk. Charm measured in 2001 what it is worth to fetch its pages first, without locks. Here \
                    TPC-C runs on Glassbox's classic engine, on disks of stated latencies: first with the paper's \
                    disks and processor, modelled and five times as fast, then with those of today.";

const COLOURS: [Colour; 6] = [
    Colour(0xe1, 0x57, 0x59),
    Colour(0x4e, 0x79, 0xa7),
    Colour(0xf2, 0x8e, 0x2b),
    Colour(0x2f, 0x8f, 0x4e),
    Colour(0x7a, 0x5a, 0xa7),
    Colour(0x9a, 0xa3, 0xae),
];

/// The section of these numbers.
pub fn section(points: &Points) -> Section {
    let two = [Policy::TwoPhaseLocking, Policy::Hybrid];
    let mut figures = Vec::new();
    let minute = 60.0 / FASTER as f64;
    let rate = |figure, title, x_unit, policies: &[Policy]| {
        lines(points, figure, (title, x_unit, "New-Orders per minute"), policies, (NEW_ORDERS, minute))
    };
    figures.extend(rate(SESSIONS, "Figure 2a. New-Orders by sessions", "sessions", &two));
    figures.extend(lines(
        points,
        SESSIONS,
        ("Figure 3. Lock wait of a New-Order", "sessions", "ms"),
        &two,
        (LOCK_WAIT, FASTER as f64),
    ));
    figures.extend(rate(POOLS, "Figure 4. New-Orders by the share that needs the disk", "% need the disk", &two));
    figures.extend(times(points));
    figures.extend(rate(COMPUTATION, "Table 7. New-Orders by computation", "times the paper's", &Policy::ALL));
    for (figure, _) in HERE {
        let title = format!("Throughput {figure}, a disk of 1 ms");
        let what = (title.as_str(), "sessions", "transactions per second");
        figures.extend(lines(points, figure, what, &Policy::HERE, (THROUGHPUT, 1.0)));
    }
    let what = ("Throughput here by the latency of the disk", "µs", "transactions per second");
    figures.extend(lines(points, LATENCY, what, &two, (THROUGHPUT, 1.0)));
    let tables = tables::all(points);
    figures.extend(tables.into_iter().map(|(title, table)| Figure::of_table(title, "", table)));
    figures.extend(sizes(points).map(|table| Figure::of_table("How large the pools are", "", table)));
    let verdicts = tables::verdicts(points);
    figures.extend((!verdicts.rows.is_empty()).then(|| Figure::of_table("The claims", "", verdicts)));
    Section {
        id: super::EXPERIMENT.to_owned(),
        title: "Charm: two-stage execution".to_owned(),
        lead: LEAD.to_owned(),
        // The bounds are those of a shape: they contain what differs from the paper, too.
        outcomes: String::new(),
        facts: Vec::new(),
        notes_title: "Differences from the paper, with the reasons".to_owned(),
        notes: claims(points).iter().filter_map(Claim::difference).collect(),
        figures,
    }
}

fn lines(
    points: &Points,
    figure: &str,
    (title, x_unit, unit): (&str, &str, &str),
    policies: &[Policy],
    (metric, factor): (&str, f64),
) -> Option<Figure> {
    let of = |policy: &Policy| Curve {
        name: policy.name().to_owned(),
        colour: COLOURS[*policy as usize],
        stroke: Stroke::Dotted,
        points: places(points, figure)
            .into_iter()
            .filter_map(|x| Some((x, value(points, figure, policy.name(), x, metric)? * factor)))
            .collect(),
    };
    let drawn = Curves {
        unit: unit.to_owned(),
        x_unit: x_unit.to_owned(),
        curves: policies.iter().map(of).filter(|curve| !curve.points.is_empty()).collect(),
    };
    let is_empty = drawn.curves.is_empty();
    let figure = || Figure { title: title.to_owned(), svg: curves(&drawn), caption: String::new(), table: None };
    (!is_empty).then(figure)
}

/// Figure 5: the parts of a New-Order's time.
fn times(points: &Points) -> Option<Figure> {
    let mut bars = Vec::new();
    for share in places(points, POOLS) {
        for policy in [Policy::TwoPhaseLocking, Policy::Hybrid] {
            let of = |metric| Some(value(points, POOLS, policy.name(), share, metric)? * FASTER as f64);
            let (wait, read, whole) = (of(LOCK_WAIT)?, of(READ_TIME)?, of(super::measure::RESPONSE)?);
            let values = vec![wait, read, (whole - wait - read).max(0.0)];
            let note = format!("{} ms", format::number(whole));
            bars.push(Bar { label: format!("{share} %\n{}", policy.name()), values, note });
        }
    }
    let parts = [("lock wait", COLOURS[0]), ("reads", COLOURS[1]), ("the rest", COLOURS[5])];
    let svg = || {
        stacked(&Stacked {
            unit: "time of a New-Order, ms".to_owned(),
            parts: parts.map(|(name, colour)| (name.to_owned(), colour)).to_vec(),
            bars: bars.clone(),
            shares: false,
        })
    };
    let title = "Figure 5. The time of a New-Order by the share that needs the disk".to_owned();
    (!bars.is_empty()).then(|| Figure { title, svg: svg(), caption: String::new(), table: None })
}

fn sizes(points: &Points) -> Option<Table> {
    let of = points.0.iter().filter(|it| it.figure == SIZES && it.metric == NEED_DISK);
    let rows: Vec<_> = of.map(|it| vec![it.row.clone(), format::number(it.x), format::number(it.value)]).collect();
    (!rows.is_empty()).then(|| Table::new(&["database", "pool, MB", "New-Orders that need the disk, %"], rows))
}
