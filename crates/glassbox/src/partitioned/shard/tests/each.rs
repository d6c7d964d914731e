//! Many keys at a time give what one after the other gives: here, elsewhere, missing, refused, rolled back.

use glassbox_derive::Record;
use serde::{Deserialize, Serialize};

use super::super::{Call, Kept, Ran, Shard, Task, Touch, Watch, WatchedKey};
use super::run_everywhere;
use crate::Catalog;
use crate::procedure::{Declared, KeySet, Mode, PartitionSet, Procedure, Stop, Transaction};
use crate::record::{Timestamp, mix};

#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(table = "line", key = (owner, number), partition_by = owner)]
struct Line {
    owner: u8,
    number: u8,
    amount: u64,
}

/// Looked up only, and with an index.
#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(table = "stock", key = (owner, number), partition_by = owner, access = point,
         index(name = by_amount, columns = amount))]
struct Stock {
    owner: u8,
    number: u8,
    amount: u64,
}

/// Of each of two tables: reads rows, changes rows, adds some, and may decide against it then.
#[derive(Serialize, Deserialize, Clone, Debug)]
struct Change {
    reads: Vec<(u8, u8)>,
    writes: Vec<(u8, u8)>,
    adds: Vec<(u8, u8)>,
    aborts: bool,
    /// In the middle of its reads, behind so many.
    reads_at_most: u64,
    /// Each alone.
    alone: bool,
}

impl Procedure for Change {
    const NAME: &'static str = "change";
    type Output = Vec<u64>;

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        set.parts::<Line>(self.reads.iter().copied(), Mode::Read, 0..16);
        set.parts::<Line>(self.writes.iter().copied(), Mode::Write, 0..16);
        set.parts::<Line>(self.adds.iter().copied(), Mode::Insert, 0..16);
        set.parts::<Stock>(self.writes.iter().copied(), Mode::Write, 0..16);
        Declared::Complete
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<Vec<u64>, Stop> {
        let mut seen = Vec::new();
        let numbered = |keys: &[(u8, u8)]| keys.iter().copied().zip(1..).collect::<Vec<_>>();
        let (reads, writes) = (numbered(&self.reads), numbered(&self.writes));
        let lines = self.adds.iter().map(|&(owner, number)| Line { owner, number, amount: 7 });
        let stocks = self.adds.iter().map(|&(owner, number)| Stock { owner, number, amount: 7 });
        if self.alone {
            for &(key, at) in &reads {
                seen.push(tx.get::<Line>(&key)?.map_or(at, |row| row.amount));
                self.check(at)?;
            }
            for &(key, at) in &writes {
                tx.update::<Line, _>(&key, |row| row.amount += at)?;
            }
            for &(key, at) in &writes {
                tx.update::<Stock, _>(&key, |row| row.amount = mix(row.amount + at))?;
            }
            lines.clone().try_for_each(|row| tx.insert(&row))?;
            stocks.clone().try_for_each(|row| tx.insert(&row))?;
        } else {
            tx.get_each::<Line, u64>(reads, |at, row| {
                seen.push(row.map_or(at, |row| row.amount));
                self.check(at)
            })?;
            tx.update_each::<Line, u64>(writes.clone(), |at, row| row.amount += at)?;
            tx.update_each::<Stock, u64>(writes, |at, row| row.amount = mix(row.amount + at))?;
            tx.insert_each(lines)?;
            tx.insert_each(stocks)?;
        }
        for key in &self.writes {
            seen.push(tx.get::<Line>(key)?.map_or(0, |row| row.amount));
        }
        if self.aborts { Err(Stop::abort(1, "it was to")) } else { Ok(seen) }
    }
}

impl Change {
    fn check(&self, at: u64) -> Result<(), Stop> {
        if at > self.reads_at_most { Err(Stop::abort(2, "these are enough")) } else { Ok(()) }
    }
}

fn catalog() -> Catalog {
    Catalog::new().table::<Line>().table::<Stock>().distributed_procedure::<Change>()
}

/// Of each owner there are the even numbers.
fn shards(count: usize) -> Vec<Shard> {
    let mut shards: Vec<_> = (0..count).map(|at| Shard::new(&catalog(), at, count, 1 << 20).unwrap()).collect();
    for shard in &mut shards {
        for (owner, number) in (0..4).flat_map(|owner| (0..16).step_by(2).map(move |number| (owner, number))) {
            let amount = u64::from(owner) << 32 | u64::from(number) << 16;
            shard.load(&Line { owner, number, amount }).unwrap();
            shard.load(&Stock { owner, number, amount }).unwrap();
        }
    }
    shards
}

fn call(change: &Change) -> Call {
    let arguments = postcard::to_allocvec(change).unwrap().into();
    Call { procedure: 0, arguments, now: Timestamp::from_micros(0), seed: 0 }
}

/// Random ones; additions may be there already.
fn changes() -> impl Iterator<Item = Change> {
    (0..400_u64).map(|number| {
        let mut state = number << 32;
        let mut draw = move |below: u64| {
            state += 1;
            mix(state) % below
        };
        let mut keys = |most: u64, even: u64| -> Vec<(u8, u8)> {
            let key = |draw: &mut dyn FnMut(u64) -> u64| {
                let number = if draw(8) < even { draw(8) * 2 } else { draw(16) };
                (draw(4) as u8, number as u8)
            };
            (0..draw(most)).map(|_| key(&mut draw)).collect()
        };
        let (reads, writes, adds) = (keys(12, 7), keys(12, 7), keys(4, 0));
        let adds =
            adds.into_iter().map(|(owner, number)| (owner, number | u8::from(!mix(number.into()).is_multiple_of(4))));
        let (aborts, reads_at_most) =
            (mix(number).is_multiple_of(4), if number.is_multiple_of(7) { 3 } else { u64::MAX });
        Change { reads, writes, adds: adds.collect(), aborts, reads_at_most, alone: false }
    })
}

#[test]
fn together_comes_to_what_alone_does() {
    for count in 1..=3 {
        let (mut together, mut alone) = (shards(count), shards(count));
        let (mut done, mut stopped) = (0, 0);
        for change in changes() {
            let before: Vec<_> = together.iter_mut().map(Shard::digest).collect();
            let (_, ran, kept) = run_everywhere(&catalog(), &mut together, &call(&change));
            let (_, ran_alone, kept_alone) =
                run_everywhere(&catalog(), &mut alone, &call(&Change { alone: true, ..change.clone() }));
            assert_eq!(ran, ran_alone, "{change:?}");
            // If all ended well it is committed; otherwise it is rolled back.
            let all = ran.iter().all(|ran| matches!(ran, Ran::Done(_)));
            let end = |shards: &mut [Shard], kept: Vec<Kept>| {
                for ((shard, kept), ran) in shards.iter_mut().zip(kept).zip(&ran) {
                    match ran {
                        Ran::Done(_) if all => shard.commit(kept),
                        Ran::Done(_) => shard.undo(kept),
                        _ => {}
                    }
                }
            };
            end(&mut together, kept);
            end(&mut alone, kept_alone);
            let digests: Vec<_> = together.iter_mut().map(Shard::digest).collect();
            assert_eq!(digests, alone.iter_mut().map(Shard::digest).collect::<Vec<_>>(), "{change:?}");
            assert!(all || digests == before, "something was left of {change:?}");
            (done, stopped) = (done + u32::from(all), stopped + u32::from(!all));
        }
        together.iter_mut().for_each(|shard| shard.verify().unwrap());
        assert!(done > 20 && stopped > 20, "{done} were done and {stopped} stopped");
    }
}

/// Notes what it hears, and refuses so many-th.
#[derive(Default)]
struct Listener(Vec<(u32, WatchedKey, Touch)>, usize);

impl Watch for Listener {
    fn point(&mut self, space: u32, key: WatchedKey, touch: Touch) -> bool {
        self.0.push((space, key, touch));
        self.0.len() != self.1
    }

    fn range(&mut self, _: u32, _: WatchedKey, _: WatchedKey) -> bool {
        unreachable!("nothing is scanned")
    }
}

#[test]
fn a_watch_hears_the_same_in_the_same_order() {
    let task = Task { participants: PartitionSet::of(0), given: &[] };
    for change in changes().filter(|change| !change.aborts).take(40) {
        let heard = [false, true].map(|alone| {
            let mut listener = Listener::default();
            shards(1)[0].run(&call(&Change { alone, ..change.clone() }), task, None, Some(&mut listener));
            listener.0
        });
        // A duplicate key ends it, and keys behind it may have been drawn.
        assert!(heard[0].starts_with(&heard[1]), "{change:?}");
        // A refusal counts wherever it was met: who forgives the row that was there would go on without the other.
        for refused in 1..=heard[0].len() {
            // A new shard, because the room that deleted rows left decides how many rows are drawn at once.
            let shard = &mut shards(1)[0];
            let before = shard.digest();
            let mut listener = Listener(Vec::new(), refused);
            assert_eq!(shard.run(&call(&change), task, None, Some(&mut listener)), Ran::Refused);
            assert_eq!((listener.0.len(), shard.digest()), (refused, before), "{change:?}");
        }
    }
}
