//! The entry point of fuzzers: everything that a connection may deliver before a state machine sees it.
//!
//! Not part of the library's interface. `tests/wire.rs` runs it on mutated [`seeds`].

use glassbox::error::{BrokenPromise, Panicked, Promise};
use glassbox::procedure::{Abort, AbortReason, DuplicateKey, TableFull};
use glassbox::record::{Access, ColumnSchema, ColumnType, IndexSchema, TableSchema, Timestamp};
use glassbox::research::shard::{
    Call, CatalogSummary, DeclaredKeys, Failure, KeyRequest, Lookup, PartitionSet, ProcedureEntry, RemoteRead, Touch,
    WatchedKey,
};

use super::body::{Answer, Counts, Hello, Question, Received, Standing, Welcome};
use super::frame::{Expected, HEADER_BYTES, Kind, MAX_PAYLOAD_BYTES, decode, encode};
use crate::auto::{Counters, Tally};
use crate::protocol::address::{Address, Session, TxnId};
use crate::protocol::configuration::{Configuration, SchemeKind};
use crate::protocol::entry::{Base, Entry, Part};
use crate::protocol::input::{Exchange, ExchangeContent, Input, InputBatch, InputId, InputKeys};
use crate::protocol::message::{
    FragmentWork, Message, Outcome, Packet, Presence, ReconnaissanceEnd, ReconnaissanceRequest, ReconnaissanceResult,
    Recovered, StopReason, Turn, Wait, Waiter, WaiterId,
};

const OF: Expected = Expected { cluster: 1, catalog: 2, sequence: 0, payload_bytes_max: MAX_PAYLOAD_BYTES };

/// Decodes a payload; the decoded value has to survive another encoding and decoding.
fn payload(kind: Kind, payload: &[u8]) {
    fn again<T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug>(bytes: &[u8]) {
        if let Ok(value) = postcard::from_bytes::<T>(bytes) {
            let written = postcard::to_allocvec(&value).expect("a decoded value can be encoded");
            assert_eq!(postcard::from_bytes::<T>(&written).as_ref(), Ok(&value));
        }
    }
    match kind {
        Kind::Hello => again::<Hello>(payload),
        Kind::Message => again::<Packet>(payload),
        Kind::Question => again::<Question>(payload),
        Kind::Answer => again::<Answer>(payload),
        Kind::Welcome => again::<Welcome>(payload),
        Kind::Taken => again::<u64>(payload),
        Kind::Catalog => {
            again::<CatalogSummary>(payload);
            if let Ok(theirs) = postcard::from_bytes::<CatalogSummary>(payload) {
                assert_eq!(catalog().difference(&theirs).is_none(), catalog() == theirs);
            }
        }
        Kind::Refusal => {}
    }
}

/// Handles bytes as they came from a connection; decodes each payload also as if its checksum were right.
///
/// # Panics
/// When a check fails.
pub fn run(bytes: &[u8]) {
    let mut rest = bytes;
    let mut expected = OF;
    while let Ok(Some(frame)) = decode(rest, &expected) {
        payload(frame.kind, frame.payload);
        let mut written = Vec::new();
        let out = encode(&mut written, frame.kind, &expected, |out| out.extend_from_slice(frame.payload));
        assert!(out.is_ok() && (matches!(frame.kind, Kind::Refusal | Kind::Catalog) || written == rest[..frame.bytes]));
        rest = &rest[frame.bytes..];
        expected.sequence += 1;
    }
    if let Some(unsealed) = bytes.get(HEADER_BYTES..) {
        for kind in
            [Kind::Hello, Kind::Welcome, Kind::Message, Kind::Question, Kind::Answer, Kind::Taken, Kind::Catalog]
        {
            payload(kind, unsealed);
        }
    }
}

/// An outcome of each kind of failure.
fn failures() -> [Outcome; 11] {
    let duplicate = DuplicateKey {
        table: "t".into(),
        index: Some("i".into()),
        columns: vec!["c".into()],
        values: vec!["300".to_owned()],
    };
    let location = Some("p.rs:41".to_owned());
    let panicked = Panicked { procedure: "p".into(), message: "out".to_owned(), location };
    let broken = BrokenPromise { procedure: "p".into(), promise: Promise::Declare, event: "did".to_owned() };
    let failed = |failure| Outcome::Failed(Box::new(failure));
    [
        Outcome::Aborted(AbortReason::Procedure(Abort { code: 300, message: "no".into() })),
        Outcome::Aborted(AbortReason::DuplicateKey(Box::new(duplicate))),
        Outcome::Aborted(AbortReason::TableFull(TableFull { table: "t".into() })),
        failed(Failure::Panicked(panicked)),
        failed(Failure::BrokenPromise(broken)),
        failed(Failure::Stopped { reason: "since".to_owned() }),
        failed(Failure::Protocol { problem: "bad".to_owned() }),
        failed(Failure::Overloaded { partition: 3, retry_after_us: 300 }),
        failed(Failure::ArgumentsTooLarge { bytes: 1 << 40, limit: 300 }),
        failed(Failure::OutputTooLarge { bytes: 300, limit: 1, is_committed: true }),
        Outcome::Unknown,
    ]
}

/// A wait for a local and for a distributed transaction.
fn waits() -> Wait {
    let of = |id| Waiter { now: Timestamp::from_micros(300), seed: u64::MAX, id };
    let local = of(WaiterId::Local { client: Address::Client(300), id: 300 });
    let txn = TxnId { coordinator: Address::Client(1), sequence: 300 };
    Wait { waiter: local, holders: vec![of(WaiterId::Distributed(txn)), local] }
}

/// The messages of deterministic schemes, and of two-phase locking.
fn deterministic(call: &Call) -> [Message; 21] {
    let key = |number| WatchedKey::Short(number);
    let request = KeyRequest { space: 300, low: key(1), high: key(u128::MAX), touch: Touch::Write };
    let long = KeyRequest { low: WatchedKey::of(&[7; 20]), high: WatchedKey::End, ..request.clone() };
    let keys = DeclaredKeys::found(vec![request.clone(), long]);
    let input = Input {
        index: 300,
        client: Address::Client(1),
        call_id: 300,
        attempt: 2,
        call: call.clone(),
        version: 300,
        participants: PartitionSet::all(2),
        keys: InputKeys::Found(vec![(1, keys.clone())]),
    };
    let batch = InputBatch {
        before: 1,
        epoch: 300,
        sealed_in: 2,
        has_more: true,
        inputs: vec![input],
        digests: vec![(300, u64::MAX)],
    };
    let exchange = |content| Exchange { input: InputId { epoch: 300, index: 1 }, from: 1, content };
    let lookup = Lookup::Range { index: Some(1), low: vec![0; 4], high: vec![255; 4] };
    let wanted = RemoteRead { partitions: PartitionSet::of(1), table: 300, lookup, writes: false };
    let work = FragmentWork::Find(vec![wanted.clone()]);
    let participants = PartitionSet::all(3);
    let reconnoitre = ReconnaissanceRequest { id: 300, round: 300, call: call.clone(), participants, work };
    let reconnoitred = |end| {
        let result = ReconnaissanceResult { id: 300, round: 300, partition: 1, keys: keys.clone(), end };
        Message::Reconnoitred(Box::new(result))
    };
    [
        Message::Inputs(Box::new(batch)),
        Message::ResumeAfter(300),
        Message::SentUpTo(300),
        Message::Arrived { since: 300, pieces: 1 },
        Message::NoRows { since: 300 },
        Message::Stop { why: Box::new(StopReason::Forgotten { after: 300 }), joins: true },
        Message::Withheld { life: 300, why: Box::new(StopReason::Behind { after: 300 }) },
        Message::Present(Presence::Unacked { backup: 2, all: true }),
        Message::WriteCheckpoint,
        Message::Executed(300, vec![(1, 300)]),
        Message::ExecutedOwn(300),
        Message::Waits(Box::new(waits())),
        Message::Checkpointed(u64::MAX),
        Message::Exchange(Box::new(exchange(ExchangeContent::Rows(Vec::new())))),
        Message::Exchange(Box::new(exchange(ExchangeContent::Wants(vec![wanted.clone()])))),
        Message::Exchange(Box::new(exchange(ExchangeContent::Vote))),
        Message::Exchange(Box::new(exchange(ExchangeContent::Refusal(Box::new(Outcome::Unknown))))),
        Message::Reconnoitre(Box::new(reconnoitre)),
        reconnoitred(ReconnaissanceEnd::Wants(vec![wanted])),
        reconnoitred(ReconnaissanceEnd::Elsewhere(PartitionSet::of(2))),
        Message::PartialAnswer { id: 7, attempt: 300, outcome: Outcome::Undeclared(1, Box::new(request)) },
    ]
}

/// Valid inputs, for mutation.
pub fn seeds() -> Vec<Vec<u8>> {
    let call = Call { procedure: 0, arguments: vec![1, 2, 3].into(), now: Timestamp::from_micros(4), seed: 5 };
    let txn = TxnId { coordinator: Address::Coordinator(0), sequence: 300 };
    let part = Part { call: call.clone(), participants: PartitionSet::all(2), given: Vec::new(), origin: None };
    let announced = Part { origin: Some((Address::Client(1), 300)), ..part.clone() };
    let answer = |outcome| Message::Answer { id: 7, outcome };
    let messages = [
        Message::Call { id: 1, call: call.clone() },
        Message::Decide { txn, commit: true },
        answer(Outcome::Done(smallvec::smallvec![(0, vec![1, 2].into()), (1, Vec::new().into())])),
        Message::Replicate { sequence: 9, entry: Box::new(Entry::Prepare { txn, round: 0, part, settled: 300 }) },
        Message::Replicate { sequence: 300, entry: Box::new(Entry::Announce(announced)) },
        Message::Replicate { sequence: 301, entry: Box::new(Entry::Ended { count: 300, refused: vec![0, 299] }) },
        Message::Ack { sequence: u64::MAX },
        Message::Remember { since: 300, entries: vec![Entry::Committed(txn), Entry::NoOp] },
        Message::State {
            since: 1,
            pieces: 300,
            base: Box::new(Base { held: 7, scheme: SchemeKind::Occ, remembered: vec![Entry::Committed(txn)] }),
        },
        Message::Withdrawn(txn),
        Message::SessionOver(300),
        Message::SessionForgotten(Session::new(Address::Client(300), 300)),
        Message::SessionOrphaned(Session::new(Address::Client(300), 300)),
        Message::Recover(Some(Session::new(Address::Client(1), 2))),
        Message::Recovered(Box::new(Recovered { session: None, undecided: Vec::new(), committed: vec![300] })),
        Message::Replicate { sequence: 300, entry: Box::new(Entry::SessionOver(Session::new(Address::Client(1), 2))) },
        Message::AskTurn { number: 300 },
        Message::Turn(Box::new(Turn { served: vec![1, 300], queue: vec![1], places: vec![7, u64::MAX] })),
    ];
    let mut seeds = vec![Vec::new()];
    for (sequence, message) in (0..).zip(messages.into_iter().chain(deterministic(&call)).chain(failures().map(answer)))
    {
        let packet = Packet { epoch: 300, message };
        let bytes = postcard::to_allocvec(&packet).expect("packets can be written");
        for (place, sequence) in [(0, sequence), (usize::MAX, 0)] {
            let mut out = Vec::new();
            let of = Expected { sequence, ..OF };
            let _ = encode(&mut out, Kind::Message, &of, |out| out.extend_from_slice(&bytes));
            if place == 0 { seeds[0].extend(out) } else { seeds.push(out) }
        }
    }
    for (kind, bytes) in bodies() {
        let mut out = Vec::new();
        let _ = encode(&mut out, kind, &OF, |out| out.extend_from_slice(&bytes));
        seeds.push(out);
    }
    seeds
}

fn written(body: &impl serde::Serialize) -> Vec<u8> {
    postcard::to_allocvec(body).expect("it can be written")
}

/// A catalog of a table and a procedure.
fn catalog() -> CatalogSummary {
    let column = ColumnSchema { name: "id".into(), kind: ColumnType::Text(9), nullable: true, offset: 0, width: 10 };
    let index = IndexSchema { name: "by_id".into(), columns: vec![0].into(), unique: true };
    let table = TableSchema {
        name: "item".into(),
        columns: vec![column].into(),
        key: vec![0].into(),
        row_width: 300,
        partition_by: Some(0),
        access: Access::Point,
        indexes: vec![index].into(),
    };
    CatalogSummary { tables: vec![table], procedures: vec![ProcedureEntry { name: "pay".to_owned(), version: 300 }] }
}

/// Bodies of frames that are no messages.
fn bodies() -> Vec<(Kind, Vec<u8>)> {
    let to = Address::Replica { partition: 0, replica: 0 };
    let heard = Some(Received { incarnation: 300, received: u64::MAX });
    let counts = Counts {
        standing: Standing::Primary(Configuration::first(2, 2, SchemeKind::Occ)),
        seen: Counters::default(),
        tally: Tally::default(),
        hottest: Some(0.5),
        clients: 300,
    };
    vec![
        (Kind::Hello, written(&Hello { from: Address::Coordinator(1), to, incarnation: 7, heard })),
        (Kind::Welcome, written(&Welcome { incarnation: 300, received: 7 })),
        (Kind::Taken, written(&300_u64)),
        (Kind::Catalog, written(&catalog())),
        (Kind::Question, written(&Question::Rows { table: 1, from: 300 })),
        (Kind::Question, written(&Question::Begin(Configuration::first(2, 2, SchemeKind::Blocking)))),
        (Kind::Answer, written(&Answer::State { unfinished: None, digest: Some(Ok(300)) })),
        (Kind::Question, written(&Question::Settle(to))),
        (
            Kind::Answer,
            written(&Answer::Standing(Standing::CatchesUp(Configuration::first(2, 1, SchemeKind::Blocking)))),
        ),
        (Kind::Answer, written(&Answer::Rows { replicated: true, rows: vec![1, 2], next: Some(2) })),
        (Kind::Answer, written(&Answer::Counts(Box::new(counts)))),
    ]
}
