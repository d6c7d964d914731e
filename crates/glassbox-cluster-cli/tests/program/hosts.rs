//! A cluster on three hosts, which are network namespaces: links that are down, and routes that lead nowhere one way.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use glassbox::Error;
use glassbox_cluster::run::Processes;
use glassbox_cluster::{AgreementSettings, OrderSettings, SchedulerKind, SchemeKind};
use glassbox_workloads::micro::{ReadWrite, catalog};

use crate::common::{does, run, run_well, text};

const HOSTS: usize = 3;

/// Three hosts that a bridge connects with this one. They are gone when this is dropped.
struct Hosts {
    names: [String; HOSTS],
    bridge: String,
    net: String,
    processes: Vec<Child>,
}

impl Hosts {
    /// `None`: this system, or this user, cannot make them.
    fn new() -> Option<Self> {
        let id = std::process::id() % 10_000;
        let names = std::array::from_fn(|host| format!("gbx{id}h{host}"));
        let (bridge, net) = (format!("gbx{id}b"), format!("10.77.{}", id % 250));
        let hosts = Self { names, bridge, net, processes: Vec::new() };
        let (Self { bridge, net, names, .. }, mut is_made) = (&hosts, true);
        is_made &= does(&format!("ip link add {bridge} type bridge && ip addr add {net}.254/24 dev {bridge}"));
        is_made &= does(&format!("ip link set {bridge} up"));
        for (host, name) in names.iter().enumerate() {
            let at = hosts.at(host);
            is_made = is_made
                && does(&format!("ip netns add {name} && ip link add {name} type veth peer name eth0 netns {name}"))
                && does(&format!("ip link set {name} master {bridge} up && ip -n {name} addr add {at}/24 dev eth0"))
                && does(&format!("ip -n {name} link set eth0 up && ip -n {name} link set lo up"));
        }
        // A refusal is an answer; where a firewall filters bridges, there is none.
        let (name, other) = (&names[0], hosts.at(1));
        is_made = is_made
            && does(&format!("ip netns exec {name} timeout 5 bash -c 'exec 3<>/dev/tcp/{other}/9'; test $? -eq 1"));
        is_made.then_some(hosts)
    }

    fn at(&self, host: usize) -> String {
        format!("{}.{}", self.net, host + 1)
    }

    /// Runs a command on a host, which succeeds.
    fn ip(&self, host: usize, words: &str) {
        assert!(does(&format!("ip -n {} {words}", self.names[host])), "ip {words}");
    }

    /// Starts a process as the unit of systemd does, with the directories of this test.
    fn start(&mut self, host: usize, listen: &str, file: &Path, dir: &Path) {
        let unit = include_str!("../../../../deploy/glassbox-node@.service");
        let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).expect("a unit starts something");
        let places = [
            ("/usr/local/bin/glassbox-cluster", env!("CARGO_BIN_EXE_glassbox-cluster")),
            ("/etc/glassbox/cluster.json", text(file)),
            ("/var/lib/glassbox", text(dir)),
            ("%i", listen),
        ];
        let place = |word: &str| places.iter().find(|(from, _)| *from == word).map_or(word, |(_, to)| *to).to_owned();
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[host]]).args(line.split(' ').map(place));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.processes.push(command.spawn().expect("`ip` was found a moment ago"));
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for process in &mut self.processes {
            drop((process.kill(), process.wait()));
        }
        for name in &self.names {
            does(&format!("ip link del {name}; ip netns del {name}"));
        }
        does(&format!("ip link del {}", self.bridge));
    }
}

/// The host of the elected sequencer, as soon as `status` names one that is not on `but`.
fn elected(file: &Path, but: Option<usize>) -> usize {
    let began = Instant::now();
    loop {
        let status = run(&["status", "--config", text(file)]).out;
        let mut lines = status.lines().filter(|line| line.contains("sequencer, elected"));
        let host = lines.next().and_then(|line| (0..HOSTS).find(|host| line.contains(&format!("coordinator {host}"))));
        if let Some(host) = host.filter(|host| Some(*host) != but) {
            return host;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "but {but:?}: {status}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Begins a cluster: a member of the log's group on each host, a partition on the first two. Its file, and its nodes.
fn begin(hosts: &mut Hosts, dir: &Path) -> (PathBuf, Vec<String>) {
    let file = dir.join("cluster.json");
    let cluster = ["--scheme", "vll", "--log", "raft", "--dir", text(dir)];
    run_well(&[&cluster[..], &["micro", "--seconds", "0.1"]].concat());
    // The same cluster on other addresses.
    let places: Vec<(usize, u16)> = (0..HOSTS).map(|host| (host, 7_000)).chain([(0, 7_001), (1, 7_001)]).collect();
    let nodes: Vec<String> = places.iter().map(|(host, port)| format!("{}:{port}", hosts.at(*host))).collect();
    let mut saved: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    (saved["nodes"], saved["cluster"]) = (nodes.clone().into(), 77.into());
    std::fs::write(&file, saved.to_string()).unwrap();
    let begun = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    for path in begun.filter(|path| *path != file) {
        let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    }
    for ((host, _), listen) in places.iter().zip(&nodes) {
        hosts.start(*host, listen, &file, dir);
    }
    run_well(&["begin", "--config", text(&file)]);
    (file, nodes)
}

/// Each call writes its number to a row of both partitions, and reads the number of the call before.
#[test]
fn hosts_that_are_cut_off_lose_nothing() {
    let Some(mut hosts) = Hosts::new() else {
        eprintln!("skipped: network namespaces need root and the command `ip`");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let (file, nodes) = begin(&mut hosts, dir.path());
    let scheme = SchemeKind::Deterministic(SchedulerKind::Vll);
    let order = OrderSettings { agreement: Some(AgreementSettings::default()), ..OrderSettings::new() };
    let nodes = nodes.iter().map(|at| at.parse().unwrap()).collect();
    let processes = Processes { coordinators: 3, order, ..Processes::new(77, scheme, 2, nodes) };
    let mut client = processes.connect(0, catalog(), Duration::from_secs(20)).unwrap();
    let (mut last, mut unknown, mut known) = (0, Vec::new(), 0);
    let mut call = |stamp: u32| {
        let keys = [(0, 0), (1, 0)].into_iter().collect();
        match client.call(ReadWrite { keys, stamp, aborts_at: None, two_rounds: false }) {
            Ok(read) => {
                let read: Vec<u32> = read.iter().map(|(_, _, stamp)| *stamp).collect();
                assert!(
                    read.iter().all(|it| *it == last || unknown.contains(it)),
                    "{read:?} after {last}, {unknown:?}"
                );
                assert_eq!(read.iter().min(), read.iter().max(), "both partitions have executed the same");
                (last, known) = (stamp, known + 1);
                unknown.clear();
            }
            Err(Error::OutcomeUnknown { .. }) => unknown.push(stamp),
            Err(error) => panic!("call {stamp}: {error}"),
        }
    };
    let mut stamp = 0;
    let mut calls = |count| {
        (0..count).for_each(|_| {
            stamp += 1;
            call(stamp);
        })
    };
    calls(200);
    // The link of the elected member's host goes down, and comes back.
    let first = elected(&file, None);
    hosts.ip(first, "link set eth0 down");
    let second = elected(&file, Some(first));
    hosts.ip(first, "link set eth0 up");
    calls(200);
    // What the elected member sends to one other member gets nowhere, and then what it sends to both.
    let others: Vec<usize> = (0..HOSTS).filter(|host| *host != second).rev().collect();
    // The last host has no partition, which calls would wait for.
    let may_call = others[0] == HOSTS - 1;
    for several in [&others[..1], &others] {
        for other in several {
            hosts.ip(second, &format!("route add blackhole {}/32", hosts.at(*other)));
        }
        if several.len() < 2 {
            calls(if may_call { 50 } else { 0 });
            std::thread::sleep(Duration::from_millis(500));
        } else {
            elected(&file, Some(second));
        }
        for other in several {
            hosts.ip(second, &format!("route del blackhole {}/32", hosts.at(*other)));
        }
        calls(100);
    }
    assert!(known >= 500, "{known} calls have a known outcome");
    let status = run(&["status", "--config", text(&file)]).out;
    assert_eq!(status.matches("not reachable").count(), 0, "{status}");
}
