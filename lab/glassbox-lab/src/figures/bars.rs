//! Horizontal bars, one below the other, with the spread of repeated measurements.

use super::canvas::{Canvas, Colour, GRID, INK, QUIET, Side, both, decades, draw, marks, short};
use super::narrow::{NarrowBars, NarrowRow, narrow_bars};

/// A figure of horizontal bars.
#[derive(Debug, Clone)]
pub struct Bars {
    /// The unit of the length.
    pub unit: String,
    /// Whether the scale is logarithmic. Bars then start at a power of ten.
    pub logarithmic: bool,
    /// From top to bottom.
    pub lines: Vec<BarRow>,
}

/// One bar.
#[derive(Debug, Clone)]
pub struct BarRow {
    /// The label to its left.
    pub label: String,
    /// Its length.
    pub value: f64,
    /// The range of repeated measurements, if it is known.
    pub spread: Option<(f64, f64)>,
    /// Its colour.
    pub colour: Colour,
    /// The note at its end.
    pub note: String,
    /// Whether it starts a group, which leaves space above.
    pub begins: bool,
}

const ROW: f64 = 25.0;
const GAP: f64 = 12.0;
const LABELS: f64 = 230.0;
const AREA: f64 = 480.0;
const NOTES: f64 = 190.0;
const TOP: f64 = 30.0;

/// Draws the figure.
pub fn bars(figure: &Bars) -> String {
    both(&wide(figure), &narrow(figure))
}

/// The place of a value on the axis, as a share of it, and the marks.
fn axis(figure: &Bars) -> (impl Fn(f64) -> f64, Vec<f64>) {
    let ends = || figure.lines.iter().flat_map(|line| [Some(line.value), line.spread.map(|(_, high)| high)]).flatten();
    let (low, high) = decades(figure.lines.iter().map(|line| line.value));
    let most = ends().fold(f64::MIN_POSITIVE, f64::max);
    let is_logarithmic = figure.logarithmic;
    let share = move |value: f64| match is_logarithmic {
        true => (value.max(f64::MIN_POSITIVE).log10() - f64::from(low)) / f64::from(high - low),
        false => value / most,
    };
    let marks = match is_logarithmic {
        true => (low..=high).map(|power| 10_f64.powi(power)).collect(),
        false => marks(most, 5).into_iter().filter(|mark| *mark <= most * 1.001).collect(),
    };
    (share, marks)
}

fn narrow(figure: &Bars) -> String {
    let (share, marks) = axis(figure);
    let rows = figure.lines.iter().map(|line| NarrowRow {
        label: &line.label,
        note: &line.note,
        pieces: vec![(0.0, share(line.value), line.colour, String::new())],
        spread: line.spread.map(|(least, most)| (share(least), share(most))),
    });
    narrow_bars(&NarrowBars {
        unit: &figure.unit,
        marks: marks.into_iter().map(|mark| (share(mark), short(mark))).collect(),
        rows: rows.collect(),
        legend: &[],
    })
}

fn wide(figure: &Bars) -> String {
    let (share, marks) = axis(figure);
    let x = |value: f64| LABELS + AREA * share(value).clamp(0.0, 1.0);
    let gaps = figure.lines.iter().skip(1).filter(|line| line.begins).count();
    let bottom = TOP + ROW * figure.lines.len() as f64 + GAP * gaps as f64;
    draw(LABELS + AREA + NOTES, bottom + 30.0, |canvas| {
        canvas.text(&figure.unit, (LABELS, 12.0), Side::Right, 12.0, QUIET);
        for mark in marks {
            canvas.line((x(mark), TOP - 4.0), (x(mark), bottom), GRID, 1);
            canvas.text(&short(mark), (x(mark), bottom + 13.0), Side::Middle, 12.0, QUIET);
        }
        let mut top = TOP;
        for (at, line) in figure.lines.iter().enumerate() {
            top += if at > 0 && line.begins { GAP } else { 0.0 };
            row(canvas, line, top, &x);
            top += ROW;
        }
        canvas.line((LABELS, TOP - 4.0), (LABELS, bottom), INK, 1);
    })
}

fn row(canvas: &Canvas<'_>, line: &BarRow, top: f64, x: &dyn Fn(f64) -> f64) {
    let (high, low, middle) = (top + 3.0, top + ROW - 4.0, top + ROW / 2.0);
    canvas.text(&line.label, (LABELS - 10.0, middle), Side::Left, 12.5, INK);
    canvas.rectangle((LABELS, high), (x(line.value), low), line.colour);
    let mut end = x(line.value);
    if let Some((least, most)) = line.spread {
        canvas.line((x(least), middle), (x(most), middle), INK, 1);
        for edge in [least, most] {
            canvas.line((x(edge), middle - 4.0), (x(edge), middle + 4.0), INK, 1);
        }
        end = end.max(x(most));
    }
    canvas.text(&line.note, (end + 8.0, middle), Side::Right, 12.0, INK);
}
