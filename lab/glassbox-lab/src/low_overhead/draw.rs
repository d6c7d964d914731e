//! Figures of throughput over the share of transactions on two partitions, as curves and as a table.

use super::series::{colour, curve};
use crate::figures::{Colour, Curve, Curves, Stroke, curves};
use crate::points::Points;
use crate::section::{Figure, Table};
use glassbox_workloads::format;

/// One curve: the figure and the row of its numbers, its name, and how it is drawn.
pub(super) struct CurveOf<'a> {
    pub figure: &'a str,
    pub row: &'a str,
    pub name: &'a str,
    pub stroke: Stroke,
    pub colour: Colour,
}

impl<'a> CurveOf<'a> {
    /// A scheme under its own name and colour, as a line with dots.
    pub fn scheme(figure: &'a str, row: &'a str) -> Self {
        Self { figure, row, name: row, stroke: Stroke::Dotted, colour: colour(row) }
    }
}

/// A formula as a curve.
pub(super) fn formula(name: &str, colour: Colour, stroke: Stroke, range: (u32, u32), of: impl Fn(f64) -> f64) -> Curve {
    let points = (range.0..=range.1).map(|percent| (f64::from(percent), of(f64::from(percent) / 100.0)));
    Curve { name: name.to_owned(), colour, stroke, points: points.collect() }
}

/// The horizontal axis.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Axis {
    /// Its unit.
    pub unit: &'static str,
    /// The same as the title of a column.
    pub column: &'static str,
    /// The unit after a number there.
    pub mark: &'static str,
}

/// The share of transactions on two partitions.
pub(super) const SHARES: Axis =
    Axis { unit: "% of transactions on two partitions", column: "on two partitions", mark: " %" };

/// The frame of a figure: the title with the origin of the numbers in brackets; the caption; the axis.
pub(super) struct FigureFrame<'a> {
    pub title: &'a str,
    pub what: &'a str,
    pub caption: &'a str,
    pub axis: Axis,
}

/// A figure of simulated throughputs and formulas, if it was simulated.
pub(super) fn figure(
    points: &Points,
    title: &str,
    caption: String,
    shown: &[CurveOf<'_>],
    formulas: Vec<Curve>,
) -> Option<Figure> {
    framed(points, &FigureFrame { title, what: "simulated", caption: &caption, axis: SHARES }, shown, formulas)
}

/// The same, with any frame.
pub(super) fn framed(
    points: &Points,
    frame: &FigureFrame<'_>,
    shown: &[CurveOf<'_>],
    formulas: Vec<Curve>,
) -> Option<Figure> {
    let &FigureFrame { title, what, caption, axis } = frame;
    let measured = |shown: &CurveOf<'_>| Curve {
        name: shown.name.to_owned(),
        colour: shown.colour,
        stroke: shown.stroke,
        points: curve(points, shown.figure, shown.row),
    };
    let measured: Vec<_> = shown.iter().map(measured).filter(|curve| !curve.points.is_empty()).collect();
    if measured.is_empty() {
        return None;
    }
    let table = table(&measured, axis);
    let svg = curves(&Curves {
        unit: format!("transactions per second ({what})"),
        x_unit: axis.unit.to_owned(),
        x_names: &[],
        curves: formulas.into_iter().chain(measured).collect(),
    });
    Some(Figure { title: format!("{title} ({what})"), svg, caption: caption.to_owned(), table: Some(table) })
}

/// Throughput by the independent variable.
fn table(curves: &[Curve], axis: Axis) -> Table {
    let mut shares: Vec<f64> = curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.0)).collect();
    shares.sort_by(f64::total_cmp);
    shares.dedup();
    let cell = |curve: &Curve, share: f64| {
        let point = curve.points.iter().find(|point| point.0 == share);
        point.map_or_else(String::new, |point| format::number(point.1))
    };
    let row = |share: &f64| {
        let cells = curves.iter().map(|curve| cell(curve, *share));
        std::iter::once(format!("{share}{}", axis.mark)).chain(cells).collect()
    };
    let header = std::iter::once(axis.column.to_owned()).chain(curves.iter().map(|curve| curve.name.clone()));
    Table { header: header.collect(), rows: shares.iter().map(row).collect() }
}
