//! Figure 1: the instructions of a New-Order, by component.
//!
//! Paper: *OLTP Through the Looking Glass*, Figure 1. Claim: B-tree keys 16.2 %, logging 11.9, locking 16.3, latching
//! 14.2, the buffer manager 34.6; 6.8 % remain, of which the useful work is a sixtieth of all.
//!
//! Here: each component by the difference of the stacks before and after it; the useful work is the kernel's. What
//! differs: the kernel is our own, and both bars are of a hundred percent, since Shore's 1.73 million instructions
//! beside ours would hide them.

use super::ladder::{Component, KERNEL, Measure, USEFUL};
use super::paper;
use super::work::Workload;
use crate::figures::{Bar, Stacked, stacked};
use crate::format;
use crate::points::Points;
use crate::report::Figure;

/// Draws it, when everything was counted.
pub(super) fn figure(points: &Points) -> Option<Figure> {
    let workload = Workload::NewOrder.name();
    let all = Measure::Instructions.of(points, super::ladder::FULL, workload)?;
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
        table: Some(super::tables::components(points, Workload::NewOrder)?),
    })
}
