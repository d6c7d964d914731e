//! The page: one HTML file that needs nothing besides itself.

use askama::Template;
use glassbox::research::stacks::StackName;

use crate::figures::{BarRow, Bars, Colour, bars};
use crate::points::{Point, Points, ResultLine};
use crate::section::{Figure, Section, Table};
use crate::{calibrate, charm, determinism, in_process, limits, looking_glass, low_overhead, real, scaling};
use glassbox_workloads::format;

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    title: &'a str,
    sections: &'a [Section],
    data: String,
}

impl Page<'_> {
    /// The front of a page of several sections: those with a question that supplement no other one.
    fn front(&self) -> Vec<&Section> {
        self.sections.iter().filter(|section| !section.question.is_empty() && !section.is_supplement).collect()
    }

    /// The figure with a section's answer; the first one that was drawn, if that was not measured.
    fn answer<'s>(&self, section: &'s Section) -> Option<&'s Figure> {
        let mut drawn = section.figures.iter().filter(|figure| !figure.svg.is_empty());
        drawn.clone().find(|figure| figure.title.starts_with(section.answered_by)).or_else(|| drawn.next())
    }

    /// A cell of a table: the name of a stack is a link to its row in the table of all stacks.
    fn cell(&self, cell: &str) -> String {
        let text = escaped(cell);
        if is_stack(cell) { format!("<a href=\"#stack-{text}\">{text}</a>") } else { text }
    }

    /// A note whose first sentence says the difference, and the rest of which is its evidence.
    fn folded<'n>(&self, note: &'n str) -> Option<(&'n str, &'n str)> {
        let end = note.find(". ")? + 1;
        Some((&note[..end], note[end..].trim_start()))
    }

    /// The attribute of a row that is linked to.
    fn row_id(&self, table: &Table, row: &[String]) -> String {
        match (table.header.first(), row.first()) {
            (Some(first), Some(cell)) if first == "stack" && table.header.len() > 8 && is_stack(cell) => {
                format!(" id=\"stack-{}\"", escaped(cell))
            }
            _ => String::new(),
        }
    }
}

fn is_stack(cell: &str) -> bool {
    cell.parse::<StackName>().is_ok()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The page.
///
/// # Errors
/// When a number cannot be written.
pub fn page(title: &str, lines: &[ResultLine]) -> anyhow::Result<String> {
    let sections = sections(lines);
    let json = lines.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?.join("\n");
    // The data must not end its HTML element.
    let data = json.replace('<', "\\u003c");
    Ok(Page { title, sections: &sections, data }.render()?)
}

/// A section for each experiment, commit, configuration and machine.
pub(super) fn sections(lines: &[ResultLine]) -> Vec<Section> {
    let mut runs: Vec<(&ResultLine, Vec<&ResultLine>)> = Vec::new();
    for line in lines {
        let same = |of: &ResultLine| {
            (&of.experiment, &of.commit, &of.machine) == (&line.experiment, &line.commit, &line.machine)
                && of.configuration == line.configuration
        };
        match runs.iter_mut().find(|(first, _)| same(first)) {
            Some((_, run)) => run.push(line),
            None => runs.push((line, vec![line])),
        }
    }
    runs.into_iter().enumerate().map(|(at, (first, run))| section(at, first, &run)).collect()
}

fn section(at: usize, first: &ResultLine, run: &[&ResultLine]) -> Section {
    let points = Points(run.iter().map(|line| line.point.clone()).collect());
    let mut section = match first.experiment.as_str() {
        "looking-glass" => looking_glass::section(&points),
        "low-overhead" => low_overhead::section(&points),
        charm::EXPERIMENT => charm::section(&points),
        determinism::EXPERIMENT => determinism::section(&points),
        determinism::here::EXPERIMENT => determinism::here::section(&points),
        determinism::constants::EXPERIMENT => determinism::constants::section(&points),
        determinism::validate::EXPERIMENT => determinism::validate::section(&points),
        calibrate::EXPERIMENT => calibrate::tables::section(&points),
        real::EXPERIMENT => real::tables::real(&points),
        real::PREDICTED => real::tables::predicted(&points),
        in_process::EXPERIMENT => in_process::tables::section(&points),
        scaling::EXPERIMENT => scaling::section(&points),
        "limits" => limits::section(generic_section("limits", &points), &points),
        other => generic_section(other, &points),
    };
    section.id = format!("{}-{at}", section.id);
    if run.iter().any(|line| line.simulated) {
        section.title += " (simulated)";
    }
    if first.configuration.get("quick") == Some(&serde_json::Value::Bool(true)) {
        section.title += ", a quick run";
    }
    let fact = |name: &str, value: String| (name.to_owned(), value);
    section.facts.extend([fact("machine", first.machine.clone()), fact("commit", first.commit.clone())]);
    for (name, value) in first.configuration.as_object().into_iter().flatten() {
        section.facts.push(fact(name, plain(value)));
    }
    section
}

/// A value of the configuration in plain text.
fn plain(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Object(fields) => {
            fields.iter().map(|(name, value)| format!("{name} {}", plain(value))).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// Maximum number of bars of a readable figure.
const MAX_BARS: usize = 40;

/// The section of an experiment without figures of its own: each of its figures as bars, one for each metric.
fn generic_section(experiment: &str, points: &Points) -> Section {
    let mut groups: Vec<(&Point, Vec<&Point>)> = Vec::new();
    for point in &points.0 {
        let same = |of: &Point| (&of.figure, &of.metric, &of.unit) == (&point.figure, &point.metric, &point.unit);
        match groups.iter_mut().find(|(first, _)| same(first)) {
            Some((_, group)) => group.push(point),
            None => groups.push((point, vec![point])),
        }
    }
    let drawn = groups.into_iter().filter(|(_, group)| (2..=MAX_BARS).contains(&group.len()));
    Section {
        id: experiment.to_owned(),
        title: format::capitalized(experiment),
        question: "",
        is_supplement: false,
        answered_by: "",
        terms: &[],
        lead: String::new(),
        outcomes: String::new(),
        facts: Vec::new(),
        notes_title: String::new(),
        notes: Vec::new(),
        figures: drawn.map(|(first, group)| generic_figure(first, &group)).collect(),
    }
}

/// The title of a figure that shows one metric.
fn generic_title(figure: &str, metric: &str) -> String {
    let (metric, which) = match metric.rsplit_once('_') {
        Some((metric, "least")) => (metric, ", the least of the rounds"),
        Some((metric, "most")) => (metric, ", the most of the rounds"),
        _ => (metric, ""),
    };
    let of = if metric == figure { String::new() } else { format!(": {}", metric.replace('_', " ")) };
    format!("{}{of}{which}", format::capitalized(figure))
}

fn generic_figure(first: &Point, group: &[&Point]) -> Figure {
    let line = |point: &&Point| BarRow {
        label: point.row.clone(),
        value: point.value,
        spread: point.spread.map(|spread| (point.value - spread / 2.0, point.value + spread / 2.0)),
        colour: Colour(0x4e, 0x79, 0xa7),
        note: format::number(point.value),
        begins: false,
    };
    let row = |point: &&Point| {
        let spread = point.spread.map_or_else(String::new, format::number);
        vec![point.row.clone(), format::number(point.value), spread]
    };
    Figure {
        title: generic_title(&first.figure, &first.metric),
        svg: bars(&Bars { unit: first.unit.clone(), logarithmic: false, lines: group.iter().map(line).collect() }),
        caption: String::new(),
        table: Some(Table::new(
            &[first.unit.as_str(), "value", "interquartile range"],
            group.iter().map(row).collect(),
        )),
    }
}
