//! `glassbox-lab limits` on a hundredth of a warehouse.

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;

use crate::common::{run, run_counting, run_well, text};

type Values = HashMap<(String, String, String), f64>;

/// Values by figure, row and metric.
fn values(json: &Path) -> Values {
    let mut values = HashMap::new();
    for line in std::fs::read_to_string(json).unwrap().lines() {
        let line: Value = serde_json::from_str(line).expect("every line is JSON");
        assert_eq!((line["experiment"].as_str(), line.as_object().unwrap().len()), (Some("limits"), 12));
        let field = |name: &str| line[name].as_str().expect("text").to_owned();
        values.insert((field("figure"), field("row"), field("metric")), line["value"].as_f64().expect("a number"));
    }
    values
}

#[test]
fn limits_prints_a_table_and_writes_valid_json() {
    let dir = tempfile::tempdir().unwrap();
    let json = dir.path().join("limits.json");
    let only = ["--only", "throughput", "--transactions", "200", "--rounds", "2"];
    let files = ["--dir", text(dir.path()), "--json", text(&json)];
    let ran = run_well(&[&["limits", "--quick", "--small"][..], &only, &files].concat());
    let values = values(&json);
    assert!(!ran.out.contains("instructions"), "{}", ran.out);
    let value = |figure: &str, row: &str, metric: &str| values[&(figure.into(), row.into(), metric.into())];
    for system in ["tree", "hash-prefetch", "none", "commands-async", "commands-sync-1", "values-sync-4096"] {
        assert!(ran.out.lines().any(|line| line.split_whitespace().next() == Some(system)), "{}", ran.out);
        assert!(value("throughput", system, "throughput") > 0.0);
        assert_eq!(value("checks", system, "violations"), 0.0);
    }
    assert_eq!(value("throughput", "tree-prefetch", "share_of_tree_prefetch_most"), 1.0);
    assert_eq!(value("throughput", "values-sync-1", "forces_per_transaction"), 1.0);
    let log_bytes = |system| value("throughput", system, "log_per_transaction");
    assert!(log_bytes("none") == 0.0 && 3.0 * log_bytes("commands-sync-1") < log_bytes("values-sync-1"));
    assert!(ran.out.contains("sums over all systems' data agree, all consistency conditions hold"), "{}", ran.out);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "only the JSON file remains");
}

#[test]
fn limits_measures_the_chosen_systems() {
    let dir = tempfile::tempdir().unwrap();
    let small = ["limits", "--quick", "--small", "--only", "throughput", "--transactions", "100"];
    let ran = run_well(&[&small[..], &["--systems", "none,values-async", "--dir", text(dir.path())]].concat());
    let named = |name: &str| ran.out.lines().any(|line| line.split_whitespace().next() == Some(name));
    assert!(named("none") && named("values-async") && named("tree-prefetch") && !named("hash"), "{}", ran.out);
    let ran = run(&["limits", "--systems", "fast"]);
    assert_eq!(ran.status, Some(2));
    assert!(ran.err.contains("unknown system; use one of tree, tree-prefetch"), "{}", ran.err);
    let ran = run(&["limits", "--rounds", "1000", "--transactions", "10000000"]);
    assert_eq!(ran.status, Some(1));
    assert!(ran.err.contains("not enough memory: 15 systems take about"), "{}", ran.err);
}

#[test]
fn instructions_are_counted_and_attributed() {
    let dir = tempfile::tempdir().unwrap();
    let json = dir.path().join("limits.json");
    let counted =
        ["--only", "instructions", "--counted", "100", "--functions", "3", "--systems", "none,values-sync-4096,tree"];
    let files = ["--dir", text(dir.path()), "--json", text(&json)];
    let arguments = [&["limits", "--quick", "--small"][..], &counted, &files].concat();
    let Some(ran) = run_counting(&arguments) else { return };
    assert!(ran.out.contains("by valgrind-3"), "{}", ran.out);
    let values = values(&json);
    assert_eq!(ran.out.matches(" glassbox-kernels/src/").count(), 2 * 3, "{}", ran.out);
    let of = |row: &str, metric: &str| values[&("instructions".into(), row.into(), metric.into())];
    // Which goals are met depends on how the compiler optimises; the verdicts must be those of the numbers.
    let mut rows = ran.out.lines().skip_while(|line| !line.starts_with(" goal "));
    let goals = rows.next().expect("a row of goals").split('≤').skip(1).map(|goal| goal.trim().parse::<f64>().unwrap());
    let verdict = |(system, goal)| if of(system, "times_tree_prefetch") <= goal { "met" } else { "NOT MET" };
    let expected: Vec<_> = ["none", "values-sync-4096"].into_iter().zip(goals).map(verdict).collect();
    let printed: Vec<_> = rows.next().unwrap().split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    assert!(expected.len() == 2 && printed == expected, "{expected:?}: {}", ran.out);
    let part = |row: &str, part: &str| values[&("instructions by part".into(), row.into(), part.into())];
    for system in ["tree", "tree-prefetch", "none", "values-sync-4096"] {
        let total = of(system, "instructions_per_transaction");
        let parts = values.iter().filter(|((figure, row, _), _)| figure == "instructions by part" && row == system);
        let sum: f64 = parts.map(|(_, value)| value).sum();
        assert!((sum - total).abs() < 0.01 * total, "the parts of {system} sum to {sum}, not to {total}");
        assert!(part(system, "B+-trees") > 0.0 && part(system, "procedures") > 0.0, "{}", ran.out);
        assert!(part(system, "client and others") < 0.2 * total, "{}", ran.out);
    }
    assert_eq!((part("tree", "log"), part("tree", "hash tables"), part("none", "log").round()), (0.0, 0.0, 0.0));
    assert!(part("values-sync-4096", "record of the log") > 50.0 && part("none", "hash tables") > 50.0);
    assert_eq!(of("tree-prefetch", "times_tree_prefetch"), 1.0);
}
