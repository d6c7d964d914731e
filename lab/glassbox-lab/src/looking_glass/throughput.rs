//! The ladder of throughput: section 4.3.1.
//!
//! Paper: *OLTP Through the Looking Glass*, section 4.3.1. Claim, on a mix of half New-Order and half Payment: 640
//! transactions a second out of the box, 1,700 without flushing the log, 12,700 stripped, 46,500 on the kernel; a
//! factor of 20 for the removed components.
//!
//! Differences here: the machine is eighteen years newer and has no rotating disk, so only factors can be compared; and
//! in `full-forced` the client waits for each force. In `full-forced-64` it has many transactions in flight, which
//! share forces.

use super::ladder::{BARE, FORCED, FULL, GROUPED, KERNEL, RUNGS, THROUGHPUT, USEFUL};
use super::paper;
use crate::figures::{BarRow, Bars, Colour, bars};
use crate::points::Points;
use crate::section::{Figure, Table};
use crate::workload::Workload;
use glassbox_workloads::format::{self, one_digit};

const THERE: Colour = Colour(0xb6, 0xbd, 0xc7);
const HERE: Colour = Colour(0x4e, 0x79, 0xa7);

fn rate(points: &Points, stack: &str) -> Option<f64> {
    points.value(THROUGHPUT, stack, Workload::Mix.name())
}

/// The four steps of the paper, with ours.
pub(super) fn four_steps(points: &Points) -> Option<Figure> {
    let mut lines = Vec::new();
    let (there, here) = (paper::THROUGHPUT[3].2, rate(points, KERNEL)?);
    for (stack, label, theirs) in paper::THROUGHPUT {
        let ours = rate(points, stack)?;
        let note = |rate: f64, of: f64| format!("{} ({:.3} of the kernel's)", format::number(rate), rate / of);
        let line =
            |label: String, value, colour, note, begins| BarRow { label, value, spread: None, colour, note, begins };
        lines.push(line(label.to_owned(), theirs, THERE, note(theirs, there), true));
        lines.push(line(format!("here: {stack}"), ours, HERE, note(ours, here), false));
    }
    let factor = |full: f64, bare: f64| one_digit(bare / full);
    Some(Figure {
        title: "Section 4.3.1. The ladder of throughput (mix)".to_owned(),
        svg: bars(&Bars { unit: "transactions per second".to_owned(), logarithmic: true, lines }),
        caption: format!(
            "Logarithmic scale. From the log forced to stripped: {} times here, {} in the paper. From the log written \
             asynchronously to stripped: {} here, {} in the paper.",
            factor(rate(points, FORCED)?, rate(points, BARE)?),
            factor(paper::THROUGHPUT[0].2, paper::THROUGHPUT[2].2),
            factor(rate(points, FULL)?, rate(points, BARE)?),
            factor(paper::THROUGHPUT[1].2, paper::THROUGHPUT[2].2),
        ),
        table: None,
    })
}

/// Every stack's throughput with its spread.
pub(super) fn all_stacks(points: &Points) -> Option<Figure> {
    let mix = Workload::Mix.name();
    let names = [FORCED, GROUPED].into_iter().chain(RUNGS.iter().map(|rung| rung.name)).chain([KERNEL]);
    let line = |name: &str| {
        let rate = rate(points, name)?;
        let end = |which: &str| points.value(THROUGHPUT, name, &format!("{mix} {which}"));
        let colour = if name == KERNEL { USEFUL } else { HERE };
        Some(BarRow {
            label: name.to_owned(),
            value: rate,
            spread: end("least").zip(end("most")),
            colour,
            note: format::number(rate),
            begins: false,
        })
    };
    let lines: Vec<BarRow> = names.clone().filter_map(line).collect();
    if lines.is_empty() {
        return None;
    }
    let cell =
        |name: &str, metric: String| points.value(THROUGHPUT, name, &metric).map_or_else(String::new, format::number);
    let row = |name: &str| {
        let workloads = Workload::ALL.into_iter().flat_map(|workload| {
            let name_of = |which: &str| format!("{}{which}", workload.name());
            let [median, least, most] = ["", " least", " most"].map(|which| cell(name, name_of(which)));
            [median, format!("{least} – {most}")]
        });
        std::iter::once(name.to_owned()).chain(workloads).collect()
    };
    Some(Figure {
        title: "Throughput of every stack (mix)".to_owned(),
        svg: bars(&Bars { unit: "transactions per second".to_owned(), logarithmic: false, lines }),
        caption: "Medians of interleaved rounds; the thin lines span from the slowest to the fastest round.".to_owned(),
        table: Some(Table::new(
            &["transactions/s", "New-Order", "min – max", "Payment", "min – max", "mix", "min – max"],
            names.map(row).collect(),
        )),
    })
}
