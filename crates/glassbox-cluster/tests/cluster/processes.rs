//! Clusters of processes of a user's own program: the example runs, and invalid descriptions are refused.

use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpListener};
use std::process::Command;

use glassbox::Catalog;
use glassbox_cluster::run::Processes;
use glassbox_cluster::{Address, DeadlockRule, OrderSettings, SchedulerKind, SchemeKind};

const VLL: SchemeKind = SchemeKind::Deterministic(SchedulerKind::Vll);

fn addresses(count: u16) -> Vec<SocketAddr> {
    (0..count).map(|node| SocketAddr::from(([10, 0, 0, 1], 7_000 + node))).collect()
}

#[test]
fn the_example_runs_as_processes() {
    let own = std::env::current_exe().unwrap();
    let program = own.parent().unwrap().parent().unwrap().join("examples/accounts");
    let ran = Command::new(&program).output();
    let ran = ran.unwrap_or_else(|error| {
        panic!("{}: {error}; `cargo build -p glassbox-cluster --examples` makes it", program.display())
    });
    let out = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{out}{}", String::from_utf8_lossy(&ran.stderr));
    assert!(out.contains("1000000 cents, as before"), "{out}");
}

/// Of two members that talk, one dials the other; a client dials all.
#[test]
fn members_dial_each_other_once() {
    for (scheme, replicas, coordinators) in [(VLL, 1, 1), (SchemeKind::Locking, 3, 2)] {
        let nodes = addresses(u16::from(coordinators) + 2 * u16::from(replicas));
        let cluster = Processes { replicas, coordinators, ..Processes::new(1, scheme, 2, nodes) };
        cluster.check().unwrap();
        let members = cluster.shape().machines();
        let mut pairs = BTreeSet::new();
        for &me in &members {
            for (other, at) in cluster.calls(me).unwrap() {
                assert_eq!(cluster.member_at(at), Some(other));
                let pair = (me.min(other), me.max(other));
                assert!(me != other && pairs.insert(pair), "{me} and {other} dial each other");
            }
        }
        // Partitions exchange rows under deterministic schemes; under others their replicas talk among themselves.
        assert_eq!(pairs.len(), if scheme == VLL { 3 } else { 2 * 6 + 2 * 3 + 1 });
        assert_eq!(cluster.calls(Address::Client(0)).unwrap().len(), members.len());
    }
}

#[test]
fn invalid_descriptions_are_refused() {
    let of = |partitions, nodes| Processes::new(1, VLL, partitions, addresses(nodes));
    let refused = |cluster: &Processes| cluster.check().unwrap_err();
    assert!(refused(&of(0, 1)).contains("give 1 to 64"));
    assert!(refused(&of(2, 2)).contains("`nodes` has 2 addresses"));
    assert!(refused(&Processes { replicas: 2, ..of(2, 5) }).contains("or --replicas 1"));
    let order = OrderSettings { without_commit: true, ..OrderSettings::new() };
    for scheme in [VLL, SchemeKind::TwoPhase(DeadlockRule::Sorted)] {
        let why = refused(&Processes { order, ..Processes::new(1, scheme, 2, addresses(3)) });
        assert!(why.contains("`order.without_commit` is true: without two-phase commit"), "{why}");
    }
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    let served = of(2, 3).serve(elsewhere, None, Catalog::new(), |_| Ok(()), || true);
    assert!(served.unwrap_err().contains("none of the cluster's `nodes` listens on 127.0.0.1"));
}
