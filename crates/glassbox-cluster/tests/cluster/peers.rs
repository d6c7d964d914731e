//! One partition behind a socket, and malformed or hostile peers: it keeps serving the others.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use glassbox::record::Timestamp;
use glassbox::research::shard::{Arguments, Call, PartitionSet, Shard};
use glassbox::{Catalog, Record};
use glassbox_cluster::run::{Client, Identity, Node, Shape, Sockets, drive};
use glassbox_cluster::wire::{
    Expected, HEADER_BYTES, Hello, Kind, MAX_PAYLOAD_BYTES, Received, Welcome, decode, encode,
};
use glassbox_cluster::{Address, Fragment, FragmentWork, Message, Outbox, Packet, SchemeKind, TxnId};
use glassbox_workloads::micro::{KEYS, Pair, PairKey, ReadWrite, catalog};

const NODE: Address = Address::Replica { partition: 0, replica: 0 };
const CENTRAL: Address = Address::Coordinator(0);
const CLUSTER: u64 = 0xc1;

fn shape() -> Shape {
    Shape::new(SchemeKind::Locking, 1)
}

fn identity(me: Address) -> Identity {
    Identity::new(me, CLUSTER, &catalog())
}

fn serve(me: Address, listener: TcpListener, ends: &AtomicBool) -> Result<(), String> {
    let shard = || {
        let mut shard = Shard::new(&catalog(), 0, 1, 1 << 20)?;
        (0..KEYS as u16).try_for_each(|id| shard.load(&Pair { home: 0, id, value: 0 }))?;
        Ok::<_, glassbox::Error>(shard)
    };
    let first = Arc::new(move || shard().map_err(|error| error.to_string()));
    let mut node = Node::new(me, shape(), first, Arc::new(|| unreachable!("no process is restarted")));
    node.begin(shape().configuration(), 0, &mut Outbox::default())?;
    let mut sockets = Sockets::new(identity(me), Some(listener), Duration::ZERO, |_| ()).unwrap();
    drive(&mut node, &mut sockets, || ends.load(Ordering::Relaxed));
    Ok(())
}

/// A fragment that only reads rows, so no vote follows.
fn finds(txn: TxnId) -> Fragment {
    let catalog = catalog();
    let arguments = Arguments::of(writes(9));
    let call =
        Call { procedure: catalog.number_of::<ReadWrite>().unwrap(), arguments, now: Timestamp::default(), seed: 0 };
    Fragment {
        txn,
        round: 0,
        call,
        participants: PartitionSet::of(0),
        work: FragmentWork::Find(Vec::new()),
        settled: 0,
        place: 0,
        before: None,
    }
}

fn writes(stamp: u32) -> ReadWrite {
    let keys: Vec<PairKey> = (0..KEYS as u16).map(|id| (0, id)).collect();
    ReadWrite { keys: keys.into_iter().collect(), stamp, aborts_at: None, two_rounds: false }
}

fn packet(message: Message) -> Packet {
    Packet { epoch: 1, message }
}

/// A peer that writes its own bytes.
struct Raw {
    stream: TcpStream,
    of: Expected,
}

impl Raw {
    fn new(at: SocketAddr) -> Self {
        let stream = TcpStream::connect(at).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let of = Expected {
            cluster: CLUSTER,
            catalog: catalog().digest(),
            sequence: 0,
            payload_bytes_max: MAX_PAYLOAD_BYTES,
        };
        Self { stream, of }
    }

    fn frame<T: serde::Serialize>(&mut self, kind: Kind, body: &T) -> Vec<u8> {
        let mut out = Vec::new();
        let body = postcard::to_allocvec(body).unwrap();
        encode(&mut out, kind, &self.of, |out| out.extend_from_slice(&body)).unwrap();
        self.of.sequence += 1;
        out
    }

    fn hello(&mut self, from: Address) -> &mut Self {
        let hello = self.frame(Kind::Hello, &Hello { from, to: NODE, incarnation: 0, heard: None });
        self.stream.write_all(&hello).unwrap();
        self
    }

    /// The bytes of the next frame, which has this number.
    fn next_frame(&mut self, sequence: u64) -> Vec<u8> {
        let of = Expected { sequence, ..self.of };
        let mut bytes = vec![0; HEADER_BYTES];
        self.stream.read_exact(&mut bytes).unwrap();
        let payload = u32::from_le_bytes(bytes[32..36].try_into().unwrap()) as usize;
        bytes.resize(HEADER_BYTES + payload, 0);
        self.stream.read_exact(&mut bytes[HEADER_BYTES..]).unwrap();
        decode(&bytes, &of).unwrap().expect("it is whole");
        bytes
    }

    /// Dials as a member; the welcome, or the reason of the refusal.
    fn calls_as_member(&mut self, incarnation: u64, heard: Option<Received>) -> Result<Welcome, String> {
        let hello = self.frame(Kind::Hello, &Hello { from: Address::Coordinator(5), to: NODE, incarnation, heard });
        self.stream.write_all(&hello).unwrap();
        let bytes = self.next_frame(0);
        let frame = decode(&bytes, &Expected { sequence: 0, ..self.of }).unwrap().expect("it is whole");
        match frame.kind {
            Kind::Welcome => Ok(postcard::from_bytes(frame.payload).unwrap()),
            _ => Err(String::from_utf8_lossy(frame.payload).into_owned()),
        }
    }

    /// Sends bytes, and expects the connection to be closed with a reason that contains these words.
    fn refused(&mut self, bytes: &[u8], words: &str) {
        // The connection may be closed before all bytes are written.
        let _ = self.stream.write_all(bytes);
        let mut heard = Vec::new();
        let _ = self.stream.read_to_end(&mut heard);
        let heard = String::from_utf8_lossy(&heard).into_owned();
        assert!(heard.contains(words), "no `{words}` in {heard:?}");
    }
}

fn call(at: [SocketAddr; 2], number: u32) {
    let me = Address::Client(number);
    let mut sockets = Sockets::new(identity(me), None, Duration::ZERO, |_| ()).unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    sockets.dial(NODE, at[0], until).unwrap();
    sockets.dial(CENTRAL, at[1], until).unwrap();
    let mut client = Client::new(me, Arc::new(catalog()), &shape(), sockets);
    assert_eq!(client.call(writes(number)).unwrap().len(), KEYS);
}

fn with_peers(checks: impl FnOnce(SocketAddr) + std::panic::UnwindSafe) {
    let ends = AtomicBool::new(false);
    let listen = || TcpListener::bind("127.0.0.1:0").unwrap();
    let (node, central) = (listen(), listen());
    let at = [node.local_addr().unwrap(), central.local_addr().unwrap()];
    std::thread::scope(|scope| {
        scope.spawn(|| serve(NODE, node, &ends));
        scope.spawn(|| serve(CENTRAL, central, &ends));
        let checks = std::panic::catch_unwind(|| {
            call(at, 1);
            checks(at[0]);
            call(at, 2);
        });
        ends.store(true, Ordering::Relaxed);
        checks.unwrap();
    });
}

#[test]
fn malformed_peers_are_refused_with_a_reason_and_others_are_served() {
    with_peers(refusals);
}

/// [`Pair`], as an older program had it.
#[derive(Record, Clone, Copy)]
#[record(table = "pair", key = (home, id), partition_by = home)]
struct OldPair {
    home: u32,
    id: u16,
}

#[test]
fn a_client_with_another_catalog_names_what_differs() {
    with_peers(|at| {
        let me = Address::Client(3);
        for (catalog, words) in [
            (Catalog::new().table::<Pair>(), "procedure `read_write` is there only"),
            (
                Catalog::new().table::<OldPair>().distributed_procedure::<ReadWrite>(),
                "table `pair`: column 0 is declared there as `home` U8 and here is `home` U32",
            ),
        ] {
            let identity = Identity::new(me, CLUSTER, &catalog);
            let mut sockets = Sockets::new(identity, None, Duration::ZERO, |_| ()).unwrap();
            let refused = sockets.dial(NODE, at, Instant::now() + Duration::from_secs(1)).unwrap_err();
            assert!(
                refused.contains("it says: its tables and procedures are not the ones of this program"),
                "{refused}"
            );
            assert!(
                refused.contains(words) && refused.ends_with("build both programs from the same source"),
                "{refused}"
            );
        }
    });
}

#[test]
fn a_member_that_dials_again_receives_the_frames_that_it_has_not_acknowledged() {
    with_peers(|at| {
        let mut first = Raw::new(at);
        let welcome = first.calls_as_member(1, None).unwrap();
        assert_eq!(welcome.received, 1);
        let ask = first.frame(Kind::Message, &packet(Message::QueryAcks));
        first.stream.write_all(&ask).unwrap();
        let told = [first.next_frame(1), first.next_frame(2)];
        // The other side does not know yet that this connection is broken.
        let mut second = Raw::new(at);
        let again =
            second.calls_as_member(1, Some(Received { incarnation: welcome.incarnation, received: 2 })).unwrap();
        assert_eq!(again, Welcome { incarnation: welcome.incarnation, received: 2 });
        assert_eq!(second.next_frame(2), told[1]);
        let mut liar = Raw::new(at);
        let refused =
            liar.calls_as_member(1, Some(Received { incarnation: welcome.incarnation, received: 1_000 })).unwrap_err();
        assert!(refused.contains("it acknowledges 1000 frames"), "{refused}");
        let mut late = Raw::new(at);
        let refused =
            late.calls_as_member(1, Some(Received { incarnation: welcome.incarnation, received: 1 })).unwrap_err();
        assert!(refused.contains("restart it"), "{refused}");
        let refused = Raw::new(at)
            .calls_as_member(2, Some(Received { incarnation: welcome.incarnation, received: 3 }))
            .unwrap_err();
        assert!(refused.contains("another process was coordinator 5 meanwhile"), "{refused}");
        assert_eq!(Raw::new(at).calls_as_member(2, None), Ok(Welcome { received: 1, ..welcome }));
    });
}

fn refusals(at: SocketAddr) {
    let me = Address::Client(9);
    Raw::new(at).refused(b"GET / HTTP/1.1\r\n\r\n", "no frame of Glassbox");
    let mut stranger = Raw::new(at);
    stranger.of.cluster = 1;
    let bytes = stranger.frame(Kind::Hello, &Hello { from: me, to: NODE, incarnation: 1, heard: None });
    stranger.refused(&bytes, "belongs to cluster 0x1");
    let mut old = Raw::new(at);
    old.of.catalog = 2;
    let bytes = old.frame(Kind::Hello, &Hello { from: me, to: NODE, incarnation: 1, heard: None });
    old.refused(&bytes, "build both from");
    let bytes = Raw::new(at).frame(Kind::Message, &packet(Message::Ack { sequence: 1 }));
    Raw::new(at).refused(&bytes, "does not identify it");
    let bytes = Raw::new(at).frame(Kind::Hello, &vec![0_u8; 5_000]);
    Raw::new(at).refused(&bytes[..41], "the maximum is 1024");
    let bytes = Raw::new(at).frame(Kind::Hello, &Hello { from: me, to: CENTRAL, incarnation: 1, heard: None });
    Raw::new(at).refused(&bytes, "it dials coordinator 0");

    let mut first = Raw::new(at);
    first.hello(me);
    // Welcomed before the second one dials.
    first.stream.read_exact(&mut [0; 40]).unwrap();
    let bytes = Raw::new(at).frame(Kind::Hello, &Hello { from: me, to: NODE, incarnation: 1, heard: None });
    Raw::new(at).refused(&bytes, "client 9 is connected already");
    let mut first_again = Raw::new(at);
    first_again.hello(me);
    first_again.stream.read_exact(&mut [0; 40]).unwrap();
    let mut first = first_again;
    let held = first.frame(Kind::Message, &packet(Message::Ack { sequence: 1 }));
    first.refused(&held, "must not send this");

    let txn = TxnId { coordinator: me, sequence: 0 };
    let commit = packet(Message::Decide { txn, commit: true });
    let fresh = || {
        let mut raw = Raw::new(at);
        raw.hello(me);
        raw.stream.read_exact(&mut [0; 40]).unwrap();
        raw
    };
    // It commits without this partition's vote, which harms no other transaction.
    let mut raw = fresh();
    let fragment = raw.frame(Kind::Message, &packet(Message::Fragment(Box::new(finds(txn)))));
    let bytes = raw.frame(Kind::Message, &commit);
    let nonsense = raw.frame(Kind::Message, &[0xff_u8; 30]);
    raw.refused(&[fragment, bytes, nonsense].concat(), "cannot be read");
    let other = packet(Message::Decide { txn: TxnId { coordinator: CENTRAL, sequence: 0 }, commit: false });
    let mut raw = fresh();
    let bytes = raw.frame(Kind::Message, &other);
    raw.refused(&bytes, "a transaction that it does not coordinate");
    let mut raw = fresh();
    let abort = raw.frame(Kind::Message, &packet(Message::Decide { txn, commit: false }));
    raw.refused(&[&abort[..], &abort].concat(), "frame 1 arrived where frame 2 was expected");
    let mut raw = fresh();
    let mut damaged = raw.frame(Kind::Message, &commit);
    *damaged.last_mut().unwrap() ^= 1;
    raw.refused(&damaged, "checksum is wrong");
    let mut raw = fresh();
    let mut huge = raw.frame(Kind::Message, &commit);
    huge[32..36].copy_from_slice(&u32::MAX.to_le_bytes());
    raw.refused(&huge, "bytes of payload: the maximum is");
    let mut raw = fresh();
    let nonsense = raw.frame(Kind::Message, &[0xff_u8; 30]);
    raw.refused(&nonsense, "cannot be read");
}
