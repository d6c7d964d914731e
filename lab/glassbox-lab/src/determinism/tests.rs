//! The claims have their numbers, runs repeat, and the page shows them.

use std::cell::Cell;
use std::sync::{MutexGuard, PoisonError};

use super::inputs::{ChangedInput, INPUTS, LOCK_BY_VLL};
use super::jobs::{EvaluationJob, rate, run_all};
use super::plan::HIGH;
use super::systems::{HASH, TWIN, named};
use super::{EXPERIMENT, EvaluationPlan, claims, figure1, followers, put_claims, simulate};
use crate::PROCESSORS;
use crate::claim::{CHECKS, Claim, Source};
use crate::measurement::Progress;
use crate::points::{Points, ResultLine};
use crate::report::page;

/// Interrupts after a number of steps.
pub(super) struct Steps(Cell<usize>);

impl Steps {
    /// Never interrupts.
    pub fn all() -> Self {
        Self(Cell::new(usize::MAX))
    }
}

impl Progress for Steps {
    fn step(&self, done: usize, of: usize, _: &str) {
        assert!(done <= of);
        self.0.set(self.0.get().saturating_sub(1));
    }

    fn interrupted(&self) -> bool {
        self.0.get() == 0
    }
}

fn busy() -> MutexGuard<'static, ()> {
    PROCESSORS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Enough to draw every figure, too little for its numbers.
fn tiny() -> EvaluationPlan {
    EvaluationPlan {
        warm_up_ms: 20,
        measured_ms: 20,
        shares: vec![0, 50],
        few_shares: vec![0, 50],
        slow_shares: vec![0, 5],
        threads: vec![0, 4],
        slow_warm_up_ms: 100,
        timeline_ms: 1_500,
        dependent: vec![0, 100],
        nodes: vec![1, 8],
        ..EvaluationPlan::new(true, 1)
    }
}

fn line(point: crate::points::Point) -> ResultLine {
    let configuration = serde_json::json!({"seed": 1});
    let [experiment, commit, machine] = [EXPERIMENT, "abc", "virtual time"].map(str::to_owned);
    ResultLine { experiment, point, simulated: true, commit, configuration, machine }
}

#[test]
fn every_figure_is_drawn_and_every_claim_has_a_verdict() {
    let _busy = busy();
    let mut points = simulate(&tiny(), &Steps::all());
    put_claims(&mut points);
    let claims = claims(&points);
    assert!(points.has(CHECKS) && claims.len() > 70, "{}", claims.len());
    assert_eq!(claims.iter().flat_map(Claim::faults).collect::<Vec<_>>(), Vec::<String>::new());
    let unnamed = |claim: &&Claim| matches!(claim.source, Source::Paper { .. }) && claim.inputs.is_empty();
    assert_eq!(claims.iter().find(unnamed), None, "it names no input");
    let names: Vec<_> = INPUTS.iter().map(|input| input.name).collect();
    let unknown: Vec<_> = claims.iter().flat_map(|claim| claim.inputs).filter(|name| !names.contains(name)).collect();
    assert!(unknown.is_empty(), "no input: {unknown:?}");
    let page = page("Lab", &points.0.iter().cloned().map(line).collect::<Vec<_>>()).unwrap();
    let of = |name: &str| page.split("<h3>").find(|part| part.starts_with(name)).map(str::to_owned);
    let figures = ["1a", "1b", "1c", "1d", "2", "3a", "3b", "4", "5a", "5b", "6a", "6b", "6c", "7", "8"];
    for name in figures
        .map(|number| format!("Figure {number}."))
        .into_iter()
        .chain(["Local clocks.", "Table 1.", "Goals"].map(str::to_owned))
    {
        let figure = of(&name).unwrap_or_else(|| panic!("no {name}"));
        assert!(figure.split("</h3>").next().unwrap().ends_with("(simulated)"), "{name} is not labelled as simulated");
    }
}

#[test]
fn an_interrupted_run_keeps_its_results() {
    let _busy = busy();
    let some = simulate(&tiny(), &Steps(Cell::new(6)));
    assert!(!some.0.is_empty());
    assert_eq!(claims(&Points::default()), Vec::new());
}

#[test]
fn the_variant_with_the_most_throughput_is_shown() {
    let (_busy, plan) = (busy(), tiny());
    let shape = glassbox_sim::determinism::WorkloadShape::short(HIGH);
    let of = |system: &str| plan.settings(named(system), shape);
    let mut both = EvaluationJob::new(figure1::SHORT, "both", 0.0, of(HASH));
    both.variants.push(of(TWIN));
    let alone = EvaluationJob::new(figure1::SHORT, "alone", 0.0, of(TWIN));
    let points = run_all(&[both, alone], &Steps::all());
    let rate = |row| rate(&points, figure1::SHORT, row, 0.0).unwrap();
    assert_eq!(rate("both"), rate("alone"), "the lock thread limits the other one");
}

/// With the points of Figure 1 alone: `lab determinism --inputs` changes every input of all figures.
#[test]
fn a_claim_that_moves_with_an_input_and_does_not_say_so_is_found() {
    let _busy = busy();
    let input = INPUTS.iter().position(|input| input.name == LOCK_BY_VLL).unwrap();
    let changed = ChangedInput { input, factor: 1.2 };
    let run = |changed| {
        let plan = EvaluationPlan { changed, shares: vec![0, 20, 50], ..tiny() };
        let jobs = figure1::jobs(&plan).into_iter().filter(|job| job.figure == figure1::SHORT && job.x <= 20.0);
        run_all(&jobs.collect::<Vec<_>>(), &Steps::all())
    };
    let before = run(None);
    let after = run(Some(changed));
    let claims_after = claims(&after);
    assert_eq!(followers(&claims(&before), &claims_after, changed.factor), Vec::<&Claim>::new());
    let planted: Vec<_> = claims(&before).into_iter().map(|claim| Claim { by_construction: false, ..claim }).collect();
    let found = followers(&planted, &claims_after, changed.factor);
    assert!(found.len() == 2 && found.iter().all(|it| it.claim.contains("VLL over hash table")), "{found:#?}");
}
