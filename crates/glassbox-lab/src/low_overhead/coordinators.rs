//! Several coordinators: Figure 4's speculation, where one coordinator is not the limit any more.
//!
//! Paper: *Low Overhead Concurrency Control*, sections 4.2.2 and 5.1: "past 50 %, speculation's performance begins to
//! drop", because the one coordinator is always at work; several "must dispatch transactions in batches", and how many
//! there are has to "match the workload". The paper built none. Claim here: with two the throughput at 100 % is where
//! the model puts it by what it says from 0 to 50 %, with one it is not.
//!
//! The model is not a straight line, and not exactly what is simulated. So the simulated throughput over the model's is
//! averaged over the shares from 0 to 50 %, and the model's at 100 % times that is what a line without a cliff has.

use glassbox_cluster::SchemeKind;
use glassbox_sim::cluster::{Load, Settings};

use super::checks::{Check, check};
use super::draw::{self, Shown, formula};
use super::figure4;
use super::lines::{COORDINATOR_BUSY, Line, SPECULATION, colour, curve, rate, value};
use super::model::Model;
use crate::figures::{Colour, Stroke};
use crate::points::Points;
use crate::report::Figure;

/// In results.
pub const FIGURE: &str = "Coordinators";
const TWO: &str = "speculation, 2 coordinators";
const FOUR: &str = "speculation, 4 coordinators";

/// What is simulated.
pub(super) fn lines() -> Vec<Line> {
    let line = |row, change: fn(&mut Settings)| {
        let line = Line::new(FIGURE, row, SchemeKind::Speculation, Load::default());
        Line { change, ..line }
    };
    vec![line(TWO, |settings| settings.coordinators = 2), line(FOUR, |settings| settings.coordinators = 4)]
}

/// Draws it.
pub(super) fn figure(points: &Points) -> Option<Figure> {
    let model = Model::of_the_paper();
    let formulas =
        vec![formula("model: speculation", colour(SPECULATION), Stroke::Dashed, (0, 100), |f| model.speculation(f))];
    let of = |row, colour| Shown { figure: FIGURE, row, name: row, stroke: Stroke::Dotted, colour };
    let shown = [
        Shown { name: "speculation, 1 coordinator", ..Shown::scheme(figure4::FIGURE, SPECULATION) },
        of(TWO, Colour(0x4e, 0x79, 0xa7)),
        of(FOUR, Colour(0xb0, 0x7a, 0xa1)),
    ];
    let caption = "Clients are divided among the coordinators, which take turns. Dashed: the model, which knows none.";
    draw::figure(points, "Several coordinators", caption.to_owned(), &shown, formulas)
}

/// The throughput at 100 % over that of a line which goes on as it does from 0 to 50 %.
fn kept(points: &Points, figure: &str, row: &str) -> Option<f64> {
    let model = Model::of_the_paper();
    let early = curve(points, figure, row).into_iter().filter(|point| point.0 <= 50.0);
    let agreements: Vec<_> = early.map(|(percent, rate)| rate / model.speculation(percent / 100.0)).collect();
    let agreement = agreements.iter().sum::<f64>() / agreements.len() as f64;
    Some(rate(points, figure, row, 100)? / (agreement * model.speculation(1.0)))
}

/// Its claims.
pub(super) fn checks(points: &Points) -> Vec<Option<Check>> {
    let busy = || Some(100.0 * value(points, FIGURE, TWO, 100, COORDINATOR_BUSY)?);
    let few = || Some(100.0 * (1.0 - rate(points, FIGURE, TWO, 4)? / rate(points, figure4::FIGURE, SPECULATION, 4)?));
    vec![
        check(
            (FIGURE, "one: throughput at 100 % over the line from 0 to 50 %"),
            "a cliff",
            kept(points, figure4::FIGURE, SPECULATION),
            (0.0, 0.75),
            "times",
        ),
        check(
            (FIGURE, "two: throughput at 100 % over the line from 0 to 50 %"),
            "not built",
            kept(points, FIGURE, TWO),
            (0.9, 1.2),
            "times",
        ),
        check(
            (FIGURE, "four: throughput at 100 % over the line from 0 to 50 %"),
            "not built",
            kept(points, FIGURE, FOUR),
            (0.9, 1.2),
            "times",
        ),
        check((FIGURE, "two: at work at 100 %"), "not built", busy(), (70.0, 95.0), "%"),
        check((FIGURE, "two: throughput that turns cost at 4 %"), "not built", few(), (-1.0, 6.0), "%"),
    ]
}
