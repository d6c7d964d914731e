//! `glassbox-lab explain`.

use serde_json::Value;

use crate::common::{run, run_well, text};

#[test]
fn the_formulas_of_a_scheme_are_printed_and_can_be_an_input() {
    let ran = run_well(&["explain", "scheme"]);
    for what in [
        "load:  10.0 %",
        "t_sp 64.00 µs",
        "the coordinators",
        "no candidates, /s by",
        "local speculation ",
        "the choice: speculation",
    ] {
        assert!(ran.out.contains(what), "{what} is missing: {}", ran.out);
    }
    let all_several = ["explain", "scheme", "--several", "100"];
    assert!(run_well(&all_several).out.contains("the choice: locking"));
    let two = [&all_several[..], &["--coordinators", "2"]].concat();
    assert!(run_well(&two).out.contains("the choice: speculation"), "one coordinator kept it from that");
    let json = run_well(&["explain", "scheme", "--several", "40", "--json"]).out;
    let sums: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((sums["load"]["several"].as_f64(), sums["choice"].as_str()), (Some(0.4), Some("Speculation")));
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("load.json");
    std::fs::write(&file, &json).unwrap();
    assert_eq!(run_well(&["explain", "scheme", "--json", "--from", text(&file)]).out, json);
}

#[test]
fn the_statistics_of_a_simulated_load_are_right() {
    for (coordinators, choice) in [("1", "Locking"), ("2", "Speculation")] {
        let load = ["--several", "100", "--coordinators", coordinators, "--json"];
        let ran = run_well(&[&["explain", "scheme", "--simulate"], &load[..]].concat());
        let sums: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!((sums["load"]["several"].as_f64(), sums["choice"].as_str()), (Some(1.0), Some(choice)));
    }
}

#[test]
fn an_invalid_load_is_rejected() {
    assert_eq!(run(&["explain"]).status, Some(2));
    assert_eq!(run(&["explain", "scheme", "--several", "101"]).status, Some(2));
    assert_eq!(run(&["explain", "scheme", "--coordinators", "0"]).status, Some(2));
    let ran = run(&["explain", "scheme", "--from", "/nonexistent/load.json"]);
    assert!(ran.status == Some(1) && ran.err.contains("cannot read"), "{}", ran.err);
}
