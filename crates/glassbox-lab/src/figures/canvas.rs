//! Where figures are drawn: rectangles, lines and texts, in pixels.

use plotters::coord::Shift;
use plotters::prelude::{Circle, DrawingArea, IntoDrawingArea, PathElement, RGBColor, Rectangle, SVGBackend, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, IntoFont, TextStyle};

/// A colour: red, green, blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colour(pub u8, pub u8, pub u8);

/// Of texts.
pub(super) const INK: Colour = Colour(0x22, 0x2b, 0x38);
/// Of what stands beside the point.
pub(super) const QUIET: Colour = Colour(0x6b, 0x75, 0x83);
/// Of lines that only help the eye.
pub(super) const GRID: Colour = Colour(0xe3, 0xe7, 0xec);
/// Of the ground.
pub(super) const PAPER: Colour = Colour(0xff, 0xff, 0xff);

impl Colour {
    fn rgb(self) -> RGBColor {
        RGBColor(self.0, self.1, self.2)
    }

    /// What can be read on it: by the luminance of ITU-R BT.601.
    pub(super) fn readable(self) -> Self {
        let luminance = 0.299 * f64::from(self.0) + 0.587 * f64::from(self.1) + 0.114 * f64::from(self.2);
        if luminance > 150.0 { INK } else { PAPER }
    }

    /// Halfway to white.
    pub fn lighter(self) -> Self {
        let half = |part: u8| ((u16::from(part) + 255) / 2) as u8;
        Self(half(self.0), half(self.1), half(self.2))
    }
}

/// The library divides sizes by this on the way to SVG, whose pixels are meant here.
const FONT_SCALE: f64 = 1.24;

/// Where a text stands relative to its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Middle,
    Right,
}

/// The ground of one figure.
pub(super) struct Canvas<'a>(DrawingArea<SVGBackend<'a>, Shift>);

/// Draws into memory, which cannot fail.
const WRITES: &str = "drawing into memory does not fail";

/// Draws a figure of this size, and gives it as SVG.
pub(super) fn draw(width: f64, height: f64, paint: impl FnOnce(&Canvas<'_>)) -> String {
    let mut svg = String::new();
    {
        let canvas =
            Canvas(SVGBackend::with_string(&mut svg, (width.ceil() as u32, height.ceil() as u32)).into_drawing_area());
        canvas.0.fill(&PAPER.rgb()).expect(WRITES);
        paint(&canvas);
        canvas.0.present().expect(WRITES);
    }
    svg
}

fn point(x: f64, y: f64) -> (i32, i32) {
    (x.round() as i32, y.round() as i32)
}

impl Canvas<'_> {
    /// A filled rectangle between two corners.
    pub fn rectangle(&self, from: (f64, f64), to: (f64, f64), colour: Colour) {
        let corners = [point(from.0, from.1), point(to.0, to.1)];
        self.0.draw(&Rectangle::new(corners, colour.rgb().filled())).expect(WRITES);
    }

    /// A line.
    pub fn line(&self, from: (f64, f64), to: (f64, f64), colour: Colour, width: u32) {
        let points = vec![point(from.0, from.1), point(to.0, to.1)];
        self.0.draw(&PathElement::new(points, colour.rgb().stroke_width(width))).expect(WRITES);
    }

    /// A line through points.
    pub fn path(&self, points: &[(f64, f64)], colour: Colour, width: u32) {
        let points: Vec<_> = points.iter().map(|&(x, y)| point(x, y)).collect();
        self.0.draw(&PathElement::new(points, colour.rgb().stroke_width(width))).expect(WRITES);
    }

    /// A filled circle.
    pub fn dot(&self, (x, y): (f64, f64), radius: f64, colour: Colour) {
        self.0.draw(&Circle::new(point(x, y), radius.round() as i32, colour.rgb().filled())).expect(WRITES);
    }

    /// A text of one line. `y` is the middle of its letters.
    pub fn text(&self, text: &str, (x, y): (f64, f64), side: Side, size: f64, colour: Colour) {
        let horizontal = match side {
            Side::Left => HPos::Right,
            Side::Middle => HPos::Center,
            Side::Right => HPos::Left,
        };
        let (colour, place) = (colour.rgb(), Pos::new(horizontal, VPos::Center));
        let style = TextStyle::from(("sans-serif", size * FONT_SCALE).into_font()).color(&colour).pos(place);
        self.0.draw(&Text::new(text.to_owned(), point(x, y), style)).expect(WRITES);
    }

    /// Lines of text from `y` downwards.
    pub fn lines(&self, text: &str, (x, y): (f64, f64), side: Side, size: f64, colour: Colour) {
        for (at, line) in text.split('\n').enumerate() {
            self.text(line, (x, y + at as f64 * (size + 3.0)), side, size, colour);
        }
    }
}
