//! The validation's section of a report, and its tables for the terminal.

use glassbox_workloads::format;

use super::points::{GROUPS, SYSTEMS};
use super::{ERROR, MODEL, PRODUCTION, claims};
use crate::claim;
use crate::determinism::jobs::value;
use crate::points::Points;
use crate::section::{Figure, Section, Table};

/// The question of the section.
const QUESTION: &str = "The figures of the determinism page come from a queueing model without rows. How far is it \
                        from production's code?";
/// The terms of the section.
const TERMS: &[(&str, &str)] = &[
    ("model", "queues and stated costs, without rows"),
    ("production's code", "its sequencers, executors, schedulers, partitions and rows, in virtual time"),
    ("model's error", "how much more, or less, throughput or time the model says than production's code"),
];
/// How it is measured.
const LEAD: &str = "The figures of this page come from a queueing model without rows. In production's shape (one \
                    thread for each of eight partitions, which pays for its locks, and at most 128 transactions in \
                    flight) the model is run here next to production's sequencers, executors, schedulers, partitions \
                    and rows, in virtual time: the same transactions, the same number of clients, the same stated \
                    costs. The model's error is the difference.";

/// Both numbers and the error, of each point.
fn table(points: &Points) -> Option<Table> {
    let mut rows = Vec::new();
    for group in &GROUPS {
        for (point, system) in group.points.iter().flat_map(|it| SYSTEMS.map(|system| (it, system))) {
            let of = |metric| value(points, group.figure, system, point.x, metric);
            let (Some(production), Some(model), Some(error)) = (of(PRODUCTION), of(MODEL), of(ERROR)) else { continue };
            let figure = group.figure.split(',').next().unwrap_or_default();
            rows.push(vec![
                format!("{figure}, {}", point.name),
                system.to_owned(),
                format!("{} {}", format::number(production), point.unit()),
                format!("{} {}", format::number(model), point.unit()),
                format!("{error:+.1} %"),
            ]);
        }
    }
    let header =
        ["the model in production's shape, simulated", "system", "production's code", "model", "model's error"];
    (!rows.is_empty()).then(|| Table::new(&header, rows))
}

/// The answer.
fn answer(points: &Points) -> Option<String> {
    let claims = claims(points);
    let worst = claims.iter().max_by(|one, other| one.here.abs().total_cmp(&other.here.abs()))?;
    let figure = worst.figure.split(',').next().unwrap_or_default();
    Some(format!("At most {:.1} %, in {figure} ({}).", worst.here.abs(), worst.claim))
}

fn claims_table(points: &Points) -> Option<Table> {
    claim::table("the model's largest error", &claims(points))
}

/// The section of a report.
pub fn section(points: &Points) -> Section {
    let figure = |title: &str, caption: &str, table: Option<Table>| {
        table.map(|table| Figure::of_table(format!("{title} (simulated)"), caption, table))
    };
    let caption = "Short transactions in Figures 1a and 1c, long ones in 5a (one node at half of its speed) and 7 \
                   (a few clients at each node).";
    let figures = [
        figure("Production and the model", caption, table(points)),
        figure("The model's error", "Without distributed transactions the bounds are narrow.", claims_table(points)),
    ];
    Section {
        id: super::EXPERIMENT.to_owned(),
        title: "Deterministic execution: the model next to production's code".to_owned(),
        question: QUESTION,
        is_supplement: true,
        answered_by: "",
        terms: TERMS,
        lead: answer(points).unwrap_or_else(|| LEAD.to_owned()),
        outcomes: claim::counted(&claims(points)),
        facts: vec![("method".to_owned(), LEAD.to_owned())],
        notes_title: String::new(),
        notes: Vec::new(),
        figures: figures.into_iter().flatten().collect(),
    }
}

/// All tables, for the terminal.
pub fn tables(points: &Points) -> Vec<Table> {
    table(points).into_iter().chain(claims_table(points)).collect()
}
