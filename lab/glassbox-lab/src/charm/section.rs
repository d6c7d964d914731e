//! The experiment's section of a report.

use super::checks::{claims, places, ratio, value};
use super::grid_verdicts::grid_sentence;
use super::measure::{LOCK_WAIT, NEED_DISK, NEW_ORDERS, OTHERS_READS, READ_TIME, SIZES, THROUGHPUT};
use super::plan::{COMPUTATION, FASTER, HERE, LATENCY, POOLS, SESSIONS};
use super::policy::Policy;
use super::pools::SHARES;
use super::tables::{self, MODELLED};
use crate::claim::{Claim, counted, outcomes};
use crate::figures::{Bar, Colour, Curve, Curves, Stacked, Stroke, curves, stacked};
use crate::points::Points;
use crate::section::{Figure, Section, Table};
use glassbox_workloads::format;

/// The question of the section.
const QUESTION: &str = "A transaction that reads the disk while it holds locks makes all others that need them wait. \
                        What is it worth to fetch its pages first, without locks?";
/// The terms of the section.
const TERMS: &[(&str, &str)] = &[
    ("2PL", "two-phase locking: a transaction requests locks as it goes, and reads missing pages while it holds them"),
    (
        "TSTE",
        "two-stage execution: each transaction runs twice, in a fetch stage without locks, which reads and pins its \
         pages, and then in an operate stage with locks",
    ),
    (
        "OTSTE",
        "the optimistic form: a transaction runs with locks at once; at the first missing page it releases them and \
         becomes a fetch stage",
    ),
    ("HTSTE", "the hybrid form: each procedure runs in the class that suits it, one of the three above"),
    ("needs the disk", "of a transaction: a page that it accesses is not in the pool"),
];
/// How it is measured.
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

/// The answer.
fn answer(points: &Points) -> Option<String> {
    let gain = |figure, x, metric| ratio(points, figure, ["HTSTE", "2PL"], x, metric);
    if !points.has(SESSIONS)
        && let Some(text) = grid_sentence(points)
    {
        return Some(text);
    }
    let claims = claims(points);
    let here = gain(HERE[0].0, 16.0, THROUGHPUT).map(|gain| {
        format!(
            " On a disk of today (1 ms, 64 reads at a time), 16 sessions with page locks make {gain:.1} times as many."
        )
    });
    let modelled = gain(SESSIONS, 4.0, NEW_ORDERS).map(|gain| {
        format!(
            " With the paper's disks and processor, modelled, four sessions make {gain:.2} times the New-Orders of \
             two-phase locking (the paper: 2.64)."
        )
    });
    (!claims.is_empty()).then(|| {
        let parts = [modelled, here].into_iter().flatten().collect::<String>();
        format!("{}{parts}", outcomes(&claims))
    })
}

/// The section of these numbers.
pub fn section(points: &Points) -> Section {
    let two = [Policy::TwoPhaseLocking, Policy::Hybrid];
    let mut figures = Vec::new();
    let minute = 60.0 / FASTER as f64;
    let rate = |figure, title: &str, x_unit, policies: &[Policy], known: &[Known<'_>]| {
        let title = format!("{title} ({MODELLED})");
        let what = (title.as_str(), x_unit, "New-Orders per minute");
        lines(points, figure, what, policies, (NEW_ORDERS, minute), known)
    };
    // The paper's rates with four sessions and its usual memory.
    let at = |x: f64| tables::COMPUTATION_OF_PAPER.map(|(policy, rates)| (policy, vec![(x, rates[0].1)]));
    let title = format!("Table 1. Lock wait that is due to others' reads ({MODELLED})");
    let what = (title.as_str(), "sessions", "% of the lock wait");
    let known = [("2PL", tables::OTHERS_READS_OF_PAPER.to_vec())];
    figures.extend(lines(points, SESSIONS, what, &two, (OTHERS_READS, 1.0), &known));
    figures.extend(rate(SESSIONS, "Figure 2a. New-Orders by sessions", "sessions", &two, &at(4.0)));
    let title = format!("Figure 3. Lock wait of a New-Order ({MODELLED})");
    let what = (title.as_str(), "sessions", "ms");
    figures.extend(lines(
        points,
        SESSIONS,
        what,
        &two,
        (LOCK_WAIT, FASTER as f64),
        &tables::LOCK_WAITS_OF_PAPER.map(|(policy, waits)| (policy, waits.to_vec())),
    ));
    let title = "Figure 4. New-Orders by the share that needs the disk";
    figures.extend(rate(POOLS, title, "% of New-Orders that need the disk", &two, &at(SHARES[0])));
    figures.extend(times(points));
    let known = tables::COMPUTATION_OF_PAPER.map(|(policy, rates)| (policy, rates.to_vec()));
    let title = "Table 7. New-Orders by computation";
    figures.extend(rate(COMPUTATION, title, "computation, as a multiple of the paper's", &Policy::ALL, &known));
    for (figure, _) in HERE {
        let title = format!("Throughput {figure}, a modelled disk of 1 ms");
        let what = (title.as_str(), "sessions", "transactions per second");
        figures.extend(lines(points, figure, what, &Policy::HERE, (THROUGHPUT, 1.0), &[]));
    }
    let what =
        ("Throughput here by the latency of the modelled disk", "latency of a read, µs", "transactions per second");
    figures.extend(lines(points, LATENCY, what, &two, (THROUGHPUT, 1.0), &[]));
    let tables = tables::all(points);
    figures.extend(tables.into_iter().map(|(title, table)| Figure::of_table(title, "", table)));
    figures.extend(sizes(points).map(|table| Figure::of_table("How large the pools are", "", table)));
    let caption = "Claims have the bounds of the paper's number with a tolerance; goals are this project's. A full run \
                   fails if a result is outside of its bounds and no reason explains it.";
    let verdicts = tables::verdicts(points).into_iter();
    figures.extend(verdicts.map(|(title, table)| Figure::of_table(title, caption, table)));
    Section {
        id: super::EXPERIMENT.to_owned(),
        title: "Charm: two-stage execution".to_owned(),
        question: QUESTION,
        is_supplement: false,
        answered_by: "Figure 2a.",
        terms: TERMS,
        lead: answer(points).unwrap_or_else(|| LEAD.to_owned()),
        outcomes: counted(&claims(points)),
        facts: vec![("method".to_owned(), LEAD.to_owned())],
        notes_title: "Differences from the paper, with the reasons".to_owned(),
        notes: claims(points).iter().filter_map(Claim::sentence).collect(),
        figures,
    }
}

/// Numbers of the paper: a policy, and its points.
type Known<'a> = (&'a str, Vec<(f64, f64)>);

fn lines(
    points: &Points,
    figure: &str,
    (title, x_unit, unit): (&str, &str, &str),
    policies: &[Policy],
    (metric, factor): (&str, f64),
    known: &[Known<'_>],
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
    let measured: Vec<Curve> = policies.iter().map(of).filter(|curve| !curve.points.is_empty()).collect();
    if measured.is_empty() {
        return None;
    }
    let of_paper = |policy: &Policy| {
        let (_, points) = known.iter().find(|it| it.0 == policy.name())?;
        let stroke = if points.len() > 2 { Stroke::Dashed } else { Stroke::Dots };
        let name = format!("{}, the paper", policy.name());
        Some(Curve { name, colour: COLOURS[*policy as usize].lighter(), stroke, points: points.clone() })
    };
    let of_paper: Vec<Curve> = policies.iter().filter_map(of_paper).collect();
    let drawn = Curves {
        unit: unit.to_owned(),
        x_unit: x_unit.to_owned(),
        x_names: &[],
        curves: [measured, of_paper].concat(),
    };
    Some(Figure { title: title.to_owned(), svg: curves(&drawn), caption: String::new(), table: None })
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
    let title = format!("Figure 5. The time of a New-Order by the share that needs the disk ({MODELLED})");
    (!bars.is_empty()).then(|| Figure { title, svg: svg(), caption: String::new(), table: None })
}

fn sizes(points: &Points) -> Option<Table> {
    let of = points.0.iter().filter(|it| it.figure == SIZES && it.metric == NEED_DISK);
    let rows: Vec<_> = of.map(|it| vec![it.row.clone(), format::number(it.x), format::number(it.value)]).collect();
    (!rows.is_empty()).then(|| Table::new(&["database", "pool, MB", "New-Orders that need the disk, %"], rows))
}
