//! Figure 10: the model against what it is a model of.
//!
//! Paper: *Low Overhead Concurrency Control*, Figure 10 and section 6.4. Claim: model and measurement "are a relatively
//! close match"; speculating transactions on several partitions is a substantial improvement when there are many.
//!
//! What differs here: the model is set against a simulation, in which what the model leaves out can be had one by one:
//! a coordinator that is limited, partitions that wait for each other, and decisions that wait in a queue behind calls.

use glassbox_cluster::SchemeKind;
use glassbox_sim::cluster::{Load, Settings};

use super::checks::{Check, check};
use super::draw::{self, Shown, formula};
use super::figure4;
use super::lines::{BLOCKING, FORCED, LOCAL, Line, SPECULATION, colour, curve, ratios};
use super::model::Model;
use crate::figures::Stroke;
use crate::points::Points;
use crate::report::Figure;

/// In results.
pub const FIGURE: &str = "Figure 10";
/// With decisions that do not wait behind calls.
const SPECULATION_FIRST: &str = "speculation, coordinator first";
const LOCAL_FIRST: &str = "local speculation, coordinator first";

/// What is simulated, beside Figure 4.
pub(super) fn lines() -> Vec<Line> {
    let first = |settings: &mut Settings| settings.coordinators_first = true;
    let line = |row, scheme| Line::new(FIGURE, row, scheme, Load::default());
    vec![
        line(LOCAL, SchemeKind::LocalSpeculation),
        Line { change: first, ..line(SPECULATION_FIRST, SchemeKind::Speculation) },
        Line { change: first, ..line(LOCAL_FIRST, SchemeKind::LocalSpeculation) },
    ]
}

/// Draws it: as the paper has it, and what the model leaves out.
pub(super) fn figures(points: &Points) -> Vec<Option<Figure>> {
    let model = Model::of_the_paper();
    let dots = |figure, row| Shown { name: "", stroke: Stroke::Dots, ..Shown::scheme(figure, row) };
    let thin = |row: &'static str, of: fn(&Model, f64) -> f64| {
        formula(row, colour(row), Stroke::Thin, (0, 100), |f| of(&model, f))
    };
    let formulas = vec![
        thin(BLOCKING, Model::blocking),
        thin(LOCAL, Model::local_speculation),
        thin(SPECULATION, Model::speculation),
        formula("locking", colour(FORCED), Stroke::Thin, (0, 100), |f| model.locking(f)),
    ];
    let shown = [
        dots(figure4::FIGURE, BLOCKING),
        dots(FIGURE, LOCAL),
        dots(figure4::FIGURE, SPECULATION),
        dots(figure4::FIGURE, FORCED),
    ];
    let caption = "Lines: the model of section 6. Dots: simulated, locking with locks always, as the model has it. \
                   What is between them is the coordinator's limit beyond 50 %, decisions that wait behind calls \
                   (local speculation), and partitions that wait for each other (blocking).";
    let first =
        draw::figure(points, "Figure 10. The model against the simulation", caption.to_owned(), &shown, formulas);
    let formulas = vec![
        formula("blocking, with waiting", colour(BLOCKING), Stroke::Thin, (0, 100), |f| model.blocking_with_waiting(f)),
        thin(LOCAL, Model::local_speculation),
        thin(SPECULATION, Model::speculation),
        formula("the coordinator's limit", colour(""), Stroke::Dashed, (34, 100), |f| model.coordinator_limit(f)),
    ];
    let shown = [dots(figure4::FIGURE, BLOCKING), dots(FIGURE, LOCAL_FIRST), dots(FIGURE, SPECULATION_FIRST)];
    let caption = "The same where partitions take in a coordinator's messages before those of clients; with the limit \
                   of one coordinator, and with the time that partitions wait for each other under blocking.";
    let title = "Figure 10, and what the model leaves out";
    vec![first, draw::figure(points, title, caption.to_owned(), &shown, formulas)]
}

/// How far simulated points are from a formula, in percent of it: the farthest between two shares.
fn apart(points: &Points, figure: &str, row: &str, (from, to): (f64, f64), of: impl Fn(f64) -> f64) -> Option<f64> {
    let points = curve(points, figure, row);
    let between = points.iter().filter(|point| (from..=to).contains(&point.0));
    between.map(|point| 100.0 * (point.1 / of(point.0 / 100.0) - 1.0)).max_by(|a, b| a.abs().total_cmp(&b.abs()))
}

/// Its claims.
pub(super) fn checks(points: &Points) -> Vec<Option<Check>> {
    let model = Model::of_the_paper();
    let of_4 = |row, range, of: fn(&Model, f64) -> f64| apart(points, figure4::FIGURE, row, range, |f| of(&model, f));
    let here = |row, range, of: fn(&Model, f64) -> f64| apart(points, FIGURE, row, range, |f| of(&model, f));
    let (all, few, most, many) = ((0.0, 100.0), (0.0, 10.0), (0.0, 40.0), (60.0, 100.0));
    let gain = || {
        let ratios = ratios(&curve(points, figure4::FIGURE, SPECULATION), &curve(points, FIGURE, LOCAL));
        ratios.into_iter().find(|point| point.0 == 50.0).map(|point| point.1)
    };
    let close = "close";
    let apart = |what, paper, value, bounds| check((FIGURE, what), paper, value, bounds, "%");
    vec![
        apart("blocking from its model, farthest", close, of_4(BLOCKING, all, Model::blocking), (-14.0, 5.0))
            .map(|it| it.because(WAITING)),
        apart(
            "blocking from its model with waiting, farthest",
            "not in the paper",
            of_4(BLOCKING, all, Model::blocking_with_waiting),
            (-7.0, 7.0),
        ),
        apart("forced locking from its model, farthest", close, of_4(FORCED, all, Model::locking), (-5.0, 5.0)),
        apart(
            "speculation from its model up to 40 %, farthest",
            close,
            of_4(SPECULATION, most, Model::speculation),
            (-14.0, 5.0),
        )
        .map(|it| it.because(QUEUE)),
        apart(
            "speculation, coordinator first, from its model up to 40 %, farthest",
            close,
            here(SPECULATION_FIRST, most, Model::speculation),
            (-5.0, 5.0),
        ),
        apart(
            "speculation from the coordinator's limit above 60 %, farthest",
            "not in the model",
            of_4(SPECULATION, many, Model::coordinator_limit),
            (-3.0, 3.0),
        ),
        apart(
            "local speculation from its model, farthest",
            close,
            here(LOCAL, all, Model::local_speculation),
            (-45.0, 5.0),
        )
        .map(|it| it.because(LOCALLY)),
        apart(
            "local speculation, coordinator first, from its model up to 10 %, farthest",
            close,
            here(LOCAL_FIRST, few, Model::local_speculation),
            (-10.0, 5.0),
        ),
        apart(
            "local speculation from its model at 100 %",
            close,
            here(LOCAL, (100.0, 100.0), Model::local_speculation),
            (-10.0, 5.0),
        ),
        check((FIGURE, "speculation over local speculation at 50 %"), "substantial", gain(), (1.4, 3.0), "times"),
    ]
}

const WAITING: &str = "The model lets both partitions have the same number of transactions of their own between two \
                       on both. At random one has more, and the other waits for it: with that term the model is as \
                       close as the next line says.";
const QUEUE: &str = "A message is handled when those before it are, so a decision waits behind calls that are run on \
                     the way, and what it lets go comes late. With the coordinator's messages first it is as close as \
                     the next line says.";
const LOCALLY: &str = "Each transaction on both waits for the decision before it, and each decision waits in the \
                       queue behind calls: of those clients that the last one answered, which come 120 µs after it, \
                       when the next decision takes 156. With the coordinator's messages first it is close up to 10 \
                       %. What remains between 20 and 50 % is that one partition has more to do than the other, and \
                       there an idle moment cannot be filled by what comes later.";
