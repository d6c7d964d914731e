//! Sizes of pages: what larger ones save and cost.
//!
//! Paper: *OLTP Through the Looking Glass*, section 4.3.3: pages of 32 KiB instead of 8 alone saved almost 14 % of a
//! New-Order's instructions, because trees are lower and pages are allocated less often.
//!
//! Here the full stack has pages of 4, 8, 16 and 32 KiB, and its instructions are divided by component.

use glassbox::research::stacks::StackName;

use super::components::COMPONENTS;
use super::instructions::by_component;
use super::ladder::{Measure, TIMED_LEFT_OUT};
use crate::figures::{Bar, Colour, Stacked, stacked};
use crate::points::Points;
use crate::section::{Figure, Table};
use crate::workload::Workload;
use glassbox_workloads::format::{self, one_digit};

/// The stacks, with the KiB of their pages.
const SIZES: [(StackName, &str); 4] = [
    (StackName::PagesOf4Kib, "4 KiB"),
    (StackName::Full, "8 KiB"),
    (StackName::PagesOf16Kib, "16 KiB"),
    (StackName::WithLargePages, "32 KiB"),
];

/// The components whose instructions are drawn, and the others together.
const DRAWN: [(&str, Colour); 6] = [
    ("B-trees", Colour(0x4e, 0x79, 0xa7)),
    ("records on pages", Colour(0x59, 0xa1, 0x4f)),
    ("buffer pool", Colour(0x8c, 0xd1, 0x7d)),
    ("latching", Colour(0x76, 0xb7, 0xb2)),
    ("logging", Colour(0xf2, 0x8e, 0x2b)),
    ("others", Colour(0xb6, 0xbd, 0xc7)),
];

/// A New-Order's instructions in each part of the engine, by the size of pages.
pub fn table(points: &Points) -> Option<Table> {
    let workload = Workload::NewOrder;
    let all = |stack: StackName| Measure::Instructions.of(points, stack.name(), workload.name());
    let part = |stack: StackName, part: &str| points.value(&by_component(workload), stack.name(), part);
    let mut rows = Vec::new();
    for name in COMPONENTS.names() {
        let values = SIZES.map(|(stack, _)| part(stack, name).unwrap_or_default());
        if values.iter().any(|value| *value >= 0.5) {
            rows.push(row(name, values.map(|value| format::number(value.round()))));
        }
    }
    let mut totals = [0.0; 4];
    for (total, (stack, _)) in totals.iter_mut().zip(SIZES) {
        *total = all(stack)?;
    }
    rows.push(row("all", totals.map(|value| format::number(value.round()))));
    rows.push(row("of 8 KiB, %", totals.map(|value| one_digit(100.0 * value / totals[1]))));
    let rate = |stack: StackName| points.value(TIMED_LEFT_OUT, stack.name(), Workload::Mix.name());
    if SIZES.iter().all(|(stack, _)| rate(*stack).is_some()) {
        let rates = SIZES.map(|(stack, _)| rate(stack).unwrap_or_default());
        rows.push(row("mix, per second", rates.map(format::number)));
    }
    let header: Vec<_> = std::iter::once("instructions of a New-Order").chain(SIZES.map(|(_, size)| size)).collect();
    Some(Table::new(&header, rows))
}

fn row(name: &str, cells: [String; 4]) -> Vec<String> {
    std::iter::once(name.to_owned()).chain(cells).collect()
}

/// Which size is the best here, and what costs in larger ones.
fn caption(points: &Points) -> Option<String> {
    let workload = Workload::NewOrder;
    let all = |stack: StackName| Measure::Instructions.of(points, stack.name(), workload.name());
    let [_, usual, _, large] = SIZES.map(|(stack, _)| stack);
    let part = |stack: StackName, part: &str| points.value(&by_component(workload), stack.name(), part);
    let more = |name: &'static str| Some((name, part(large, name)? - part(usual, name)?));
    let (dearest, more) = COMPONENTS.names().filter_map(more).max_by(|a, b| a.1.total_cmp(&b.1))?;
    let mut best = SIZES[1].1;
    let mut least = all(usual)?;
    for (stack, size) in SIZES {
        if all(stack)? < least {
            (best, least) = (size, all(stack)?);
        }
    }
    let copying = |stack: StackName| points.value(&format!("memory, {}", workload.name()), stack.name(), "copying");
    let copied = copying(large).zip(copying(usual)).map_or_else(String::new, |(large, usual)| {
        format!(" Copying takes {} more, in whatever part it is.", format::difference(large - usual))
    });
    Some(format!(
        "In the paper, pages of 32 KiB instead of 8 saved almost 14 %: trees were lower, and pages allocated less \
         often. Here pages of {best} take the fewest instructions. With 32 KiB instead of 8, {dearest} take {} more. A \
         node of a tree is a page, whose entries an insertion moves.{copied}",
        format::difference(more),
    ))
}

/// The figure, if everything was counted.
pub(super) fn figure(points: &Points) -> Option<Figure> {
    let workload = Workload::NewOrder;
    let mut drawn = Vec::new();
    for (stack, size) in SIZES {
        let all = Measure::Instructions.of(points, stack.name(), workload.name())?;
        let mut values: Vec<f64> = DRAWN[..DRAWN.len() - 1]
            .iter()
            .map(|(part, _)| points.value(&by_component(workload), stack.name(), part).unwrap_or_default())
            .collect();
        values.push(all - values.iter().sum::<f64>());
        drawn.push(Bar { label: size.to_owned(), values, note: format::number(all) });
    }
    let parts = DRAWN.iter().map(|(name, colour)| ((*name).to_owned(), *colour)).collect();
    let unit = "instructions of a New-Order".to_owned();
    Some(Figure {
        title: "Section 4.3.3. The size of pages (New-Order on the full stack)".to_owned(),
        svg: stacked(&Stacked { unit, parts, bars: drawn, shares: false }),
        caption: caption(points)?,
        table: table(points),
    })
}
