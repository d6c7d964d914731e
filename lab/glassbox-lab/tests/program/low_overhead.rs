//! `glassbox-lab low-overhead`, which the test of the papers' commands runs.

use std::path::Path;

use serde_json::Value;

use crate::common::{Ran, run};

/// A quick simulation of all figures has printed every table and written every figure.
pub fn all_claims_are_explained_and_all_figures_drawn(ran: &Ran, results: &Path) {
    assert!(ran.out.contains("it is known why not"), "{}", ran.out);
    for what in ["Figure 4, simulated", "forced locking", "the best scheme, simulated", "t_mp", "211 µs"] {
        assert!(ran.out.contains(what), "{what} is missing: {}", ran.out);
    }
    let lines = std::fs::read_to_string(results.join("low-overhead.jsonl")).unwrap();
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).expect("every line is JSON");
        assert_eq!((line["experiment"].as_str(), line["simulated"].as_bool()), (Some("low-overhead"), Some(true)));
        assert!(line["metric"] != "unexplained" || line["value"] == 0.0, "{line}");
    }
    let page = std::fs::read_to_string(results.join("low-overhead.html")).unwrap();
    assert_eq!(
        page.matches("<svg").count() - page.matches("class=\"narrow\"").count(),
        15,
        "Figures 4 to 9, depth, other schemes, coordinators, batches, overlap, 10 twice, two of the advisor"
    );
    assert!(page.contains("Figure 4. Without conflicts (simulated)") && !page.contains("src="), "{page}");
}

#[test]
fn a_seed_is_a_number() {
    let ran = run(&["low-overhead", "--seed", "x"]);
    assert_eq!(ran.status, Some(2));
    assert!(ran.err.contains("--seed"), "{}", ran.err);
}
