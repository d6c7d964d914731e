//! The drawing area of a figure: rectangles, lines and texts, in pixels; and the marks of its axes.

use plotters::coord::Shift;
use plotters::prelude::{Circle, DrawingArea, IntoDrawingArea, PathElement, RGBColor, Rectangle, SVGBackend, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, IntoFont, TextStyle};

/// A colour: red, green, blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colour(pub u8, pub u8, pub u8);

/// The colour of texts.
pub(super) const INK: Colour = Colour(0x22, 0x2b, 0x38);
/// The colour of axes' labels.
pub(super) const QUIET: Colour = Colour(0x6b, 0x75, 0x83);
/// The colour of grid lines.
pub(super) const GRID: Colour = Colour(0xe3, 0xe7, 0xec);
/// The colour of the background.
pub(super) const PAPER: Colour = Colour(0xff, 0xff, 0xff);

impl Colour {
    /// The same, nearer to white by this percentage.
    pub(crate) fn paler(self, percent: u64) -> Self {
        let Self(red, green, blue) = self;
        let paler = |part: u8| part + (u64::from(255 - part) * percent / 100) as u8;
        Self(paler(red), paler(green), paler(blue))
    }

    fn rgb(self) -> RGBColor {
        RGBColor(self.0, self.1, self.2)
    }

    /// A colour that is readable on it, by the luminance of ITU-R BT.601.
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

/// The library divides font sizes by this; sizes here are pixels of the SVG.
const FONT_SCALE: f64 = 1.24;

/// The side of its point that a text is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Middle,
    Right,
}

/// The drawing area of one figure.
pub(super) struct Canvas<'a>(DrawingArea<SVGBackend<'a>, Shift>);

/// A figure for a wide screen or paper, and for a narrow screen; the page shows one of the two.
pub(super) fn both(wide: &str, narrow: &str) -> String {
    format!("<div class=\"wide\">{wide}</div><div class=\"narrow\">{narrow}</div>")
}

/// The reason for `expect`.
const WRITES: &str = "drawing into memory does not fail";

/// Draws a figure of this size. Returns it as SVG.
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

/// Round values from 0 to at least `most`, about `count` of them.
pub(super) fn marks(most: f64, count: usize) -> Vec<f64> {
    let rough = (most / count as f64).max(f64::MIN_POSITIVE);
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|step| step * power).find(|step| *step >= rough * 0.999);
    let step = step.unwrap_or(10.0 * power);
    (0..=(most / step).ceil() as usize).map(|at| at as f64 * step).collect()
}

/// Powers of ten that enclose all positive values: the lowest and the highest exponent.
pub(super) fn decades(values: impl Iterator<Item = f64>) -> (i32, i32) {
    let positive = values.filter(|value| *value > 0.0).map(f64::log10);
    let (low, high) = positive.fold((f64::MAX, f64::MIN), |(low, high), value| (value.min(low), value.max(high)));
    if low > high {
        return (0, 1);
    }
    let low = low.floor() as i32;
    (low, (high.ceil() as i32).max(low + 1))
}

/// A number for an axis: 0, 500, 20k, 1.2M.
pub(super) fn short(value: f64) -> String {
    let trim = |value: f64| {
        let text = format!("{value:.1}");
        text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
    };
    match value {
        v if v >= 1e6 => format!("{}M", trim(v / 1e6)),
        v if v >= 1e3 => format!("{}k", trim(v / 1e3)),
        v if v >= 1.0 || v == 0.0 => trim(v),
        // One digit more than the first one that counts.
        v => {
            let text = format!("{v:.*}", (1.0 - v.log10().floor()) as usize);
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_reach_the_end() {
        assert_eq!(marks(100.0, 5), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(marks(100.000_1, 5)[1], 20.0, "a value slightly above a round one keeps the step");
        assert_eq!(marks(41_000.0, 5), [0.0, 10_000.0, 20_000.0, 30_000.0, 40_000.0, 50_000.0]);
        assert_eq!(decades([640.0, 46_500.0].into_iter()), (2, 5));
        assert_eq!(decades([100.0].into_iter()), (2, 3));
        assert_eq!([0.0, 12_700.0, 1.2e6, 100.0, 0.01].map(short), ["0", "12.7k", "1.2M", "100", "0.01"]);
        let tenths = marks(0.8, 4).into_iter().map(short).collect::<Vec<_>>();
        assert_eq!(tenths, ["0", "0.2", "0.4", "0.6", "0.8"], "without the error of 3 × 0.2");
        assert_eq!([0.25, 0.000_05, 0.999].map(short), ["0.25", "0.00005", "1"]);
    }
}
