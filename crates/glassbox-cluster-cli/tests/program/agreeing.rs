//! `glassbox-cluster agree`: a stopped cluster of `--log local` becomes one of `--log raft`, with its rows.

use crate::common::{interrupted, once, program, run, run_well, text};

const TPCC: [&str; 5] = ["tpcc", "--small", "--warehouses", "2", "--clients"];

/// Two other coordinators: their addresses are those of this machine when the cluster is started.
const OTHERS: [&str; 2] = ["127.0.0.1:1", "127.0.0.1:2"];

/// A run of the cluster for a number of seconds.
fn tpcc<'a>(cluster: &[&'a str], more: &[&'a str], seconds: &'a str) -> Vec<&'a str> {
    [cluster, more, &TPCC, &["2", "--seconds", seconds]].concat()
}

/// The last epoch of the input log, while the cluster runs; 0: nothing that has it answers.
fn log_end(file: &str) -> u64 {
    let ran = run_well(&["status", "--json", "--config", file]);
    let status: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let processes = status["processes"].as_array().unwrap().iter();
    let has_log = processes.filter(|it| it["role"].as_str().unwrap().contains("sequencer"));
    has_log.filter_map(|it| it["epoch"].as_u64()).max().unwrap_or(0)
}

/// The cluster works on with the same rows; then two other coordinators agree too, and it fails over by itself.
#[test]
fn a_stopped_cluster_begins_to_agree_and_fails_over_by_itself() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("rows");
    let file = at.join("cluster.json");
    let file = text(&file);
    let cluster = ["--scheme", "speculation", "--replicas", "2", "--dir", text(&at)];
    let agreed = [&cluster[..], &["--log", "raft"]].concat();
    let status = || run(&["status", "--config", file]);
    let agree = [&["agree", "--config", file], &OTHERS[..]].concat();
    let child = program(&tpcc(&cluster, &[], "60")).spawn().unwrap();
    once(&[(" primary ", 2), (" backup ", 2)], status);
    let ran = run(&agree);
    assert!(ran.status == Some(1) && ran.err.contains("stop all processes of the cluster"), "{}", ran.err);
    let ran = interrupted(child);
    assert!(ran.status == Some(0) && ran.out.contains("all 13 conditions hold"), "{}{}", ran.out, ran.err);
    let ran = run_well(&agree);
    assert!(ran.out.contains("members 0 1 2"), "{}", ran.out);
    let ran = run(&agree);
    assert!(ran.status == Some(1) && ran.err.contains("agrees already"), "{}", ran.err);
    let ran = run(&tpcc(&cluster, &[], "1"));
    assert!(ran.status == Some(1) && ran.err.contains("--log is raft (asked for: local)"), "{}", ran.err);
    // Coordinator 0 agrees alone, and gives all replicas their places.
    let child = program(&tpcc(&agreed, &[], "60")).spawn().unwrap();
    once(&[("coordinator, elected", 1), (" backup ", 2), ("no member of the group", 2)], status);
    run_well(&["members", "--config", file, "0", "1", "2"]);
    once(&[("coordinator, elected", 1), ("coordinator that can be elected", 2)], status);
    let ran = interrupted(child);
    let right = ran.out.matches("all 13 conditions hold").count();
    assert!(ran.status == Some(0) && right == 2, "{}{}", ran.out, ran.err);
    let ran = run_well(&tpcc(&agreed, &["--incidents", "1"], "1"));
    for words in ["none is lost", "all 13 conditions hold", "after a backup took over"] {
        assert!(ran.out.contains(words), "no `{words}` in {}", ran.out);
    }
}

/// A cluster whose input log becomes the group's: `begun` is called when it runs, and inputs after the checkpoints of
/// partitions are in the log alone.
fn keeps_its_log(options: &[&str], others: &[&str], begun: impl Fn(&str)) {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("rows");
    let file = at.join("cluster.json");
    let file = text(&file);
    let cluster = [options, &["--dir", text(&at)]].concat();
    let agreed = [&cluster[..], &["--log", "raft"]].concat();
    let status = || run(&["status", "--config", file]);
    let child = program(&tpcc(&cluster, &[], "60")).spawn().unwrap();
    begun(file);
    while log_end(file) < 3_000 {}
    let before = log_end(file);
    let ran = interrupted(child);
    assert!(ran.status == Some(0) && ran.out.contains("all 13 conditions hold"), "{}{}", ran.out, ran.err);
    let ran = run_well(&[&["agree", "--config", file], others].concat());
    assert!(ran.out.contains("members 0 1 2"), "{}", ran.out);
    let child = program(&tpcc(&agreed, &[], "60")).spawn().unwrap();
    once(&[("sequencer, elected", 1)], status);
    let after = log_end(file);
    assert!(after >= before, "epoch {after} after epoch {before}: the log was lost");
    once(&[("sequencer, elected", 1), ("no member of the group", 2)], status);
    run_well(&["members", "--config", file, "0", "1", "2"]);
    once(&[("sequencer, elected", 1), ("member of the log's group", 2)], status);
    let ran = interrupted(child);
    let right = ran.out.matches("all 13 conditions hold").count();
    assert!(ran.status == Some(0) && right == 2, "{}{}", ran.out, ran.err);
    let ran = run_well(&tpcc(&agreed, &["--incidents", "1"], "1"));
    for words in ["none is lost", "all 13 conditions hold"] {
        assert!(ran.out.contains(words), "no `{words}` in {}", ran.out);
    }
}

#[test]
fn the_input_log_of_a_stopped_cluster_becomes_the_group_s() {
    keeps_its_log(&["--scheme", "vll"], &OTHERS, |file| {
        once(&[(" sequencer ", 1), (" primary ", 2)], || run(&["status", "--config", file]));
    });
}

/// A hot backup that was promoted has the log; the former sequencer, whose log ends earlier, becomes a member.
#[test]
fn the_sequencer_s_hot_backups_become_members() {
    keeps_its_log(&["--scheme", "deterministic-locks", "--coordinators", "3"], &[], |file| {
        once(&[("hot backup of the sequencer", 2), (" primary ", 2)], || run(&["status", "--config", file]));
        run_well(&["promote", "--config", file, "sequencer"]);
    });
}

/// The logs and transactions of several coordinators are not taken over.
#[test]
fn a_cluster_that_cannot_agree_is_refused() {
    for (words, why) in [
        (&["--scheme", "vll", "--coordinators", "2", "--by-clocks"][..], "the cluster has 2 coordinators"),
        (&["--coordinators", "2"], "the cluster has 2 coordinators"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("rows");
        let file = at.join("cluster.json");
        run_well(&[words, &["--dir", text(&at), "micro", "--seconds", "0.1", "--clients", "1"]].concat());
        let before = std::fs::read_to_string(&file).unwrap();
        let ran = run(&["agree", "--config", text(&file)]);
        assert!(ran.status == Some(1) && ran.err.contains(why), "{words:?}: {}", ran.err);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    }
}
