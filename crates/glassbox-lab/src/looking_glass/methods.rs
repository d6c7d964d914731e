//! Two ways to say what a component costs, side by side (New-Order).
//!
//! The paper had one: the difference of neighbouring stacks. Here is another: the instructions that belong to the
//! component's own code, by inlined functions, in the full stack. They ask different questions. A difference includes
//! what others did for the component (arguments, branches, registers saved) and what the compiler could leave out once
//! it was gone; its own code does not.

use super::counting::by_component;
use super::ladder::{Component, FULL, Measure};
use super::work::Workload;
use crate::figures::{Bars, Line, bars};
use crate::format;
use crate::points::Points;
use crate::report::{Figure, Table};

/// The parts by inlined functions that make up a component of the paper.
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

/// Draws it.
pub(super) fn figure(points: &Points) -> Option<Figure> {
    let workload = Workload::NewOrder;
    let costs = Measure::Instructions.of_components(points, workload.name())?;
    let (mut lines, mut rows) = (Vec::new(), Vec::new());
    for (component, cost) in Component::ALL.into_iter().zip(costs).take(5) {
        let values = [("difference", Some(cost)), ("own code", own(points, workload, component))];
        for (at, (way, value)) in
            values.iter().enumerate().filter_map(|(at, (way, value))| Some((at, (way, (*value)?))))
        {
            lines.push(Line {
                label: if at == 0 { format!("{}: {way}", component.name()) } else { (*way).to_string() },
                value: value.max(0.0),
                spread: None,
                colour: if at == 0 { component.colour() } else { component.colour().lighter() },
                note: format::number(value.max(0.0)),
                begins: at == 0,
            });
        }
        let cell =
            |value: Option<f64>| value.map_or_else(String::new, |value| super::figure7::signed(value).replace('+', ""));
        rows.push(std::iter::once(component.name().to_owned()).chain(values.map(|(_, value)| cell(value))).collect());
    }
    Some(Figure {
        title: "Two ways to say what a component costs (New-Order)".to_owned(),
        svg: bars(&Bars { unit: "instructions of a New-Order".to_owned(), logarithmic: false, lines }),
        caption: "Difference: between neighbouring stacks of the ladder. Own code: instructions that the debugging \
                  information lays in the component's files, in the full stack; the buffer manager's are those of the \
                  pool, the directory and records on pages."
            .to_owned(),
        table: Some(Table { header: ["instructions", "difference", "own code"].map(str::to_owned).to_vec(), rows }),
    })
}
