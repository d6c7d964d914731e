//! A waterfall chart: the rest after each step as horizontal bars, with the difference that each step made.

use super::canvas::{Canvas, Colour, GRID, INK, QUIET, Side, both, draw, marks, short};
use super::narrow::{NarrowBars, NarrowRow, narrow_bars};

/// A waterfall chart.
#[derive(Debug, Clone)]
pub struct Waterfall {
    /// The unit of the length.
    pub unit: String,
    /// From top to bottom.
    pub steps: Vec<WaterfallStep>,
}

/// One bar.
#[derive(Debug, Clone)]
pub struct WaterfallStep {
    /// The name of the step.
    pub label: String,
    /// The rest after it.
    pub left: f64,
    /// The colour of the difference to the step before.
    pub colour: Colour,
    /// The note at its end.
    pub note: String,
}

const ROW: f64 = 27.0;
const LABELS: f64 = 150.0;
const AREA: f64 = 520.0;
const NOTES: f64 = 250.0;
const TOP: f64 = 30.0;
const LEFT_OVER: Colour = Colour(0xdd, 0xe1, 0xe7);

/// Draws the figure.
pub fn waterfall(figure: &Waterfall) -> String {
    both(&wide(figure), &narrow(figure))
}

fn narrow(figure: &Waterfall) -> String {
    let most = figure.steps.iter().map(|step| step.left).fold(f64::MIN_POSITIVE, f64::max);
    let mut before = figure.steps.first().map_or(0.0, |step| step.left);
    let rows = figure.steps.iter().map(|step| {
        let mut pieces = vec![(0.0, step.left / most, LEFT_OVER, String::new())];
        if step.left < before {
            pieces.push((step.left / most, before / most, step.colour, String::new()));
        }
        before = step.left;
        NarrowRow { label: &step.label, note: &step.note, pieces, spread: None }
    });
    narrow_bars(&NarrowBars {
        unit: &figure.unit,
        marks: marks(most, 4)
            .into_iter()
            .filter(|mark| *mark <= most * 1.001)
            .map(|it| (it / most, short(it)))
            .collect(),
        rows: rows.collect(),
        legend: &[],
    })
}

fn wide(figure: &Waterfall) -> String {
    let most = figure.steps.iter().map(|step| step.left).fold(f64::MIN_POSITIVE, f64::max);
    let x = |value: f64| LABELS + AREA * value / most;
    let bottom = TOP + ROW * figure.steps.len() as f64;
    draw(LABELS + AREA + NOTES, bottom + 30.0, |canvas| {
        canvas.text(&figure.unit, (LABELS, 12.0), Side::Right, 12.0, QUIET);
        for mark in marks(most, 6).into_iter().filter(|mark| *mark <= most * 1.001) {
            canvas.line((x(mark), TOP - 4.0), (x(mark), bottom), GRID, 1);
            canvas.text(&short(mark), (x(mark), bottom + 13.0), Side::Middle, 12.0, QUIET);
        }
        let mut before = figure.steps.first().map_or(0.0, |step| step.left);
        for (at, step) in figure.steps.iter().enumerate() {
            row(canvas, step, before, TOP + ROW * at as f64, &x);
            before = step.left;
        }
        canvas.line((LABELS, TOP - 4.0), (LABELS, bottom), INK, 1);
    })
}

fn row(canvas: &Canvas<'_>, step: &WaterfallStep, before: f64, top: f64, x: &dyn Fn(f64) -> f64) {
    let (high, low, middle) = (top + 3.0, top + ROW - 4.0, top + ROW / 2.0);
    canvas.text(&step.label, (LABELS - 10.0, middle), Side::Left, 12.5, INK);
    canvas.rectangle((x(0.0), high), (x(step.left), low), LEFT_OVER);
    if step.left < before {
        canvas.rectangle((x(step.left), high), (x(before), low), step.colour);
    } else if step.left > before {
        // A step that increased the rest: a line marks the end of the bar before.
        canvas.line((x(before), high), (x(before), low), step.colour, 2);
    }
    canvas.text(&step.note, (x(before.max(step.left)) + 8.0, middle), Side::Right, 12.0, INK);
}
