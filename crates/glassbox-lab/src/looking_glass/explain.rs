//! Sentences about what differs from the paper: made of the numbers, so that they cannot say what was not measured.

use super::accesses::ACCESSES;
use super::counting::by_call;
use super::figure5::call_names;
use super::figure7::one_digit;
use super::ladder::{Component, FULL, Measure};
use super::methods::own;
use super::paper;
use super::work::Workload;
use crate::format;
use crate::points::Points;

/// What is not told, in points of percent.
pub const WORTH_TELLING: f64 = 5.0;

/// A sentence or two for each component whose share is more than five points from the paper's.
pub fn sentences(points: &Points, workload: Workload) -> Vec<String> {
    let (Some(theirs), Some(all_there)) = (paper::shares(workload), paper::instructions(workload)) else {
        return Vec::new();
    };
    let measured = || {
        let all = Measure::Instructions.of(points, FULL, workload.name())?;
        let costs = Measure::Instructions.of_components(points, workload.name())?;
        Some((all, costs))
    };
    let Some((all, costs)) = measured() else { return Vec::new() };
    let far = |at: usize| (100.0 * costs[at] / all - theirs[at]).abs() > WORTH_TELLING;
    let tell = |at: usize| {
        let component = Component::ALL[at];
        let (share, cost) = (100.0 * costs[at] / all, costs[at]);
        let mut text = format!(
            "{}, {}: {} % of all instructions here, {} % in the paper. ",
            capital(component.name()),
            workload.name(),
            one_digit(share),
            one_digit(theirs[at])
        );
        text += &shrunk(component, cost, theirs[at] / 100.0 * all_there, all_there / all);
        text += &where_it_falls(points, workload, component, cost);
        if let Some(own) = own(points, workload, component).filter(|_| component != Component::Remaining) {
            text += &format!(" Its own code executes {} instructions in the full stack.", format::number(own.round()));
        }
        text
    };
    (0..Component::ALL.len()).filter(|at| far(*at)).map(tell).collect()
}

/// How many times cheaper than Shore's it is, beside how many times cheaper everything is: that is why a share moved.
fn shrunk(component: Component, here: f64, there: f64, all: f64) -> String {
    let verb = if component == Component::Remaining { "What remains takes" } else { "Taking it out saves" };
    let start = format!("{verb} {} instructions; Shore's took {}", signed(here), format::number(there));
    if here < 1.0 {
        return format!("{start}, while all instructions are {all:.1} times fewer here.");
    }
    let times = there / here;
    let so = if times > all { "so its share is smaller" } else { "so its share is larger" };
    let [times, all] =
        [times, all].map(|times| if times < 10.0 { format!("{times:.1}") } else { format!("{times:.0}") });
    format!("{start}: {times} times as many, while all instructions are {all} times fewer here, {so}.")
}

/// The two calls in which most of the saving falls, each with how often it is made.
fn where_it_falls(points: &Points, workload: Workload, component: Component, cost: f64) -> String {
    let figure = by_call(workload);
    let (before, after) = component.between();
    let saved = |call: &'static str| {
        let before = points.value(&figure, before, call)?;
        let after = after.map_or(Some(0.0), |after| points.value(&figure, after, call))?;
        Some((call, before - after))
    };
    let mut saved: Vec<_> = call_names().filter_map(saved).filter(|(_, saved)| *saved > 0.05 * cost).collect();
    saved.sort_by(|one, other| other.1.total_cmp(&one.1));
    let often = |call: &str| {
        let count = points.value(ACCESSES, call, workload.name()).filter(|count| *count > 0.0);
        count.map_or_else(String::new, |count| match plain(count).as_str() {
            "1" => ", made once".to_owned(),
            times => format!(", made {times} times"),
        })
    };
    let told: Vec<_> =
        saved.iter().take(2).map(|(call, saved)| format!("{call} ({}{})", signed(*saved), often(call))).collect();
    if told.is_empty() || cost < 1.0 { String::new() } else { format!(" It falls most in {}.", told.join(" and ")) }
}

/// A number of calls: whole, or with one digit.
pub(super) fn plain(count: f64) -> String {
    format!("{}", (count * 10.0).round() / 10.0)
}

fn signed(value: f64) -> String {
    super::figure7::signed(value).replace('+', "")
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
