//! Several coordinators: Figure 4's speculation, not limited by one coordinator.
//!
//! Paper: *Low Overhead Concurrency Control*, sections 4.2.2 and 5.1: "past 50 %, speculation's performance begins to
//! drop", because the one coordinator is saturated; several "must dispatch transactions in batches", and their number
//! has to "match the workload". The paper built none. Claim here: with two coordinators the throughput at 100 % is the
//! model's, extrapolated from 0 to 50 %; with one it is not.
//!
//! The model is not a straight line, and differs from the simulation. So the simulated throughput over the model's is
//! averaged over the shares from 0 to 50 %; the model's throughput at 100 % times this average is that of a line
//! without a cliff.

use glassbox_cluster::SchemeKind;
use glassbox_sim::cluster::{Load, Settings};

use super::draw::{self, CurveOf, formula};
use super::figure4;
use super::model::Model;
use super::series::{COORDINATOR_BUSY, SPECULATION, Series, colour, curve, rate, value};
use crate::claim::{Claim, claim, own_check};
use crate::figures::{Colour, Stroke};
use crate::points::Points;
use crate::section::Figure;

/// Its name in results.
pub const FIGURE: &str = "Coordinators";
const TWO: &str = "speculation, 2 coordinators";
const FOUR: &str = "speculation, 4 coordinators";

/// The simulated series.
pub(super) fn series() -> Vec<Series> {
    let line = |row, change: fn(&mut Settings)| {
        let line = Series::new(FIGURE, row, SchemeKind::Speculation, Load::default());
        Series { change, ..line }
    };
    vec![line(TWO, |settings| settings.coordinators = 2), line(FOUR, |settings| settings.coordinators = 4)]
}

/// The figure, if it was simulated.
pub(super) fn figure(points: &Points) -> Option<Figure> {
    let model = Model::of_the_paper();
    let formulas =
        vec![formula("model: speculation", colour(SPECULATION), Stroke::Dashed, (0, 100), |f| model.speculation(f))];
    let of = |row, colour| CurveOf { figure: FIGURE, row, name: row, stroke: Stroke::Dotted, colour };
    let shown = [
        CurveOf { name: "speculation, 1 coordinator", ..CurveOf::scheme(figure4::FIGURE, SPECULATION) },
        of(TWO, Colour(0x4e, 0x79, 0xa7)),
        of(FOUR, Colour(0xb0, 0x7a, 0xa1)),
    ];
    let caption = "Clients are divided among the coordinators, which take turns. Dashed: the model, which has none.";
    draw::figure(points, "Several coordinators", caption.to_owned(), &shown, formulas)
}

/// The throughput at 100 % over the extrapolation from 0 to 50 %.
fn kept(points: &Points, figure: &str, row: &str) -> Option<f64> {
    let model = Model::of_the_paper();
    let early = curve(points, figure, row).into_iter().filter(|point| point.0 <= 50.0);
    let agreements: Vec<_> = early.map(|(percent, rate)| rate / model.speculation(percent / 100.0)).collect();
    let agreement = agreements.iter().sum::<f64>() / agreements.len() as f64;
    Some(rate(points, figure, row, 100)? / (agreement * model.speculation(1.0)))
}

/// The claims about it.
pub(super) fn claims(points: &Points) -> Vec<Option<Claim>> {
    let busy = || Some(100.0 * value(points, FIGURE, TWO, 100, COORDINATOR_BUSY)?);
    let few = || Some(100.0 * (1.0 - rate(points, FIGURE, TWO, 4)? / rate(points, figure4::FIGURE, SPECULATION, 4)?));
    vec![
        claim(
            (FIGURE, "one: throughput at 100 % over the line from 0 to 50 %"),
            "a cliff",
            kept(points, figure4::FIGURE, SPECULATION),
            (0.0, 0.75),
            "times",
        ),
        own_check(
            (FIGURE, "two: throughput at 100 % over the line from 0 to 50 %"),
            kept(points, FIGURE, TWO),
            (0.9, 1.2),
            "times",
        ),
        own_check(
            (FIGURE, "four: throughput at 100 % over the line from 0 to 50 %"),
            kept(points, FIGURE, FOUR),
            (0.9, 1.2),
            "times",
        ),
        own_check((FIGURE, "two: utilization at 100 %"), busy(), (70.0, 95.0), "%"),
        own_check((FIGURE, "two: cost of turns in throughput at 4 %"), few(), (-1.0, 6.0), "%"),
    ]
}
