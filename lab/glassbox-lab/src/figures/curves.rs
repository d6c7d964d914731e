//! Curves over a common axis, each with its name: at its end, or, for a narrow screen, below.

use super::canvas::{Canvas, Colour, GRID, INK, QUIET, Side, both, draw, marks, short};

/// A figure of curves.
#[derive(Debug, Clone)]
pub struct Curves {
    /// The unit of the vertical axis.
    pub unit: String,
    /// The unit of the horizontal axis.
    pub x_unit: String,
    /// Names of the places 0, 1, … of the horizontal axis, instead of numbers; may be empty.
    pub x_names: &'static [&'static str],
    /// The curves; later ones are drawn over earlier ones.
    pub curves: Vec<Curve>,
}

/// One curve.
#[derive(Debug, Clone)]
pub struct Curve {
    /// The label at its end.
    pub name: String,
    /// Its colour.
    pub colour: Colour,
    /// How it is drawn.
    pub stroke: Stroke,
    /// From left to right; coordinates are not negative.
    pub points: Vec<(f64, f64)>,
}

/// How a curve is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stroke {
    /// A line through its points, which are marked: measurements.
    Dotted,
    /// The marks alone.
    Dots,
    /// A thin line: a formula.
    Thin,
    /// The same, with gaps.
    Dashed,
}

/// The parts of the canvas.
struct Layout {
    left: f64,
    width: f64,
    height: f64,
    /// Least room for names to the right; `None`: they are below.
    names: Option<f64>,
    /// Marks of the horizontal axis, about.
    marks: usize,
}

const WIDE: Layout = Layout { left: 70.0, width: 620.0, height: 340.0, names: Some(240.0), marks: 10 };
const NARROW: Layout = Layout { left: 46.0, width: 300.0, height: 240.0, names: None, marks: 5 };
const TOP: f64 = 30.0;
const BOTTOM: f64 = 48.0;
const RADIUS: f64 = 3.5;
/// Between the lines of two names.
const APART: f64 = 17.0;
/// From the axis to a name at its end, and the width of a character of it.
const NAME: f64 = 24.0;
const CHARACTER: f64 = 7.0;
/// A dash and the gap after it.
const DASH: (f64, f64) = (6.0, 4.0);

/// Draws the figure.
pub fn curves(figure: &Curves) -> String {
    both(&drawn(figure, &WIDE), &drawn(figure, &NARROW))
}

/// Draws the figure for a wide screen.
#[cfg(test)]
pub(super) fn wide(figure: &Curves) -> String {
    drawn(figure, &WIDE)
}

/// Draws the figure for a narrow screen.
#[cfg(test)]
pub(super) fn narrow(figure: &Curves) -> String {
    drawn(figure, &NARROW)
}

fn drawn(figure: &Curves, layout: &Layout) -> String {
    let &Layout { left, width, height, .. } = layout;
    let names_height = figure.curves.iter().filter(|curve| !curve.name.is_empty()).count() as f64 * APART;
    let ends = |of: fn(&(f64, f64)) -> f64| {
        let values = figure.curves.iter().flat_map(|curve| &curve.points).map(of);
        values.fold(f64::MIN_POSITIVE, f64::max)
    };
    let (right, most) = (ends(|point| point.0), ends(|point| point.1));
    let heights = marks(most, 6);
    let top = heights.iter().copied().find(|mark| *mark >= most).unwrap_or(most);
    let place = |&(x, y): &(f64, f64)| (left + width * x / right, TOP + height * (1.0 - y / top));
    let longest = figure.curves.iter().map(|curve| curve.name.chars().count()).max().unwrap_or_default();
    let beyond = layout.names.map_or(10.0, |least| least.max(NAME + longest as f64 * CHARACTER));
    let under = if layout.names.is_some() { 0.0 } else { names_height };
    draw(left + width + beyond, TOP + height + BOTTOM + under, |canvas| {
        canvas.text(&figure.unit, (6.0, 12.0), Side::Right, 12.0, QUIET);
        for mark in heights.into_iter().filter(|mark| *mark <= top) {
            let y = place(&(0.0, mark)).1;
            canvas.line((left, y), (left + width, y), GRID, 1);
            canvas.text(&short(mark), (left - 8.0, y), Side::Left, 12.0, QUIET);
        }
        let named = figure.x_names.iter().enumerate().map(|(at, name)| (at as f64, (*name).to_owned()));
        let mut below: Vec<(f64, String)> = named.collect();
        if below.is_empty() {
            below.extend(marks(right, layout.marks).into_iter().map(|mark| (mark, short(mark))));
        }
        for (mark, name) in below.into_iter().filter(|mark| mark.0 <= right * 1.001) {
            let x = place(&(mark, 0.0)).0;
            canvas.line((x, TOP + height), (x, TOP + height + 4.0), INK, 1);
            canvas.text(&name, (x, TOP + height + 15.0), Side::Middle, 12.0, QUIET);
        }
        canvas.text(&figure.x_unit, (left + width / 2.0, TOP + height + 36.0), Side::Middle, 12.0, QUIET);
        canvas.line((left, TOP + height), (left + width, TOP + height), INK, 1);
        for curve in &figure.curves {
            let points: Vec<_> = curve.points.iter().map(place).collect();
            stroke(canvas, curve, &points);
        }
        if layout.names.is_some() {
            names_at_ends(canvas, figure, layout, &place);
        } else {
            names_below(canvas, figure, layout);
        }
    })
}

fn stroke(canvas: &Canvas<'_>, curve: &Curve, points: &[(f64, f64)]) {
    match curve.stroke {
        Stroke::Dotted => canvas.path(points, curve.colour, 2),
        Stroke::Thin => canvas.path(points, curve.colour, 1),
        Stroke::Dashed => dashes(points).iter().for_each(|dash| canvas.path(dash, curve.colour, 1)),
        Stroke::Dots => {}
    }
    if matches!(curve.stroke, Stroke::Dotted | Stroke::Dots) {
        points.iter().for_each(|point| canvas.dot(*point, RADIUS, curve.colour));
    }
}

/// A line in pieces of equal length.
fn dashes(points: &[(f64, f64)]) -> Vec<Vec<(f64, f64)>> {
    let (mut dashes, mut left, mut draws) = (Vec::new(), DASH.0, true);
    let mut dash: Vec<_> = points.first().copied().into_iter().collect();
    for pair in points.windows(2) {
        let (mut from, to) = (pair[0], pair[1]);
        loop {
            let length = (to.0 - from.0).hypot(to.1 - from.1);
            if length < left {
                left -= length;
                dash.push(to);
                break;
            }
            let part = left / length;
            from = (from.0 + (to.0 - from.0) * part, from.1 + (to.1 - from.1) * part);
            dash.push(from);
            if draws {
                dashes.push(std::mem::take(&mut dash));
            }
            draws = !draws;
            left = if draws { DASH.0 } else { DASH.1 };
            dash = vec![from];
        }
    }
    if draws && dash.len() > 1 {
        dashes.push(dash);
    }
    dashes
}

/// Where a point of the data is on the canvas.
type Placing<'a> = &'a dyn Fn(&(f64, f64)) -> (f64, f64);

/// Each name on a line of its own, with a piece of its curve's colour.
fn names_below(canvas: &Canvas<'_>, figure: &Curves, layout: &Layout) {
    let first = TOP + layout.height + BOTTOM + APART / 2.0;
    let named = figure.curves.iter().filter(|curve| !curve.name.is_empty());
    for (at, curve) in named.enumerate() {
        let y = first + at as f64 * APART;
        canvas.path(&[(6.0, y), (22.0, y)], curve.colour, 2);
        canvas.text(&curve.name, (28.0, y), Side::Right, 12.5, curve.colour);
    }
}

/// Each name at the end of its curve, or as close as the other names allow.
fn names_at_ends(canvas: &Canvas<'_>, figure: &Curves, layout: &Layout, place: Placing<'_>) {
    let named = figure.curves.iter().filter(|curve| !curve.name.is_empty());
    let mut ends: Vec<_> =
        named.filter_map(|curve| curve.points.last().map(|last| (place(last), place(last).1, curve))).collect();
    ends.sort_by(|a, b| a.1.total_cmp(&b.1));
    // Downwards each below the one before, then upwards again from the bottom edge.
    let mut least = TOP;
    for end in &mut ends {
        end.1 = end.1.max(least);
        least = end.1 + APART;
    }
    let mut most = TOP + layout.height;
    for end in ends.iter_mut().rev() {
        end.1 = end.1.min(most);
        most = end.1 - APART;
    }
    for ((x, y), at, curve) in ends {
        let end = layout.left + layout.width;
        let begin = end + NAME;
        canvas.path(&[(x + 6.0, y), (end + 8.0, y), (begin - 4.0, at)], curve.colour.lighter(), 1);
        canvas.text(&curve.name, (begin, at), Side::Right, 12.5, curve.colour);
    }
}
