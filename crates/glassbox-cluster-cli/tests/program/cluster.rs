//! `glassbox-cluster`: processes on this machine, small and for a second.

use std::io::Read;
use std::time::{Duration, Instant};

use crate::common::{Ran, does, interrupted, once, program, run, run_glassbox, run_well};

const SCHEMES: [&str; 4] = ["blocking", "speculation", "locking", "occ"];

#[test]
fn tpcc_is_right_under_every_scheme() {
    let orders = [["1", "300"], ["2", "300"], ["1", "0"], ["1", "0"]];
    for (scheme, [coordinators, tick_us]) in SCHEMES.into_iter().zip(orders) {
        let tpcc = ["tpcc", "--small", "--warehouses", "3", "--seconds", "1", "--clients", "4"];
        let order = ["--coordinators", coordinators, "--tick-us", tick_us];
        let cluster = [&["--scheme", scheme, "--rtt-us", "40"], &order[..]].concat();
        let ran = run_well(&[&cluster[..], &tpcc].concat());
        for words in
            ["New-Order", "Payment", scheme, "40 us injected", "all 13 conditions hold", "2 backups have the rows"]
        {
            assert!(ran.out.contains(words), "no `{words}` in {}", ran.out);
        }
        assert!(!ran.err.contains("closed: "), "{}", ran.err);
    }
}

#[test]
fn nothing_acknowledged_is_lost_when_processes_are_killed() {
    for (scheme, coordinators) in SCHEMES.into_iter().chain(["auto"]).zip(["2", "2", "1", "1", "2"]) {
        let tpcc = ["tpcc", "--small", "--warehouses", "2", "--seconds", "0.5", "--clients", "4"];
        let cluster = ["--scheme", scheme, "--coordinators", coordinators, "--incidents", "2"];
        let overlap: &[_] = if matches!(scheme, "blocking" | "locking" | "auto") { &["--overlap"] } else { &[] };
        let ran = run_well(&[&cluster[..], overlap, &tpcc].concat());
        for words in ["orders: ", "payments: ", "none is lost", "all 13 conditions hold", "after a backup took over"] {
            assert!(ran.out.contains(words), "no `{words}` under {scheme} in {}", ran.out);
        }
    }
    let ran = run(&["--scheme", "locking", "--tick-us", "100", "micro"]);
    assert!(ran.status == Some(1) && ran.err.contains("`order.tick_us` is 100"), "{}", ran.err);
    let ran = run(&["--scheme", "serial", "--overlap", "micro"]);
    assert!(ran.status == Some(1) && ran.err.contains("`order.overlap` is true"), "{}", ran.err);
    let ran = run(&["--replicas", "1", "--incidents", "1", "micro"]);
    assert!(ran.status == Some(1) && ran.err.contains("--replicas 2, or --dir"), "{}", ran.err);
}

#[test]
fn with_journals_nothing_is_lost_when_all_processes_are_killed() {
    for (scheme, coordinators, replicas) in
        [("speculation", "1", "2"), ("locking", "2", "1"), ("auto", "1", "2"), ("two-phase", "1", "2")]
    {
        let dir = tempfile::tempdir().unwrap();
        let kept = crate::common::text(dir.path());
        let cluster = ["--scheme", scheme, "--coordinators", coordinators, "--replicas", replicas];
        let overlap: &[_] = if matches!(scheme, "speculation" | "locking") { &["--overlap"] } else { &[] };
        let cluster = [&cluster[..], overlap].concat();
        let tpcc = ["tpcc", "--small", "--warehouses", "2", "--seconds", "0.5", "--clients", "4"];
        let again = [&cluster[..], &["--dir", kept], &tpcc].concat();
        let ran = run_well(&[&cluster[..], &["--dir", kept, "--incidents", "2"], &tpcc].concat());
        for words in
            ["after processes were killed and went on", "none is lost", "all 13 conditions hold", "answers wait for"]
        {
            assert!(ran.out.contains(words), "no `{words}` under {scheme} in {}", ran.out);
        }
        // It continues with the same rows.
        let ran = run_well(&again);
        let right = ran.out.matches("all 13 conditions hold").count();
        assert!(ran.out.contains("resumed from its journals") && right == 2, "{}", ran.out);
    }
}

/// Inputs are ordered first: the sequencer's log and the partitions' rows are on disk.
#[test]
fn a_deterministic_cluster_is_right_and_continues_from_its_log() {
    let orders: [&[&str]; 3] =
        [&[], &["--coordinators", "2"], &["--coordinators", "2", "--by-clocks", "--epoch-us", "1000"]];
    for (scheme, order) in ["serial", "deterministic-locks", "vll"].into_iter().zip(orders) {
        let dir = tempfile::tempdir().unwrap();
        let kept = crate::common::text(dir.path());
        let tpcc = ["tpcc", "--small", "--warehouses", "2", "--seconds", "0.5", "--clients", "4"];
        let cluster = [&["--scheme", scheme, "--dir", kept], order].concat();
        let ran = run_well(&[&cluster[..], &["--incidents", "1"], &tpcc].concat());
        for words in
            ["after processes were killed and went on", "none is lost", "all 13 conditions hold", "1 replica each"]
        {
            assert!(ran.out.contains(words), "no `{words}` under {scheme} in {}", ran.out);
        }
        let ran = run_well(&[&cluster[..], &tpcc].concat());
        let right = ran.out.matches("all 13 conditions hold").count();
        assert!(ran.out.contains("resumed from its journals") && right == 2, "{}", ran.out);
    }
    let ran = run(&["--scheme", "vll", "--replicas", "2", "micro"]);
    assert!(ran.status != Some(0) && ran.err.contains("or --replicas 1"), "{}", ran.err);
    let ran = run(&["--scheme", "locking", "--max-lag-us", "5", "micro"]);
    assert!(ran.status != Some(0) && ran.err.contains("refuses no call"), "{}", ran.err);
    let ran = run(&["--scheme", "two-phase", "--epoch-us", "5", "micro"]);
    assert!(ran.status != Some(0) && ran.err.contains("has no epochs"), "{}", ran.err);
    let ran = run(&["--scheme", "two-phase", "--by-clocks", "micro"]);
    assert!(ran.status != Some(0) && ran.err.contains("choose a deterministic scheme"), "{}", ran.err);
    let ran = run(&["--scheme", "vll", "--incidents", "1", "micro"]);
    assert!(ran.status != Some(0) && ran.err.contains("--dir"), "{}", ran.err);
}

/// Ten rows for each acknowledged call, also where their keys depend on rows that change.
#[test]
fn hot_rows_are_incremented_once_for_each_call() {
    let contention = ["contention", "--rows", "2000", "--hot", "3", "--several", "30", "--dependent", "30"];
    let contention = [&contention[..], &["--relists", "10", "--seconds", "0.6", "--clients", "4"]].concat();
    let rules = ["two-phase", "two-phase-timeout", "two-phase-wait-die", "two-phase-no-wait", "two-phase-sorted"];
    for scheme in rules.into_iter().chain(["occ"]) {
        let ran = run_well(&[&["--scheme", scheme, "--replicas", "1"], &contention[..]].concat());
        for words in ["increments: ", "none is lost", "dependent", "relist", "hot rows, 3 of each partition"] {
            assert!(ran.out.contains(words), "no `{words}` under {scheme} in {}", ran.out);
        }
    }
    for (scheme, epoch_us) in [("serial", "0"), ("deterministic-locks", "2000"), ("vll", "0")] {
        let dir = tempfile::tempdir().unwrap();
        // No partition is a minute late.
        let cluster = ["--scheme", scheme, "--epoch-us", epoch_us, "--max-lag-us", "60000000"];
        let cluster = [&cluster[..], &["--dir", crate::common::text(dir.path())]].concat();
        let ran = run_well(&[&cluster[..], &contention].concat());
        assert!(ran.out.contains("increments: ") && ran.out.contains("none is lost"), "{scheme}: {}", ran.out);
        assert!(!ran.out.contains("refused because"), "{scheme}: {}", ran.out);
    }
    let ran = run(&["contention", "--participants", "3"]);
    assert!(ran.status != Some(0) && ran.err.contains("3 of 2 partitions are impossible"), "{}", ran.err);
}

#[test]
fn no_call_of_a_resumed_cluster_has_an_unknown_outcome() {
    let schemes = ["blocking", "speculation", "limited-speculation", "local-speculation", "locking", "forced-locking"];
    for scheme in schemes.into_iter().chain(["occ", "deterministic-locks"]) {
        let dir = tempfile::tempdir().unwrap();
        let kept = crate::common::text(dir.path());
        let micro = ["micro", "--several", "50", "--seconds", "0.3", "--clients", "4"];
        let words = [&["--replicas", "1", "--scheme", scheme, "--dir", kept][..], &micro].concat();
        run_well(&words);
        let ran = run_well(&words);
        let is_resumed = ran.out.contains("resumed from its journals");
        assert!(is_resumed && !ran.out.contains("unknown outcome"), "{scheme}: {}", ran.out);
    }
}

#[test]
fn the_microbenchmark_has_conflicts_aborts_and_second_rounds() {
    let shares = ["--several", "50", "--two-rounds", "40", "--aborts", "20", "--conflicts", "30"];
    for scheme in ["limited-speculation", "locking"] {
        let words = ["--replicas", "1", "--scheme", scheme, "micro", "--seconds", "0.3", "--clients", "4"];
        let out = run_well(&[&words[..], &shares].concat()).out;
        let said = "50.0 % on two partitions, 40.0 % of them in two rounds, 20.0 % abort, 30.0 % touch a hot row; ";
        assert!(out.contains(said), "{out}");
        let all = out.lines().find(|line| line.starts_with(" all ")).expect("a row of all");
        let aborts = all.split_whitespace().last().expect("the last column").replace(',', "");
        assert!(aborts.parse::<u64>().expect("a number of aborts") > 0, "{out}");
    }
}

#[test]
fn a_journal_of_another_cluster_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let kept = crate::common::text(dir.path());
    let micro = ["micro", "--seconds", "0.2", "--clients", "2"];
    let cluster = ["--replicas", "1", "--dir", kept];
    run_well(&[&cluster[..], &micro].concat());
    let says = |words: &[&str], what: &str| {
        let ran = run(words);
        assert!(ran.status == Some(1) && ran.err.contains(what), "{words:?}: {}", ran.err);
    };
    let other = [&cluster[..], &["--partitions", "3"], &micro, &["--several", "20"]].concat();
    says(&other, "is another than asked for: --partitions is 2 (asked for: 3), --several is 10 (asked for: 20); ");
    let tpcc = [&cluster[..], &["tpcc", "--small"]].concat();
    says(&tpcc, "is another than asked for: workload is micro (asked for: tpcc), ");
    // The directories of journals hold no databases.
    let journal = dir.path().join("partition-0-replica-0");
    let at = crate::common::text(&journal);
    for (words, what) in [
        (&["tpcc", "--small", "--seconds", "0.1", "--dir", at][..], "it holds the journal of partition 0 replica 0"),
        (&["dump", at, "pair"], "--as-of-checkpoint"),
    ] {
        let ran = run_glassbox(words);
        assert!(ran.status == Some(1) && ran.err.contains(what), "{words:?}: {}", ran.err);
    }
    assert!(run_glassbox(&["dump", at, "pair", "--as-of-checkpoint"]).out.lines().count() > 10);
    assert!(run_glassbox(&["info", at]).out.contains("journal     of partition 0 replica 0 of cluster"));
    assert!(run_glassbox(&["verify", at]).out.contains("entries of a journal are whole"));
    // Damage is reported with file and offset.
    let log = std::fs::read_dir(journal.join("log")).unwrap().map(|entry| entry.unwrap().path()).min().unwrap();
    let mut bytes = std::fs::read(&log).unwrap();
    bytes[4096 + 40] ^= 1;
    std::fs::write(&log, bytes).unwrap();
    says(&[&cluster[..], &micro].concat(), "offset");
    // Without the rows of a partition nothing is resumed.
    std::fs::remove_dir_all(&journal).unwrap();
    says(&[&cluster[..], &micro].concat(), "no running process has the rows of partition 0 replica 0");
}

#[test]
fn a_running_cluster_is_operated_by_commands() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("cluster.json");
    let file = crate::common::text(&file);
    let cluster = ["--coordinators", "2", "--save", file, "micro", "--seconds", "60", "--clients", "2"];
    let child = program(&cluster).spawn().unwrap();
    let operate = |words: &[&str]| run(&[&[words[0], "--config", file], &words[1..]].concat());
    let status = once(&[("backup", 2)], || operate(&["status"]));
    assert!(status.contains("partition 1 replica 0") && status.contains("primary"), "{status}");
    let says = |words: &[&str], status, out: &str| {
        let ran = operate(words);
        assert!(ran.status == Some(status) && (ran.out + &ran.err).contains(out), "{words:?}: {}", ran.err);
    };
    says(&["begin"], 1, "has begun already");
    says(&["promote", "0"], 0, "partition 0 replica 1 is primary\nconfiguration 2");
    says(&["promote", "0"], 1, "no running backup with the rows");
    says(&["bring-back", "0", "0"], 0, "configuration 3");
    says(&["bring-back", "0", "1"], 1, "cannot become a backup");
    says(&["leave-out", "1", "1"], 0, "configuration 4");
    says(&["leave-out", "1", "1"], 1, "is no backup");
    says(&["bring-back", "1", "1"], 0, "configuration 5");
    says(&["promote", "7"], 1, "unknown partition 7");
    says(&["promote", "sequencer"], 1, "no sequencer");
    says(&["scheme", "locking"], 0, "configuration 6");
    says(&["scheme", "blocking"], 0, "configuration 7");
    says(&["begin-coordinator"], 1, "has its place");
    says(&["begin-coordinator", "1"], 1, "has its place");
    says(&["begin-coordinator", "2"], 1, "coordinator 2 is unknown");
    let watch = program(&["scheme", "auto", "--config", file]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(700));
    // While a watcher runs, a user can decide.
    says(&["promote", "1"], 0, "is primary");
    let watched = interrupted(watch);
    assert!(watched.status == Some(0) && watched.out.starts_with("watching"), "{}{}", watched.out, watched.err);
    says(&["bring-back", "1", "0"], 0, "configuration");
    let ran = interrupted(child);
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    assert!(ran.out.contains("2 backups have the rows"), "{}", ran.out);
}

#[test]
fn a_hot_backup_of_the_sequencer_takes_over() {
    let cluster = ["--scheme", "vll", "--coordinators", "2"];
    let micro = ["micro", "--seconds", "0.5", "--clients", "2"];
    let ran = run_well(&[&cluster[..], &["--incidents", "2"], &micro].concat());
    for words in ["after a backup took over", "after a backup was left out", "no transaction is active"] {
        assert!(ran.out.contains(words), "no `{words}` in {}", ran.out);
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("cluster.json");
    let file = crate::common::text(&file);
    let child = program(&[&cluster[..], &["--save", file, "micro", "--seconds", "60", "--clients", "2"]].concat());
    let child = { child }.spawn().unwrap();
    let operate = |words: &[&str]| run(&[&[words[0], "--config", file], &words[1..]].concat());
    let started = Instant::now();
    while !operate(&["status"]).out.contains("hot backup of the sequencer") {
        assert!(started.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(50));
    }
    let says = |words: &[&str], status, out: &str| {
        let ran = operate(words);
        assert!(ran.status == Some(status) && (ran.out + &ran.err).contains(out), "{words:?}: {}", ran.err);
    };
    says(&["promote", "sequencer"], 0, "coordinator 1 is the sequencer\nconfiguration 2");
    says(&["promote", "sequencer"], 1, "no running backup with the log");
    says(&["bring-back", "sequencer", "0"], 0, "configuration 3");
    says(&["leave-out", "sequencer", "0"], 0, "configuration 4");
    says(&["bring-back", "sequencer", "7"], 1, "unknown");
    says(&["begin-coordinator", "0"], 1, "resume the cluster");
    says(&["promote", "writer"], 2, "give the number of a partition, or `sequencer`");
    let ran = interrupted(child);
    assert!(ran.status == Some(0) && ran.out.contains("no transaction is active"), "{}{}", ran.out, ran.err);
}

/// Each process is killed, and all at once; no command is given.
#[test]
fn a_cluster_with_an_agreed_log_goes_on_by_itself() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("rows");
    let cluster = ["--scheme", "deterministic-locks", "--log", "raft", "--dir", crate::common::text(&at)];
    let tpcc = ["tpcc", "--small", "--warehouses", "2", "--seconds", "3", "--clients", "2"];
    let ran = run_well(&[&cluster[..], &["--incidents", "1"], &tpcc].concat());
    for words in ["after a backup took over", "after processes were killed and went on", "all 13 conditions hold"] {
        assert!(ran.out.contains(words), "no `{words}` in {}", ran.out);
    }
    // Another command goes on with the same rows; a majority decides, so no operator does.
    let file = at.join("cluster.json");
    let file = crate::common::text(&file);
    let child = program(&[&cluster[..], &["tpcc", "--small", "--warehouses", "2", "--seconds", "60"]].concat());
    let mut child = { child }.spawn().unwrap();
    // What it resumed with is right; the load follows.
    let mut said = child.stdout.take().unwrap();
    while !line(&mut said).contains("all 13 conditions hold") {
        assert!(child.try_wait().unwrap().is_none(), "it ended");
    }
    let operate = |words: &[&str]| run(&[&[words[0], "--config", file], &words[1..]].concat());
    let status = operate(&["status"]).out;
    assert!(status.contains("sequencer, elected"), "{status}");
    assert_eq!(status.matches("member of the log's group").count(), 2, "{status}");
    let row = status.lines().find(|line| line.contains("partition 1 replica 0")).unwrap();
    let numbers: Vec<&str> = row.split_whitespace().rev().take(2).collect();
    assert!(numbers[0] == "0" && numbers[1].replace(',', "").parse::<u64>().unwrap() > 0, "{status}");
    let ran = operate(&["promote", "1"]);
    assert!(ran.status == Some(1) && ran.err.contains("no running backup with the rows"), "{}", ran.err);
    child.stdout = Some(said);
    let ran = interrupted(child);
    assert!(ran.status == Some(0) && ran.out.contains("all 13 conditions hold"), "{}{}", ran.out, ran.err);
    let ran = run(&["--scheme", "vll", "--log", "raft", "--by-clocks", "micro", "--seconds", "0.1"]);
    assert!(ran.status != Some(0) && ran.err.contains("cannot be used with"), "{}", ran.err);
}

/// Coordinators, primaries and backups are killed, and everything; no command is given.
#[test]
fn every_scheme_fails_over_by_itself() {
    for scheme in ["speculation", "two-phase-wait-die"] {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("rows");
        let cluster = ["--scheme", scheme, "--log", "raft", "--dir", crate::common::text(&at)];
        let tpcc = ["tpcc", "--small", "--warehouses", "2", "--seconds", "1", "--clients", "2"];
        let right = ["2 backups have the rows of their primaries", "all 13 conditions hold", "none is lost"];
        let ran = run_well(&[&cluster[..], &["--incidents", "1"], &tpcc].concat());
        for words in right.into_iter().chain(["after a backup took over", "after a backup was left out"]) {
            assert!(ran.out.contains(words), "no `{words}` in {}", ran.out);
        }
        for words in ["is the primary now", "is left out", "is back: it joins", "with the rows of its directory"] {
            assert!(ran.err.contains(words), "no `{words}` in {}", ran.err);
        }
        // Another command goes on with the same rows.
        let ran = run_well(&[&cluster[..], &tpcc].concat());
        assert!(right.iter().all(|words| ran.out.contains(words)), "{}", ran.out);
    }
}

/// The commands remain for maintenance: what an operator leaves out stays out until it is brought back.
#[test]
fn an_elected_coordinator_takes_commands() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("rows");
    let cluster = ["--log", "raft", "--dir", crate::common::text(&at)];
    let child = program(&[&cluster[..], &["tpcc", "--small", "--seconds", "60"]].concat()).spawn().unwrap();
    let file = at.join("cluster.json");
    let file = crate::common::text(&file);
    let operate = |words: &[&str]| run(&[&[words[0], "--config", file], &words[1..]].concat());
    let wait_for = |words: &str, count| once(&[(words, count)], || operate(&["status"]));
    // A status does not wait for the command that begins the cluster.
    let begun = [(" backup ", 2), ("coordinator, elected", 1), ("coordinator that can be elected", 2)];
    once(&begun, || operate(&["status"]));
    let says = |words: &[&str], status, out: &str| {
        let ran = operate(words);
        assert!(ran.status == Some(status) && (ran.out + &ran.err).contains(out), "{words:?}: {}", ran.err);
    };
    says(&["promote", "0"], 0, "partition 0 replica 1 is primary\nconfiguration");
    // The former primary joins by itself.
    wait_for(" backup ", 2);
    says(&["leave-out", "1", "1"], 0, "configuration");
    std::thread::sleep(Duration::from_millis(500));
    wait_for(" backup ", 1);
    says(&["bring-back", "1", "1"], 0, "configuration");
    wait_for(" backup ", 2);
    says(&["scheme", "locking"], 0, "configuration");
    says(&["promote", "sequencer"], 0, "is the coordinator\nconfiguration");
    says(&["begin-coordinator", "1"], 1, "the coordinators elect one of them");
    says(&["promote", "7"], 1, "unknown partition 7");
    let ran = interrupted(child);
    assert!(ran.status == Some(0) && ran.out.contains("all 13 conditions hold"), "{}{}", ran.out, ran.err);
}

/// While clients work; the member that leads is removed, too.
#[test]
fn a_log_of_one_member_becomes_one_of_three_and_of_one_again() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("rows");
    let cluster = ["--scheme", "vll", "--log", "raft", "--members", "1", "--dir", crate::common::text(&at)];
    let tpcc = ["tpcc", "--small", "--warehouses", "2", "--seconds", "60", "--clients", "4"];
    let child = program(&[&cluster[..], &tpcc].concat()).spawn().unwrap();
    let file = at.join("cluster.json");
    let file = crate::common::text(&file);
    let operate = |words: &[&str]| run(&[&[words[0], "--config", file], &words[1..]].concat());
    let wait_for = |words: &[(&str, usize)]| once(words, || operate(&["status"]));
    let of =
        |members, others| [("sequencer, elected", 1), ("member of the log's group", members), ("no member of", others)];
    wait_for(&of(0, 2));
    std::thread::sleep(Duration::from_secs(1));
    let says = |words: &[&str], status, out: &str| {
        let ran = operate(words);
        assert!(ran.status == Some(status) && (ran.out + &ran.err).contains(out), "{words:?}: {}", ran.err);
    };
    says(&["members", "0", "1", "7"], 1, "coordinator 7 is unknown");
    says(&["members", "0", "1", "2"], 0, "configuration");
    wait_for(&of(2, 0));
    says(&["promote", "sequencer"], 0, "is the sequencer");
    std::thread::sleep(Duration::from_secs(1));
    says(&["members", "0"], 0, "configuration");
    wait_for(&of(0, 2));
    std::thread::sleep(Duration::from_secs(1));
    let ran = interrupted(child);
    assert!(ran.status == Some(0) && ran.out.contains("all 13 conditions hold"), "{}{}", ran.out, ran.err);
    // It goes on with what the one member has.
    let again = ["tpcc", "--small", "--warehouses", "2", "--seconds", "1", "--clients", "4"];
    let ran = run_well(&[&cluster[..], &again].concat());
    assert!(ran.out.contains("none is lost") && ran.out.contains("all 13 conditions hold"), "{}", ran.out);
}

/// A participant, a whole replica set, and everything are killed; then a replica loses its directory. No command is
/// given.
#[test]
fn replica_sets_execute_the_log_by_themselves() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("rows");
    let cluster = ["--scheme", "vll", "--replicas", "3", "--log", "raft", "--dir", crate::common::text(&at)];
    let tpcc = ["tpcc", "--small", "--warehouses", "2", "--seconds", "1", "--clients", "2"];
    let right = ["4 replicas of other sets have the same rows", "all 13 conditions hold", "none is lost"];
    let ran = run_well(&[&cluster[..], &["--incidents", "1"], &tpcc].concat());
    for words in right.into_iter().chain(["a whole set, was killed and others answered"]) {
        assert!(ran.out.contains(words), "no `{words}` in {}", ran.out);
    }
    std::fs::remove_dir_all(at.join("partition-1-replica-1")).unwrap();
    let ran = run_well(&[&cluster[..], &tpcc].concat());
    assert!(right.iter().all(|words| ran.out.contains(words)), "{}", ran.out);
    let why = "partition 1 replica 1: its directory is empty; it takes the rows of another replica";
    assert!(ran.err.contains(why), "{}", ran.err);
    let ran = run(&["--scheme", "vll", "--replicas", "3", "micro"]);
    assert!(ran.status != Some(0) && ran.err.contains("give --log raft"), "{}", ran.err);
}

/// The next line of a program that runs; empty at its end. Reads nothing of what follows.
fn line(from: &mut impl Read) -> String {
    let (mut line, mut byte) = (Vec::new(), [0]);
    while line.last() != Some(&b'\n') && from.read(&mut byte).unwrap() == 1 {
        line.extend(byte);
    }
    String::from_utf8(line).unwrap()
}

/// Case 28: without its decisions a cluster cannot be resumed.
#[test]
fn a_saved_cluster_replaces_neither_the_file_nor_the_decisions_of_another_cluster() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("cluster.json");
    let decided = dir.path().join("cluster.json.decided");
    let name = crate::common::text(&file);
    let command = ["--partitions", "1", "--replicas", "1", "--save", name, "micro", "--seconds", "0.1"];
    let refused = |path: &std::path::Path| {
        let ran = run(&command);
        let is_named = ran.err.contains(crate::common::text(path)) && ran.err.contains("choose another file");
        assert!(ran.status == Some(1) && is_named, "{:?}: {}{}", ran.status, ran.out, ran.err);
    };
    std::fs::write(&decided, "decisions").unwrap();
    refused(&decided);
    std::fs::write(&file, "{}").unwrap();
    refused(&file);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{}");
    assert_eq!(std::fs::read_to_string(&decided).unwrap(), "decisions");
    [&file, &decided].into_iter().for_each(|it| std::fs::remove_file(it).unwrap());
    // Its own file of an earlier run is replaced.
    run_well(&command);
    run_well(&command);
    // With the addresses of other machines it is one of another cluster.
    let text = std::fs::read_to_string(&file).unwrap().replace("127.0.0.1:", "10.0.0.1:");
    std::fs::write(&file, &text).unwrap();
    refused(&file);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
}

#[test]
fn a_backup_that_ended_is_reported_and_the_others_are_checked_once_it_is_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("cluster.json");
    let file = crate::common::text(&file);
    let micro = ["micro", "--seconds", "1", "--clients", "2"];
    let mut child = program(&[&["--partitions", "1", "--save", file][..], &micro].concat()).spawn().unwrap();
    // The first line of its report says that the cluster has begun; an earlier death would end the beginning.
    let headline = line(child.stdout.as_mut().unwrap());
    assert!(headline.starts_with("microbenchmark"), "{headline}");
    // The processes were started in the order of the addresses: the backup is the last one.
    let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap();
    let backup: i32 = children.split_whitespace().last().unwrap().parse().unwrap();
    assert!(does(&format!("kill -KILL {backup}")));
    let mut told = String::new();
    while !told.contains("clients wait") {
        let next = line(child.stderr.as_mut().unwrap());
        assert!(!next.is_empty(), "it has ended: {told}");
        told += &next;
    }
    run_well(&["leave-out", "--config", file, "0", "1"]);
    let mut ran = Ran::from(child.wait_with_output().unwrap());
    ran.err.insert_str(0, &told);
    let ended = "process of partition 0 replica 1 ended by itself: signal: 9 (SIGKILL)";
    for words in [ended, "leave-out 0 1 --config", "2 of 2 clients wait", "partition 0 replica 1 not running"] {
        assert!(ran.err.contains(words), "no `{words}` in {}", ran.err);
    }
    assert!(ran.out.contains("0 backups have the rows") && ran.out.contains(ended), "{}", ran.out);
    assert!(ran.status == Some(1) && !ran.err.contains("message is above"), "{}", ran.err);
}

#[test]
fn the_microbenchmark_is_right_and_reported_as_json() {
    let micro = ["micro", "--several", "30", "--aborts", "5", "--seconds", "0.5", "--clients", "4", "--json", "-"];
    let ran = run_well(&[&["--partitions", "3"][..], &micro].concat());
    let line = ran.out.lines().find(|line| line.contains("\"several\"") && line.contains("throughput"));
    let value: serde_json::Value = serde_json::from_str(line.expect("it is told")).unwrap();
    assert!(value["value"].as_f64().unwrap() > 0.0);
    assert_eq!(value["configuration"]["round_trip_us"], 0);
    assert!(ran.err.contains("3 backups have the rows"), "{}", ran.err);
}

#[test]
fn ctrl_c_ends_with_the_results_so_far_and_leaves_no_process() {
    let micro = ["micro", "--seconds", "600", "--clients", "2"];
    let started = Instant::now();
    let mut child = program(&micro).spawn().unwrap();
    let children = || {
        let path = format!("/proc/{0}/task/{0}/children", child.id());
        std::fs::read_to_string(path).unwrap_or_default().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    while children().len() < 5 {
        assert!(started.elapsed() < Duration::from_secs(60), "it does not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    let nodes = children();
    std::thread::sleep(Duration::from_millis(700));
    assert!(child.try_wait().unwrap().is_none());
    let ran = interrupted(child);
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    assert!(ran.out.contains("interrupted after"), "{}", ran.out);
    for node in nodes {
        assert!(!std::path::Path::new(&format!("/proc/{node}")).exists(), "process {node} is still there");
    }
}

#[test]
fn a_node_refuses_an_invalid_configuration() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("cluster.json");
    let workload =
        "{\"tpcc\": {\"scale\": {\"warehouses\": 1, \"items\": 100, \"customers\": 5, \"orders\": 5}, \"seed\": 0}}";
    for (partitions, nodes, words) in [
        ("2", "[]", "need 3"),
        ("0", "[]", "give 1 to 64"),
        ("1", "[\"127.0.0.1:1\", \"127.0.0.1:2\"]", "none of the cluster's `nodes` listens on"),
    ] {
        let text = format!(
            "{{\"cluster\": 1, \"scheme\": \"Blocking\", \"partitions\": {partitions}, \"replicas\": 1, \
             \"round_trip_us\": 0, \"workload\": {workload}, \"nodes\": {nodes}}}"
        );
        std::fs::write(&file, text).unwrap();
        let ran = run(&["node", "--listen", "127.0.0.1:0", "--config", crate::common::text(&file)]);
        assert_eq!(ran.status, Some(1));
        assert!(ran.err.contains(words), "{}", ran.err);
    }
}

/// A host is away for a part of the log, and comes back while clients work.
#[test]
fn a_host_that_was_away_catches_up() {
    let refused = run(&["--scheme", "vll", "--log", "raft", "--away-mb", "1", "micro"]);
    assert!(refused.status != Some(0) && refused.err.contains("--replicas 3 --log raft"), "{}", refused.err);
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("away");
    let cluster = ["--scheme", "vll", "--replicas", "3", "--log", "raft", "--dir", crate::common::text(&at)];
    let ran = run_well(&[&cluster[..], &["--away-mb", "2", "tpcc", "--small", "--seconds", "1"]].concat());
    for words in ["a host was away for", "returns", "after", "none is lost", "have the same rows", "conditions hold"] {
        assert!(ran.out.contains(words), "{words}: {}", ran.out);
    }
}
