//! Each component's tax in the full stack: the experiment that the paper could not make.
//!
//! Paper: *OLTP Through the Looking Glass*, section 4.1: components had to be removed from Shore in one order, since
//! others depended on them; only locking and latching could change places. So a component's cost was measured in an
//! engine that lacked all before it.
//!
//! Here each component is left out of the full stack alone, and locking and latching are removed in both orders. A tax
//! differs from the component's step on the ladder where components share work: what two of them need is saved by
//! neither alone, and what one does for another is counted to both.

use glassbox::research::stacks::StackName;

use super::ladder::{Component, FULL, Measure, TIMED_LEFT_OUT};
use crate::figures::{BarRow, Bars, bars};
use crate::points::Points;
use crate::section::{Figure, Table};
use crate::workload::Workload;
use glassbox_workloads::format::{self, one_digit};

/// A component, or a part of one, that can be left out alone.
struct Tax {
    /// In the words of Figure 7.
    name: &'static str,
    component: Component,
    /// The full stack without it.
    without: StackName,
    /// The stacks of the ladder before and after it is removed there.
    ladder: Option<(StackName, StackName)>,
}

const TAXES: [Tax; 11] = {
    use Component::{BufferManager, Keys, Latching, Locking, Logging};
    use StackName as S;
    const fn tax(
        name: &'static str,
        component: Component,
        without: StackName,
        ladder: Option<(StackName, StackName)>,
    ) -> Tax {
        Tax { name, component, without, ladder }
    }
    [
        tax("B-tree keys", Keys, S::IntegerKeys, Some((S::Full, S::IntegerKeys))),
        tax("disk log", Logging, S::WithoutDiskLog, Some((S::IntegerKeys, S::NoDiskLog))),
        tax("disk log, main log", Logging, S::WithoutLog, Some((S::IntegerKeys, S::NoLog))),
        tax("all of logging", Logging, S::WithoutLsn, Some((S::IntegerKeys, S::NoLsn))),
        tax("locking", Locking, S::WithoutLocks, Some((S::NoLsn, S::NoLocks))),
        tax("latching", Latching, S::WithoutLatches, Some((S::NoLocks, S::NoLatches))),
        tax("dir lookup: a cache", BufferManager, S::CachedDirectory, None),
        tax("dir lookup", BufferManager, S::WithoutDirectory, Some((S::NoLatches, S::NoDirectory))),
        tax("small page", BufferManager, S::WithLargePages, Some((S::NoDirectory, S::LargePages))),
        tax("buffer pool", BufferManager, S::WithoutPool, Some((S::LargePages, S::NoPool))),
        tax("Xactions", BufferManager, S::WithoutSessions, Some((S::NoPages, S::Bare))),
    ]
};

/// The stacks from which locking and latching are removed in either order: with both, without locks, without latches,
/// without both.
const ORDERS: [StackName; 4] = [StackName::NoLsn, StackName::NoLocks, StackName::LatchesFirst, StackName::NoLatches];

/// The full stack's other sizes of pages.
const SIZES: [StackName; 2] = [StackName::PagesOf4Kib, StackName::PagesOf16Kib];

/// The stacks of this part, each once.
pub(super) fn stacks() -> Vec<StackName> {
    let without = TAXES.iter().map(|tax| tax.without);
    std::iter::once(StackName::Full).chain(without).chain(ORDERS).chain(SIZES).collect()
}

/// The instructions that the transaction of a workload saves between two stacks.
fn saved(points: &Points, workload: Workload, before: StackName, after: StackName) -> Option<f64> {
    let of = |stack: StackName| Measure::Instructions.of(points, stack.name(), workload.name());
    Some(of(before)? - of(after)?)
}

/// The share of a transaction's time, in percent of the full stack's, that is saved between two stacks.
fn time_saved(points: &Points, before: StackName, after: StackName) -> Option<f64> {
    let of = |stack: &str| points.value(TIMED_LEFT_OUT, stack, Workload::Mix.name()).map(f64::recip);
    Some(100.0 * (of(before.name())? - of(after.name())?) / of(FULL)?)
}

fn percent(points: &Points, workload: Workload, saved: Option<f64>) -> Option<f64> {
    let all = Measure::Instructions.of(points, FULL, workload.name())?;
    saved.map(|saved| 100.0 * saved / all)
}

fn cell(value: Option<f64>, text: impl Fn(f64) -> String) -> String {
    value.map_or_else(String::new, text)
}

/// Every component that can be left out alone: what is saved.
pub fn table(points: &Points) -> Option<Table> {
    let row = |tax: &Tax| {
        let (new_order, payment) = (Workload::NewOrder, Workload::Payment);
        let of = |workload| saved(points, workload, StackName::Full, tax.without);
        let there = tax.ladder.and_then(|(before, after)| saved(points, new_order, before, after));
        vec![
            tax.name.to_owned(),
            tax.without.name().to_owned(),
            cell(of(new_order), format::difference),
            cell(percent(points, new_order, of(new_order)), one_digit),
            cell(there, format::difference),
            cell(percent(points, new_order, there), one_digit),
            cell(percent(points, payment, of(payment)), one_digit),
            cell(time_saved(points, StackName::Full, tax.without), one_digit),
        ]
    };
    let header = [
        "left out of the full stack",
        "stack",
        "New-Order",
        "%",
        "on the ladder",
        "%",
        "Payment, %",
        "time of the mix, %",
    ];
    is_measured(points).then(|| Table::new(&header, TAXES.iter().map(row).collect()))
}

/// Whether any stack was measured that is not on the ladder.
fn is_measured(points: &Points) -> bool {
    let counted = |stack: &StackName| Measure::Instructions.of(points, stack.name(), Workload::Mix.name()).is_some();
    points.has(TIMED_LEFT_OUT) || stacks().iter().any(|stack| !StackName::ladder().contains(stack) && counted(stack))
}

/// Locking and latching, each with the other and without it.
pub fn orders(points: &Points) -> Option<Table> {
    let [both, no_locks, no_latches, neither] = ORDERS;
    let row = |name: &str, order: &str, before: StackName, after: StackName| {
        let of = |workload| percent(points, workload, saved(points, workload, before, after));
        vec![
            name.to_owned(),
            order.to_owned(),
            format!("{before} − {after}"),
            cell(saved(points, Workload::NewOrder, before, after), format::difference),
            cell(of(Workload::NewOrder), one_digit),
            cell(of(Workload::Payment), one_digit),
            cell(time_saved(points, before, after), one_digit),
        ]
    };
    let rows = vec![
        row("locking", "first, as in the paper", both, no_locks),
        row("latching", "second", no_locks, neither),
        row("latching", "first", both, no_latches),
        row("locking", "second", no_latches, neither),
    ];
    let header = ["removed", "order", "stacks", "New-Order", "% of the full stack", "Payment, %", "time of the mix, %"];
    is_measured(points).then(|| Table::new(&header, rows))
}

/// The figure of both tables, if everything was counted.
pub(super) fn figure(points: &Points) -> Option<Figure> {
    let workload = Workload::NewOrder;
    let all = Measure::Instructions.of(points, FULL, workload.name())?;
    let mut lines = Vec::new();
    for tax in &TAXES {
        let alone = saved(points, workload, StackName::Full, tax.without)?;
        let there = tax.ladder.and_then(|(before, after)| saved(points, workload, before, after));
        let colour = tax.component.colour();
        let values = [(tax.name, Some(alone), colour), ("on the ladder", there, colour.lighter())];
        for (at, (label, value, colour)) in values.into_iter().enumerate() {
            let Some(value) = value else { continue };
            lines.push(BarRow {
                label: label.to_owned(),
                value: value.max(0.0),
                spread: None,
                colour,
                note: format!("{} ({} %)", format::difference(value), one_digit(100.0 * value / all)),
                begins: at == 0,
            });
        }
    }
    let sum = |of: &dyn Fn(&Tax) -> Option<f64>| -> Option<f64> { TAXES.iter().filter(is_whole).map(of).sum() };
    let alone = sum(&|tax| saved(points, workload, StackName::Full, tax.without))?;
    let ladder = sum(&|tax| tax.ladder.and_then(|(before, after)| saved(points, workload, before, after)))?;
    Some(Figure {
        title: "Each component's tax in the full stack (New-Order)".to_owned(),
        svg: bars(&Bars { unit: "instructions of a New-Order".to_owned(), logarithmic: false, lines }),
        caption: format!(
            "The instructions saved when only this component is left out of the full stack; lighter: when it is \
             removed on the ladder, after all before it. What whole components save alone sums to {} % of the full \
             stack, the same steps of the ladder to {} %; the difference is work that components do for each other. A \
             component that costs when it is left out has a bar of no length.",
            one_digit(100.0 * alone / all),
            one_digit(100.0 * ladder / all),
        ),
        table: table(points),
    })
}

/// The part that saves most of a New-Order's instructions when it alone is left out; and the percent that are left.
pub(super) fn largest(points: &Points) -> Option<(&'static str, f64)> {
    let of = |tax: &Tax| {
        let saved = saved(points, Workload::NewOrder, StackName::Full, tax.without);
        Some((tax.name, 100.0 - percent(points, Workload::NewOrder, saved)?))
    };
    TAXES.iter().filter_map(of).min_by(|a, b| a.1.total_cmp(&b.1))
}

/// Whether it is a step of its own: not a part of another one's saving.
fn is_whole(tax: &&Tax) -> bool {
    !matches!(tax.without, StackName::WithoutDiskLog | StackName::WithoutLog | StackName::CachedDirectory)
}

/// The figure of the two orders, if everything was measured.
pub(super) fn orders_figure(points: &Points) -> Option<Figure> {
    let caption = "The paper: locking and latching could be removed in either order (section 4.1). By difference of \
                   stacks without keys by schema and without a log.";
    orders(points).map(|table| Figure::of_table("Locking and latching in either order", caption, table))
}

/// The paper's rows; then the full stack without the components alone, and the stack of the ladder from which they and
/// all before them are removed.
const OPTIMIZATIONS: [(&str, &str, &str, &str); 5] = [
    ("logless architectures", "remove logging", "without-lsn", "no-lsn"),
    ("partitioning, commutativity", "remove locking (when applicable)", "without-locks", "no-locks"),
    ("one transaction at a time", "single thread, remove locking, remove latching", "", "no-latches"),
    ("main memory resident", "remove buffer manager, directory", "", "no-pages"),
    ("transaction-less databases", "avoid transaction bookkeeping", "without-sessions", "bare"),
];

/// Table 1: which property of a system lets which components be removed, with the instructions of a New-Order that are
/// left, if they were counted.
pub(super) fn optimizations(points: &Points) -> Figure {
    let left = |stack: &str| {
        let of = |stack: &str| Measure::Instructions.of(points, stack, Workload::NewOrder.name());
        of(stack).zip(of(FULL)).map_or_else(String::new, |(left, all)| one_digit(100.0 * left / all))
    };
    let row = |&(property, modification, alone, ladder): &(&str, &str, &str, &str)| {
        let cells = [property, modification, alone, &left(alone), ladder, &left(ladder)];
        cells.map(str::to_owned).to_vec()
    };
    let header = [
        "OLTP properties and new platforms",
        "DBMS modification",
        "alone",
        "% of a New-Order left",
        "on the ladder",
        "% of a New-Order left",
    ];
    let caption = "The paper's map of optimisations, each row with the stacks that show it: alone, where one stack \
                   lacks just that, and on the ladder, with all before it. Its logless systems recover from another \
                   node: here a cluster with replicas and without a directory. Without transactions an engine here has \
                   no sessions; it keeps its undo, because a procedure may abort.";
    let table = Table::new(&header, OPTIMIZATIONS.iter().map(row).collect());
    Figure::of_table("Table 1. Possible optimisations for OLTP", caption, table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stack_that_is_not_on_the_ladder_is_measured_once() {
        let mut stacks = stacks();
        let all = stacks.len();
        stacks.sort_by_key(|stack| stack.name());
        stacks.dedup();
        assert_eq!(stacks.len(), all);
        let missing = StackName::ALL.iter().filter(|stack| !StackName::ladder().contains(stack));
        assert_eq!(missing.filter(|stack| !stacks.contains(stack)).collect::<Vec<_>>(), Vec::<&StackName>::new());
    }
}
