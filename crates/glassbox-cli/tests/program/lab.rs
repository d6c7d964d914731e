//! `glassbox lab` on a hundredth of its size.

use std::collections::HashMap;

use serde_json::Value;

use crate::common::{run, run_well, text};

#[test]
fn limits_prints_the_table_and_valid_json() {
    let dir = tempfile::tempdir().unwrap();
    let json = dir.path().join("limits.json");
    let only = ["--only", "throughput", "--transactions", "200", "--rounds", "2"];
    let files = ["--dir", text(dir.path()), "--json", text(&json)];
    let ran = run_well(&[&["lab", "limits", "--quick", "--small"][..], &only, &files].concat());
    let mut values = HashMap::new();
    for line in std::fs::read_to_string(&json).unwrap().lines() {
        let line: Value = serde_json::from_str(line).expect("every line is JSON");
        assert_eq!((line["experiment"].as_str(), line.as_object().unwrap().len()), (Some("limits"), 12));
        let field = |name: &str| line[name].as_str().expect("text").to_owned();
        values.insert((field("figure"), field("row"), field("metric")), line["value"].as_f64().expect("a number"));
    }
    let value = |figure: &str, row: &str, metric: &str| values[&(figure.into(), row.into(), metric.into())];
    for system in ["tree", "hash-prefetch", "none", "commands-async", "commands-sync-1", "values-sync-4096"] {
        assert!(ran.out.lines().any(|line| line.split_whitespace().next() == Some(system)), "{}", ran.out);
        assert!(value("throughput", system, "throughput") > 0.0);
        assert_eq!(value("checks", system, "violations"), 0.0);
    }
    assert_eq!(value("throughput", "tree-prefetch", "share_of_tree_prefetch_most"), 1.0);
    assert_eq!(value("throughput", "values-sync-1", "forces_per_transaction"), 1.0);
    let log_bytes = |system| value("throughput", system, "log_per_transaction");
    assert!(log_bytes("none") == 0.0 && 3.0 * log_bytes("commands-sync-16") < log_bytes("values-sync-16"));
    assert!(ran.out.contains("sums over all systems' data agree, all consistency conditions hold"), "{}", ran.out);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing but the JSON is left behind");
}

#[test]
fn limits_measures_what_it_is_asked_to() {
    let dir = tempfile::tempdir().unwrap();
    let small = ["lab", "limits", "--quick", "--small", "--only", "throughput", "--transactions", "100"];
    let ran = run_well(&[&small[..], &["--systems", "none,values-async", "--dir", text(dir.path())]].concat());
    let named = |name: &str| ran.out.lines().any(|line| line.split_whitespace().next() == Some(name));
    assert!(named("none") && named("values-async") && named("tree-prefetch") && !named("hash"), "{}", ran.out);
    let ran = run(&["lab", "limits", "--systems", "fast"]);
    assert_eq!(ran.status, Some(2));
    assert!(ran.err.contains("there is no such system; there are tree, tree-prefetch"), "{}", ran.err);
    let ran = run(&["lab", "limits", "--rounds", "1000", "--transactions", "10000000"]);
    assert_eq!(ran.status, Some(1));
    assert!(ran.err.contains("15 systems side by side take about"), "{}", ran.err);
}
