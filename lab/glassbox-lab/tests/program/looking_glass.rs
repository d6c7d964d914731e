//! `glassbox-lab looking-glass` and `glassbox-lab report`, on a hundredth of a warehouse.

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;

use crate::common::{program, run, run_counting, run_well, text};

/// The ladder, from everything to the kernel.
const LADDER: [&str; 13] = [
    "full",
    "integer-keys",
    "no-disk-log",
    "no-log",
    "no-lsn",
    "no-locks",
    "no-latches",
    "no-directory",
    "large-pages",
    "no-pool",
    "no-pages",
    "bare",
    "kernel",
];

/// Maximum instructions of a stack over those of the one before: small differences are not exact.
const TOLERANCE: f64 = 1.05;
/// The same with larger pages, where an insertion moves more entries: at this scale they do not pay.
const TOLERANCE_OF_LARGE_PAGES: f64 = 1.25;

type Values = HashMap<(String, String, String), f64>;

/// Values by figure, row and metric.
fn values(json: &Path) -> Values {
    let mut values = HashMap::new();
    for line in std::fs::read_to_string(json).unwrap().lines() {
        let line: Value = serde_json::from_str(line).expect("every line is JSON");
        assert_eq!((line["experiment"].as_str(), line.as_object().unwrap().len()), (Some("looking-glass"), 12));
        let field = |name: &str| line[name].as_str().expect("text").to_owned();
        values.insert((field("figure"), field("row"), field("metric")), line["value"].as_f64().expect("a number"));
    }
    values
}

fn of(values: &Values, figure: &str, row: &str, metric: &str) -> f64 {
    let key = (figure.to_owned(), row.to_owned(), metric.to_owned());
    *values.get(&key).unwrap_or_else(|| panic!("there is no {key:?}"))
}

const QUICK: [&str; 5] = ["looking-glass", "--quick", "--warehouses", "1", "--dir"];

#[test]
fn the_page_has_the_papers_figures_and_the_report_collects_it() {
    let dir = tempfile::tempdir().unwrap();
    let results = dir.path().join("results");
    let few = ["--only", "throughput", "--transactions", "40", "--rounds", "2", "--results", text(&results)];
    let ran = run_well(&[&QUICK[..], &[text(dir.path())], &few].concat());
    let checked = "checks: all trees, heap files and indexes are sound; 27 of the 27 stacks ran all transactions";
    assert!(ran.out.contains(checked), "{}", ran.out);
    let of_run = values(&results.join("looking-glass.jsonl"));
    for stack in LADDER {
        assert!(ran.out.lines().any(|line| line.split_whitespace().next() == Some(stack)), "{}", ran.out);
        assert!(of(&of_run, "throughput", stack, "mix") > 0.0);
    }
    let page = std::fs::read_to_string(results.join("looking-glass.html")).unwrap();
    for what in ["Section 4.3.1. The ladder of throughput", "apt install valgrind", "46,500", "<svg"] {
        assert!(page.contains(what), "{what} is missing");
    }
    let limits = results.join("limits.json");
    let small = ["limits", "--quick", "--small", "--only", "throughput", "--transactions", "100"];
    let files = ["--systems", "none", "--dir", text(dir.path()), "--json", text(&limits)];
    run_well(&[&small[..], &files].concat());
    let ran = run_well(&["report", "--results", text(&results)]);
    assert!(ran.out.contains("report.html"), "{}", ran.out);
    let page = std::fs::read_to_string(results.join("report.html")).unwrap();
    assert!(
        page.contains("OLTP through the Looking Glass") && page.contains(">Limits, a quick run<"),
        "the page has both experiments"
    );
    let ran = run(&["report", "--results", text(&dir.path().join("nowhere"))]);
    assert_eq!((ran.status, ran.err.contains("run an experiment first")), (Some(1), true), "{}", ran.err);
}

#[test]
fn instructions_repeat_exactly_and_fall_from_stack_to_stack() {
    let dir = tempfile::tempdir().unwrap();
    let count = |name: &str| {
        let results = dir.path().join(name);
        let few = ["--only", "instructions", "--counted", "20", "--results", text(&results)];
        let arguments = [&QUICK[..], &[text(dir.path())], &few].concat();
        let ran = run_counting(&arguments)?;
        let page = std::fs::read_to_string(results.join("looking-glass.html")).unwrap();
        for figure in
            ["Figure 1.", "Figure 5, left.", "Figure 5, right.", "Figure 6, right.", "Figure 7.", "Two attributions"]
        {
            assert!(page.contains(figure), "{figure} is missing");
        }
        Some((ran, values(&results.join("looking-glass.jsonl"))))
    };
    let Some((ran, first)) = count("first") else { return };
    let (_, second) = count("second").expect("valgrind is still there");
    for workload in ["New-Order", "Payment", "mix"] {
        let total = |stack: &str| of(&first, "instructions", stack, workload);
        for (before, after) in LADDER.iter().zip(&LADDER[1..]) {
            let (before_total, after_total) = (total(before), total(after));
            let tolerance = if *after == "large-pages" { TOLERANCE_OF_LARGE_PAGES } else { TOLERANCE };
            assert!(
                after_total <= before_total * tolerance,
                "{workload}: {before} {before_total}, {after} {after_total}"
            );
        }
        assert!(LADDER.iter().all(|stack| total(stack) <= total("full") && total(stack) >= total("kernel")));
        assert!(total("full") > 1.5 * total("bare") && total("bare") > total("kernel"), "{}", ran.out);
        for stack in LADDER {
            let (once, again) = (total(stack), of(&second, "instructions", stack, workload));
            // Where there is a log, its writer may be asleep at one time and not at another: some instructions of many.
            let has_log = ["full", "integer-keys"].contains(&stack);
            let same = if has_log { (once - again).abs() < 1e-4 * once } else { once == again };
            assert!(same, "{stack}, {workload}: {once}, then {again}");
            for figure in [format!("by component, {workload}"), format!("by call, {workload}")] {
                let of_stack = first.iter().filter(|((of, row, _), _)| *of == figure && row == stack);
                let sum: f64 = of_stack.map(|(_, value)| value).sum();
                assert!((sum - total(stack)).abs() < 0.001 * total(stack), "{figure} of {stack}: {sum}");
            }
        }
        let part = |stack: &str, part: &str| of(&first, &format!("by component, {workload}"), stack, part);
        assert!(part("full", "locking") > 100.0 && part("no-locks", "locking") < 1.0, "{}", ran.out);
        assert!(part("full", "latching") > 10.0 && part("no-latches", "latching") < 1.0, "{}", ran.out);
        assert!(part("full", "buffer pool") > 100.0 && part("full", "logging") > 100.0, "{}", ran.out);
        let call = |call: &str| of(&first, &format!("by call, {workload}"), "full", call);
        for name in
            ["begin", "B-tree lookup", "pin / unpin", "update record", "create record", "insert index", "commit"]
        {
            assert!(call(name) > 10.0, "{workload}: {name} takes {}", call(name));
        }
    }
    assert!(ran.out.contains("in the paper"), "sentences about differences: {}", ran.out);
}

#[test]
fn without_valgrind_there_are_times_and_instructions_to_install_it() {
    let dir = tempfile::tempdir().unwrap();
    let few = ["--transactions", "10", "--rounds", "1", "--results", text(dir.path())];
    let arguments = [&QUICK[..], &[text(dir.path())], &few].concat();
    let output = program(&arguments).env("PATH", dir.path()).output().expect("the program can be started");
    let out = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{out}");
    assert!(out.contains("times only") && out.contains("apt-get install valgrind"), "{out}");
}

#[test]
fn one_stack_runs_the_papers_mix() {
    let options = ["--small", "-w", "1", "--seconds", "0.3", "--json", "-"];
    let of = |words: &[&'static str]| [&["stack"][..], words, &options].concat();
    for (stack, what) in [("full", "everything"), ("without-locks", "full, but no locks"), ("bare", "then no sessions")]
    {
        let ran = run_well(&of(&[stack, "--durability", "async"]));
        for part in ["looking-glass mix", &format!("stack `{stack}` ({what})"), "are sound", " New-Order ", " Payment "]
        {
            assert!(ran.err.contains(part), "{part}: {}", ran.err);
        }
        assert!(ran.out.contains(&format!("\"stack\":\"{stack}\"")) && !ran.out.contains("Delivery"), "{}", ran.out);
    }
    let ran = run_well(&of(&["latches-first", "--mix", "new-order"]));
    assert!(!ran.err.contains(" Payment "), "{}", ran.err);
    for (wrong, why) in [
        (&["full", "--mix", "full"][..], "[possible values: looking-glass, new-order]"),
        (&["full", "--clients", "2"], "--clients"),
        (&["full", "--architecture", "classic"], "--architecture"),
        (&["naked"], "no stack is called `naked`"),
    ] {
        let ran = run(&of(wrong));
        assert!(ran.status == Some(2) && ran.err.contains(why), "{wrong:?}: {}", ran.err);
    }
}
