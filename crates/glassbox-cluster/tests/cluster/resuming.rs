//! Members whose connections break again and again while all of them run: they continue their channels, and clients
//! notice nothing but delays.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use glassbox::io::Dice;
use glassbox_cluster::run::{Client, Shape, ask};
use glassbox_cluster::wire::{Answer, Question};
use glassbox_cluster::{Address, SchemeKind};
use glassbox_workloads::micro::{KEYS, PairKey, ReadWrite, catalog};

use super::leaving::{serve, sockets};

const CENTRAL: Address = Address::Coordinator(0);
const CLIENTS: u32 = 4;
const CALLS: u32 = 100;

fn shape(scheme: SchemeKind) -> Shape {
    Shape::new(scheme, 2).with_replicas(2)
}

fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    (listener, at)
}

/// Whether a member dials another one.
fn calls(me: Address, other: Address) -> bool {
    match (me, other) {
        (CENTRAL, Address::Replica { .. }) => true,
        (Address::Replica { partition: p, replica: r }, Address::Replica { partition, replica }) => {
            p == partition && replica < r
        }
        _ => false,
    }
}

/// Relays bytes between two members until a connection is cut.
struct Relay {
    live: Mutex<Vec<[TcpStream; 2]>>,
}

impl Relay {
    fn run<'scope>(
        &'scope self,
        scope: &'scope std::thread::Scope<'scope, '_>,
        listener: TcpListener,
        to: SocketAddr,
        ends: &'scope AtomicBool,
    ) {
        listener.set_nonblocking(true).unwrap();
        scope.spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                let Ok((caller, _)) = listener.accept() else {
                    std::thread::sleep(Duration::from_millis(1));
                    continue;
                };
                caller.set_nonblocking(false).unwrap();
                let Ok(called) = TcpStream::connect(to) else { continue };
                [&caller, &called].into_iter().for_each(|stream| stream.set_nodelay(true).unwrap());
                let pair = || [&caller, &called].map(|stream| stream.try_clone().unwrap());
                let ([a, b], [c, d]) = (pair(), pair());
                self.live.lock().unwrap().push(pair());
                scope.spawn(move || carry(a, b));
                scope.spawn(move || carry(d, c));
            }
            while self.cut(|_| 0) {}
        });
    }

    /// Cuts one of the connections; whether there was one.
    fn cut(&self, which: impl FnOnce(u64) -> u64) -> bool {
        let mut live = self.live.lock().unwrap();
        let cut = (!live.is_empty()).then(|| which(live.len() as u64) as usize).map(|at| live.swap_remove(at));
        cut.iter().flatten().for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
        cut.is_some()
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream) {
    // Small reads cut frames in two.
    let mut bytes = [0; 100];
    loop {
        match from.read(&mut bytes) {
            Ok(some @ 1..) if to.write_all(&bytes[..some]).is_ok() => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            _ => break,
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

/// The calls of one client: what each wrote, and the value before.
fn work(number: u32, shape: Shape, at: &[(Address, SocketAddr)]) -> Vec<(u32, u32)> {
    let me = Address::Client(number);
    let mut sockets = sockets(me, None);
    let until = Instant::now() + Duration::from_secs(20);
    at.iter().for_each(|&(to, at)| sockets.dial(to, at, until).unwrap());
    let mut client = Client::new(me, Arc::new(catalog()), &shape, sockets);
    let key = |at: usize| -> PairKey { (u8::from(at >= KEYS / 2), at as u16) };
    let call = |call: u32| {
        let stamp = 1 + number * CALLS + call;
        let keys = (0..KEYS).map(key).collect();
        let seen = client.call(ReadWrite { keys, stamp, aborts_at: None, two_rounds: call.is_multiple_of(3) }).unwrap();
        let before = seen[0].2;
        assert!(seen.iter().all(|(_, _, value)| *value == before), "half of another transaction: {seen:?}");
        (before, stamp)
    };
    (0..CALLS).map(call).collect()
}

/// Waits until no transaction is active and each backup has its primary's rows.
fn agree(at: &[(Address, SocketAddr)]) {
    let mut sockets = sockets(Address::CHECKER, None);
    let until = Instant::now() + Duration::from_secs(20);
    at.iter().for_each(|&(to, at)| sockets.dial(to, at, until).unwrap());
    let mut digest = |partition, replica| {
        let it = Address::Replica { partition, replica };
        match ask(&mut sockets, it, Question::State, until).unwrap() {
            Answer::State { unfinished: None, digest: Some(Ok(digest)) } => Some(digest),
            Answer::State { unfinished: Some(_), .. } => None,
            other => panic!("{it}: {other:?}"),
        }
    };
    for partition in 0..2 {
        while digest(partition, 0).is_none_or(|primary| digest(partition, 1) != Some(primary)) {
            assert!(Instant::now() < until, "partition {partition}: a backup differs, or something never ends");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn breaks(scheme: SchemeKind) {
    let (shape, ends, broken) = (shape(scheme), AtomicBool::new(false), AtomicBool::new(false));
    let parties = shape.machines();
    let (listeners, at): (Vec<_>, Vec<_>) = parties.iter().map(|_| listen()).unzip();
    let at: Vec<_> = parties.iter().copied().zip(at).collect();
    let (ends, broken) = (&ends, &broken);
    let relay = &Relay { live: Mutex::new(Vec::new()) };
    std::thread::scope(|scope| {
        for (&me, listener) in parties.iter().zip(listeners) {
            let through_relay = |&(other, to): &(Address, SocketAddr)| {
                let (listener, at) = listen();
                relay.run(scope, listener, to, ends);
                (other, at)
            };
            let calls: Vec<_> = at.iter().filter(|(other, _)| calls(me, *other)).map(through_relay).collect();
            scope.spawn(move || serve(me, shape, listener, &calls, ends));
        }
        let cutter = scope.spawn(|| {
            let (mut dice, mut cuts) =
                (Dice(SchemeKind::ALL.iter().position(|other| *other == scheme).expect("it is one of all") as u64), 0);
            while !broken.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(dice.below(15)));
                cuts += u32::from(relay.cut(|of| dice.below(of)));
            }
            cuts
        });
        let ended = std::panic::catch_unwind(|| {
            let at = &at;
            let clients: Vec<_> = (0..CLIENTS).map(|it| scope.spawn(move || work(it, shape, at))).collect();
            clients.into_iter().flat_map(|client| client.join().unwrap()).collect::<Vec<_>>()
        });
        broken.store(true, Ordering::Relaxed);
        let cuts = cutter.join().unwrap();
        let agreed = std::panic::catch_unwind(|| agree(&at));
        ends.store(true, Ordering::Relaxed);
        let steps = ended.unwrap();
        agreed.unwrap();
        // Each call follows another one, and no two follow the same.
        let befores: std::collections::BTreeSet<_> = steps.iter().map(|(before, _)| *before).collect();
        assert_eq!(befores.len() as u32, CLIENTS * CALLS, "{scheme}: one was lost");
        assert!(befores.contains(&0) && cuts > 20, "{scheme}: {cuts} connections were cut");
    });
}

/// Bounds the time of a test.
fn within(limit: Duration, test: impl FnOnce()) {
    let (sender, receiver) = std::sync::mpsc::channel::<()>();
    std::thread::spawn(move || {
        if receiver.recv_timeout(limit) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            eprintln!("members do not continue their channels");
            std::process::abort();
        }
    });
    test();
    drop(sender);
}

#[test]
fn members_continue_their_channels_when_connections_break() {
    for scheme in [SchemeKind::Blocking, SchemeKind::Speculation, SchemeKind::Locking, SchemeKind::Occ] {
        within(Duration::from_secs(60), || breaks(scheme));
    }
}
