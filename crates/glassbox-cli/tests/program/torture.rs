//! `glassbox torture` finds nothing where nothing is wrong, and something where something is.

use crate::common::{run, run_well, text};

#[test]
fn a_few_kills_are_survived() {
    for workload in ["bank", "tpcc"] {
        for log in ["values", "commands"] {
            let ran = run_well(&["torture", "--kills", "3", "--workload", workload, "--log", log, "-p", "3"]);
            assert!(ran.out.starts_with("3 kills, ") && ran.out.contains("all there"), "{}", ran.out);
        }
    }
}

#[test]
fn answers_that_are_not_durable_are_found_out() {
    let dir = tempfile::tempdir().unwrap();
    let database = dir.path().join("db");
    let ran = run(&["torture", "--kills", "50", "--durability", "none", "--dir", text(&database)]);
    assert_eq!(ran.status, Some(1), "{}", ran.out);
    assert!(ran.out.contains("were acknowledged, but"), "{}", ran.out);
    assert!(ran.out.contains("To try again: glassbox torture") && database.join("manifest").exists(), "{}", ran.out);
}
