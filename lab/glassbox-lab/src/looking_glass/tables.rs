//! The tables, for the terminal and below the figures; and the goals.

use glassbox::research::stacks::StackName;

use super::accesses::ACCESSES;
use super::components::{COMPONENTS, call_names};
use super::instructions::{by_call, by_component};
use super::ladder::{
    BARE, Component, FORCED, FULL, GROUPED, INSTRUCTIONS, KERNEL, Measure, RUNGS, THROUGHPUT, TIMED_LEFT_OUT,
};
use super::paper;
use crate::points::Points;
use crate::section::Table;
use crate::workload::Workload;
use glassbox_workloads::format::{self, one_digit};

fn header(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn cell(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| format::number(value.round()))
}

/// Every stack: instructions and throughput.
pub fn ladder(points: &Points) -> Table {
    let mix = Workload::Mix.name();
    let base = |measure: Measure| measure.of(points, KERNEL, mix);
    let row = |name: &str, switch: &str| {
        let counted = Workload::ALL.map(|workload| Measure::Instructions.of(points, name, workload.name()));
        let times = counted[2].zip(base(Measure::Instructions)).map(|(count, base)| count / base);
        let rate = points.value(THROUGHPUT, name, mix);
        let ends = ["least", "most"].map(|which| points.value(THROUGHPUT, name, &format!("{mix} {which}")));
        let spread = ends[0].zip(ends[1]);
        let share = rate.zip(points.value(THROUGHPUT, KERNEL, mix)).map(|(rate, base)| rate / base);
        vec![
            name.to_owned(),
            switch.to_owned(),
            cell(counted[0]),
            cell(counted[1]),
            cell(counted[2]),
            times.map_or_else(String::new, |times| format!("{times:.2}")),
            cell(rate),
            spread
                .map_or_else(String::new, |(low, high)| format!("{} – {}", format::number(low), format::number(high))),
            share.map_or_else(String::new, |share| format!("{share:.3}")),
        ]
    };
    let mut rows = Vec::new();
    if points.has(THROUGHPUT) {
        rows.push(row(FORCED, "log forced"));
        rows.push(row(GROUPED, "log forced, 64 in flight"));
    }
    rows.extend(RUNGS.iter().map(|rung| {
        let switch =
            if rung.name == FULL { "log written asynchronously".to_owned() } else { format!("− {}", rung.switch) };
        row(rung.name, &switch)
    }));
    rows.push(row(KERNEL, "optimal"));
    let mut others: Vec<&str> = Vec::new();
    for point in &points.0 {
        let known =
            |name: &str| [FORCED, GROUPED, KERNEL].contains(&name) || RUNGS.iter().any(|rung| rung.name == name);
        let is_stack = [INSTRUCTIONS, THROUGHPUT, TIMED_LEFT_OUT].contains(&&*point.figure);
        if is_stack && !known(&point.row) && !others.contains(&point.row.as_str()) {
            others.push(&point.row);
        }
    }
    let what = |name: &str| name.parse::<StackName>().map_or("", StackName::what);
    rows.extend(others.into_iter().map(|name| row(name, what(name))));
    let names = ["stack", "switch", "New-Order", "Payment", "mix", "× kernel", "per second", "min – max", "of kernel"];
    Table { header: header(&names), rows }
}

/// A workload's instructions by component, with the paper's.
pub fn components(points: &Points, workload: Workload) -> Option<Table> {
    let costs = Measure::Instructions.of_components(points, workload.name())?;
    let shares = Measure::Instructions.shares(points, workload.name())?;
    let paper = paper::shares(workload);
    let mut rows = Vec::new();
    for (at, component) in Component::ALL.into_iter().enumerate() {
        let theirs = paper.map(|paper| paper[at]);
        rows.push(vec![
            component.name().to_owned(),
            format::difference(costs[at]),
            one_digit(shares[at]),
            theirs.map_or_else(String::new, one_digit),
            theirs.map_or_else(String::new, |theirs| {
                let apart = shares[at] - theirs;
                format!("{}{}", if apart > 0.0 { "+" } else { "" }, one_digit(apart))
            }),
        ]);
    }
    let first = format!("{}, by difference", workload.name());
    Some(Table { header: header(&[&first, "instructions", "% here", "% paper", "points apart"]), rows })
}

/// A workload's instructions on the stacks of the ladder, by call.
pub fn calls(points: &Points, workload: Workload) -> Table {
    let figure = by_call(workload);
    let row = |name: &str| {
        let cells = call_names().map(|call| cell(points.value(&figure, name, call)));
        std::iter::once(name.to_owned()).chain(cells).collect()
    };
    let mut names = vec![format!("{}, by call", workload.name())];
    names.extend(call_names().map(str::to_owned));
    Table { header: names, rows: RUNGS.iter().map(|rung| row(rung.name)).collect() }
}

/// A workload's instructions on the stacks of the ladder, by the inlined functions that they belong to.
pub fn inlined(points: &Points, workload: Workload) -> Table {
    let figure = by_component(workload);
    let stacks: Vec<_> = RUNGS.iter().map(|rung| rung.name).chain([KERNEL]).collect();
    let mut parts: Vec<&str> = Vec::new();
    for point in points.0.iter().filter(|point| point.figure == figure && point.value >= 0.5) {
        if !parts.contains(&point.metric.as_str()) {
            parts.push(&point.metric);
        }
    }
    parts.sort_by_key(|part| COMPONENTS.names().position(|name| name == *part));
    let row = |part: &&str| {
        let value = |stack: &&str| points.value(&figure, stack, part).filter(|value| *value >= 0.5);
        std::iter::once((*part).to_owned()).chain(stacks.iter().map(|stack| cell(value(stack)))).collect()
    };
    let first = format!("{}, by inlined functions", workload.name());
    let names: Vec<_> = std::iter::once(first.as_str()).chain(stacks.iter().copied()).collect();
    Table { header: header(&names), rows: parts.iter().map(row).collect() }
}

/// The calls of a transaction, with the paper's.
pub fn accesses(points: &Points) -> Table {
    let row = |(call, new_order, payment): &(&str, f64, f64)| {
        let here =
            |workload: Workload| points.value(ACCESSES, call, workload.name()).map_or_else(String::new, format::short);
        let [new_order, payment] = [new_order, payment].map(|count| format!("{count}"));
        vec![(*call).to_owned(), here(Workload::NewOrder), new_order, here(Workload::Payment), payment]
    };
    Table {
        header: header(&["calls of a transaction", "New-Order", "paper", "Payment", "paper"]),
        rows: paper::CALLS.iter().map(row).collect(),
    }
}

/// A goal, and whether it is met.
#[derive(Debug, Clone, PartialEq)]
pub struct Goal {
    /// The measure.
    pub what: String,
    /// The measured multiple of the kernel's.
    pub measured: f64,
    /// The same of the paper's Shore.
    pub paper: f64,
    /// The maximum (instructions) or minimum (throughput).
    pub goal: f64,
    /// Whether it is met.
    pub met: bool,
}

/// All measured goals on the mix.
pub fn goals(points: &Points) -> Vec<Goal> {
    let mix = Workload::Mix.name();
    let instructions = |stack: &str, max: f64, paper: f64| {
        let measured = Measure::Instructions.of(points, stack, mix)? / Measure::Instructions.of(points, KERNEL, mix)?;
        Some(Goal { what: format!("instructions of {stack}"), measured, paper, goal: max, met: measured <= max })
    };
    let throughput = |stack: &str, min: f64, paper: f64| {
        let measured = points.value(THROUGHPUT, stack, mix)? / points.value(THROUGHPUT, KERNEL, mix)?;
        Some(Goal { what: format!("throughput of {stack}"), measured, paper, goal: min, met: measured >= min })
    };
    [
        instructions(FULL, 8.0, 60.0),
        instructions(BARE, 1.3, 5.0),
        throughput(FULL, 0.20, 0.04),
        throughput(GROUPED, 0.15, 0.014),
        throughput(BARE, 0.75, 0.27),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The table of goals.
pub fn goals_table(points: &Points) -> Table {
    let rows = goals(points).into_iter().map(|goal| {
        let sign = if goal.what.starts_with("instructions") { "≤" } else { "≥" };
        let verdict = if goal.met { "met" } else { "NOT MET" };
        vec![
            goal.what,
            format!("{:.2}", goal.measured),
            format!("{sign} {}", goal.goal),
            verdict.to_owned(),
            format!("{}", goal.paper),
        ]
    });
    Table { header: header(&["times the kernel's (mix)", "here", "goal", "", "Shore"]), rows: rows.collect() }
}
