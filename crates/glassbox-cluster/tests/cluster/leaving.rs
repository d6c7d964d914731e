//! A client that coordinates its own transactions and disconnects in the middle of one, over real sockets: coordinator
//! 0 ends its transactions, with the same outcome at all participants.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use glassbox::record::Timestamp;
use glassbox::research::shard::{Arguments, Call, PartitionSet, Shard};
use glassbox_cluster::run::{Client, Identity, Link, LinkEvent, Node, Shape, Sockets, drive};
use glassbox_cluster::{Address, Fragment, FragmentEnd, FragmentWork, Message, Outbox, Packet, SchemeKind, TxnId};
use glassbox_workloads::micro::{KEYS, Pair, PairKey, ReadWrite, catalog};

const CENTRAL: Address = Address::Coordinator(0);
const ME: Address = Address::Client(7);

fn primary(partition: u8) -> Address {
    Address::Replica { partition, replica: 0 }
}

fn shape(scheme: SchemeKind) -> Shape {
    Shape::new(scheme, 2)
}

/// The connections of a member, which report what happens to them.
pub fn sockets(me: Address, listener: Option<TcpListener>) -> Sockets {
    let report = |line: &str| eprintln!("{line}");
    Sockets::new(Identity::new(me, 1, &catalog()), listener, Duration::ZERO, report).unwrap()
}

/// Serves a member until it ends.
pub fn serve(me: Address, shape: Shape, listener: TcpListener, calls: &[(Address, SocketAddr)], ends: &AtomicBool) {
    let first = move || {
        let Address::Replica { partition, .. } = me else { unreachable!("a coordinator has no rows") };
        let mut shard = Shard::new(&catalog(), usize::from(partition), 2, 1 << 20)?;
        (0..KEYS as u16).try_for_each(|id| shard.load(&Pair { home: partition, id, value: 0 }))?;
        Ok::<_, glassbox::Error>(shard)
    };
    let first = Arc::new(move || first().map_err(|error| error.to_string()));
    let mut node = Node::new(me, shape, first, Arc::new(|| unreachable!("no process is restarted")));
    node.begin(shape.configuration(), 0, &mut Outbox::default()).unwrap();
    let mut sockets = sockets(me, Some(listener));
    calls.iter().for_each(|&(to, at)| sockets.call(to, at));
    drive(&mut node, &mut sockets, || ends.load(Ordering::Relaxed));
}

/// Writes half of its keys on each partition.
fn writes(stamp: u32) -> ReadWrite {
    let key = |at: usize| -> PairKey { (u8::from(at >= KEYS / 2), at as u16) };
    ReadWrite { keys: (0..KEYS).map(key).collect(), stamp, aborts_at: None, two_rounds: false }
}

fn connected(at: &[(Address, SocketAddr)]) -> Sockets {
    let (mut sockets, until) = (sockets(ME, None), Instant::now() + Duration::from_secs(20));
    at.iter().for_each(|&(to, at)| sockets.dial(to, at, until).unwrap());
    sockets
}

/// Gets these partitions' votes for a transaction, and disconnects before it sends a decision.
fn leave(at: &[(Address, SocketAddr)], votes: &[u8], life: u64) {
    let mut link = connected(at);
    let (arguments, procedure) = (Arguments::of(writes(1)), catalog().number_of::<ReadWrite>().unwrap());
    let call = Call { procedure, arguments, now: Timestamp::default(), seed: 0 };
    let txn = TxnId { coordinator: ME, sequence: life << 40 };
    let work = FragmentWork::Run(Vec::new());
    let fragment = Fragment {
        txn,
        round: 0,
        call,
        participants: PartitionSet::all(2),
        work,
        settled: txn.sequence,
        place: 0,
        before: None,
    };
    for &partition in votes {
        link.send(primary(partition), Packet { epoch: 1, message: Message::Fragment(Box::new(fragment.clone())) });
    }
    link.flush();
    let mut voted = 0;
    while voted < votes.len() {
        let event = link.receive(Duration::from_secs(20)).expect("a partition votes");
        if let LinkEvent::Message(_, Packet { message: Message::Result(result), .. }) = event {
            assert!(matches!(result.end, FragmentEnd::Done(_)), "{result:?}");
            voted += 1;
        }
    }
}

/// Calls as a successor with the same address; the values that the predecessor left.
fn follow(at: &[(Address, SocketAddr)], shape: &Shape) -> Vec<u32> {
    let mut client = Client::new(ME, Arc::new(catalog()), shape, connected(at));
    let ticket = client.submit(writes(2)).unwrap();
    let (sender, receiver) = std::sync::mpsc::channel::<()>();
    // Bounds the time of the test.
    std::thread::spawn(move || {
        if receiver.recv_timeout(Duration::from_secs(60)) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            eprintln!("the rows are still locked for a disconnected client");
            std::process::abort();
        }
    });
    let seen = client.wait(ticket).unwrap();
    drop(sender);
    seen.iter().map(|&(_, _, value)| value).collect()
}

fn leaves(scheme: SchemeKind, votes: &[u8]) -> Vec<u32> {
    let (shape, ends) = (shape(scheme), AtomicBool::new(false));
    let parties = [primary(0), primary(1), CENTRAL];
    let listeners = parties.map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
    let at: Vec<_> = parties.into_iter().zip(&listeners).map(|(it, of)| (it, of.local_addr().unwrap())).collect();
    std::thread::scope(|scope| {
        for (me, listener) in parties.into_iter().zip(listeners) {
            // A coordinator dials the replicas.
            let calls = if me == CENTRAL { at[..2].to_vec() } else { Vec::new() };
            let ends = &ends;
            scope.spawn(move || serve(me, shape, listener, &calls, ends));
        }
        let seen = std::panic::catch_unwind(|| {
            leave(&at, votes, 1);
            follow(&at, &shape)
        });
        ends.store(true, Ordering::Relaxed);
        seen.unwrap()
    })
}

#[test]
fn a_disconnected_clients_transaction_commits_at_all_participants_or_at_none() {
    for scheme in [SchemeKind::Locking, SchemeKind::ForcedLocking, SchemeKind::Occ] {
        // With all votes, the client may have reported the commit.
        assert_eq!(leaves(scheme, &[0, 1]), [1; KEYS], "{scheme}");
        assert_eq!(leaves(scheme, &[1]), [0; KEYS], "{scheme}");
    }
}
