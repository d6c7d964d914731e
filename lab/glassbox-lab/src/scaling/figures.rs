//! The section of a report: for each system its throughput over cores, and where the cores' time goes.

use super::systems::{ScaledForm, ScaledSystem};
use super::tables::{self, IDLE, KERNEL, OF_SIDE_BY_SIDE, PROGRAM, THROUGHPUT, cores};
use crate::figures::{Bar, Colour, Curve, Curves, Stacked, Stroke, curves, stacked};
use crate::points::Points;
use crate::section::{Figure, Section};
use glassbox_workloads::format;

/// The question of the section.
const QUESTION: &str = "What does an engine lose on more cores, compared with a process for each core?";
/// The terms of the section.
const TERMS: &[(&str, &str)] = &[
    ("any warehouse", "one database, and each thread executes transactions of all warehouses"),
    (
        "own warehouses",
        "one database, and each thread executes transactions of its own warehouses, which may need rows of others",
    ),
    ("side by side", "a process with a database of its own for each core"),
];
/// The introduction of the section.
const LEAD: &str = "TPC-C on more and more cores: as one database, and as a process with a database of its own for \
                    each core. Processes side by side share nothing but the machine, so the space below their curve is \
                    what an engine loses to what its threads share.";

const COLOURS: [Colour; 3] = [Colour(0x4e, 0x79, 0xa7), Colour(0x2f, 0x8f, 0x4e), Colour(0x9a, 0xa3, 0xae)];

/// The answer: what each system keeps on the most cores.
fn answer(points: &Points) -> Option<String> {
    let kept = |system: ScaledSystem| {
        let most = cores(points, system).last().copied().filter(|most| *most > 1.0)?;
        let of = |form: ScaledForm| Some(points.at(system.name(), form.name(), most, OF_SIDE_BY_SIDE)?.value);
        let any = of(ScaledForm::Any)?;
        let own = of(ScaledForm::Own)?;
        Some((most, format!("{} {any:.2} and {own:.2}", system.title())))
    };
    let all: Vec<_> = ScaledSystem::ALL.into_iter().filter_map(kept).collect();
    let (most, _) = all.first()?;
    let all: Vec<&str> = all.iter().map(|(_, kept)| kept.as_str()).collect();
    Some(format!(
        "On {most} cores, of the throughput of as many processes side by side, an engine whose threads execute \
         transactions of any warehouse keeps, and one whose threads keep to their own: {}.",
        all.join("; ")
    ))
}

/// The section of these numbers.
pub fn section(points: &Points) -> Section {
    let mut figures = Vec::new();
    for system in ScaledSystem::ALL {
        figures.extend(throughput(points, system));
        figures.extend(core_time(points, system));
        let title = format!("{}: instructions", system.title());
        let caption = "Counted by callgrind, which runs one thread at a time.";
        figures.extend(tables::instructions(points, system).map(|table| Figure::of_table(title, caption, table)));
    }
    Section {
        id: super::EXPERIMENT.to_owned(),
        title: "Scaling".to_owned(),
        question: QUESTION,
        is_supplement: false,
        answered_by: "",
        terms: TERMS,
        lead: answer(points).unwrap_or_else(|| LEAD.to_owned()),
        outcomes: String::new(),
        facts: vec![("method".to_owned(), LEAD.to_owned())],
        notes_title: String::new(),
        notes: Vec::new(),
        figures,
    }
}

fn throughput(points: &Points, system: ScaledSystem) -> Option<Figure> {
    let table = tables::throughput(points, system)?;
    let curve = |(form, colour): (ScaledForm, Colour)| Curve {
        name: form.name().to_owned(),
        colour,
        stroke: Stroke::Dotted,
        points: cores(points, system)
            .into_iter()
            .filter_map(|cores| Some((cores, points.at(system.name(), form.name(), cores, THROUGHPUT)?.value)))
            .collect(),
    };
    let mut drawn: Vec<_> = ScaledForm::ALL.into_iter().zip(COLOURS).map(curve).collect();
    // The comparison first, so that it is behind the others.
    drawn.reverse();
    let svg = curves(&Curves {
        unit: "transactions per second".to_owned(),
        x_unit: "cores".to_owned(),
        x_names: &[],
        curves: drawn,
    });
    let caption =
        "Medians; ratios are medians of the ratios within each round, with half of their interquartile range.";
    Some(Figure {
        title: format!("{}: throughput", system.title()),
        svg,
        caption: caption.to_owned(),
        table: Some(table),
    })
}

fn core_time(points: &Points, system: ScaledSystem) -> Option<Figure> {
    let table = tables::core_time(points, system)?;
    let most = cores(points, system).last().copied()?;
    let shown = [(1.0, ScaledForm::Any)].into_iter().filter(|_| most > 1.0).chain(ScaledForm::ALL.map(|it| (most, it)));
    let bar = |(cores, form): (f64, ScaledForm)| {
        let value = |metric| points.at(system.name(), form.name(), cores, metric).map(|it| it.value);
        let values: Vec<f64> = [PROGRAM, KERNEL, IDLE].into_iter().filter_map(value).collect();
        let label = if cores == 1.0 { "1 core".to_owned() } else { format!("{cores} cores\n{}", form.name()) };
        let note = format!("{} µs", format::number(values.iter().sum()));
        (values.len() == 3).then_some(Bar { label, values, note })
    };
    let parts = [
        ("program", Colour(0x4e, 0x79, 0xa7)),
        ("kernel", Colour(0xe1, 0x57, 0x59)),
        ("idle, or others", Colour(0xd5, 0xda, 0xe0)),
    ];
    let svg = stacked(&Stacked {
        unit: "core time per transaction, µs".to_owned(),
        parts: parts.map(|(name, colour)| (name.to_owned(), colour)).to_vec(),
        bars: shown.filter_map(bar).collect(),
        shares: true,
    });
    let caption = "All cores in use, divided by the transactions: a bar twice as high is half as fast.";
    Some(Figure {
        title: format!("{}: core time", system.title()),
        svg,
        caption: caption.to_owned(),
        table: Some(table),
    })
}
