//! A primary that lets its backup have a call before it runs it: the two have the same rows, however the run ends.

use std::sync::Arc;

use glassbox::procedure::Aborts;
use glassbox::record::Timestamp;
use glassbox::research::shard::{Call, Failure, PartitionSet, Shard, Stamp};
use glassbox::{Catalog, Procedure, Record, Stop, Transaction};
use glassbox_cluster::run::Shape;
use glassbox_cluster::{
    Action, Address, Entry, Fragment, FragmentWork, Member, Message, OrderSettings, Outbox, Outcome, Packet,
    SchemeKind, TxnId, Work,
};
use serde::{Deserialize, Serialize};

#[derive(Record, Clone, Copy)]
#[record(table = "account", key = (bank, id))]
struct Account {
    bank: u8,
    id: u32,
    balance: i64,
}

/// Adds an account, and stops after it if it is told to.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Open {
    id: u32,
    stops: bool,
}

impl Procedure for Open {
    const NAME: &'static str = "open";
    type Output = ();

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
        tx.insert(&Account { bank: 0, id: self.id, balance: 1 })?;
        if self.stops { Err(Stop::abort(1, "as it was told")) } else { Ok(()) }
    }
}

/// The same, with the promise not to stop.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct OpenSurely(Open);

impl Procedure for OpenSurely {
    const NAME: &'static str = "open surely";
    const ABORTS: Aborts = Aborts::Never;
    type Output = ();

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
        self.0.run(tx)
    }
}

const CLIENT: Address = Address::Client(0);
const PRIMARY: Address = Address::Replica { partition: 0, replica: 0 };
const BACKUP: Address = Address::Replica { partition: 0, replica: 1 };

/// A partition: its primary, and a backup that receives messages when it is told to.
struct Pair {
    primary: Member,
    backup: Member,
    /// Work of the primary.
    runs: usize,
    entries: Vec<(u64, Box<Entry>)>,
    answers: Vec<(u64, Outcome)>,
    results: usize,
}

impl Pair {
    fn new(scheme: SchemeKind, overlap: bool) -> Self {
        let order = OrderSettings { overlap, ..OrderSettings::new() };
        let shape = Shape::new(scheme, 2).with_replicas(2).with_order(order);
        let catalog = Arc::new(catalog());
        let member = |me| shape.member(me, |_| Shard::new(&catalog, 0, 2, 1 << 20)).unwrap();
        let (primary, backup) = (member(PRIMARY), member(BACKUP));
        Self { primary, backup, runs: 0, entries: Vec::new(), answers: Vec::new(), results: 0 }
    }

    fn take(&mut self, out: Outbox) {
        for action in out.actions {
            match action {
                Action::Send(BACKUP, Message::Replicate { sequence, entry }) => self.entries.push((sequence, entry)),
                Action::Send(CLIENT, Message::Answer { id, outcome }) => self.answers.push((id, outcome)),
                Action::Send(_, Message::Result(_)) => self.results += 1,
                Action::Work(Work::Single { .. } | Work::Stopped) => self.runs += 1,
                Action::Work(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    fn receives(&mut self, from: Address, message: Message) {
        let mut out = Outbox::default();
        self.primary.handle(from, Packet { epoch: 1, message }, 0, &mut out);
        self.take(out);
    }

    fn proceeds(&mut self) -> bool {
        let mut out = Outbox::default();
        let did = self.primary.proceed(&mut out);
        self.take(out);
        did
    }

    /// The backup receives what was sent to it, and its acknowledgements arrive.
    fn replicates(&mut self) {
        for (sequence, entry) in std::mem::take(&mut self.entries) {
            let mut out = Outbox::default();
            let packet = Packet { epoch: 1, message: Message::Replicate { sequence, entry } };
            self.backup.handle(PRIMARY, packet, 0, &mut out);
            for action in out.actions {
                if let Action::Send(PRIMARY, message) = action {
                    self.receives(BACKUP, message);
                }
            }
        }
    }

    fn digests(&mut self) -> [u64; 2] {
        [&mut self.primary, &mut self.backup].map(|member| member.shard().unwrap().digest())
    }

    /// Everything ends, and both have the same rows.
    fn ends(mut self) -> Vec<(u64, Outcome)> {
        while self.proceeds() {}
        self.replicates();
        let [primary, backup] = self.digests();
        assert_eq!(primary, backup);
        assert_eq!((self.primary.unfinished(), self.backup.unfinished()), (None, None));
        self.answers
    }
}

fn catalog() -> Catalog {
    Catalog::new().table::<Account>().distributed_procedure::<Open>().distributed_procedure::<OpenSurely>()
}

/// A call with this number, of which each account has another one.
fn call<P: Procedure>(number: u16, procedure: P) -> Call {
    Call::new(procedure, Stamp { procedure: number, now: Timestamp::from_micros(1), seed: 1 })
}

fn opens(id: u32, stops: bool) -> Message {
    Message::Call { id: id.into(), call: call(0, Open { id, stops }) }
}

fn surely_opens(id: u32, stops: bool) -> Message {
    Message::Call { id: id.into(), call: call(1, OpenSurely(Open { id, stops })) }
}

const SCHEMES: [SchemeKind; 5] =
    [SchemeKind::Blocking, SchemeKind::Speculation, SchemeKind::LocalSpeculation, SchemeKind::Locking, SchemeKind::Occ];

#[test]
fn the_backup_has_a_call_before_it_is_run() {
    for scheme in SCHEMES {
        let mut pair = Pair::new(scheme, true);
        pair.receives(CLIENT, opens(1, false));
        pair.receives(CLIENT, opens(2, true));
        assert_eq!((pair.entries.len(), pair.runs), (2, 0), "{scheme}");
        let [before, _] = pair.digests();
        pair.replicates();
        // It holds them, and repeats what has committed.
        assert_eq!((pair.digests(), pair.runs), ([before, before], 0), "{scheme}");
        let answers = pair.ends();
        assert!(matches!(answers[..], [(1, Outcome::Done(_)), (2, Outcome::Aborted(_))]), "{scheme}: {answers:?}");
        // Without the option it has it afterwards, and not what aborts.
        let mut pair = Pair::new(scheme, false);
        pair.receives(CLIENT, opens(1, false));
        pair.receives(CLIENT, opens(2, true));
        let [(_, entry)] = &pair.entries[..] else { panic!("{scheme}: {:?}", pair.entries) };
        assert!(pair.runs == 2 && matches!(**entry, Entry::Run(_)), "{scheme}");
        assert_eq!(pair.ends().len(), 2);
    }
}

/// An answer waits for the backup, or for the run, and for nothing else.
#[test]
fn an_answer_waits_for_the_later_of_run_and_acknowledgement() {
    let mut pair = Pair::new(SchemeKind::Speculation, true);
    pair.receives(CLIENT, opens(1, false));
    while pair.proceeds() {}
    assert!(pair.answers.is_empty() && pair.runs == 1);
    pair.replicates();
    assert_eq!(pair.answers.len(), 1);
    (2..4).for_each(|id| pair.receives(CLIENT, opens(id, false)));
    pair.replicates();
    assert_eq!(pair.answers.len(), 1);
    while pair.proceeds() {}
    assert_eq!((pair.answers.len(), pair.runs), (3, 3));
    let [(_, entry)] = &pair.entries[..] else { panic!("{:?}", pair.entries) };
    assert_eq!(**entry, Entry::Ended { count: 2, refused: Vec::new() });
}

/// Another answer than a commit is final, so a backup that takes over must know that the call has not committed.
#[test]
fn a_refusal_is_answered_when_backups_know_of_it() {
    let mut pair = Pair::new(SchemeKind::Speculation, true);
    for (id, stops) in [(1, false), (2, true), (3, false)] {
        pair.receives(CLIENT, opens(id, stops));
    }
    pair.replicates();
    assert!(pair.proceeds() && pair.answers.len() == 1);
    assert!(pair.proceeds() && pair.answers.len() == 1, "{:?}", pair.answers);
    let [(_, entry)] = &pair.entries[..] else { panic!("{:?}", pair.entries) };
    assert_eq!(**entry, Entry::Ended { count: 2, refused: vec![1] });
    pair.replicates();
    assert!(matches!(pair.answers[..], [(1, _), (2, Outcome::Aborted(_))]), "{:?}", pair.answers);
    assert_eq!(pair.ends().len(), 3);
}

/// The primary fails before or after it has run what its backup holds: the backup runs it, and goes on.
#[test]
fn a_promoted_backup_runs_what_it_holds() {
    for runs in [false, true] {
        let mut pair = Pair::new(SchemeKind::Speculation, true);
        [(1, false), (2, true), (1, false), (3, false)].into_iter().for_each(|(id, stops)| {
            pair.receives(CLIENT, opens(id, stops));
        });
        if runs {
            while pair.proceeds() {}
        }
        // How they ended is lost.
        pair.entries.retain(|(_, entry)| matches!(**entry, Entry::Announce(_)));
        (1..).zip(&mut pair.entries).for_each(|(at, entry)| entry.0 = at);
        pair.replicates();
        let next = pair.backup.configuration().promote(BACKUP).unwrap();
        let (mut out, next_epoch) = (Outbox::default(), next.epoch);
        let packet = Packet { epoch: next.epoch, message: Message::Configure(Box::new(next)) };
        pair.backup.handle(Address::OPERATOR, packet, 0, &mut out);
        let mut other = Pair::new(SchemeKind::Speculation, false);
        [1, 3].into_iter().for_each(|id| other.receives(CLIENT, opens(id, false)));
        assert_eq!(pair.digests()[1], other.digests()[0], "{runs}");
        assert_eq!(pair.backup.unfinished(), None);
        if runs {
            assert_eq!(pair.digests()[0], pair.digests()[1]);
        }
        // It serves.
        let mut out = Outbox::default();
        let packet = Packet { epoch: next_epoch, message: opens(4, false) };
        pair.backup.handle(CLIENT, packet, 0, &mut out);
        let is_done =
            |it: &Action| matches!(it, Action::Send(CLIENT, Message::Answer { outcome: Outcome::Done(_), .. }));
        assert!(out.actions.iter().any(is_done), "{out:?}");
    }
}

#[test]
fn what_comes_after_announced_calls_runs_after_them() {
    for scheme in SCHEMES {
        let mut pair = Pair::new(scheme, true);
        (1..4).for_each(|id| pair.receives(CLIENT, opens(id, false)));
        assert_eq!(pair.runs, 0);
        let coordinator = if scheme.clients_coordinate() { CLIENT } else { Address::Coordinator(0) };
        let fragment = Fragment {
            txn: TxnId { coordinator, sequence: 0 },
            round: 0,
            call: call(0, Open { id: 3, stops: false }),
            participants: PartitionSet::all(2),
            work: FragmentWork::Run(Vec::new()),
            settled: 0,
            place: 0,
            before: None,
        };
        let txn = fragment.txn;
        pair.receives(coordinator, Message::Fragment(Box::new(fragment)));
        // The row is there already, so this one aborts.
        assert!(pair.runs >= 3, "{scheme}");
        pair.replicates();
        assert_eq!(pair.results, 1, "{scheme}");
        // It is undecided, so others are not announced.
        pair.receives(CLIENT, opens(5, false));
        assert!(!pair.entries.iter().any(|(_, entry)| matches!(**entry, Entry::Announce(_))), "{scheme}");
        pair.receives(coordinator, Message::Decide { txn, commit: false });
        let answers = pair.ends();
        assert_eq!(answers.len(), 4, "{scheme}: {answers:?}");
    }
}

/// Calls never cease, and are run all the same.
#[test]
fn few_calls_are_announced_and_not_run() {
    let mut pair = Pair::new(SchemeKind::Speculation, true);
    (1..=100).for_each(|id| pair.receives(CLIENT, opens(id, false)));
    // Of sixteen calls together it is said how they ended.
    assert_eq!((pair.entries.len(), pair.runs), (100 + 84 / 16, 84));
    assert_eq!(pair.ends().len(), 100);
}

/// The primary has half a transaction and stops. Its backup repeats neither that one nor later ones.
#[test]
fn a_broken_promise_does_not_stop_the_backup() {
    let mut pair = Pair::new(SchemeKind::Speculation, true);
    for (id, stops) in [(1, false), (2, true), (3, false)] {
        pair.receives(CLIENT, surely_opens(id, stops));
    }
    while pair.proceeds() {}
    pair.replicates();
    assert_eq!(pair.backup.unfinished(), None);
    pair.answers.sort_by_key(|answer| answer.0);
    let [done, broken, stopped] = &pair.answers[..] else { panic!("{:?}", pair.answers) };
    assert!(matches!(done, (1, Outcome::Done(_))), "{done:?}");
    assert!(matches!(broken, (2, Outcome::Failed(why)) if matches!(**why, Failure::BrokenPromise(_))), "{broken:?}");
    assert!(matches!(stopped, (3, Outcome::Failed(why)) if matches!(**why, Failure::Stopped { .. })), "{stopped:?}");
    let mut other = Pair::new(SchemeKind::Speculation, false);
    other.receives(CLIENT, opens(1, false));
    assert_eq!(pair.digests()[1], other.digests()[0]);
    // Nothing more is announced.
    pair.receives(CLIENT, opens(4, false));
    assert!(matches!(&pair.entries[..], [(_, entry)] if **entry == Entry::NoOp), "{:?}", pair.entries);
}
