//! Curves over a common axis, each with its name at its end.

use super::canvas::{Canvas, Colour, GRID, INK, QUIET, Side, draw, marks, short};

/// A figure of curves.
#[derive(Debug, Clone)]
pub struct Curves {
    /// The unit of the vertical axis.
    pub unit: String,
    /// The unit of the horizontal axis.
    pub x_unit: String,
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

const LEFT: f64 = 70.0;
const TOP: f64 = 30.0;
const WIDTH: f64 = 620.0;
const HEIGHT: f64 = 340.0;
const BOTTOM: f64 = 48.0;
const NAMES: f64 = 240.0;
const RADIUS: f64 = 3.5;
/// Between the lines of two names.
const APART: f64 = 17.0;
/// A dash and the gap after it.
const DASH: (f64, f64) = (6.0, 4.0);

/// Draws the figure.
pub fn curves(figure: &Curves) -> String {
    let ends = |of: fn(&(f64, f64)) -> f64| {
        let values = figure.curves.iter().flat_map(|curve| &curve.points).map(of);
        values.fold(f64::MIN_POSITIVE, f64::max)
    };
    let (right, most) = (ends(|point| point.0), ends(|point| point.1));
    let heights = marks(most, 6);
    let top = heights.iter().copied().find(|mark| *mark >= most).unwrap_or(most);
    let place = |&(x, y): &(f64, f64)| (LEFT + WIDTH * x / right, TOP + HEIGHT * (1.0 - y / top));
    draw(LEFT + WIDTH + NAMES, TOP + HEIGHT + BOTTOM, |canvas| {
        canvas.text(&figure.unit, (6.0, 12.0), Side::Right, 12.0, QUIET);
        for mark in heights.into_iter().filter(|mark| *mark <= top) {
            let y = place(&(0.0, mark)).1;
            canvas.line((LEFT, y), (LEFT + WIDTH, y), GRID, 1);
            canvas.text(&short(mark), (LEFT - 8.0, y), Side::Left, 12.0, QUIET);
        }
        for mark in marks(right, 10).into_iter().filter(|mark| *mark <= right * 1.001) {
            let x = place(&(mark, 0.0)).0;
            canvas.line((x, TOP + HEIGHT), (x, TOP + HEIGHT + 4.0), INK, 1);
            canvas.text(&short(mark), (x, TOP + HEIGHT + 15.0), Side::Middle, 12.0, QUIET);
        }
        canvas.text(&figure.x_unit, (LEFT + WIDTH / 2.0, TOP + HEIGHT + 36.0), Side::Middle, 12.0, QUIET);
        canvas.line((LEFT, TOP + HEIGHT), (LEFT + WIDTH, TOP + HEIGHT), INK, 1);
        for curve in &figure.curves {
            let points: Vec<_> = curve.points.iter().map(place).collect();
            stroke(canvas, curve, &points);
        }
        names(canvas, figure, &place);
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

/// Each name at the end of its curve, or as close as the other names allow.
fn names(canvas: &Canvas<'_>, figure: &Curves, place: Placing<'_>) {
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
    let mut most = TOP + HEIGHT;
    for end in ends.iter_mut().rev() {
        end.1 = end.1.min(most);
        most = end.1 - APART;
    }
    for ((x, y), at, curve) in ends {
        let begin = LEFT + WIDTH + 24.0;
        canvas.path(&[(x + 6.0, y), (LEFT + WIDTH + 8.0, y), (begin - 4.0, at)], curve.colour.lighter(), 1);
        canvas.text(&curve.name, (begin, at), Side::Right, 12.5, curve.colour);
    }
}
