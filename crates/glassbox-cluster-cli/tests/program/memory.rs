//! `glassbox-cluster --log raft` without directories: processes that are started again have forgotten everything.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Stdio};

use crate::common::{does, once, program, run, run_well, text};

/// The elected member, another one, a primary or replica, and a backup or a whole replica set are killed and started
/// again; no command is given.
#[test]
fn failover_by_itself_needs_no_directory() {
    for (scheme, paused) in [("speculation", "after a backup took over"), ("vll", "a whole set, was killed and others")]
    {
        let cluster = ["--scheme", scheme, "--replicas", "2", "--log", "raft", "--incidents", "2"];
        let tpcc = ["tpcc", "--small", "--warehouses", "2", "--seconds", "1", "--clients", "2"];
        let ran = run_well(&[&cluster[..], &tpcc].concat());
        for words in ["none is lost", "all 13 conditions hold", paused] {
            assert!(ran.out.contains(words), "{scheme}: no `{words}` in {}", ran.out);
        }
        let again = "its process was started again; it takes";
        for words in [" part in the agreement as a new member", " the rows of another replica"] {
            let times = ran.err.matches(&format!("{again}{words}")).count();
            assert!(times >= 4, "{scheme}: `{words}` {times} times in {}", ran.err);
        }
    }
}

/// Starts the process of a saved cluster that listens on an address, which a killed one leaves.
fn start_again(file: &str, at: &str) -> Child {
    while TcpListener::bind(at).is_err() {
        std::thread::yield_now();
    }
    let mut node = program(&["node", "--listen", at, "--config", file]);
    node.stdout(Stdio::null()).spawn().unwrap()
}

/// The next line that has these words.
fn line_with(from: &mut impl BufRead, words: &str) -> String {
    let mut all = String::new();
    loop {
        let mut line = String::new();
        assert!(from.read_line(&mut line).unwrap() > 0, "no `{words}` in {all}");
        if line.contains(words) {
            return line;
        }
        all += &line;
    }
}

/// A cluster of three coordinators and two partitions, with clients; the addresses of its processes, and their numbers.
fn begun(file: &str) -> (Child, Vec<String>, Vec<String>) {
    let cluster = ["--scheme", "vll", "--log", "raft", "--save", file];
    let child = program(&[&cluster[..], &["micro", "--seconds", "60", "--clients", "2"]].concat()).spawn().unwrap();
    let running = [("sequencer, elected", 1), ("member of the log's group", 2), (" primary ", 2)];
    once(&running, || run(&["status", "--config", file]));
    let saved: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let nodes = saved["nodes"].as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned());
    // In the order of the addresses.
    let processes = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap();
    (child, nodes.collect(), processes.split_whitespace().map(str::to_owned).collect())
}

fn end(children: impl IntoIterator<Item = Child>) {
    children.into_iter().for_each(|mut it| it.kill().and_then(|()| it.wait()).map(drop).unwrap());
}

/// Two of three have forgotten what they voted: the third one stops, and they have no place.
#[test]
fn a_cluster_whose_majority_has_forgotten_the_log_says_so_and_stops() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("cluster.json");
    let (mut child, nodes, processes) = begun(text(&file));
    let members = [0, 1].map(|number| {
        assert!(does(&format!("kill -KILL {}", processes[number])));
        start_again(text(&file), &nodes[number])
    });
    let mut told = BufReader::new(child.stderr.take().unwrap());
    let line = line_with(&mut told, "coordinator 2 has stopped");
    assert!(line.contains("the log of the cluster is lost") && line.contains("begin another cluster"), "{line}");
    let ran = run(&["status", "--config", text(&file)]);
    assert_eq!(ran.out.matches("waits for its place, which a majority gives it").count(), 2, "{}{}", ran.out, ran.err);
    assert!(!ran.out.contains("elected"), "{}", ran.out);
    end(members.into_iter().chain([child]));
}

/// The only replica of a partition has forgotten its rows, and does not go on with others.
#[test]
fn a_partition_whose_only_replica_has_forgotten_its_rows_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("cluster.json");
    let (child, nodes, processes) = begun(text(&file));
    assert!(does(&format!("kill -KILL {}", processes[3])));
    let mut partition = start_again(text(&file), &nodes[3]);
    let mut told = BufReader::new(partition.stderr.take().unwrap());
    let line = line_with(&mut told, "partition 0 replica 0: ");
    assert!(line.contains("the rows of the partition: they are lost. Stop all processes and begin"), "{line}");
    let ran = run(&["status", "--config", text(&file)]);
    assert!(ran.out.contains("and this is not its directory, the rows are lost"), "{}{}", ran.out, ran.err);
    end([partition, child]);
}
