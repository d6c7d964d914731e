//! Figure 5: the instructions of a Payment, by component and by call.
//!
//! Paper: *OLTP Through the Looking Glass*, Figure 5 and section 4.3.2. Claim: locking (25.2 %) and the buffer manager
//! (29.8 %) take most; only when everything is gone does the count fall dramatically, to a twentieth.
//!
//! What differs here: a Payment's history has a primary key, so it inserts an index entry, where Shore's had none.

use super::counting::by_call;
use super::ladder::{Component, FULL, KERNEL, Measure, USEFUL};
use super::paper;
use super::work::Workload;
use crate::figures::{Bar, Colour, Stacked, stacked};
use crate::format;
use crate::points::Points;
use crate::report::Figure;

/// The calls, the lowest in the bars first.
const CALLS: [(&str, Colour); 8] = [
    ("procedure", USEFUL),
    ("begin", Colour(0xb6, 0xbd, 0xc7)),
    ("B-tree lookup", Colour(0x4e, 0x79, 0xa7)),
    ("pin / unpin", Colour(0x76, 0xb7, 0xb2)),
    ("update record", Colour(0x59, 0xa1, 0x4f)),
    ("create record", Colour(0xed, 0xc9, 0x48)),
    ("insert index", Colour(0xf2, 0x8e, 0x2b)),
    ("commit", Colour(0xe1, 0x57, 0x59)),
];

/// Draws its two sides.
pub(super) fn figures(points: &Points) -> Option<[Figure; 2]> {
    Some([left(points)?, by_calls(points, Workload::Payment, "Figure 5, right. Payment: what each call takes")?])
}

fn left(points: &Points) -> Option<Figure> {
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
        table: Some(super::tables::components(points, workload)?),
    })
}

/// The right side of Figures 5 and 6: the stacks after each component, by call.
pub(super) fn by_calls(points: &Points, workload: Workload, title: &str) -> Option<Figure> {
    let figure = by_call(workload);
    let mut bars = vec![calls(points, &figure, FULL, "full".to_owned())?];
    for component in Component::ALL {
        if let (_, Some(after)) = component.between() {
            bars.push(calls(points, &figure, after, format!("−{}", component.name().replacen(' ', "\n", 1)))?);
        }
    }
    let kernel = Measure::Instructions.of(points, KERNEL, workload.name())?;
    let mut values = vec![0.0; CALLS.len()];
    values[0] = kernel;
    bars.push(Bar { label: "kernel\n(optimal)".to_owned(), values, note: format::number(kernel) });
    let parts = CALLS.iter().map(|(name, colour)| ((*name).to_owned(), *colour)).collect();
    let unit = format!("instructions of a {}", workload.name());
    Some(Figure {
        title: title.to_owned(),
        svg: stacked(&Stacked { unit, parts, bars, shares: false }),
        caption: format!(
            "By the inlined functions around each instruction: {}. What a call calls belongs to it.",
            "the procedure is what is outside of all calls; of the kernel everything"
        ),
        table: Some(super::tables::calls(points, workload)),
    })
}

fn calls(points: &Points, figure: &str, stack: &str, label: String) -> Option<Bar> {
    let values: Vec<_> = CALLS.iter().map(|(call, _)| points.value(figure, stack, call).unwrap_or_default()).collect();
    let sum: f64 = values.iter().sum();
    (sum > 0.0).then(|| Bar { label, note: format::number(sum), values })
}

/// The calls' names, as the bars have them.
pub(super) fn call_names() -> impl Iterator<Item = &'static str> {
    CALLS.iter().map(|(name, _)| *name)
}
