//! The tables, and the section of a report.

use super::parts::PARTS;
use super::systems::{System, Workload};
use crate::format;
use crate::points::Points;
use crate::report::{Figure, Section, Table};

/// In results, all instructions of each way.
pub(super) const INSTRUCTIONS: &str = "instructions";
/// Of these, those that copy and that allocate.
pub(super) const MEMORY: &str = "memory";
/// The most costly functions.
pub(super) const FUNCTIONS: &str = "by function";
/// Of all of them.
pub(super) const UNIT: &str = "instructions/transaction";

/// Where the instructions by part are, of a workload.
pub(super) fn by_part(workload: Workload) -> String {
    format!("by part, {}", workload.name())
}

/// How many times the instructions of the token path a way takes.
pub fn ratio(points: &Points, system: System, workload: Workload) -> Option<f64> {
    let of = |system: System| points.value(INSTRUCTIONS, &system.to_string(), workload.name());
    Some(of(system)? / of(System::Token)?)
}

/// All instructions, beside the goals.
pub fn totals(points: &Points) -> Table {
    let header = ["counted instructions of a transaction", "", "all", "of the token path", "goal", ""];
    let row = |(workload, system): (Workload, System)| {
        let all = points.value(INSTRUCTIONS, &system.to_string(), workload.name())?;
        let ratio = ratio(points, system, workload)?;
        let goal = system.goal().map_or_else(String::new, |goal| format!("at most {goal:.1}"));
        let met = system.goal().map_or("", |goal| if ratio <= goal { "met" } else { "MISSED" });
        let [workload, system] = [workload.name().to_owned(), system.to_string()];
        Some(vec![workload, system, format::number(all), format!("{ratio:.2}"), goal, met.to_owned()])
    };
    let all = Workload::ALL.into_iter().flat_map(|workload| System::ALL.map(|system| (workload, system)));
    Table { header: header.map(str::to_owned).to_vec(), rows: all.filter_map(row).collect() }
}

/// Instructions by part.
pub fn parts(points: &Points, workload: Workload) -> Table {
    let systems = System::ALL.map(|system| system.to_string());
    let header = std::iter::once(format!("{}, counted", workload.name())).chain(systems.iter().cloned());
    let row = |figure: &str, metric: &str, name: &str| {
        let values =
            systems.iter().map(|system| points.value(figure, system, metric).map_or_else(String::new, format::number));
        std::iter::once(name.to_owned()).chain(values).collect::<Vec<_>>()
    };
    let mut rows: Vec<_> = PARTS.names().map(|part| row(&by_part(workload), part, part)).collect();
    for (metric, name) in [("copying", "of all: copying memory"), ("allocating", "of all: allocating and freeing")] {
        rows.push(row(MEMORY, &format!("{metric}, {}", workload.name()), name));
    }
    Table { header: header.collect(), rows }
}

/// What the section says before its tables.
const LEAD: &str = "An embedded caller takes the token of a partition and runs its procedure. Within one process a \
                    client of the state machines takes a machine that has nothing to do, and has its call run there \
                    (machines); otherwise the call is put into a queue, run by the partition's thread, and its answer \
                    comes back through a queue (messages). All were run under callgrind on one partition, with the \
                    same rows and calls: instructions were counted, no time was measured.";

/// Makes the section of the numbers that there are.
pub fn section(points: &Points) -> Section {
    let figure = |title: String, caption: &str, table: Table| {
        let (svg, caption) = (String::new(), caption.to_owned());
        Figure { title, svg, caption, table: Some(table) }
    };
    let caption = "16: sixteen calls are submitted together, and then waited for.";
    let mut figures =
        vec![figure("The way through the machines, and the token's (counted)".to_owned(), caption, totals(points))];
    for workload in Workload::ALL {
        let caption = "What belongs to nobody, as copying and allocating do, is charged to who called it.";
        figures.push(figure(format!("{}, by part (counted)", workload.name()), caption, parts(points, workload)));
    }
    Section {
        id: "in-process".to_owned(),
        title: "Low overhead concurrency control: machines in process".to_owned(),
        lead: LEAD.to_owned(),
        figures,
        ..Section::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_that_is_missed_is_told() {
        let mut points = Points::default();
        for (system, all) in System::ALL.into_iter().zip([1_000.0, 1_290.0, 1_210.0]) {
            points.put(INSTRUCTIONS, &system.to_string(), 0.0, Workload::Tpcc.name(), all, UNIT);
        }
        let rows = totals(&points).rows;
        assert_eq!(rows.len(), 3, "of the other workload nothing was counted");
        assert_eq!(rows[1][2..], ["1,290", "1.29", "at most 1.3", "met"].map(str::to_owned));
        assert_eq!(rows[2][2..], ["1,210", "1.21", "at most 1.1", "MISSED"].map(str::to_owned));
        assert_eq!(section(&points).figures.len(), 3);
    }
}
