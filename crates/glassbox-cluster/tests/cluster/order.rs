//! Transactions of several coordinators at one partition, message by message.

use std::sync::Arc;

use glassbox::record::Timestamp;
use glassbox::research::shard::{Arguments, Call, PartitionSet, Shard};
use glassbox_cluster::{Action, Address, Configuration, Fragment, FragmentWork, Message, Outbox, Partition};
use glassbox_cluster::{Router, SchemeKind, TxnId};
use glassbox_workloads::micro::{KEYS, Pair, PairKey, ReadWrite, catalog};

const ONE: Address = Address::Coordinator(0);
const TWO: Address = Address::Coordinator(1);

fn partition(scheme: SchemeKind) -> Partition {
    let mut shard = Shard::new(&catalog(), 0, 1, 1 << 20).unwrap();
    (0..KEYS as u16).for_each(|id| shard.load(&Pair { home: 0, id, value: 0 }).unwrap());
    Partition::new(shard, scheme, &[])
}

/// The first fragment of a coordinator's transaction with this number.
fn first(coordinator: Address, sequence: u64, place: u64) -> Fragment {
    let keys: Vec<PairKey> = (0..KEYS as u16).map(|id| (0, id)).collect();
    let stamp = sequence as u32 + 1;
    let arguments =
        Arguments::of(ReadWrite { keys: keys.into_iter().collect(), stamp, aborts_at: None, two_rounds: false });
    let procedure = catalog().number_of::<ReadWrite>().unwrap();
    let call = Call { procedure, arguments, now: Timestamp::default(), seed: 0 };
    let (txn, work) = (TxnId { coordinator, sequence }, FragmentWork::Run(Vec::new()));
    Fragment { txn, round: 0, call, participants: PartitionSet::of(0), work, settled: 0, place, before: None }
}

/// The partition's answers to these messages, in short.
fn says(partition: &mut Partition, messages: Vec<(Address, Message)>) -> Vec<String> {
    let mut out = Outbox::default();
    for (from, message) in messages {
        partition.handle(from, message, &mut out);
    }
    while partition.proceed(&mut out) {}
    let said = |action| match action {
        Action::Send(_, Message::Result(result)) => {
            let after = result.after.map_or("-".to_owned(), |it| format!("{}.{}", number(it), it.sequence));
            Some(format!("{}.{} after {after}", number(result.txn), result.txn.sequence))
        }
        Action::Send(_, Message::Withdrawn(txn)) => Some(format!("{}.{} withdrawn", number(txn), txn.sequence)),
        _ => None,
    };
    out.actions.into_iter().filter_map(said).collect()
}

fn number(txn: TxnId) -> u16 {
    if txn.coordinator == ONE { 1 } else { 2 }
}

fn fragment(fragment: Fragment) -> (Address, Message) {
    (fragment.txn.coordinator, Message::Fragment(Box::new(fragment)))
}

fn decide(coordinator: Address, sequence: u64, commit: bool) -> (Address, Message) {
    (coordinator, Message::Decide { txn: TxnId { coordinator, sequence }, commit })
}

#[test]
fn transactions_begin_in_the_order_of_their_places() {
    let mut it = partition(SchemeKind::Blocking);
    assert!(says(&mut it, vec![fragment(first(TWO, 0, 3)), fragment(first(TWO, 1, 4))]).is_empty());
    // One of them is aborted, so its place stays empty.
    assert!(says(&mut it, vec![decide(TWO, 0, false), fragment(first(ONE, 1, 2))]).is_empty());
    assert!(!it.is_idle());
    assert_eq!(says(&mut it, vec![fragment(first(ONE, 0, 1))]), ["1.0 after -"]);
    assert_eq!(says(&mut it, vec![decide(ONE, 0, true)]), ["1.1 after -"]);
    assert_eq!(says(&mut it, vec![decide(ONE, 1, true)]), ["2.1 after -"]);
    says(&mut it, vec![decide(TWO, 1, true)]);
    assert!(it.is_idle());
}

#[test]
fn a_result_that_depends_on_another_coordinator_is_sent_again_once_it_is_valid() {
    let mut it = partition(SchemeKind::Speculation);
    let batches = vec![first(ONE, 0, 1), first(ONE, 1, 2), first(TWO, 0, 3), first(TWO, 1, 4)];
    let told = says(&mut it, batches.into_iter().map(fragment).collect());
    assert_eq!(told, ["1.0 after -", "1.1 after 1.0", "2.0 after 1.1", "2.1 after 2.0"]);
    assert!(says(&mut it, vec![decide(ONE, 0, true)]).is_empty(), "its own coordinator knows");
    assert_eq!(says(&mut it, vec![decide(ONE, 1, true)]), ["2.0 after -"]);
    assert!(says(&mut it, vec![decide(TWO, 0, true), decide(TWO, 1, true)]).is_empty());
}

#[test]
fn results_are_withdrawn_from_coordinators_that_cannot_know_of_the_rerun() {
    let mut it = partition(SchemeKind::Speculation);
    let batches = vec![first(ONE, 0, 1), first(ONE, 1, 2), first(TWO, 0, 3), first(TWO, 1, 4)];
    says(&mut it, batches.into_iter().map(fragment).collect());
    let told = says(&mut it, vec![decide(ONE, 0, false)]);
    assert_eq!(told, ["2.0 withdrawn", "1.1 after -", "2.0 after 1.1", "2.1 after 2.0"]);
    // Another participant needs a further round of a transaction that had ended here. Its own coordinator has results
    // that depend on it, and cannot know that they are void.
    let again = Fragment { round: 1, place: 0, ..first(ONE, 1, 0) };
    assert_eq!(says(&mut it, vec![fragment(first(ONE, 2, 5))]), ["1.2 after 2.1"]);
    let told = says(&mut it, vec![fragment(again)]);
    assert_eq!(
        told,
        ["1.2 withdrawn", "2.0 withdrawn", "1.1 after -", "2.0 after 1.1", "2.1 after 2.0", "1.2 after 2.1"]
    );
}

/// A failed coordinator may have had the turn: then calls through the others do not end either.
#[test]
fn a_client_needs_all_coordinators() {
    let configuration = Configuration::first(2, 1, SchemeKind::Speculation).with_coordinators(2);
    let router = Router::new(Address::Client(1), Arc::new(catalog()), configuration, 0);
    assert!(router.needs(ONE) && router.needs(TWO) && router.needs(Address::Replica { partition: 1, replica: 0 }));
    assert!(!router.needs(Address::Coordinator(2)) && !router.needs(Address::Replica { partition: 1, replica: 1 }));
}
