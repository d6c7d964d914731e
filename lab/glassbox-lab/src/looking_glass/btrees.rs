//! Section 5.5: what B-trees cost.
//!
//! Paper: *OLTP Through the Looking Glass*, section 5.5. Claim: the optimisations removed 80 to 88 % of the time spent
//! in B-tree operations, without changing how keys are accessed; the kernel, on the same data, three quarters of the
//! rest. So other components are more important than the trees, until they are gone.
//!
//! Here a B-tree operation is a lookup, or the insertion of an index entry, with all that it calls: locks, latches, the
//! buffer pool. The kernel has no such calls to tell apart, so its own trees' code is counted. The last two stacks look
//! up whole keys in dense and hash indexes, as the paper supposes to be better.

use super::instructions::{by_call, by_component};
use super::ladder::{BARE, FULL, KERNEL, Measure};
use crate::points::Points;
use crate::section::{Figure, Table};
use crate::workload::Workload;
use glassbox_workloads::format::{self, one_digit};

/// The stacks of the table, with what was removed by then.
const STACKS: [(&str, &str); 5] = [
    (FULL, "nothing"),
    ("integer-keys", "keys by schema"),
    ("no-latches", "logging, locking, latching"),
    ("no-pool", "directory, small pages, pool"),
    (BARE, "pages, sessions; hash indexes for lookups"),
];

/// The calls that are B-tree operations.
const OPERATIONS: [&str; 2] = ["B-tree lookup", "insert index"];

/// The parts of a stack that are the indexes' own code.
const OWN: [&str; 3] = ["B-trees", "B-tree keys", "hash tables"];

/// The instructions in B-tree operations of a transaction.
fn operations(points: &Points, stack: &str, workload: Workload) -> Option<f64> {
    if stack == KERNEL {
        return own(points, stack, workload);
    }
    OPERATIONS.iter().map(|call| points.value(&by_call(workload), stack, call)).sum()
}

/// The instructions of the indexes' own code.
fn own(points: &Points, stack: &str, workload: Workload) -> Option<f64> {
    let parts: Vec<f64> = OWN.iter().filter_map(|part| points.value(&by_component(workload), stack, part)).collect();
    (!parts.is_empty()).then(|| parts.iter().sum())
}

/// The figure, if everything was counted.
pub(super) fn figure(points: &Points) -> Option<Figure> {
    let workloads = [Workload::NewOrder, Workload::Payment];
    let row = |(stack, removed): &(&str, &str)| -> Option<Vec<String>> {
        let mut row = vec![(*stack).to_owned(), (*removed).to_owned()];
        for workload in workloads {
            let (operations, own) = (operations(points, stack, workload)?, own(points, stack, workload)?);
            let all = Measure::Instructions.of(points, stack, workload.name())?;
            row.extend([
                format::number(operations.round()),
                one_digit(100.0 * operations / all),
                one_digit(100.0 * own / all),
            ]);
        }
        Some(row)
    };
    let rows: Option<Vec<_>> = STACKS.iter().chain(&[(KERNEL, "the engine")]).map(row).collect();
    let removed = |workload, from: &str, to: &str| {
        let [from, to] = [from, to].map(|stack| operations(points, stack, workload));
        Some(100.0 * (1.0 - to? / from?))
    };
    let both = |from, to| -> Option<String> {
        let [new_order, payment] = workloads.map(|workload| removed(workload, from, to));
        Some(format!("{} % of a New-Order's and {} % of a Payment's", one_digit(new_order?), one_digit(payment?)))
    };
    let caption = format!(
        "The switches remove {} instructions in B-tree operations; in the paper 80 to 88 % of their time. The kernel, \
         of which only its trees' own code is counted, removes {} of the rest, in the paper three quarters.",
        both(FULL, BARE)?,
        both(BARE, KERNEL)?,
    );
    let header = [
        "stack",
        "removed",
        "New-Order: B-tree operations",
        "% of all",
        "the indexes' own code, %",
        "Payment: B-tree operations",
        "% of all",
        "the indexes' own code, %",
    ];
    Some(Figure::of_table("Section 5.5. What B-trees cost", caption, Table::new(&header, rows?)))
}
