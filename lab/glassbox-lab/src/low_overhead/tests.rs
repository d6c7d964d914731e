//! The shapes are the paper's, they repeat, and the page shows them.

use std::cell::Cell;

use super::checks::{claims, put as put_claims};
use super::depth;
use super::figure4;
use super::other_schemes;
use super::plan::{SimulationPlan, TpccPlan};
use super::section::section;
use super::series::{LOCAL, LOCKING, SPECULATION, rate};
use super::simulate::simulate;
use crate::claim::{Claim, Outcome, unexplained};
use crate::measurement::Progress;
use crate::points::{Points, ResultLine};
use crate::report::page;

struct Interrupts(Cell<usize>);

impl Progress for Interrupts {
    fn step(&self, done: usize, of: usize, _: &str) {
        assert!(done <= of);
        self.0.set(self.0.get().saturating_sub(1));
    }

    fn interrupted(&self) -> bool {
        self.0.get() == 0
    }
}

const CLAIMS: usize = 79;

fn line(point: crate::points::Point) -> ResultLine {
    let configuration = serde_json::json!({"runs": 1});
    let [experiment, commit, machine] = ["low-overhead", "abc", "virtual time"].map(str::to_owned);
    ResultLine { experiment, point, simulated: true, commit, configuration, machine }
}

/// The claims of a whole run, as `lab low-overhead --quick` asserts them.
#[test]
fn the_shapes_hold_and_the_page_shows_them() {
    let _alone = crate::PROCESSORS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut points = simulate(&SimulationPlan::new(true, 1), &Interrupts(Cell::new(usize::MAX)));
    let claims = claims(&points);
    assert_eq!(claims.len(), CLAIMS, "every claim has its number");
    let wrong: Vec<_> = unexplained(&claims).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(claims.iter().flat_map(Claim::faults).collect::<Vec<_>>(), Vec::<String>::new());
    let of = |outcome| claims.iter().filter(|claim| claim.outcome() == outcome).count();
    // Quick runs vary: some claims are near the edge of their bounds.
    assert!(of(Outcome::Reproduced) > 30 && of(Outcome::NotReproduced) > 5 && of(Outcome::ByConstruction) == 11);
    let at_60_percent = |scheme| rate(&points, depth::FIGURE, &format!("{scheme}, 60 % aborts"), 100).unwrap();
    let (limited, unlimited) = (at_60_percent("limited speculation"), at_60_percent(SPECULATION));
    assert!(limited > 1.05 * unlimited, "a limit saves no work: {limited} and {unlimited} transactions a second");
    let other =
        |scheme, conflicts| rate(&points, other_schemes::FIGURE, &other_schemes::row(scheme, conflicts), 50).unwrap();
    let (optimistic, locking) = (other(other_schemes::OPTIMISTIC, 60), other(LOCKING, 60));
    assert!(optimistic < locking, "what conflicts runs again: {optimistic} and {locking} transactions a second");
    assert!(other(LOCAL, 0) < other(SPECULATION, 0), "transactions on two partitions wait for each other");
    put_claims(&mut points);
    let page = page("Lab", &points.0.iter().cloned().map(line).collect::<Vec<_>>()).unwrap();
    let figures = [
        "Figure 4.",
        "Figure 5.",
        "Figure 6.",
        "Depth of speculation",
        "Other schemes",
        "Figure 7.",
        "Figure 8.",
        "Figure 9.",
        "Figure 10.",
        "Several coordinators",
        "Batches",
        "Overlap with backups",
        "Table 1.",
        "Table 2.",
        "The claims",
    ];
    for figure in figures {
        let title = page.split("<h3>").find(|part| part.starts_with(figure)).unwrap_or_else(|| panic!("no {figure}"));
        assert!(title.split("</h3>").next().unwrap().ends_with("(simulated)"), "{figure} is not labelled as simulated");
    }
    assert!(
        page.contains("Low overhead concurrency control (simulated)")
            && (page.matches("<svg").count() - page.matches("class=\"narrow\"").count()) == 15
    );
    assert!(!page.contains("UNEXPLAINED") && page.contains("211 µs"));
    assert!(page.contains("claims of the paper, ") && page.contains("NOT REPRODUCED"));
}

#[test]
fn a_run_depends_on_its_seed_alone() {
    let plan = |seed| SimulationPlan {
        warm_up_ms: 5,
        measured_ms: 20,
        runs: 2,
        shares: vec![10],
        tpcc: TpccPlan { warehouses: vec![2], shares: vec![10], ..TpccPlan::new(true) },
        part_ms: 100,
        ..SimulationPlan::new(true, seed)
    };
    let run = |seed| simulate(&plan(seed), &Interrupts(Cell::new(usize::MAX)));
    let first = run(3);
    assert_eq!(first, run(3));
    assert_ne!(first, run(4));
    let rate = |row| rate(&first, figure4::FIGURE, row, 10).unwrap();
    assert!(rate(SPECULATION) > rate(LOCKING));
}

#[test]
fn an_interrupted_run_keeps_its_results() {
    let tpcc = TpccPlan { warehouses: vec![2], shares: Vec::new(), ..TpccPlan::new(true) };
    let plan = SimulationPlan {
        warm_up_ms: 1,
        measured_ms: 5,
        shares: vec![0, 50],
        tpcc,
        part_ms: 100,
        ..SimulationPlan::new(true, 1)
    };
    let all = simulate(&plan, &Interrupts(Cell::new(usize::MAX)));
    let some = simulate(&plan, &Interrupts(Cell::new(10)));
    assert!(!some.0.is_empty() && some.0.len() < all.0.len());
    assert!(some.0.iter().all(|point| all.0.contains(point)));
    section(&some);
    assert_eq!(claims(&Points::default()), []);
}
