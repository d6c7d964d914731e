//! `glassbox torture` finds no violation in a correct database, and finds those of a broken one.

use crate::common::{run, run_well, text};

#[test]
fn no_acknowledged_transaction_is_lost_by_kills() {
    for workload in ["bank", "tpcc"] {
        for log in ["values", "commands"] {
            let ran = run_well(&["torture", "--kills", "3", "--workload", workload, "--log", log, "-p", "3"]);
            assert!(ran.out.starts_with("3 kills, ") && ran.out.contains("none lost"), "{}", ran.out);
        }
    }
}

#[test]
fn lost_answers_without_durability_are_detected() {
    let dir = tempfile::tempdir().unwrap();
    let database = dir.path().join("db");
    let ran = run(&["torture", "--kills", "50", "--durability", "none", "--dir", text(&database)]);
    assert_eq!(ran.status, Some(1), "{}", ran.out);
    assert!(ran.out.contains("were acknowledged, but"), "{}", ran.out);
    assert!(ran.out.contains("To repeat: glassbox torture") && database.join("manifest").exists(), "{}", ran.out);
}
