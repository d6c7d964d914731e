//! Figure 7: the eleven switches, in their order, on the New-Order.
//!
//! Paper: *OLTP Through the Looking Glass*, Figure 7. Claim: every switch is seen; pages of 32 KiB instead of 8 alone
//! save almost 14 % of all instructions, because trees are lower and pages are allocated less often.
//!
//! What differs here: page access is taken out in two steps, the pool and then the pages. Log sequence numbers and
//! lookups in the directory are cheap to begin with; a step that costs instead of saving is drawn as a line where the
//! bar before it ended.

use super::ladder::{Component, FULL, KERNEL, Measure, RUNGS};
use super::paper;
use super::work::Workload;
use crate::figures::{Step, Waterfall, waterfall};
use crate::format;
use crate::points::Points;
use crate::report::Figure;

/// Draws it.
pub(super) fn figure(points: &Points) -> Option<Figure> {
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
                format!("{} ({share} %), {}", signed(-took), component.name())
            }
        };
        let label = if name == FULL { switch.to_owned() } else { format!("− {switch}") };
        steps.push(Step { label, left, colour: component.colour(), note });
        before = left;
    }
    let large = Measure::Instructions.of(points, "no-directory", workload)?
        - Measure::Instructions.of(points, "large-pages", workload)?;
    Some(Figure {
        title: "Figure 7. The switches, one after the other (New-Order)".to_owned(),
        svg: waterfall(&Waterfall { unit: "instructions of a New-Order that are left".to_owned(), steps }),
        caption: format!(
            "Grey: what is left. Coloured: what the switch took, in the colour of its component. Larger pages {} \
             {} % of all here; in the paper they saved almost {} %.",
            if large < 0.0 { "cost" } else { "save" },
            one_digit(100.0 * large.abs() / all),
            paper::LARGE_PAGES_SAVE,
        ),
        table: None,
    })
}

/// One digit after the point, with a real minus; no minus zero.
pub(super) fn one_digit(value: f64) -> String {
    let text = format!("{:.1}", value + 0.0);
    if text == "-0.0" { "0.0".to_owned() } else { text.replace('-', "−") }
}

/// With a sign.
pub(super) fn signed(value: f64) -> String {
    let sign = if value < 0.0 { "−" } else { "+" };
    format!("{sign}{}", format::count(value.abs().round() as u64))
}
