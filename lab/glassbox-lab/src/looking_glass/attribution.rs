//! Two attributions of a component's cost, side by side (New-Order).
//!
//! The paper's is the difference of neighbouring stacks. The other is the component's own code: the instructions of its
//! inlined functions in the full stack. They are different quantities. A difference includes work of other components
//! for it (arguments, branches, saved registers) and code that the compiler could omit without it; its own code does
//! not.

use super::instructions::by_component;
use super::ladder::{Component, FULL, Measure};
use crate::figures::{BarRow, Bars, bars};
use crate::points::Points;
use crate::section::{Figure, Table};
use crate::workload::Workload;
use glassbox_workloads::format;

/// The parts by inlined functions that form a component of the paper.
pub(super) const fn own_parts(component: Component) -> &'static [&'static str] {
    match component {
        Component::Keys => &["B-tree keys"],
        Component::Logging => &["logging"],
        Component::Locking => &["locking"],
        Component::Latching => &["latching"],
        Component::BufferManager => &["buffer pool", "directory", "records on pages"],
        Component::Remaining => &[],
    }
}

/// The instructions of a component's own code in the full stack.
pub(super) fn own(points: &Points, workload: Workload, component: Component) -> Option<f64> {
    let figure = by_component(workload);
    own_parts(component).iter().map(|part| points.value(&figure, FULL, part)).sum()
}

/// The figure, if everything was counted.
pub(super) fn figure(points: &Points) -> Option<Figure> {
    let workload = Workload::NewOrder;
    let costs = Measure::Instructions.of_components(points, workload.name())?;
    let (mut lines, mut rows) = (Vec::new(), Vec::new());
    for (component, cost) in Component::ALL.into_iter().zip(costs).take(5) {
        let values = [("difference", Some(cost)), ("own code", own(points, workload, component))];
        for (at, (way, value)) in
            values.iter().enumerate().filter_map(|(at, (way, value))| Some((at, (way, (*value)?))))
        {
            lines.push(BarRow {
                label: if at == 0 { format!("{}: {way}", component.name()) } else { (*way).to_string() },
                value: value.max(0.0),
                spread: None,
                colour: if at == 0 { component.colour() } else { component.colour().lighter() },
                note: format::number(value.max(0.0)),
                begins: at == 0,
            });
        }
        let cell = |value: Option<f64>| value.map_or_else(String::new, format::difference);
        rows.push(std::iter::once(component.name().to_owned()).chain(values.map(|(_, value)| cell(value))).collect());
    }
    Some(Figure {
        title: "Two attributions of a component's cost (New-Order)".to_owned(),
        svg: bars(&Bars { unit: "instructions of a New-Order".to_owned(), logarithmic: false, lines }),
        caption: "Difference: between neighbouring stacks of the ladder. Own code: instructions that the debugging \
                  information assigns to the component's files, in the full stack; the buffer manager's are those of \
                  the pool, the directory and records on pages."
            .to_owned(),
        table: Some(Table::new(&["instructions", "difference", "own code"], rows)),
    })
}
