//! Figures of rows over an axis, as curves and as a table.

use super::jobs::value;
use super::systems::colour;
use crate::figures::{Colour, Curve, Curves, Stroke, curves};
use crate::points::{Point, Points};
use crate::section::{Figure, Table};
use glassbox_workloads::format;

/// After what was not measured.
const SIMULATED: &str = " (simulated)";

/// What a figure shows.
pub(super) struct Plot {
    pub figure: &'static str,
    pub title: &'static str,
    pub caption: &'static str,
    pub metric: &'static str,
    pub unit: &'static str,
    pub x_unit: &'static str,
    /// Names of the places 0, 1, … of the axis; none where they are numbers.
    pub x_names: &'static [&'static str],
}

/// The rows of a figure, in the order of the results.
fn rows(points: &Points, figure: &str) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for point in points.0.iter().filter(|point| point.figure == figure) {
        if !rows.contains(&point.row) {
            rows.push(point.row.clone());
        }
    }
    rows
}

/// A row's colour: of the rows that share one, the first has it whole, and later ones are paler and paler.
fn shade(row: &str, all: &[String]) -> Colour {
    let alike: Vec<_> = all.iter().filter(|other| colour(other) == colour(row)).collect();
    let at = alike.iter().position(|other| *other == row).unwrap_or_default() as u64;
    let steps = (alike.len() as u64).saturating_sub(1).max(1);
    colour(row).paler(PALEST * at / steps)
}

/// By how many percent the palest curve is nearer to white.
const PALEST: u64 = 50;

impl Plot {
    /// The figure, if it was simulated.
    pub fn draw(&self, points: &Points) -> Option<Figure> {
        self.draw_as(points, true)
    }

    /// The figure; if it was measured, rows whose names end so are simulated.
    pub fn draw_as(&self, points: &Points, is_simulated: bool) -> Option<Figure> {
        let table = self.table_as(points, is_simulated)?;
        let suffix = if is_simulated { SIMULATED } else { "" };
        let all = rows(points, self.figure);
        let curve = |row: String| Curve {
            points: self.curve(points, &row),
            colour: shade(&row, &all),
            stroke: if !is_simulated && row.ends_with("simulated") { Stroke::Dashed } else { Stroke::Dotted },
            name: row,
        };
        let svg = curves(&Curves {
            unit: format!("{}{suffix}", self.unit),
            x_unit: self.x_unit.to_owned(),
            x_names: self.x_names,
            curves: all.iter().cloned().map(curve).collect(),
        });
        let title = format!("{}. {}{suffix}", self.figure, self.title);
        Some(Figure { title, svg, caption: self.caption.to_owned(), table: Some(table) })
    }

    fn curve(&self, points: &Points, row: &str) -> Vec<(f64, f64)> {
        let at = |x: f64| value(points, self.figure, row, x, self.metric).map(|value| (x, value));
        self.places(points, row).into_iter().filter_map(at).collect()
    }

    /// The points of a row: where they are, ascending.
    fn places(&self, points: &Points, row: &str) -> Vec<f64> {
        let is_its = |it: &&Point| it.figure == self.figure && it.row == row && it.metric == self.metric;
        let mut places: Vec<f64> = points.0.iter().filter(is_its).map(|point| point.x).collect();
        places.sort_by(f64::total_cmp);
        places
    }

    /// Its numbers, which were simulated.
    pub fn table(&self, points: &Points) -> Option<Table> {
        self.table_as(points, true)
    }

    /// Its numbers.
    pub fn table_as(&self, points: &Points, is_simulated: bool) -> Option<Table> {
        let rows = rows(points, self.figure);
        let mut places: Vec<f64> = rows.iter().flat_map(|row| self.places(points, row)).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        if places.is_empty() {
            return None;
        }
        let cell = |row: &String, x: f64| {
            value(points, self.figure, row, x, self.metric).map_or_else(String::new, format::number)
        };
        let line =
            |row: &String| std::iter::once(row.clone()).chain(places.iter().map(|x| cell(row, *x))).collect::<Vec<_>>();
        let kind = if is_simulated { ", simulated" } else { "" };
        let first = format!("{}{kind}\n{}; {}", self.figure, self.unit, self.x_unit);
        let name = |x: &f64| self.x_names.get(*x as usize).map_or_else(|| format::short(*x), |name| (*name).to_owned());
        let header = std::iter::once(first).chain(places.iter().map(name));
        Some(Table { header: header.collect(), rows: rows.iter().map(line).collect() })
    }
}
