//! Boxes with a few lines of text, and lines between them.

use super::canvas::{Colour, INK, QUIET, Side, draw};

/// A figure of boxes on a grid.
#[derive(Debug, Clone)]
pub struct Boxes {
    /// The boxes.
    pub boxes: Vec<TextBox>,
    /// Lines between two of them, each with the number of rows in the second for one in the first.
    pub lines: Vec<(usize, usize, String)>,
}

/// One box.
#[derive(Debug, Clone)]
pub struct TextBox {
    /// Its column and row on the grid.
    pub at: (u8, u8),
    /// The first line.
    pub title: String,
    /// The lines below.
    pub text: String,
    /// The colour of its edge.
    pub colour: Colour,
}

const WIDTH: f64 = 214.0;
const HEIGHT: f64 = 74.0;
const STEP: (f64, f64) = (268.0, 122.0);
const EDGE: f64 = 2.0;
const MARGIN: f64 = 10.0;
const PAPER: Colour = Colour(0xff, 0xff, 0xff);

impl TextBox {
    fn corner(&self) -> (f64, f64) {
        (MARGIN + f64::from(self.at.0) * STEP.0, MARGIN + f64::from(self.at.1) * STEP.1)
    }

    fn middle(&self) -> (f64, f64) {
        let (x, y) = self.corner();
        (x + WIDTH / 2.0, y + HEIGHT / 2.0)
    }
}

/// Draws the figure.
pub fn boxes(figure: &Boxes) -> String {
    let last = |of: fn(&TextBox) -> u8| f64::from(figure.boxes.iter().map(of).max().unwrap_or_default());
    let width = 2.0 * MARGIN + last(|it| it.at.0) * STEP.0 + WIDTH;
    let height = 2.0 * MARGIN + last(|it| it.at.1) * STEP.1 + HEIGHT;
    draw(width, height, |canvas| {
        for (from, to, _) in &figure.lines {
            canvas.line(figure.boxes[*from].middle(), figure.boxes[*to].middle(), QUIET, 1);
        }
        for it in &figure.boxes {
            let (x, y) = it.corner();
            canvas.rectangle((x, y), (x + WIDTH, y + HEIGHT), it.colour);
            canvas.rectangle((x + EDGE, y + EDGE), (x + WIDTH - EDGE, y + HEIGHT - EDGE), PAPER);
            canvas.text(&it.title, (x + 10.0, y + 16.0), Side::Right, 13.5, INK);
            canvas.lines(&it.text, (x + 10.0, y + 35.0), Side::Right, 11.0, QUIET);
        }
        for (from, to, many) in &figure.lines {
            let (a, b) = (figure.boxes[*from].middle(), figure.boxes[*to].middle());
            let middle = ((a.0 + b.0) / 2.0, (a.1 + b.1) / 2.0 - if a.1 == b.1 { 9.0 } else { 0.0 });
            canvas.text(many, middle, Side::Middle, 11.5, INK);
        }
    })
}
