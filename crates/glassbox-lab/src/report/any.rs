//! The section of an experiment that has no figures of its own: each of its figures as bars, a metric at a time.

use super::{Figure, Section, Table};
use crate::figures::{Bars, Colour, Line, bars};
use crate::format;
use crate::points::{Point, Points};

/// More bars than can be read.
const MOST_BARS: usize = 40;

/// Makes it.
pub(super) fn section(experiment: &str, points: &Points) -> Section {
    let mut groups: Vec<(&Point, Vec<&Point>)> = Vec::new();
    for point in &points.0 {
        let same = |of: &Point| (&of.figure, &of.metric, &of.unit) == (&point.figure, &point.metric, &point.unit);
        match groups.iter_mut().find(|(first, _)| same(first)) {
            Some((_, group)) => group.push(point),
            None => groups.push((point, vec![point])),
        }
    }
    let drawn = groups.into_iter().filter(|(_, group)| (2..=MOST_BARS).contains(&group.len()));
    Section {
        id: experiment.to_owned(),
        title: capital(experiment),
        lead: String::new(),
        facts: Vec::new(),
        notes_title: String::new(),
        notes: Vec::new(),
        figures: drawn.map(|(first, group)| figure(first, &group)).collect(),
    }
}

fn figure(first: &Point, group: &[&Point]) -> Figure {
    let line = |point: &&Point| Line {
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
    let metric = first.metric.replace('_', " ");
    Figure {
        title: format!("{}: {metric}", capital(&first.figure)),
        svg: bars(&Bars { unit: first.unit.clone(), logarithmic: false, lines: group.iter().map(line).collect() }),
        caption: String::new(),
        table: Some(Table {
            header: [first.unit.as_str(), "value", "middle half"].map(str::to_owned).to_vec(),
            rows: group.iter().map(row).collect(),
        }),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
