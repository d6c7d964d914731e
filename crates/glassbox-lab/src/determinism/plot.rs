//! Figures of rows over an axis, as curves and as a table.

use super::jobs::{places, value};
use super::systems::colour;
use crate::figures::{Curve, Curves, Stroke, curves};
use crate::format;
use crate::points::Points;
use crate::section::{Figure, Table};

/// What a figure shows.
pub(super) struct Plot {
    pub figure: &'static str,
    pub title: &'static str,
    pub caption: &'static str,
    pub metric: &'static str,
    pub unit: &'static str,
    pub x_unit: &'static str,
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

impl Plot {
    /// The figure, if it was simulated.
    pub fn draw(&self, points: &Points) -> Option<Figure> {
        let table = self.table(points)?;
        let curve = |row: String| Curve {
            points: self.curve(points, &row),
            colour: if row.contains("0.01") || row.contains("4 part") { colour(&row) } else { colour(&row).lighter() },
            stroke: Stroke::Dotted,
            name: row,
        };
        let svg = curves(&Curves {
            unit: format!("{} (simulated)", self.unit),
            x_unit: self.x_unit.to_owned(),
            curves: rows(points, self.figure).into_iter().map(curve).collect(),
        });
        let title = format!("{}. {} (simulated)", self.figure, self.title);
        Some(Figure { title, svg, caption: self.caption.to_owned(), table: Some(table) })
    }

    fn curve(&self, points: &Points, row: &str) -> Vec<(f64, f64)> {
        let at = |x: f64| value(points, self.figure, row, x, self.metric).map(|value| (x, value));
        places(points, self.figure, row).into_iter().filter_map(at).collect()
    }

    /// Its numbers.
    pub fn table(&self, points: &Points) -> Option<Table> {
        let rows = rows(points, self.figure);
        let mut places: Vec<f64> = rows.iter().flat_map(|row| places(points, self.figure, row)).collect();
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
        let first = format!("{}, simulated\n{}; {}", self.figure, self.unit, self.x_unit);
        let header = std::iter::once(first).chain(places.iter().map(|x| format::short(*x)));
        Some(Table { header: header.collect(), rows: rows.iter().map(line).collect() })
    }
}
