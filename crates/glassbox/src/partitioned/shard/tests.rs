//! Shards without messages: runs here and elsewhere, taking back in any order, watches.

mod each;

use std::ops::ControlFlow;

use glassbox_derive::Record;
use serde::{Deserialize, Serialize};

use super::{Call, Kept, Lookup, Output, Ran, RemoteRead, RemoteReadResult, Shard, Task, Touch, Watch, WatchedKey};
use crate::Catalog;
use crate::error::Error;
use crate::procedure::{AbortReason, Declared, KeySet, Mode, PartitionSet, Procedure, Stop, TableFull, Transaction};
use crate::record::{Direction, Record, Timestamp};

#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(table = "account", key = id, index(name = by_owner, columns = owner))]
struct Account {
    id: u32,
    owner: u32,
    balance: i64,
}

/// Moves money; says how much there was on both together.
#[derive(Serialize, Deserialize)]
struct Transfer {
    from: u32,
    to: u32,
    amount: i64,
    shares: bool,
}

impl Procedure for Transfer {
    const NAME: &'static str = "transfer";
    type Output = i64;

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        for id in [&self.from, &self.to] {
            if self.shares {
                set.share::<Account>(id, Mode::Write);
            } else {
                set.write::<Account>(id);
            }
        }
        Declared::Complete
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<i64, Stop> {
        let missing = || Stop::abort(2, "no such account");
        let from = tx.get::<Account>(&self.from)?.ok_or_else(missing)?.balance;
        let to = tx.get::<Account>(&self.to)?.ok_or_else(missing)?.balance;
        tx.update::<Account, _>(&self.from, |row| row.balance -= self.amount)?;
        tx.update::<Account, _>(&self.to, |row| row.balance += self.amount)?;
        let left = tx.get::<Account>(&self.from)?.ok_or_else(missing)?.balance;
        assert_eq!(left, from - self.amount, "a run sees what it wrote");
        if left < 0 { Err(Stop::abort(1, "not enough")) } else { Ok(from + to) }
    }
}

/// Deletes one account, opens another, and counts those of an owner, everywhere.
#[derive(Serialize, Deserialize)]
struct Replace {
    old: u32,
    new: u32,
    owner: u32,
}

impl Procedure for Replace {
    const NAME: &'static str = "replace";
    type Output = (bool, Vec<u32>, Vec<u32>);

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<Self::Output, Stop> {
        let deleted = tx.delete::<Account>(&self.old)?;
        tx.insert(&Account { id: self.new, owner: self.owner, balance: 5 })?;
        let (mut owned, mut all) = (Vec::new(), Vec::new());
        tx.scan_index::<AccountByOwner>(crate::record::Prefix(self.owner), Direction::Backward, |row| {
            owned.push(row.id);
            ControlFlow::Continue(())
        })?;
        tx.scan::<Account>(.., Direction::Forward, |row| {
            all.push(row.id);
            ControlFlow::Continue(())
        })?;
        Ok((deleted, owned, all))
    }
}

fn catalog() -> Catalog {
    Catalog::new().table::<Account>().distributed_procedure::<Transfer>().distributed_procedure::<Replace>()
}

fn shards(count: usize) -> Vec<Shard> {
    let mut shards: Vec<_> = (0..count).map(|at| Shard::new(&catalog(), at, count, 1 << 20).unwrap()).collect();
    for shard in &mut shards {
        for id in 0..4 {
            shard.load(&Account { id, owner: id / 2, balance: 100 }).unwrap();
        }
    }
    shards
}

fn call<P: Procedure>(procedure: &P) -> Call {
    let number = catalog().number_of::<P>().unwrap();
    let arguments = postcard::to_allocvec(procedure).unwrap().into();
    Call { procedure: number, arguments, now: Timestamp::from_micros(0), seed: 0 }
}

/// Runs a call on all of its partitions, bringing what they want, until all are done or one aborts.
fn run_everywhere(catalog: &Catalog, shards: &mut [Shard], call: &Call) -> (usize, Vec<Ran>, Vec<Kept>) {
    let route = catalog.route(call, shards.len()).unwrap();
    let mut given: Vec<RemoteReadResult> = Vec::new();
    for wanted in &route.shared {
        let owner = wanted.partitions.lowest();
        given.push(shards[owner].find(wanted, None).unwrap().unwrap());
    }
    for round in 1.. {
        let mut kept: Vec<Kept> = shards.iter().map(|_| Kept::default()).collect();
        let task = Task { participants: route.partitions, given: &given };
        let ran: Vec<_> =
            shards.iter_mut().zip(&mut kept).map(|(shard, kept)| shard.run(call, task, Some(kept), None)).collect();
        let wanted: Vec<_> = ran
            .iter()
            .filter_map(|ran| if let Ran::Wants(wanted) = ran { Some(wanted) } else { None })
            .flatten()
            .collect();
        if wanted.is_empty() {
            return (round, ran, kept);
        }
        for (at, shard) in shards.iter_mut().enumerate() {
            if matches!(ran[at], Ran::Done(_)) {
                shard.undo(std::mem::take(&mut kept[at]));
            }
            for wanted in wanted.iter().filter(|wanted| wanted.partitions.contains(at)) {
                let found = shard.find(wanted, None).unwrap().unwrap();
                if !given.contains(&found) {
                    given.push(found);
                }
            }
        }
    }
    unreachable!("it goes on until nothing is wanted")
}

fn balances(shards: &mut [Shard]) -> Vec<i64> {
    let count = shards.len() as u32;
    (0..4).map(|id| shards[(id % count) as usize].row::<Account>(&id).unwrap().balance).collect()
}

#[test]
fn what_is_elsewhere_is_brought_and_each_writes_its_own() {
    for (shares, rounds) in [(true, 1), (false, 2)] {
        let mut shards = shards(2);
        let transfer = call(&Transfer { from: 0, to: 1, amount: 30, shares });
        let (took, ran, kept) = run_everywhere(&catalog(), &mut shards, &transfer);
        assert_eq!(took, rounds, "with shares {shares}");
        let expected = Ran::Done(Output::of(200_i64));
        assert_eq!(ran, [expected.clone(), expected], "both runs come to the same");
        for (shard, kept) in shards.iter_mut().zip(kept) {
            shard.commit(kept);
        }
        assert_eq!(balances(&mut shards), [70, 130, 100, 100]);
    }
}

#[test]
fn both_abort_and_nothing_is_left() {
    let mut shards = shards(2);
    let (_, ran, _) =
        run_everywhere(&catalog(), &mut shards, &call(&Transfer { from: 0, to: 1, amount: 300, shares: true }));
    assert!(
        ran.iter().all(|ran| matches!(ran, Ran::Aborted(AbortReason::Procedure(abort)) if abort.code == 1)),
        "{ran:?}"
    );
    assert_eq!(balances(&mut shards), [100; 4]);
}

#[test]
fn a_partition_that_does_not_take_part_is_asked_for() {
    let mut shards = shards(2);
    let transfer = call(&Transfer { from: 0, to: 1, amount: 30, shares: false });
    let alone = Task { participants: PartitionSet::of(0), given: &[] };
    assert_eq!(shards[0].run(&transfer, alone, None, None), Ran::Elsewhere(PartitionSet::of(1)));
    assert_eq!(balances(&mut shards), [100; 4]);
}

#[test]
fn scans_and_indexes_go_everywhere() {
    let (mut one, mut two) = (shards(1), shards(2));
    let replace = call(&Replace { old: 1, new: 5, owner: 1 });
    let (_, alone, _) = run_everywhere(&catalog(), &mut one, &replace);
    let (_, together, _) = run_everywhere(&catalog(), &mut two, &replace);
    assert_eq!(alone[0], Ran::Done(Output::of((true, vec![5_u32, 3, 2], vec![0_u32, 2, 3, 5]))));
    assert_eq!(together, [alone[0].clone(), alone[0].clone()]);
}

#[test]
fn transactions_without_common_rows_are_rolled_back_in_any_order() {
    let mut shards = shards(1);
    let shard = &mut shards[0];
    let before = shard.digest();
    let task = Task { participants: PartitionSet::of(0), given: &[] };
    let (mut first, mut second) = (Kept::default(), Kept::default());
    let runs = [(&mut first, 1, 5), (&mut second, 2, 6)];
    for (kept, old, new) in runs {
        let ran = shard.run(&call(&Replace { old, new, owner: 9 }), task, Some(kept), None);
        assert!(matches!(ran, Ran::Done(_)), "{ran:?}");
    }
    shard.undo(first);
    assert_eq!(shard.row::<Account>(&1).map(|row| row.balance), Some(100));
    shard.undo(second);
    shard.verify().unwrap();
    assert_eq!(shard.digest(), before);

    let mut kept = Kept::default();
    shard.run(&call(&Replace { old: 1, new: 5, owner: 9 }), task, Some(&mut kept), None);
    shard.commit(kept);
    shard.verify().unwrap();
    assert_eq!((shard.row::<Account>(&1), shard.row::<Account>(&5).is_some()), (None, true));
}

#[test]
fn a_watch_hears_of_every_key_and_may_refuse() {
    #[derive(Default)]
    struct Listener(Vec<String>, usize);
    fn number(key: &WatchedKey) -> u128 {
        match key {
            WatchedKey::Short(bytes) => bytes >> 96,
            _ => panic!("{key:?} has more than 4 bytes"),
        }
    }
    impl Watch for Listener {
        fn point(&mut self, space: u32, key: WatchedKey, touch: Touch) -> bool {
            self.0.push(format!("{touch:?} {space} {}", number(&key)));
            self.0.len() != self.1
        }
        fn range(&mut self, space: u32, low: WatchedKey, high: WatchedKey) -> bool {
            self.0.push(format!("Range {space} {} {}", number(&low), number(&high)));
            self.0.len() != self.1
        }
    }
    let mut shards = shards(1);
    let task = Task { participants: PartitionSet::of(0), given: &[] };
    let replace = call(&Replace { old: 1, new: 5, owner: 1 });
    let before = shards[0].digest();
    for refuse in 1..=6 {
        let mut listener = Listener(Vec::new(), refuse);
        assert_eq!(shards[0].run(&replace, task, None, Some(&mut listener)), Ran::Refused);
        assert_eq!(shards[0].digest(), before);
    }
    let mut listener = Listener::default();
    assert!(matches!(shards[0].run(&replace, task, None, Some(&mut listener)), Ran::Done(_)));
    let heard: Vec<_> = listener.0.iter().map(String::as_str).collect();
    let delete = ["Write 0 1", "Write 1 0"];
    let insert = ["Write 0 5", "Write 1 1"];
    let scans = ["Range 1 1 1", "Read 0 5", "Read 0 3", "Read 0 2", "Range 0 0 4294967295"];
    assert_eq!(heard, [&delete[..], &insert, &scans].concat());
}

/// A row that is found by an index may be changed without its keys of the index.
#[test]
fn a_watch_hears_of_rows_that_are_found_for_others() {
    struct Listener(Vec<(u32, WatchedKey)>, usize);
    impl Watch for Listener {
        fn point(&mut self, space: u32, key: WatchedKey, touch: Touch) -> bool {
            assert_eq!(touch, Touch::Read);
            self.0.push((space, key));
            self.0.len() != self.1
        }
        fn range(&mut self, space: u32, low: WatchedKey, _high: WatchedKey) -> bool {
            self.point(space, low, Touch::Read)
        }
    }
    let mut shards = shards(1);
    let (low, high) = (vec![0; 8], vec![255; 8]);
    let lookup = Lookup::Range { index: Some(0), low, high };
    let wanted = RemoteRead { partitions: PartitionSet::of(0), table: 0, lookup, writes: false };
    let mut all = Listener(Vec::new(), 0);
    let found = shards[0].find(&wanted, Some(&mut all)).unwrap().unwrap();
    let rows = found.rows.len() / Account::ROW_WIDTH;
    let spaces: Vec<_> = all.0.iter().map(|(space, _)| *space).collect();
    assert!(rows > 1);
    assert_eq!(spaces, [vec![1], vec![0; rows]].concat());
    for refused in 1..=rows + 1 {
        assert_eq!(shards[0].find(&wanted, Some(&mut Listener(Vec::new(), refused))).unwrap(), None);
    }
}

#[test]
fn a_row_that_is_not_loaded_says_why() {
    let mut shard = Shard::new(&catalog(), 0, 1, 1 << 20).unwrap();
    let mut load = |id| shard.load(&Account { id, owner: id, balance: 0 });
    load(0).unwrap();
    assert_eq!(load(0).unwrap_err().to_string(), "duplicate key in table \"account\": id = 0");
    let full = (1..1 << 20).map(load).find_map(Result::err).expect("a megabyte does not hold a million rows");
    assert!(matches!(&full, Error::TableFull(TableFull { table }) if table == "account"), "{full}");
}
