//! Sentences about differences from the paper, made of the measured numbers.

use super::accesses::ACCESSES;
use super::attribution::own;
use super::components::call_names;
use super::instructions::by_call;
use super::ladder::{Component, FULL, Measure};
use super::paper;
use crate::points::Points;
use crate::workload::Workload;
use glassbox_workloads::format::{self, one_digit};

/// Minimum difference from the paper's share that gets a sentence, in percentage points.
pub const MIN_DIFFERENCE_PERCENT: f64 = 5.0;

/// A few sentences for each component whose share is more than five points from the paper's.
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
    let far = |at: usize| (100.0 * costs[at] / all - theirs[at]).abs() > MIN_DIFFERENCE_PERCENT;
    let sentence = |at: usize| {
        let component = Component::ALL[at];
        let (share, cost) = (100.0 * costs[at] / all, costs[at]);
        let mut text = format!(
            "{}, {}: {} % of all instructions here, {} % in the paper. ",
            format::capitalized(component.name()),
            workload.name(),
            one_digit(share),
            one_digit(theirs[at])
        );
        text += &saving(component, cost, theirs[at] / 100.0 * all_there, all_there / all);
        text += &calls_with_most(points, workload, component, cost);
        if let Some(own) = own(points, workload, component).filter(|_| component != Component::Remaining) {
            text += &format!(" Its own code executes {} instructions in the full stack.", format::number(own.round()));
        }
        text
    };
    (0..Component::ALL.len()).filter(|at| far(*at)).map(sentence).collect()
}

/// How many times cheaper than Shore's it is, compared with all instructions: the reason why its share differs.
fn saving(component: Component, here: f64, there: f64, all: f64) -> String {
    let verb = if component == Component::Remaining { "The rest takes" } else { "Removing it saves" };
    let start = format!("{verb} {} instructions; Shore's took {}", format::difference(here), format::number(there));
    if here < 1.0 {
        return format!("{start}, while all instructions are {all:.1} times fewer here.");
    }
    let times = there / here;
    let so = if times > all { "so its share is smaller" } else { "so its share is larger" };
    let [times, all] =
        [times, all].map(|times| if times < 10.0 { format!("{times:.1}") } else { format!("{times:.0}") });
    format!("{start}: {times} times as many, while all instructions are {all} times fewer here, {so}.")
}

/// The two calls with most of the saving, each with its number of calls.
fn calls_with_most(points: &Points, workload: Workload, component: Component, cost: f64) -> String {
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
        count.map_or_else(String::new, |count| match format::short(count).as_str() {
            "1" => ", called once".to_owned(),
            times => format!(", called {times} times"),
        })
    };
    let largest: Vec<_> = saved
        .iter()
        .take(2)
        .map(|(call, saved)| format!("{call} ({}{})", format::difference(*saved), often(call)))
        .collect();
    if largest.is_empty() || cost < 1.0 {
        String::new()
    } else {
        format!(" Most of it is in {}.", largest.join(" and "))
    }
}
