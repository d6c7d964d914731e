//! Stacked vertical bars.

use super::canvas::{Canvas, Colour, GRID, INK, QUIET, Side, both, draw, marks, short};
use super::narrow::{NarrowBars, NarrowRow, narrow_bars};

/// A figure of stacked bars.
#[derive(Debug, Clone)]
pub struct Stacked {
    /// The unit of the height.
    pub unit: String,
    /// The parts, the lowest first, each with its colour.
    pub parts: Vec<(String, Colour)>,
    /// From left to right.
    pub bars: Vec<Bar>,
    /// Whether parts are labelled with their share of the bar in percent.
    pub shares: bool,
}

/// One bar.
#[derive(Debug, Clone)]
pub struct Bar {
    /// The label below it; may have several lines.
    pub label: String,
    /// The value of each part, in the order of [`Stacked::parts`]. Only positive values are drawn.
    pub values: Vec<f64>,
    /// The note above it.
    pub note: String,
}

impl Bar {
    fn height(&self) -> f64 {
        self.values.iter().map(|value| value.max(0.0)).sum()
    }
}

const HEIGHT: f64 = 390.0;
const LEFT: f64 = 70.0;
const TOP: f64 = 46.0;
const BOTTOM: f64 = 52.0;
const LEGEND: f64 = 200.0;
const MAX_BAR_WIDTH: f64 = 110.0;
/// Minimum height of a part with a label.
const MIN_HEIGHT_FOR_TEXT: f64 = 13.0;

/// Draws the figure; for a narrow screen with bars that lie.
pub fn stacked(figure: &Stacked) -> String {
    both(&wide(figure), &narrow(figure))
}

fn narrow(figure: &Stacked) -> String {
    let most = figure.bars.iter().map(Bar::height).fold(f64::MIN_POSITIVE, f64::max);
    let rows = figure.bars.iter().map(|bar| {
        let mut end = 0.0;
        let piece = |((_, colour), value): (&(String, Colour), &f64)| {
            let begin = end;
            end += value / most;
            let share = format!("{:.0} %", 100.0 * value / bar.height());
            (begin, end, *colour, if figure.shares { share } else { String::new() })
        };
        let shown = figure.parts.iter().zip(&bar.values).filter(|(_, value)| **value > 0.0);
        NarrowRow { label: &bar.label, note: &bar.note, pieces: shown.map(piece).collect(), spread: None }
    });
    narrow_bars(&NarrowBars {
        unit: &figure.unit,
        marks: marks(most, 4)
            .into_iter()
            .filter(|mark| *mark <= most * 1.001)
            .map(|it| (it / most, short(it)))
            .collect(),
        rows: rows.collect(),
        legend: &figure.parts,
    })
}

fn wide(figure: &Stacked) -> String {
    let slot = (620.0 / figure.bars.len().max(1) as f64).min(MAX_BAR_WIDTH * 1.6);
    let area = slot * figure.bars.len() as f64;
    let most = figure.bars.iter().map(Bar::height).fold(0.0, f64::max);
    let marks = marks(most, 5);
    // The scale ends at the highest bar, which may be far below the last mark.
    let top = most.max(f64::MIN_POSITIVE);
    let y = |value: f64| TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - value / top);
    draw(LEFT + area + LEGEND, HEIGHT, |canvas| {
        canvas.text(&figure.unit, (6.0, 12.0), Side::Right, 12.0, QUIET);
        for mark in marks.into_iter().filter(|mark| *mark <= top * 1.001) {
            canvas.line((LEFT, y(mark)), (LEFT + area, y(mark)), GRID, 1);
            canvas.text(&short(mark), (LEFT - 8.0, y(mark)), Side::Left, 12.0, QUIET);
        }
        for (at, bar) in figure.bars.iter().enumerate() {
            let middle = LEFT + slot * (at as f64 + 0.5);
            let half = (slot * 0.68).min(MAX_BAR_WIDTH) / 2.0;
            column(canvas, figure, bar, (middle, half), &y);
        }
        canvas.line((LEFT, y(0.0)), (LEFT + area, y(0.0)), INK, 1);
        legend(canvas, figure, LEFT + area + 22.0);
    })
}

fn column(canvas: &Canvas<'_>, figure: &Stacked, bar: &Bar, (middle, half): (f64, f64), y: &dyn Fn(f64) -> f64) {
    let (mut below, height) = (0.0, bar.height());
    for ((_, colour), value) in figure.parts.iter().zip(&bar.values).filter(|(_, value)| **value > 0.0) {
        let (low, high) = (y(below), y(below + value));
        canvas.rectangle((middle - half, high), (middle + half, low), *colour);
        if figure.shares && low - high >= MIN_HEIGHT_FOR_TEXT {
            let share = format!("{:.1} %", 100.0 * value / height);
            canvas.text(&share, (middle, (low + high) / 2.0), Side::Middle, 11.5, colour.readable());
        }
        below += value;
    }
    canvas.text(&bar.note, (middle, y(below) - 9.0), Side::Middle, 12.0, INK);
    canvas.lines(&bar.label, (middle, HEIGHT - BOTTOM + 16.0), Side::Middle, 12.0, INK);
}

/// The parts' names, in the order of the bars.
fn legend(canvas: &Canvas<'_>, figure: &Stacked, x: f64) {
    for (at, (name, colour)) in figure.parts.iter().rev().enumerate() {
        let y = TOP + 8.0 + at as f64 * 22.0;
        canvas.rectangle((x, y - 7.0), (x + 14.0, y + 7.0), *colour);
        canvas.text(name, (x + 22.0, y), Side::Right, 12.5, INK);
    }
}
