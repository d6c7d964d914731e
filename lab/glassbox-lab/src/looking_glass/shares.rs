//! Figures 1, 5 and 6: where the instructions of a New-Order and of a Payment go, by component and by call.
//!
//! Paper: *OLTP Through the Looking Glass*.
//!
//! - Figure 1 claims of a New-Order: B-tree keys 16.2 %, logging 11.9, locking 16.3, latching 14.2, the buffer manager
//!   34.6; 6.8 % remain, of which the useful work is a sixtieth of all.
//! - Figure 5 and section 4.3.2 claim of a Payment: locking (25.2 %) and the buffer manager (29.8 %) take most; only
//!   without all components the count falls dramatically, to a twentieth.
//! - Figure 6 and section 4.3.3 claim: a New-Order takes about ten times the instructions of a Payment, and more of
//!   them for keys and the buffer manager, because of its insertions.
//!
//! Here a component costs the difference of the stacks before and after it; the useful work is the kernel's. What
//! differs: the kernel is our own, and both bars of a figure are scaled to a hundred percent, because Shore's 1.73
//! million instructions would hide ours. The history of a Payment has a primary key, so a Payment inserts an index
//! entry, where Shore's had none. Stock is in two tables, so an order of ten items makes ten more lookups
//! ([`super::accesses`] counts them); and the secondary index of orders is by customer, as the benchmark specifies,
//! where the paper has one of new orders.

use super::components::CALL_COLOURS;
use super::instructions::by_call;
use super::ladder::{Component, FULL, KERNEL, Measure, USEFUL};
use super::{paper, tables};
use crate::figures::{Bar, Stacked, stacked};
use crate::points::Points;
use crate::section::Figure;
use crate::workload::Workload;
use glassbox_workloads::format;

/// Figure 1, if everything was counted.
pub(super) fn figure1(points: &Points) -> Option<Figure> {
    let workload = Workload::NewOrder.name();
    let all = Measure::Instructions.of(points, FULL, workload)?;
    let useful = 100.0 * Measure::Instructions.of(points, KERNEL, workload)? / all;
    let useful_there = 100.0 / paper::NEW_ORDER_FULL_TO_KERNEL;
    let ours = Measure::Instructions.shares(points, workload)?;
    let bar = |label: &str, shares: [f64; 6], useful: f64, note: String| {
        let mut values = vec![useful, (shares[5] - useful).max(0.0)];
        values.extend(shares[..5].iter().rev());
        Bar { label: label.to_owned(), values, note }
    };
    let mut parts =
        vec![("useful work".to_owned(), USEFUL), ("remaining overhead".to_owned(), Component::Remaining.colour())];
    let others = Component::ALL[..5].iter().rev();
    parts.extend(others.map(|component| (component.name().to_owned(), component.colour())));
    let there = bar("Shore, 2008", paper::NEW_ORDER_SHARES, useful_there, "1.73 M".to_owned());
    let here = bar("here", ours, useful, format::number(all));
    let svg = stacked(&Stacked {
        unit: "% of all instructions of a New-Order".to_owned(),
        parts,
        bars: vec![there, here],
        shares: true,
    });
    Some(Figure {
        title: "Figure 1. Where the instructions of a New-Order go".to_owned(),
        svg,
        caption: format!(
            "By difference of neighbouring stacks. The useful work is that of the hand-written kernel: 1/{:.0} of all \
             here, about 1/60 in the paper. Above each bar: all instructions of a transaction.",
            100.0 / useful,
        ),
        table: Some(tables::components(points, Workload::NewOrder)?),
    })
}

/// Figure 5: its two sides.
pub(super) fn figure5(points: &Points) -> Option<[Figure; 2]> {
    Some([
        figure5_left(points)?,
        by_calls(points, Workload::Payment, "Figure 5, right. Payment: the instructions of each call")?,
    ])
}

fn figure5_left(points: &Points) -> Option<Figure> {
    let workload = Workload::Payment;
    let all = Measure::Instructions.of(points, FULL, workload.name())?;
    let shares = Measure::Instructions.shares(points, workload.name())?;
    let bar = |label: &str, shares: [f64; 6], note: String| {
        let values = shares.iter().rev().copied().collect();
        Bar { label: label.to_owned(), values, note }
    };
    let parts = Component::ALL.iter().rev().map(|component| (component.name().to_owned(), component.colour()));
    let svg = stacked(&Stacked {
        unit: "% of all instructions of a Payment".to_owned(),
        parts: parts.collect(),
        bars: vec![
            bar("Shore, 2008", paper::PAYMENT_SHARES, "180 k".to_owned()),
            bar("here", shares, format::number(all)),
        ],
        shares: true,
    });
    Some(Figure {
        title: "Figure 5, left. Where the instructions of a Payment go".to_owned(),
        svg,
        caption: "By difference of neighbouring stacks. Above each bar: all instructions of a transaction.".to_owned(),
        table: Some(tables::components(points, workload)?),
    })
}

/// The right side of Figures 5 and 6: the stacks after each component, by call.
fn by_calls(points: &Points, workload: Workload, title: &str) -> Option<Figure> {
    let figure = by_call(workload);
    let mut bars = vec![calls(points, &figure, FULL, "full".to_owned())?];
    for component in Component::ALL {
        if let (_, Some(after)) = component.between() {
            bars.push(calls(points, &figure, after, format!("−{}", component.name().replacen(' ', "\n", 1)))?);
        }
    }
    let kernel = Measure::Instructions.of(points, KERNEL, workload.name())?;
    let mut values = vec![0.0; CALL_COLOURS.len()];
    values[0] = kernel;
    bars.push(Bar { label: "kernel\n(optimal)".to_owned(), values, note: format::number(kernel) });
    let parts = CALL_COLOURS.iter().map(|(name, colour)| ((*name).to_owned(), *colour)).collect();
    let unit = format!("instructions of a {}", workload.name());
    Some(Figure {
        title: title.to_owned(),
        svg: stacked(&Stacked { unit, parts, bars, shares: false }),
        caption: format!(
            "By the inlined functions that enclose each instruction: {}. A call includes the functions that it calls.",
            "the procedure has the instructions outside of all calls; of the kernel, all"
        ),
        table: Some(tables::calls(points, workload)),
    })
}

fn calls(points: &Points, figure: &str, stack: &str, label: String) -> Option<Bar> {
    let values: Vec<_> =
        CALL_COLOURS.iter().map(|(call, _)| points.value(figure, stack, call).unwrap_or_default()).collect();
    let sum: f64 = values.iter().sum();
    (sum > 0.0).then(|| Bar { label, note: format::number(sum), values })
}

/// Figure 6: its right side; its left side is that of Figure 1.
pub(super) fn figure6(points: &Points) -> Option<Figure> {
    by_calls(points, Workload::NewOrder, "Figure 6, right. New-Order: the instructions of each call")
}
