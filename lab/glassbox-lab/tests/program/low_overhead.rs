//! `glassbox-lab low-overhead`, and `glassbox-lab report` of its results.

use serde_json::Value;

use crate::common::{run, run_well, text};

#[test]
fn the_claims_hold_and_the_page_is_labelled_as_simulated() {
    let dir = tempfile::tempdir().unwrap();
    let json = dir.path().join("more.json");
    let ran = run_well(&[
        "low-overhead",
        "--quick",
        "--only",
        "simulated",
        "--results",
        text(dir.path()),
        "--json",
        text(&json),
    ]);
    assert!(ran.out.contains("it is known why not"), "{}", ran.out);
    for what in ["Figure 4, simulated", "forced locking", "the best scheme, simulated", "t_mp", "211 µs"] {
        assert!(ran.out.contains(what), "{what} is missing: {}", ran.out);
    }
    let lines = std::fs::read_to_string(&json).unwrap();
    assert_eq!(lines, std::fs::read_to_string(dir.path().join("low-overhead.jsonl")).unwrap());
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).expect("every line is JSON");
        assert_eq!((line["experiment"].as_str(), line["simulated"].as_bool()), (Some("low-overhead"), Some(true)));
        assert!(line["metric"] != "unexplained" || line["value"] == 0.0, "{line}");
    }
    std::fs::remove_file(&json).unwrap();
    run_well(&["report", "--results", text(dir.path())]);
    for page in ["low-overhead.html", "report.html"] {
        let page = std::fs::read_to_string(dir.path().join(page)).unwrap();
        assert_eq!(
            (page.matches("<svg").count() - page.matches("class=\"narrow\"").count()),
            15,
            "Figures 4 to 9, depth, other schemes, coordinators, batches, overlap, 10 twice, two of the advisor"
        );
        assert!(page.contains("Figure 4. Without conflicts (simulated)") && !page.contains("src="), "{page}");
    }
}

#[test]
fn a_seed_is_a_number() {
    let ran = run(&["low-overhead", "--seed", "x"]);
    assert_eq!(ran.status, Some(2));
    assert!(ran.err.contains("--seed"), "{}", ran.err);
}
