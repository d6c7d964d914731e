//! That the shapes are the paper's, that they repeat, and that the page shows them.

use std::cell::Cell;

use super::lines::{LOCKING, SPECULATION, rate};
use super::*;
use crate::points::{Line, Points};
use crate::report::page;
use crate::watch::Watch;

struct Interrupts(Cell<usize>);

impl Watch for Interrupts {
    fn step(&self, done: usize, of: usize, _: &str) {
        assert!(done <= of);
        self.0.set(self.0.get().saturating_sub(1));
    }

    fn interrupted(&self) -> bool {
        self.0.get() == 0
    }
}

const CLAIMS: usize = 69;

fn line(point: crate::points::Point) -> Line {
    let configuration = serde_json::json!({"runs": 1});
    let [experiment, commit, machine] = ["low-overhead", "abc", "virtual time"].map(str::to_owned);
    Line { experiment, point, simulated: true, commit, configuration, machine }
}

/// The checks of a whole run: what `lab low-overhead --quick` asserts.
#[test]
fn the_shapes_hold_and_the_page_shows_them() {
    let mut points = simulate(&Plan::new(true, 1), &Interrupts(Cell::new(usize::MAX)));
    let checks = checks(&points);
    assert_eq!(checks.len(), CLAIMS, "every claim has its number");
    let wrong: Vec<_> = checks.iter().filter(|check| !check.holds()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    put_checks(&mut points);
    let page = page("Lab", &points.0.iter().cloned().map(line).collect::<Vec<_>>()).unwrap();
    let figures = [
        "Figure 4.",
        "Figure 5.",
        "Figure 6.",
        "Figure 7.",
        "Figure 8.",
        "Figure 9.",
        "Figure 10.",
        "Several coordinators",
        "Table 1.",
        "Table 2.",
        "The claims",
    ];
    for figure in figures {
        let title = page.split("<h3>").find(|part| part.starts_with(figure)).unwrap_or_else(|| panic!("no {figure}"));
        assert!(title.split("</h3>").next().unwrap().ends_with("(simulated)"), "{figure} does not say what it is");
    }
    assert!(page.contains("Low overhead concurrency control (simulated)") && page.matches("<svg").count() == 11);
    assert!(!page.contains("DOES NOT HOLD") && page.contains("211 µs"));
}

#[test]
fn a_run_depends_on_its_seed_alone() {
    let plan = |seed| Plan {
        warm_up_ms: 5,
        measured_ms: 20,
        runs: 2,
        shares: vec![10],
        tpcc: TpccPlan { warehouses: vec![2], shares: vec![10], ..TpccPlan::new(true) },
        part_ms: 100,
        ..Plan::new(true, seed)
    };
    let run = |seed| simulate(&plan(seed), &Interrupts(Cell::new(usize::MAX)));
    let first = run(3);
    assert_eq!(first, run(3));
    assert_ne!(first, run(4));
    let rate = |row| rate(&first, figure4::FIGURE, row, 10).unwrap();
    assert!(rate(SPECULATION) > rate(LOCKING));
}

#[test]
fn what_is_interrupted_keeps_what_it_has() {
    let tpcc = TpccPlan { warehouses: vec![2], shares: Vec::new(), ..TpccPlan::new(true) };
    let plan = Plan { warm_up_ms: 1, measured_ms: 5, shares: vec![0, 50], tpcc, part_ms: 100, ..Plan::new(true, 1) };
    let all = simulate(&plan, &Interrupts(Cell::new(usize::MAX)));
    let some = simulate(&plan, &Interrupts(Cell::new(10)));
    assert!(!some.0.is_empty() && some.0.len() < all.0.len());
    assert!(some.0.iter().all(|point| all.0.contains(point)));
    section(&some);
    assert_eq!(checks(&Points::default()), []);
}
