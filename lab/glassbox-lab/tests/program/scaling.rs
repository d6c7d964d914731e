//! `glassbox-lab scaling`: processes side by side, their numbers, and the picture.

use serde_json::Value;

use crate::common::{run, run_well, text};

#[test]
fn engines_are_compared_with_processes_side_by_side() {
    let dir = tempfile::tempdir().unwrap();
    let ran = run_well(&[
        "scaling",
        "--quick",
        "--only",
        "throughput",
        "--systems",
        "no-log,classic",
        "--cores",
        "1,2",
        "--seconds",
        "0.2",
        "--dir",
        text(dir.path()),
        "--results",
        text(dir.path()),
    ]);
    let titles = ["Partitioned, without a log", "Classic, log forced", "any of side by side"];
    for what in titles.into_iter().chain(["lock waits", "left to others"]) {
        assert!(ran.out.contains(what), "{what} is missing: {}", ran.out);
    }
    let lines = std::fs::read_to_string(dir.path().join("scaling.jsonl")).unwrap();
    let value = |figure: &str, row: &str, cores: f64, metric: &str| {
        let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("every line is JSON"));
        let is_it = |it: &Value| {
            (&it["figure"], &it["row"], &it["metric"]) == (&figure.into(), &row.into(), &metric.into())
                && it["x"].as_f64() == Some(cores)
        };
        lines.filter(is_it).map(|it| it["value"].as_f64().unwrap()).next()
    };
    for system in ["no-log", "classic"] {
        for form in ["any warehouse", "own warehouses", "side by side"] {
            assert!(value(system, form, 2.0, "throughput").unwrap() > 0.0, "{lines}");
        }
        let throughput = |form| value(system, form, 2.0, "throughput").unwrap();
        let [any, apart] = ["any warehouse", "side by side"].map(throughput);
        let ratio = value(system, "any warehouse", 2.0, "of_side_by_side").unwrap();
        assert!((ratio - any / apart).abs() < 1e-9, "one round: {ratio} is not {any} of {apart}");
        let parts = ["program", "kernel", "idle"].map(|part| value(system, "any warehouse", 2.0, part).unwrap());
        assert!(parts[0] > 0.0 && parts.iter().all(|part| *part >= 0.0), "{parts:?}");
    }
    assert!(value("no-log", "own warehouses", 2.0, "handed_over").is_some(), "messages are told");
    let page = std::fs::read_to_string(dir.path().join("scaling.html")).unwrap();
    assert_eq!(
        page.matches("<svg").count() - page.matches("class=\"narrow\"").count(),
        4,
        "throughput and core time of two systems"
    );
    let left: Vec<_> = dir.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with("glassbox-scaling-")), "{left:?}");
}

#[test]
fn a_system_is_named() {
    let ran = run(&["scaling", "--systems", "shore"]);
    assert_eq!(ran.status, Some(2));
    assert!(ran.err.contains("no-log, commands, values, classic-behind, classic"), "{}", ran.err);
}
