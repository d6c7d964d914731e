//! Figures 7 and 8: the eleven switches one after the other, and instructions against time, both on the New-Order.
//!
//! Paper: *OLTP Through the Looking Glass*, Figure 7. Claim: every switch is visible; pages of 32 KiB instead of 8
//! alone save almost 14 % of all instructions, because trees are lower and pages are allocated less often.
//!
//! Differences here: page access is removed in two steps, the pool and then the pages. Log sequence numbers and lookups
//! in the directory are cheap even in the full stack; a step that costs instead of saving is drawn as a line at the end
//! of the bar before.
//!
//! Paper: *OLTP Through the Looking Glass*, Figure 8, which compares instructions with processor cycles. Claim: they
//! agree except for B-tree keys (16.2 % of the instructions, 8.1 % of the cycles), logging (11.9 % and 21 %) and what
//! remains (6.8 % and 12.3 %).
//!
//! The difference here: where the machine has no counter of cycles, time replaces them: the difference in time of
//! a New-Order on one stack and the next, by medians of interleaved rounds. Time is noisier than cycles; a component
//! may be negative, which is not drawn and is in the table.

use super::ladder::{Component, FULL, KERNEL, Measure, RUNGS};
use super::paper;
use crate::figures::{Bar, Stacked, Waterfall, WaterfallStep, stacked, waterfall};
use crate::points::Points;
use crate::section::{Figure, Table};
use crate::workload::Workload;
use glassbox_workloads::format::{self, one_digit};

/// Figure 7, if everything was counted.
pub(super) fn figure7(points: &Points) -> Option<Figure> {
    let workload = Workload::NewOrder.name();
    let all = Measure::Instructions.of(points, FULL, workload)?;
    let mut steps = Vec::new();
    let mut before = all;
    let kernel = [(KERNEL, "engine", Component::Remaining)];
    let rungs = RUNGS.iter().map(|rung| (rung.name, rung.switch, rung.component.unwrap_or(Component::Remaining)));
    for (name, switch, component) in rungs.chain(kernel) {
        let left = Measure::Instructions.of(points, name, workload)?;
        let took = before - left;
        let note = match name {
            FULL => format::number(all),
            _ => {
                let share = one_digit(-100.0 * took / all);
                format!("{} ({share} %), {}", format::signed(-took), component.name())
            }
        };
        let label = if name == FULL { switch.to_owned() } else { format!("− {switch}") };
        steps.push(WaterfallStep { label, left, colour: component.colour(), note });
        before = left;
    }
    let large = Measure::Instructions.of(points, "no-directory", workload)?
        - Measure::Instructions.of(points, "large-pages", workload)?;
    Some(Figure {
        title: "Figure 7. The switches, one after the other (New-Order)".to_owned(),
        svg: waterfall(&Waterfall { unit: "remaining instructions of a New-Order".to_owned(), steps }),
        caption: format!(
            "Grey: the rest. Coloured: the saving of the switch, in the colour of its component. Larger pages {} \
             {} % of all here; in the paper they saved almost {} %.",
            if large < 0.0 { "cost" } else { "save" },
            one_digit(100.0 * large.abs() / all),
            paper::LARGE_PAGES_SAVE,
        ),
        table: None,
    })
}

/// Figure 8, if everything was counted and timed.
pub(super) fn figure8(points: &Points) -> Option<Figure> {
    let workload = Workload::NewOrder.name();
    let instructions = Measure::Instructions.shares(points, workload)?;
    let (time, measured) = match Measure::Cycles.shares(points, workload) {
        Some(cycles) => (cycles, "cycles"),
        None => (Measure::Time.shares(points, workload)?, "time"),
    };
    let label = format!("here\n{measured}");
    let bars = [
        ("Shore, 2008\ninstructions", paper::NEW_ORDER_SHARES),
        ("Shore, 2008\ncycles", paper::NEW_ORDER_CYCLES),
        ("here\ninstructions", instructions),
        (&label, time),
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
        title: format!("Figure 8. Instructions against {measured} (New-Order)"),
        svg,
        caption: format!(
            "{}, by the medians of interleaved rounds. The full stack's log is written, but no answer waits for it.",
            match measured {
                "cycles" => "Cycles are those of the thread in user mode, by the processor's counter",
                _ => "This machine has no counter of cycles that can be read: time replaces them",
            },
        ),
        table: Some(Table::new(
            &[
                "% of a New-Order",
                "Shore, instructions",
                "Shore, cycles",
                "here, instructions",
                &format!("here, {measured}"),
            ],
            Component::ALL.iter().enumerate().map(row).collect(),
        )),
    })
}
