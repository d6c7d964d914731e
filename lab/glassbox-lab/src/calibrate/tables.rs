//! The tables of costs and round trips, as text.

use glassbox_sim::cluster::Costs;

use super::costs::{CALLS, COSTS, COSTS_OF_TPCC, COSTS_ON_ONE_THREAD, COSTS_ON_ONE_THREAD_LATE, METRICS, ROUND_TRIP};
use super::machines::INJECTED_US;
use crate::points::{Point, Points};
use crate::section::{Figure, Section, Table};

fn cells(point: &Point) -> [String; 2] {
    let number =
        |value: f64| if point.unit == "ns" { format!("{:.2} µs", value / 1e3) } else { format!("{value:.1}") };
    [number(point.value), point.spread.map_or_else(String::new, number)]
}

/// The constants, with the paper's.
pub fn costs(points: &Points) -> Table {
    let papers = [Costs::of_the_paper(), Costs::of_the_paper_s_tpcc()].map(|costs| {
        [
            costs.single_ns,
            costs.single_undo_ns,
            costs.fragment_ns,
            costs.decide_ns,
            costs.locking_thousandths,
            costs.fragment_locking_thousandths,
            costs.stopped_ns,
            costs.undo_ns,
            costs.coordinator_message_ns,
            costs.client_ns,
        ]
    });
    let row = |(at, (metric, unit, _)): (usize, &(&str, &str, _))| {
        let mut row = vec![if *unit == "ns" { (*metric).to_owned() } else { format!("{metric}, {unit}") }];
        for (figure, paper) in [COSTS, COSTS_OF_TPCC].into_iter().zip(&papers) {
            let theirs = paper.get(at).map_or_else(String::new, |&ns| {
                if *unit == "ns" { format!("{:.2} µs", ns as f64 / 1e3) } else { format!("{ns}") }
            });
            row.extend(cells(points.get(figure, metric, metric)?));
            row.push(theirs);
        }
        for figure in [COSTS_ON_ONE_THREAD, COSTS_ON_ONE_THREAD_LATE] {
            row.extend(cells(points.get(figure, metric, metric)?));
        }
        Some(row)
    };
    let micro = ["measured on this machine", "", "interquartile range", "the paper's"];
    let others = [
        "TPC-C",
        "interquartile range",
        "the paper's",
        "one thread",
        "interquartile range",
        "delayed",
        "interquartile range",
    ];
    let header = micro.into_iter().chain(others).map(str::to_owned).collect();
    Table { header, rows: METRICS.iter().enumerate().filter_map(row).collect() }
}

/// The round trips.
pub fn round_trips(points: &Points) -> Table {
    let row = |injected_us: u64| {
        let mut row = vec![format!("{injected_us} µs")];
        for kind in CALLS {
            let point = points.at(ROUND_TRIP, kind, injected_us as f64, "reached")?;
            let spread = point.spread.map_or_else(String::new, |spread| format!("{spread:.1} µs"));
            row.extend([format!("{:.1} µs", point.value), spread]);
        }
        Some(row)
    };
    let call = "time of a synchronous call";
    let header = ["injected round trip", call, "interquartile range", "on two partitions", "interquartile range"];
    let header = header.map(str::to_owned).to_vec();
    Table { header, rows: INJECTED_US.into_iter().filter_map(row).collect() }
}

/// The question of the section.
const QUESTION: &str =
    "What does each kind of a cluster's work cost on this machine, and what did it cost in the paper?";
/// The terms of the section.
const TERMS: &[(&str, &str)] = &[
    ("t_sp, t_spS", "a transaction on one partition, not speculated and speculated"),
    ("fragment", "a partition's part of a transaction on several"),
    ("l", "what locks add to a transaction, or to a fragment"),
    ("round trip", "the time that two threads need for a message and its answer; some is injected"),
];
/// How it is measured.
const LEAD: &str = "The simulator's cost of each kind of work, measured on this machine: the state machines handled \
                    their messages on one thread. Round trips were measured between threads.";

/// The answer.
fn answer(points: &Points) -> Option<String> {
    let us = |metric| points.get(COSTS, metric, metric).map(|point| point.value / 1e3);
    let paper = Costs::of_the_paper();
    Some(format!(
        "Here a transaction on one partition costs {:.2} µs of processor time and a fragment {:.2} µs; in the paper, \
         {:.0} and {:.0} µs.",
        us("t_sp")?,
        us("fragment")?,
        paper.single_ns as f64 / 1e3,
        paper.fragment_ns as f64 / 1e3
    ))
}

/// The section of a report.
pub fn section(points: &Points) -> Section {
    let figure = |title: &str, table| Figure::of_table(format!("{title} (measured)"), "", table);
    Section {
        id: "calibrate".to_owned(),
        title: "The simulator's constants".to_owned(),
        question: QUESTION,
        is_supplement: true,
        answered_by: "",
        terms: TERMS,
        lead: answer(points).unwrap_or_else(|| LEAD.to_owned()),
        facts: vec![("method".to_owned(), LEAD.to_owned())],
        outcomes: String::new(),
        figures: vec![figure("Costs", costs(points)), figure("Round trips", round_trips(points))],
        ..Section::default()
    }
}
