//! `glassbox tpcc` on a hundredth of its size.

use std::collections::HashMap;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::{Ran, interrupted, program, run, run_well, text};

/// Values by figure, row and metric.
fn values(json: &str) -> HashMap<(String, String, String), f64> {
    let mut values = HashMap::new();
    for line in json.lines() {
        let line: Value = serde_json::from_str(line).expect("every line is JSON");
        let keys: Vec<_> = line.as_object().expect("an object").keys().map(String::as_str).collect();
        let mut wanted = vec![
            "experiment",
            "figure",
            "row",
            "x",
            "metric",
            "value",
            "spread",
            "unit",
            "simulated",
            "commit",
            "configuration",
            "machine",
        ];
        wanted.sort_unstable();
        assert_eq!(keys, wanted);
        let field = |name: &str| line[name].as_str().expect("text").to_owned();
        assert_eq!((field("experiment").as_str(), &line["simulated"]), ("tpcc", &Value::Bool(false)));
        let metric = if field("row") == "condition" { line["x"].to_string() } else { field("metric") };
        values.insert((field("figure"), field("row"), metric), line["value"].as_f64().expect("a number"));
    }
    values
}

#[test]
fn the_conditions_hold_after_the_run_and_after_opening_again() {
    let dir = tempfile::tempdir().unwrap();
    let database = dir.path().join("db");
    for log in ["values", "commands"] {
        let ran = run_well(&[
            "tpcc",
            "--small",
            "--fresh",
            "-w",
            "4",
            "-p",
            "4",
            "-c",
            "4",
            "--remote",
            "10",
            "--seconds",
            "1",
            "--log",
            log,
            "--json",
            "-",
            "--dir",
            text(&database),
        ]);
        let values = values(&ran.out);
        let value = |figure: &str, row: &str, metric: &str| values[&(figure.into(), row.into(), metric.into())];
        assert!(value("run", "all", "committed") > 100.0);
        for kind in ["New-Order", "Payment", "Order-Status", "Delivery", "Stock-Level"] {
            assert!(value("run", kind, "throughput") > 0.0);
            assert!(value("run", kind, "latency_p50") <= value("run", kind, "latency_max"));
        }
        assert!(value("run", "all", "forces") > 0.0);
        // Closing leaves no call to replay.
        assert_eq!(value("recovery", "all", "log_records") > 0.0, log == "values");
        for when in ["checks after the run", "checks after opening again"] {
            for condition in 1..=13 {
                assert_eq!(value(when, "condition", &format!("{condition}.0")), 0.0);
            }
            assert_eq!(value(when, "indexes", "violations"), 0.0);
        }
        assert!(ran.err.contains("all 13 conditions hold"), "{}", ran.err);
        assert_eq!(ran.err.matches("all indexes agree").count(), 2, "{}", ran.err);
    }
}

#[test]
fn many_callers_share_forces() {
    let dir = tempfile::tempdir().unwrap();
    let forces = |callers: &str| {
        let database = dir.path().join(callers);
        let ran = run_well(&[
            "tpcc",
            "--small",
            "-w",
            "2",
            "-c",
            callers,
            "-i",
            "1",
            "--seconds",
            "2",
            "--no-reopen",
            "--json",
            "-",
            "--dir",
            text(&database),
        ]);
        values(&ran.out)[&("run".into(), "all".into(), "forces_per_transaction".into())]
    };
    let (one, sixteen) = (forces("1"), forces("16"));
    // Order-Status and Stock-Level force nothing.
    assert!((0.5..=1.1).contains(&one), "{one} forces for each transaction of one caller");
    assert!(sixteen * 4.0 < one, "{sixteen} forces for each transaction of sixteen callers, {one} of one");
}

#[test]
fn every_mix_and_durability_runs() {
    let dir = tempfile::tempdir().unwrap();
    for (mix, durability) in [("full", "none"), ("looking-glass", "async"), ("new-order", "sync")] {
        let database = dir.path().join(mix);
        let arguments = ["--mix", mix, "--durability", durability, "--seconds", "0.3", "--dir", text(&database)];
        let ran = run_well(&[&["tpcc", "--small", "-w", "1"][..], &arguments].concat());
        assert_eq!(ran.out.matches("all 13 conditions hold").count(), 2, "{}", ran.out);
        assert!(ran.out.contains("New-Order") && !ran.out.contains("misdeclared"), "{}", ran.out);
    }
}

#[test]
fn another_scale_than_the_stored_one_is_rejected() {
    let dir = tempfile::tempdir().unwrap();
    let database = dir.path().join("db");
    let short = ["tpcc", "--small", "--seconds", "0.1", "--no-reopen", "--dir", text(&database)];
    run_well(&[&short[..], &["-w", "3"]].concat());
    let ran = run(&[&short[..], &["-w", "2"]].concat());
    assert_eq!(ran.status, Some(1));
    assert!(ran.err.contains("has 3 warehouses, not 2: use --warehouses 3"), "{}", ran.err);
    assert!(run_well(&short).out.contains("3 warehouses"));
    assert!(run_well(&[&short[..], &["-w", "2", "--fresh"]].concat()).out.contains("2 warehouses"));
}

#[test]
fn ctrl_c_ends_with_the_results_so_far_and_others_are_kept_out_until_then() {
    let dir = tempfile::tempdir().unwrap();
    let database = dir.path().join("db");
    let started = Instant::now();
    let child = program(&["tpcc", "--small", "--seconds", "600", "--dir", text(&database)]).spawn().unwrap();
    let checkpoints = || std::fs::read_dir(database.join("checkpoint")).map_or(0, Iterator::count);
    while checkpoints() == 0 {
        assert!(started.elapsed() < Duration::from_secs(60), "it does not load");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(500));
    for arguments in [&["info", text(&database)][..], &["tpcc", "--dir", text(&database)]] {
        let ran = run(arguments);
        assert_eq!(ran.status, Some(1));
        let holder = format!("the database is open in process {}; close it there first", child.id());
        assert!(ran.err.contains(&holder), "{}", ran.err);
    }
    let ran = interrupted(child);
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    assert!(ran.out.contains("interrupted after") && ran.out.contains("all 13 conditions hold"), "{}", ran.out);
    assert!(run_well(&["verify", text(&database)]).out.contains("All is well."));
    assert!(run_well(&["info", text(&database)]).out.contains(", closed\n"));
}

/// A limit to the size of files stands for a full disk: beyond it writes fail.
#[test]
fn a_full_disk_ends_with_the_results_so_far() {
    let dir = tempfile::tempdir().unwrap();
    let database = dir.path().join("db");
    let little = ["--seconds", "0.1", "-c", "1", "-i", "1", "--no-reopen"];
    run_well(&[&["tpcc", "--small", "--dir", text(&database)], &little[..]].concat());
    let limited = "trap '' XFSZ; ulimit -f 16384; exec \"$0\" \"$@\"";
    let arguments = ["tpcc", "--small", "--seconds", "600", "--dir", text(&database)];
    let ran = Command::new("sh").args(["-c", limited, env!("CARGO_BIN_EXE_glassbox")]).args(arguments).output();
    let ran = Ran::from(ran.unwrap());
    assert_eq!(ran.status, Some(1));
    assert!(ran.out.contains("New-Order") && ran.out.contains("ended by an error after"), "{}", ran.out);
    assert!(ran.err.contains("File too large") && ran.err.contains("open the database again"), "{}", ran.err);
    assert!(run_well(&["verify", text(&database)]).out.contains("All is well."));
}
