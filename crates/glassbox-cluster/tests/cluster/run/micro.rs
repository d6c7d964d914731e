//! The microbenchmark: rows that many clients write, on one partition and on two, with some aborts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use glassbox::io::Dice;
use glassbox::research::shard::Shard;
use glassbox::{Catalog, Error};
use glassbox_cluster::run::{Client, Cluster, Inline, Link, Shape};
use glassbox_cluster::{Group, SchemeKind};
use glassbox_workloads::UpTo;
use glassbox_workloads::micro::{KEYS, Pair, PairKey, ReadWrite, catalog};

use super::support::{SCHEMES, assert_settled, every_scheme};

/// Rows of each partition: few enough that transactions conflict.
const ROWS: u16 = 1_000;
const CLIENTS: u32 = 4;

/// For each row, the values that writers saw, and the values that they wrote.
type Writes = BTreeMap<PairKey, Vec<(u32, u32)>>;

fn any(dice: &mut Dice, partitions: u8, stamp: u32) -> ReadWrite {
    let first = dice.below(u64::from(partitions)) as u8;
    let several = dice.below(3) == 0;
    let mut keys: BTreeSet<PairKey> = BTreeSet::new();
    while keys.len() < KEYS {
        let home = if several && keys.len() % 2 == 1 { (first + 1) % partitions } else { first };
        keys.insert((home, dice.below(u64::from(ROWS)) as u16));
    }
    let keys: UpTo<KEYS, PairKey> = keys.into_iter().collect();
    let aborts_at = (dice.below(20) == 0).then_some(first);
    ReadWrite { keys, stamp, aborts_at, two_rounds: several && dice.below(4) == 0 }
}

/// Makes this number of calls, with up to three in flight.
fn work<L: Link>(client: &mut Client<L>, number: u32, partitions: u8, calls: u32) -> (Writes, u64) {
    let (mut dice, mut writes, mut aborted) = (Dice(u64::from(number) + 1), Writes::new(), 0);
    let mut flying = std::collections::VecDeque::new();
    for at in 0..calls + 3 {
        if at < calls {
            let call = any(&mut dice, partitions, number << 20 | (at + 1));
            flying.push_back((call, client.submit(call).unwrap()));
        }
        if at < 3 {
            continue;
        }
        let Some((call, ticket)) = flying.pop_front() else { break };
        match client.wait(ticket) {
            Ok(seen) => {
                assert_eq!(seen.len(), KEYS);
                for &(home, id, value) in seen.iter() {
                    writes.entry((home, id)).or_default().push((value, call.stamp));
                }
            }
            Err(Error::Aborted(abort)) if call.aborts_at.is_some() && abort.code == 1 => aborted += 1,
            Err(error) => panic!("{call:?}: {error}"),
        }
    }
    (writes, aborted)
}

fn shard(catalog: &Catalog, partition: u8, partitions: u8) -> Result<Shard, Error> {
    let mut shard = Shard::new(catalog, usize::from(partition), usize::from(partitions), 1 << 20)?;
    for id in 0..ROWS {
        shard.load(&Pair { home: partition, id, value: 0 })?;
    }
    Ok(shard)
}

fn shape(scheme: SchemeKind, partitions: u8, coordinators: u8, round_trip: Duration) -> Shape {
    let shape = Shape::new(scheme, partitions).with_round_trip(round_trip);
    // One replica and one sequencer.
    if scheme.is_deterministic() { shape } else { shape.with_replicas(2).with_coordinators(coordinators) }
}

fn run(shape: Shape, calls: u32) {
    run_beside(shape, calls, |_, _| ());
}

/// As `run`, while `beside` runs on a thread of its own until it is told to end.
fn run_beside(shape: Shape, calls: u32, beside: impl FnOnce(&Cluster, &AtomicBool) + Send) {
    let Shape { scheme, partitions, .. } = shape;
    let catalog = Arc::new(catalog());
    let cluster = Cluster::start(shape, Arc::clone(&catalog), |it| shard(&catalog, it, partitions)).unwrap();
    let ends = AtomicBool::new(false);
    let results: Vec<_> = std::thread::scope(|scope| {
        let (cluster, ends) = (&cluster, &ends);
        let beside = scope.spawn(move || beside(cluster, ends));
        let client = |number| move || work(&mut cluster.client(), number, partitions, calls);
        let threads: Vec<_> = (0..CLIENTS).map(|number| scope.spawn(client(number))).collect();
        let results = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        ends.store(true, Ordering::Relaxed);
        beside.join().unwrap();
        results
    });
    let mut machines = cluster.stop().unwrap();
    assert_settled(&mut machines);
    assert!(results.iter().map(|(_, aborted)| aborted).sum::<u64>() > 0);
    // Each writer of a row saw the value of its predecessor: each value was seen once, except the last one.
    let mut rows = BTreeMap::new();
    for shard in machines.iter_mut().filter_map(|(_, machine)| machine.shard()) {
        shard.rows::<Pair>(|row| rows.extend([((row.home, row.id), row.stamp())]));
    }
    for (key, last) in rows {
        let writes = || results.iter().flat_map(|(writes, _)| writes.get(&key).into_iter().flatten());
        let mut seen: Vec<u32> = writes().map(|(seen, _)| *seen).chain([last]).collect();
        let mut written: Vec<u32> = writes().map(|(_, written)| *written).chain([0]).collect();
        seen.sort_unstable();
        written.sort_unstable();
        assert_eq!(seen, written, "row {key:?} under {scheme:?}");
    }
}

#[test]
fn no_write_is_lost_under_any_scheme() {
    for scheme in every_scheme() {
        run(shape(scheme, 2, 1, Duration::ZERO), 200);
        run(shape(scheme, 2, 2, Duration::ZERO), 200);
        run(shape(scheme, 3, 3, Duration::from_micros(100)), 100);
    }
}

/// Partitions without backups and delay: clients run calls on idle ones themselves.
#[test]
fn no_write_is_lost_where_clients_run_their_calls_themselves() {
    for scheme in SCHEMES {
        run(shape(scheme, 2, 1, Duration::ZERO).with_replicas(1), 2_000);
        run(shape(scheme, 3, 2, Duration::ZERO).with_replicas(1), 1_000);
    }
    // With changes of the scheme.
    let changes = |cluster: &Cluster, ends: &AtomicBool| {
        let (mut operator, mut schemes) = (cluster.operator(), SCHEMES.into_iter().cycle());
        while !ends.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
            schemes.next().into_iter().for_each(|scheme| operator.change_scheme(scheme).unwrap());
        }
    };
    run_beside(shape(SchemeKind::Blocking, 2, 1, Duration::ZERO).with_replicas(1), 4_000, changes);
}

#[test]
fn a_call_is_run_at_once_on_an_idle_unreplicated_partition() {
    let catalog = Arc::new(catalog());
    let start = |shape: Shape| Inline::start(shape, Arc::clone(&catalog), |it| shard(&catalog, it, 2)).unwrap();
    let alone = |scheme| shape(scheme, 2, 1, Duration::ZERO).with_replicas(1);
    let on = |homes: [u8; 2], stamp, aborts_at| {
        let keys = (0..KEYS).map(|at| (homes[at % 2], at as u16)).collect();
        ReadWrite { keys, stamp, aborts_at, two_rounds: false }
    };
    let values = |seen: &UpTo<KEYS, (u8, u16, u32)>| seen.iter().map(|&(.., value)| value).collect::<Vec<_>>();
    for scheme in SCHEMES {
        let mut client = start(alone(scheme));
        let ticket = client.submit_with(on([0, 0], 1, None), values).unwrap();
        assert_eq!(client.in_flight() == 0, !scheme.always_locks(), "{scheme}");
        assert_eq!(client.wait(ticket).unwrap(), [0; KEYS]);
        let aborted = client.call_with(on([0, 0], 2, Some(0)), values);
        assert!(matches!(aborted, Err(Error::Aborted(abort)) if abort.code == 1));
        // A distributed transaction is in flight: a later call follows it.
        let both = client.submit(on([0, 1], 3, None)).unwrap();
        assert_eq!(client.in_flight(), 1);
        let after = client.submit(on([1, 1], 4, None)).unwrap();
        assert_eq!(client.wait(both).unwrap().len(), KEYS);
        client.wait(after).unwrap();
        let seen = client.call(on([0, 0], 5, None)).unwrap();
        assert_eq!(values(&seen), [3, 1].repeat(KEYS / 2), "{scheme}");
    }
    // With a backup, with a delay, or by request, the call is sent.
    let blocking = alone(SchemeKind::Blocking);
    let others = [
        start(blocking.with_replicas(2)),
        start(blocking.with_round_trip(Duration::from_micros(50))),
        start(blocking).by_messages(),
    ];
    for mut client in others {
        let ticket = client.submit(on([0, 0], 1, None)).unwrap();
        assert_eq!(client.in_flight(), 1);
        assert_eq!(values(&client.wait(ticket).unwrap()), [0; KEYS]);
    }
}

/// A coordinating client makes progress only within its methods: calls to idle partitions must not prevent it.
#[test]
fn a_coordinating_client_finishes_its_transactions_while_it_makes_other_calls() {
    let catalog = Arc::new(catalog());
    for scheme in SCHEMES {
        let shape = shape(scheme, 3, 1, Duration::ZERO).with_replicas(1);
        let mut client = Inline::start(shape, Arc::clone(&catalog), |it| shard(&catalog, it, 3)).unwrap();
        let on = |homes: [u8; 2], stamp| {
            let keys = (0..KEYS).map(|at| (homes[at % 2], at as u16)).collect();
            ReadWrite { keys, stamp, aborts_at: None, two_rounds: false }
        };
        let both = client.submit(on([0, 1], 1)).unwrap();
        assert_eq!(client.in_flight(), 1);
        for stamp in 2..20 {
            client.call(on([2, 2], stamp)).unwrap();
        }
        let is_by_clients = scheme.clients_coordinate();
        assert!(client.in_flight() == 0 || !is_by_clients, "{scheme}");
        assert_eq!(client.wait(both).unwrap().len(), KEYS);
    }
}

#[test]
fn no_write_is_lost_while_a_watcher_changes_the_scheme() {
    let watched = |cluster: &Cluster, ends: &AtomicBool| {
        let (mut watcher, mut operator) = (cluster.watcher(CLIENTS), cluster.operator());
        // The proposals, and now and then another scheme regardless.
        let mut changes = SCHEMES.into_iter().flat_map(|scheme| [None, None, Some(scheme)]).cycle();
        let mut several = Vec::new();
        while !ends.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(5));
            let proposed = watcher.look().unwrap_or_default();
            several.extend(watcher.advice().map(|advice| advice.load.several));
            if let Some(scheme) = changes.next().flatten().or(proposed) {
                operator.change_scheme(scheme).unwrap();
            }
        }
        let advice = watcher.advice().expect("enough has happened for some");
        // A successor with the operator's address is answered.
        drop(operator);
        cluster.operator().change_scheme(SchemeKind::Blocking).unwrap();
        // A third is distributed, and some of those turn out to need one partition only. A single interval may have few
        // transactions.
        several.sort_by(f64::total_cmp);
        let usual = several[several.len() / 2];
        assert!((0.15..0.5).contains(&usual) && advice.load.clients == 4.0, "{usual}: {advice}");
        assert!(advice.load.round_trip_us >= 50.0 && advice.times.single_us < 1_000.0, "{advice}");
    };
    for coordinators in [1, 2] {
        run_beside(shape(SchemeKind::Blocking, 2, coordinators, Duration::from_micros(50)), 4_000, watched);
    }
}

#[test]
fn a_cluster_on_its_clients_thread_loses_no_write() {
    for scheme in SCHEMES {
        for round_trip in [Duration::ZERO, Duration::from_micros(50)] {
            let shape = shape(scheme, 3, 2, round_trip);
            let catalog = Arc::new(catalog());
            let mut client = Inline::start(shape, Arc::clone(&catalog), |it| shard(&catalog, it, 3)).unwrap();
            let (writes, aborted) = work(&mut client, 0, 3, 100);
            assert!(aborted > 0 && client.in_flight() == 0);
            assert_settled(&mut client.link().stop());
            // No later writer saw the last value of a row, and the first writer saw the initial one.
            for (key, writes) in writes {
                let seen: BTreeSet<_> = writes.iter().map(|(seen, _)| *seen).filter(|seen| *seen > 0).collect();
                let written: BTreeSet<_> = writes.iter().map(|(_, written)| *written).collect();
                assert!(seen.is_subset(&written) && seen.len() + 1 == writes.len(), "row {key:?} under {scheme:?}");
            }
        }
    }
}

/// Its messages and their answers carry the epoch of a configuration.
#[test]
fn a_client_that_joins_after_a_change_of_the_configuration_is_answered() {
    let catalog = Arc::new(catalog());
    let shape = shape(SchemeKind::Blocking, 2, 1, Duration::ZERO);
    let cluster = Cluster::start(shape, Arc::clone(&catalog), |it| shard(&catalog, it, 2)).unwrap();
    let (sender, receiver) = std::sync::mpsc::channel::<()>();
    std::thread::spawn(move || {
        if receiver.recv_timeout(Duration::from_secs(60)) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            eprintln!("a client that joins later is not answered");
            std::process::abort();
        }
    });
    for scheme in SCHEMES {
        cluster.operator().change_scheme(scheme).unwrap();
        work(&mut cluster.client(), 0, 2, 20);
    }
    cluster.operator().promote(Group::Partition(1)).unwrap();
    work(&mut cluster.client(), 0, 2, 20);
    drop(sender);
    assert_settled(&mut cluster.stop().unwrap());
}
