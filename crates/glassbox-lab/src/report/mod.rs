//! Reports: one page of HTML that needs nothing beside itself.
//!
//! Figures are drawn into the page as SVG, and the numbers they were made of are in it as JSON lines, so that a page
//! that was sent to somebody can be read, printed and checked without this program.

mod any;

use askama::Template;

use crate::points::{Line, Points};
use crate::{calibrate, in_process, looking_glass, low_overhead, real};

/// What is told of one experiment.
#[derive(Debug, Clone, Default)]
pub struct Section {
    /// Its place in the page.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What it is, in a few sentences.
    pub lead: String,
    /// Machine, commit, configuration.
    pub facts: Vec<(String, String)>,
    /// What stands above the notes.
    pub notes_title: String,
    /// Sentences about the results.
    pub notes: Vec<String>,
    /// The figures.
    pub figures: Vec<Figure>,
}

/// A figure, a table, or both.
#[derive(Debug, Clone)]
pub struct Figure {
    /// Its title.
    pub title: String,
    /// The drawing; may be empty.
    pub svg: String,
    /// What is to be known about it.
    pub caption: String,
    /// Its numbers.
    pub table: Option<Table>,
}

/// A table, whose first column is names.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Above the columns.
    pub header: Vec<String>,
    /// As many cells as columns.
    pub rows: Vec<Vec<String>>,
}

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    title: &'a str,
    sections: &'a [Section],
    data: String,
}

/// The page.
///
/// # Errors
/// When a number cannot be written.
pub fn page(title: &str, lines: &[Line]) -> anyhow::Result<String> {
    let sections = sections(lines);
    let json = lines.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?.join("\n");
    // Nothing in the data may end the element that it stands in.
    let data = json.replace('<', "\\u003c");
    Ok(Page { title, sections: &sections, data }.render()?)
}

/// A section for each experiment, commit, configuration and machine.
fn sections(lines: &[Line]) -> Vec<Section> {
    let mut runs: Vec<(&Line, Vec<&Line>)> = Vec::new();
    for line in lines {
        let same = |of: &Line| {
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

fn section(at: usize, first: &Line, run: &[&Line]) -> Section {
    let points = Points(run.iter().map(|line| line.point.clone()).collect());
    let mut section = match first.experiment.as_str() {
        "looking-glass" => looking_glass::section(&points),
        "low-overhead" => low_overhead::section(&points),
        calibrate::EXPERIMENT => calibrate::tables::section(&points),
        real::EXPERIMENT => real::tables::real(&points),
        real::PREDICTED => real::tables::predicted(&points),
        in_process::EXPERIMENT => in_process::tables::section(&points),
        other => any::section(other, &points),
    };
    section.id = format!("{}-{at}", section.id);
    if run.iter().any(|line| line.simulated) {
        section.title += " (simulated)";
    }
    let fact = |name: &str, value: String| (name.to_owned(), value);
    section.facts = vec![fact("machine", first.machine.clone()), fact("commit", first.commit.clone())];
    for (name, value) in first.configuration.as_object().into_iter().flatten() {
        section.facts.push(fact(name, plain(value)));
    }
    section
}

/// A value of the configuration as people write it.
fn plain(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Object(fields) => {
            fields.iter().map(|(name, value)| format!("{name} {}", plain(value))).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
