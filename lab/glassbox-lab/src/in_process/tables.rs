//! The tables, and the section of a report.

use super::instructions::{INSTRUCTIONS, MEMORY, PARTS, by_part};
use super::locks::locks_table;
use super::systems::{Benchmark, CallPath};
use crate::points::Points;
use crate::section::{Figure, Section, Table};
use glassbox_workloads::format;

/// The instructions of a path over those of the token path.
pub fn ratio(points: &Points, system: CallPath, benchmark: Benchmark) -> Option<f64> {
    let of = |system: CallPath| points.value(INSTRUCTIONS, &system.to_string(), benchmark.name());
    Some(of(system)? / of(CallPath::Token)?)
}

/// All instructions, with the goals.
pub fn totals(points: &Points) -> Table {
    let header = ["counted instructions of a transaction", "", "all", "of the token path", "goal", ""];
    let row = |(benchmark, system): (Benchmark, CallPath)| {
        let all = points.value(INSTRUCTIONS, &system.to_string(), benchmark.name())?;
        let ratio = ratio(points, system, benchmark)?;
        let goal = system.goal().map_or_else(String::new, |goal| format!("at most {goal:.1}"));
        let met = system.goal().map_or("", |goal| if ratio <= goal { "met" } else { "NOT MET" });
        let [benchmark, system] = [benchmark.name().to_owned(), system.to_string()];
        Some(vec![benchmark, system, format::number(all), format!("{ratio:.2}"), goal, met.to_owned()])
    };
    let all = Benchmark::ALL.into_iter().flat_map(|benchmark| CallPath::ALL.map(|system| (benchmark, system)));
    Table { header: header.map(str::to_owned).to_vec(), rows: all.filter_map(row).collect() }
}

/// Instructions by part.
pub fn parts(points: &Points, benchmark: Benchmark) -> Table {
    let systems = CallPath::ALL.map(|system| system.to_string());
    let header = std::iter::once(format!("{}, counted", benchmark.name())).chain(systems.iter().cloned());
    let row = |figure: &str, metric: &str, name: &str| {
        let values =
            systems.iter().map(|system| points.value(figure, system, metric).map_or_else(String::new, format::number));
        std::iter::once(name.to_owned()).chain(values).collect::<Vec<_>>()
    };
    let mut rows: Vec<_> = PARTS.names().map(|part| row(&by_part(benchmark), part, part)).collect();
    for (metric, name) in [("copying", "of all: copying memory"), ("allocating", "of all: allocating and freeing")] {
        rows.push(row(MEMORY, &format!("{metric}, {}", benchmark.name()), name));
    }
    Table { header: header.collect(), rows }
}

/// The question of the section.
const QUESTION: &str = "What does a call through the cluster's state machines cost in one process, compared with a \
                        caller that takes a partition's token?";
/// The terms of the section.
const TERMS: &[(&str, &str)] = &[
    ("token", "the embedded database: the caller takes the token of a partition and runs its procedure"),
    ("machines-1, machines-16", "a client of the state machines runs its call on an idle machine; 1 or 16 at a time"),
    ("messages-1, messages-16", "the call goes through a queue to the partition's thread; 1 or 16 at a time"),
];

/// The answer.
fn answer(points: &Points) -> Option<String> {
    let of = |system| ratio(points, system, Benchmark::Tpcc);
    Some(format!(
        "In TPC-C, {:.2} times the instructions where the client runs its call on an idle machine, and {:.2} times as \
         many through queues.",
        of(CallPath::Machines(1))?,
        of(CallPath::Messages(1))?
    ))
}

/// How it is counted.
const LEAD: &str = "An embedded caller takes the token of a partition and runs its procedure. Within one process a \
                    client of the state machines runs its call on an idle machine (machines); otherwise the call goes \
                    through a queue to the partition's thread, and the answer returns through a queue (messages). All \
                    were run under callgrind on one partition, with the same rows and calls: instructions were \
                    counted, no time was measured.";

/// The section of the numbers that were measured.
pub fn section(points: &Points) -> Section {
    let caption = "16: sixteen calls are submitted together before the client waits.";
    let mut figures =
        vec![Figure::of_table("The path through the machines, and the token's (counted)", caption, totals(points))];
    for benchmark in Benchmark::ALL {
        let caption = "Functions without an owner, such as copying and allocating, are charged to their callers.";
        figures.push(Figure::of_table(
            format!("{}, by part (counted)", benchmark.name()),
            caption,
            parts(points, benchmark),
        ));
    }
    let caption = "Locking, New-Order alone, six warehouses, forty clients, two partitions on one thread. Instructions \
                   are not time.";
    let title = "Figure 9's time on locks, on this machine (counted)";
    figures.extend(locks_table(points).map(|table| Figure::of_table(title, caption, table)));
    Section {
        id: "in-process".to_owned(),
        title: "Low overhead concurrency control: machines in process".to_owned(),
        question: QUESTION,
        is_supplement: true,
        answered_by: "",
        terms: TERMS,
        lead: answer(points).unwrap_or_else(|| LEAD.to_owned()),
        facts: vec![("method".to_owned(), LEAD.to_owned())],
        outcomes: String::new(),
        figures,
        ..Section::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::instructions::UNIT;
    use super::*;

    #[test]
    fn a_goal_that_is_not_met_is_reported() {
        let mut points = Points::default();
        for (system, all) in CallPath::ALL.into_iter().zip([1_000.0, 1_290.0, 1_210.0]) {
            points.put(INSTRUCTIONS, &system.to_string(), 0.0, Benchmark::Tpcc.name(), all, UNIT);
        }
        let rows = totals(&points).rows;
        assert_eq!(rows.len(), 3, "the other benchmark was not counted");
        assert_eq!(rows[1][2..], ["1,290", "1.29", "at most 1.3", "met"].map(str::to_owned));
        assert_eq!(rows[2][2..], ["1,210", "1.21", "at most 1.1", "NOT MET"].map(str::to_owned));
        assert_eq!(section(&points).figures.len(), 3);
    }
}
