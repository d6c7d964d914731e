//! Batches: Figure 4's speculation, where a coordinator sends to partitions once in an interval.
//!
//! Paper: *Low Overhead Concurrency Control*, sections 4.2.2 and 5.1: a coordinator is saturated by its messages, and
//! coordinators "must dispatch transactions in batches". Claim here: with longer intervals a transaction on two
//! partitions tends to the cost of its processor time there, because neither the coordinator's messages nor the
//! partitions' are any more for it alone.
//!
//! The processor time without messages follows from Table 2: *t_mpC*, 55 µs, less the 17 µs of a message and its answer
//! (see [`Costs::with_batches`](glassbox_sim::cluster::Costs::with_batches)), is 38 µs at each partition.

use glassbox_cluster::SchemeKind;
use glassbox_sim::cluster::{Costs, Load, Settings};

use super::draw::{self, CurveOf, formula};
use super::model::Model;
use super::series::{COORDINATOR_BUSY, PARTITION_BUSY, SPECULATION, Series, colour, rate, value};
use crate::claim::{Claim, own_check};
use crate::figures::{Colour, Stroke};
use crate::points::Points;
use crate::section::Figure;

/// Its name in results.
pub const FIGURE: &str = "Batches";
/// Clients, so many that later answers do not leave partitions without work.
const CLIENTS: u32 = 400;
const AT_ONCE: &str = "speculation, each message at once";
const UNTIMED: &str = "speculation, at once, shared messages";
const SHORT: &str = "speculation, every 0.2 ms";
const LONG: &str = "speculation, every 1 ms";
const LONGEST: &str = "speculation, every 5 ms";

fn with_tick(settings: &mut Settings, tick_us: u32) {
    (settings.clients, settings.order.tick_us) = (CLIENTS, tick_us);
    settings.costs = settings.costs.with_batches();
}

/// The simulated series.
pub(super) fn series() -> Vec<Series> {
    let line = |row, change: fn(&mut Settings)| {
        let line = Series::new(FIGURE, row, SchemeKind::Speculation, Load::default());
        Series { change, ..line }
    };
    vec![
        line(AT_ONCE, |settings| settings.clients = CLIENTS),
        // The control: packets that leave in one step share their costs, and nothing waits.
        line(UNTIMED, |settings| with_tick(settings, 0)),
        line(SHORT, |settings| with_tick(settings, 200)),
        line(LONG, |settings| with_tick(settings, 1_000)),
        line(LONGEST, |settings| with_tick(settings, 5_000)),
    ]
}

/// The model where messages on both partitions cost nothing.
fn without_messages() -> Model {
    let model = Model::of_the_paper();
    let message_us = Costs::of_the_paper().with_batches().shared_message_ns as f64 / 1_000.0;
    Model { several_cpu_us: model.several_cpu_us - message_us, ..model }
}

/// The figure, if it was simulated.
pub(super) fn figure(points: &Points) -> Option<Figure> {
    let (model, green) = (without_messages(), colour(SPECULATION));
    let name = "model: processor time without messages";
    let formulas = vec![formula(name, green, Stroke::Dashed, (0, 100), |f| model.speculation(f))];
    let of = |row, colour| CurveOf { figure: FIGURE, row, name: row, stroke: Stroke::Dotted, colour };
    let shown = [
        of(AT_ONCE, green),
        of(UNTIMED, green.paler(40)),
        of(SHORT, Colour(0x9c, 0x75, 0x5f)),
        of(LONG, Colour(0x4e, 0x79, 0xa7)),
        of(LONGEST, Colour(0xb0, 0x7a, 0xa1)),
    ];
    let caption = format!(
        "The coordinator sends what it has for a partition together, once in an interval, and the partition answers \
         together; {CLIENTS} clients. The longer the interval, the less of a transaction's cost is messages, and the \
         later each answer is."
    );
    draw::figure(points, "Batches", caption, &shown, formulas)
}

/// The claims about it.
pub(super) fn claims(points: &Points) -> Vec<Option<Claim>> {
    let of_model = |row| Some(rate(points, FIGURE, row, 100)? / without_messages().speculation(1.0));
    let busy = |row, metric| Some(100.0 * value(points, FIGURE, row, 100, metric)?);
    vec![
        own_check(
            (FIGURE, "at once: throughput at 100 % over that of processor time alone"),
            of_model(AT_ONCE),
            (0.35, 0.5),
            "times",
        ),
        own_check(
            (FIGURE, "at once, shared messages: throughput at 100 % over that of processor time alone"),
            of_model(UNTIMED),
            (0.35, 0.5),
            "times",
        ),
        own_check(
            (FIGURE, "every 0.2 ms: throughput at 100 % over that of processor time alone"),
            of_model(SHORT),
            (0.9, 1.01),
            "times",
        ),
        own_check(
            (FIGURE, "every 1 ms: throughput at 100 % over that of processor time alone"),
            of_model(LONG),
            (0.9, 1.01),
            "times",
        ),
        own_check(
            (FIGURE, "every 5 ms: throughput at 100 % over that of processor time alone"),
            of_model(LONGEST),
            (0.95, 1.01),
            "times",
        ),
        own_check(
            (FIGURE, "every 5 ms: utilization of partitions at 100 %"),
            busy(LONGEST, PARTITION_BUSY),
            (95.0, 100.1),
            "%",
        ),
        own_check(
            (FIGURE, "every 5 ms: utilization of the coordinator at 100 %"),
            busy(LONGEST, COORDINATOR_BUSY),
            (40.0, 75.0),
            "%",
        ),
    ]
}
