//! Figure 8: instructions against time, on the New-Order.
//!
//! Paper: *OLTP Through the Looking Glass*, Figure 8, which sets instructions against processor cycles. Claim: they go
//! together but for B-tree keys (16.2 % of the instructions, 8.1 % of the cycles), logging (11.9 % and 21 %) and what
//! remains (6.8 % and 12.3 %).
//!
//! What differs here: a virtual machine does not let cycles be counted, so time stands in their place: what a New-Order
//! takes longer on one stack than on the next, by medians of interleaved rounds. Time is noisier than cycles; a
//! component may come out below zero, which is drawn as nothing and told in the table.

use super::figure7::one_digit;
use super::ladder::{Component, Measure};
use super::paper;
use super::work::Workload;
use crate::figures::{Bar, Stacked, stacked};
use crate::points::Points;
use crate::report::{Figure, Table};

/// Draws it, when everything was counted and timed.
pub(super) fn figure(points: &Points) -> Option<Figure> {
    let workload = Workload::NewOrder.name();
    let instructions = Measure::Instructions.shares(points, workload)?;
    let time = Measure::Time.shares(points, workload)?;
    let bars = [
        ("Shore, 2008\ninstructions", paper::NEW_ORDER_SHARES),
        ("Shore, 2008\ncycles", paper::NEW_ORDER_CYCLES),
        ("here\ninstructions", instructions),
        ("here\ntime", time),
    ];
    let parts = Component::ALL.iter().rev().map(|component| (component.name().to_owned(), component.colour()));
    let svg = stacked(&Stacked {
        unit: "% of a New-Order".to_owned(),
        parts: parts.collect(),
        bars: bars
            .iter()
            .map(|(label, shares)| Bar {
                label: (*label).to_owned(),
                values: shares.iter().rev().copied().collect(),
                note: String::new(),
            })
            .collect(),
        shares: true,
    });
    let row = |(at, component): (usize, &Component)| {
        let cells = bars.iter().map(|(_, shares)| one_digit(shares[at]));
        std::iter::once(component.name().to_owned()).chain(cells).collect()
    };
    Some(Figure {
        title: "Figure 8. Instructions against time (New-Order)".to_owned(),
        svg,
        caption: "Cycles cannot be counted on a virtual machine: time stands in their place, by the medians of \
                  interleaved rounds. The full stack's log is written, but nobody waits for it."
            .to_owned(),
        table: Some(Table {
            header: ["% of a New-Order", "Shore, instructions", "Shore, cycles", "here, instructions", "here, time"]
                .map(str::to_owned)
                .to_vec(),
            rows: Component::ALL.iter().enumerate().map(row).collect(),
        }),
    })
}
