//! `glassbox tpcc --architecture classic` on a hundredth of its size.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::{interrupted, program, run, run_well, text};

const CLASSIC: [&str; 5] = ["tpcc", "--small", "--architecture", "classic", "--dir"];

fn with<'a>(dir: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&CLASSIC[..], &[dir], more].concat()
}

/// Values of all transaction types together, by metric; and the configuration.
fn values(json: &str) -> (HashMap<String, f64>, Value) {
    let lines = json.lines().map(|line| serde_json::from_str::<Value>(line).expect("every line is JSON"));
    let lines: Vec<_> = lines.filter(|line| line["row"] == "all").collect();
    let value = |line: &Value| Some((line["metric"].as_str()?.to_owned(), line["value"].as_f64()?));
    (lines.iter().filter_map(value).collect(), lines[0]["configuration"].clone())
}

#[test]
fn the_report_has_pages_locks_and_waits() {
    let dir = tempfile::tempdir().unwrap();
    let database = dir.path().join("db");
    let more = ["-w", "2", "-c", "4", "--remote", "10", "--seconds", "1", "--explain-waits", "--json", "-"];
    let ran = run_well(&with(text(&database), &more));
    let (values, configuration) = values(&ran.out);
    assert_eq!(configuration["architecture"], "classic");
    assert_eq!(configuration["classic"]["page_bytes"], 8192);
    assert!(values["committed"] > 50.0 && values["fixes_per_transaction"] > 10.0, "{values:?}");
    assert!(values["hits"] > 50.0 && values["hits"] <= 100.0 && values["on_disk"] > 1e6, "{values:?}");
    assert!(values["lock_waits_per_1000"] > 0.0 && values["lock_wait_mean"] > 0.0, "{values:?}");
    assert!(values.contains_key("deadlocks_per_1000") && values.contains_key("rolled_back"), "{values:?}");
    let report = &ran.err;
    for words in [
        ", classic engine (",
        " for pages of 8 KiB, record locks), 4 clients with 64 in flight each, durable when answered\n",
        "\nmemory      ",
        "\non disk     ",
        "\npages       ",
        "\nlocks       per 1,000 transactions ",
        "\nwaits       for locks, the ",
        " on row ",
        " of table `",
        " analysed, ",
        "all 13 conditions hold, all indexes agree, after opening again",
    ] {
        assert!(report.contains(words), "no {words:?} in\n{report}");
    }
    let out = run_well(&["info", text(&database)]).out;
    assert!(out.contains("engine      classic, pages of 8 KiB") && out.contains("\ntable warehouse: 2 rows"), "{out}");
    assert!(run_well(&["verify", text(&database)]).out.contains("All is well."));
    let partitioned = dir.path().join("partitioned");
    let more = ["tpcc", "--small", "--seconds", "0.1", "--no-reopen", "--explain-waits", "--dir", text(&partitioned)];
    assert!(run_well(&more).out.contains("\nwaits       none: the partitioned engine has no locks\n"));
}

#[test]
fn many_locks_of_rows_become_one_of_their_page_or_table() {
    let dir = tempfile::tempdir().unwrap();
    for (database, at, page_at, escalates) in
        [("neither", "0", "0", false), ("pages", "0", "4", true), ("tables", "8", "0", true)]
    {
        let database = dir.path().join(database);
        let options = ["--escalate-at", at, "--escalate-page-at", page_at];
        let more = ["-w", "1", "-c", "2", "--seconds", "0.5", "--no-reopen", "--json", "-"];
        let ran = run_well(&with(text(&database), &[&options[..], &more].concat()));
        let (values, configuration) = values(&ran.out);
        assert_eq!(configuration["classic"]["escalate_at"].to_string(), at);
        assert_eq!(configuration["classic"]["escalate_page_at"].to_string(), page_at);
        assert_eq!(values["escalations_per_1000"] > 0.0, escalates, "{values:?}");
        assert_eq!(ran.err.contains(" escalations to locks of tables or pages\n"), escalates, "{}", ran.err);
    }
}

/// A pool smaller than the data: the pages read and written are those of the replacement policy alone.
#[test]
fn pages_read_and_written_are_those_of_the_policy() {
    let dir = tempfile::tempdir().unwrap();
    let database = dir.path().join("db");
    let pool = ["--pool-mib", "1", "--page-kib", "4"];
    let more = ["-w", "4", "--seconds", "2", "--no-reopen", "--durability", "async", "--trace-pages", "--json", "-"];
    let ran = run_well(&with(text(&database), &[&pool[..], &more].concat()));
    let (values, _) = values(&ran.out);
    assert!(values["on_disk"] > 4.0 * values["pool"], "{values:?}");
    let (read, missed) = (values["reads_per_transaction"], values["misses_per_transaction"]);
    let simulated = values["simulated_misses_per_transaction"];
    assert!(read > 1.0 && values["writes_per_transaction"] > 0.1, "{values:?}");
    assert!((missed / simulated - 1.0).abs() < 0.15, "{missed} missed, {simulated} by simulation");
    assert!((read / simulated - 1.0).abs() < 0.15, "{read} read, {simulated} by simulation");
    let (written, simulated) = (values["writes_per_transaction"], values["simulated_writes_per_transaction"]);
    // The simulated writer is never late, and so writes some pages too early; that of a busy machine may be late.
    assert!((0.4..1.5).contains(&(written / simulated)), "{written} written, {simulated} by simulation");
    assert!(ran.err.contains("\ntrace       "), "{}", ran.err);
}

#[test]
fn the_page_size_of_a_database_is_fixed() {
    let dir = tempfile::tempdir().unwrap();
    let database = dir.path().join("db");
    let short = ["-w", "1", "--seconds", "0.1", "--no-reopen", "--page-kib"];
    run_well(&with(text(&database), &[&short[..], &["16"]].concat()));
    let ran = run(&with(text(&database), &[&short[..], &["8"]].concat()));
    assert_eq!(ran.status, Some(1));
    assert!(ran.err.contains("has pages of 16 KiB, not 8: remove --page-kib"), "{}", ran.err);
}

#[test]
fn invalid_combinations_of_options_are_rejected() {
    for (arguments, words) in [
        (&["--pool-mib", "8"][..], "--pool-mib needs --architecture classic"),
        (&["--page-kib", "8"], "--page-kib needs --architecture classic"),
        (&["--locks", "page"], "--locks needs --architecture classic"),
        (&["--escalate-at", "10"], "--escalate-at needs --architecture classic"),
        (&["--escalate-page-at", "10"], "--escalate-page-at needs --architecture classic"),
        (&["--trace-pages"], "--trace-pages needs --architecture classic"),
        (
            &["--architecture", "classic", "--log", "commands"],
            "--log commands cannot be combined with --architecture classic",
        ),
        (&["--architecture", "classic", "-p", "2"], "--partitions cannot be combined with --architecture classic"),
        (&["--architecture", "classic", "-c", "2", "--trace-pages"], "use --clients 1"),
    ] {
        let ran = run(&[&["tpcc", "--dir", "/nonexistent/db"], arguments].concat());
        assert_eq!(ran.status, Some(2), "{arguments:?}\n{}", ran.err);
        assert!(ran.err.contains(words), "{}", ran.err);
    }
    let ran = run(&["torture", "--log", "commands", "--architecture", "classic"]);
    assert_eq!(ran.status, Some(2), "{}", ran.err);
}

/// Whether the manifest says that a bulk load is running.
fn is_loading(database: &Path) -> bool {
    let manifest = std::fs::read(database.join("manifest")).unwrap_or_default();
    String::from_utf8_lossy(&manifest).contains("\"loading\": true")
}

#[test]
fn ctrl_c_ends_with_the_results_so_far() {
    let dir = tempfile::tempdir().unwrap();
    let database = dir.path().join("db");
    let started = Instant::now();
    let child = program(&with(text(&database), &["--seconds", "600"])).spawn().unwrap();
    for loading in [true, false] {
        while is_loading(&database) != loading {
            assert!(started.elapsed() < Duration::from_secs(60), "the load does not start");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    std::thread::sleep(Duration::from_millis(500));
    let ran = interrupted(child);
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    assert!(ran.out.contains("interrupted after") && ran.out.contains("all 13 conditions hold"), "{}", ran.out);
    assert!(run_well(&["verify", text(&database)]).out.contains("All is well."));
    assert!(run_well(&["info", text(&database)]).out.contains(", closed\n"));
}

/// Reads of the disk under locks: with a pool that the data does not fit into, and a disk of 1 ms.
#[test]
fn stages_take_the_disk_out_of_waits_for_locks() {
    let dir = tempfile::tempdir().unwrap();
    let database = dir.path().join("db");
    let run_with = |execution: &str| {
        let more = [
            "--fresh",
            "-c",
            "8",
            "-i",
            "1",
            "--pool-mib",
            "2",
            "--locks",
            "page",
            "--disk",
            "cloud",
            "--seconds",
            "2",
        ];
        let staged = ["--execution", execution, "--explain-execution", "--explain-waits", "--json", "-"];
        let ran = run_well(&with(text(&database), &[&more[..], &staged[..]].concat()));
        let (values, configuration) = values(&ran.out);
        assert_eq!((&configuration["execution"], &configuration["disk"]), (&execution.into(), &"cloud".into()));
        assert!(ran.err.contains("all 13 conditions hold, all indexes agree, after opening again"), "{}", ran.err);
        (values, ran.err)
    };
    let (conventional, report) = run_with("conventional");
    assert!(conventional["lock_wait_for_disk"] > 25.0, "{conventional:?}");
    for words in [
        ", pages read from disk `cloud`), 8 clients",
        " % of the time because transactions in the way were reading the disk\n",
        " ms of it because ",
        " was reading page ",
        "\nexecution   new_order     conventional ",
        " ms each; predicted: conventional ",
    ] {
        assert!(report.contains(words), "no {words:?} in\n{report}");
    }
    for execution in ["two-stage", "optimistic", "hybrid"] {
        let (staged, report) = run_with(execution);
        let waited = |values: &HashMap<String, f64>| values["lock_waits_per_1000"] * values["lock_wait_mean"];
        assert!(waited(&staged) < waited(&conventional), "{execution}: {staged:?} and {conventional:?}");
        assert!(staged["committed"] > conventional["committed"], "{execution}: {staged:?} and {conventional:?}");
        for words in [&format!(", {execution} execution, ")[..], "\nexecution   new_order ", " pages pinned, at most "]
        {
            assert!(report.contains(words), "no {words:?} in\n{report}");
        }
        let measured = report.contains("\n                            measured cost: conventional ");
        assert_eq!(measured, execution == "hybrid", "{report}");
    }
}

#[test]
fn an_execution_of_the_other_engine_is_refused() {
    for (arguments, message) in [
        (
            &["--architecture", "classic", "--execution", "core"][..],
            "--execution core needs --architecture partitioned",
        ),
        (&["--execution", "hybrid"][..], "--execution hybrid needs --architecture classic"),
        (&["--disk", "cloud"][..], "--disk needs --architecture classic"),
        (&["--execution-of", "payment=two-stage"][..], "--execution-of needs --architecture classic"),
        (&["--class-rule", "cost"][..], "--class-rule needs --architecture classic"),
        (&["--detect-deadlocks-every-ms", "5"][..], "--detect-deadlocks-every-ms needs --architecture classic"),
        (&["--architecture", "classic", "--class-rule", "cost"][..], "--class-rule needs --execution hybrid"),
        (
            &["--architecture", "classic", "--execution-of", "payment=hybrid", "--execution-of", "payment=hybrid"][..],
            "--execution-of payment is given twice",
        ),
        (&["--execution-of", "payment"][..], "use PROCEDURE=EXECUTION, with conventional, two-stage,"),
        (&["--execution-of", "payment=core"][..], "`core` is no execution of a procedure: use conventional,"),
    ] {
        let ran = run(&[&["tpcc", "--small"], arguments].concat());
        assert!(ran.err.contains(message), "{}", ran.err);
        assert_ne!(ran.status, Some(0));
    }
}

#[test]
fn one_procedure_has_an_execution_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let database = dir.path().join("db");
    let run_with = |of: &str| {
        let more =
            ["--fresh", "--seconds", "0.3", "--execution", "hybrid", "--class-rule", "cost", "--execution-of", of];
        let more = [&more[..], &["--detect-deadlocks-every-ms", "5", "--explain-execution"]].concat();
        run(&with(text(&database), &more))
    };
    let ran = run_with("new_order=conventional");
    let line = ran.out.lines().find(|line| line.starts_with("execution   new_order")).unwrap_or_default();
    assert!(ran.status == Some(0) && line.contains("conventional"), "{}{}", ran.out, ran.err);
    let ran = run_with("new-order=conventional");
    assert!(ran.status != Some(0) && ran.err.contains("names the procedure `new-order`"), "{}{}", ran.out, ran.err);
}
