//! Bars for a narrow screen: each lies below its label and its note, which have the whole width.

use super::canvas::{Canvas, Colour, GRID, INK, QUIET, Side, draw};

/// Bars from top to bottom; lengths are shares of the axis.
pub(super) struct NarrowBars<'a> {
    /// The unit of the length.
    pub unit: &'a str,
    /// Marks of the axis, each with its place.
    pub marks: Vec<(f64, String)>,
    /// The bars.
    pub rows: Vec<NarrowRow<'a>>,
    /// The parts' names.
    pub legend: &'a [(String, Colour)],
}

/// One bar.
pub(super) struct NarrowRow<'a> {
    pub label: &'a str,
    pub note: &'a str,
    /// Pieces: where each begins and ends, and what is written on it if there is room.
    pub pieces: Vec<(f64, f64, Colour, String)>,
    /// The range of repeated measurements.
    pub spread: Option<(f64, f64)>,
}

const LEFT: f64 = 6.0;
const AREA: f64 = 330.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 24.0;
const LINE: f64 = 15.0;
const BAR: f64 = 13.0;
const GAP: f64 = 9.0;
const LEGEND_LINE: f64 = 19.0;
/// Maximum length of a label in characters that leaves room for a note in the same line.
const SHORT: usize = 50;
/// Width of a character of a share.
const CHARACTER: f64 = 6.5;

impl NarrowRow<'_> {
    /// A note that is short is in the line of the label.
    fn has_one_line(&self) -> bool {
        self.label.chars().count() + self.note.chars().count() <= SHORT && !self.label.contains('\n')
    }

    fn height(&self) -> f64 {
        (if self.has_one_line() { LINE } else { 2.0 * LINE }) + BAR + GAP
    }
}

/// Draws the bars.
pub(super) fn narrow_bars(figure: &NarrowBars<'_>) -> String {
    let x = |share: f64| LEFT + AREA * share.clamp(0.0, 1.0);
    let bottom = TOP + figure.rows.iter().map(NarrowRow::height).sum::<f64>();
    let legend = figure.legend.len() as f64 * LEGEND_LINE;
    draw(LEFT + AREA + RIGHT, bottom + 24.0 + legend, |canvas| {
        canvas.text(figure.unit, (LEFT, 10.0), Side::Right, 12.0, QUIET);
        for (place, name) in &figure.marks {
            canvas.line((x(*place), TOP), (x(*place), bottom), GRID, 1);
            let side = if *place == 0.0 { Side::Right } else { Side::Middle };
            canvas.text(name, (x(*place), bottom + 10.0), side, 12.0, QUIET);
        }
        let mut top = TOP;
        for bar in &figure.rows {
            row(canvas, bar, top, &x);
            top += bar.height();
        }
        canvas.line((x(0.0), TOP), (x(0.0), bottom), INK, 1);
        for (at, (name, colour)) in figure.legend.iter().rev().enumerate() {
            let y = bottom + 30.0 + at as f64 * LEGEND_LINE;
            canvas.rectangle((LEFT, y - 6.0), (LEFT + 12.0, y + 6.0), *colour);
            canvas.text(name, (LEFT + 19.0, y), Side::Right, 12.5, INK);
        }
    })
}

fn row(canvas: &Canvas<'_>, bar: &NarrowRow<'_>, top: f64, x: &dyn Fn(f64) -> f64) {
    let text = top + LINE / 2.0;
    canvas.text(&bar.label.replace('\n', " "), (LEFT + 3.0, text), Side::Right, 12.5, INK);
    if bar.has_one_line() {
        canvas.text(bar.note, (x(1.0), text), Side::Left, 12.0, INK);
    } else {
        canvas.text(bar.note, (LEFT + 3.0, text + LINE), Side::Right, 12.0, QUIET);
    }
    let high = top + bar.height() - GAP - BAR;
    let middle = high + BAR / 2.0;
    for (from, to, colour, share) in &bar.pieces {
        canvas.rectangle((x(*from), high), (x(*to), high + BAR), *colour);
        if x(*to) - x(*from) > share.chars().count() as f64 * CHARACTER {
            canvas.text(share, ((x(*from) + x(*to)) / 2.0, middle), Side::Middle, 11.0, colour.readable());
        }
    }
    if let Some((least, most)) = bar.spread {
        canvas.line((x(least), middle), (x(most), middle), INK, 1);
        for edge in [least, most] {
            canvas.line((x(edge), middle - 4.0), (x(edge), middle + 4.0), INK, 1);
        }
    }
}
