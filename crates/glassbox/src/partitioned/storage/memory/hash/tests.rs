//! Histories of a hash index against the standard library's map.

use std::collections::HashMap;

use crate::io::Dice;
use crate::partitioned::storage::memory::hash::HashIndex;
use crate::partitioned::storage::memory::hash::bucket::{Bucket, SLOTS};
use crate::partitioned::storage::memory::rows::RowId;
use crate::record::EncodedKey;

/// Rows are numbered, and a row's key is what `keys` has at its number.
fn find(index: &HashIndex, keys: &[u64], key: u64, hash: u64) -> Option<RowId> {
    index.find(hash, |row| keys[row.get() as usize] == key)
}

/// Runs a dice history with keys below `range`, hashed by `hash`.
fn agree(seed: u64, steps: usize, range: u64, hash: fn(u64) -> u64) {
    let mut dice = Dice(seed);
    let (mut index, mut model) = (HashIndex::new(usize::MAX, &mut Default::default()).unwrap(), HashMap::new());
    let mut keys = Vec::new();
    for step in 0..steps {
        let key = dice.below(range);
        // Phases of growth and of shrinking alternate.
        let grow = dice.below(10) < if (step / 20_000).is_multiple_of(2) { 7 } else { 3 };
        let found = find(&index, &keys, key, hash(key));
        assert_eq!(found, model.get(&key).copied());
        match (found, grow) {
            (None, true) => {
                let row = RowId::new(keys.len() as u32);
                keys.push(key);
                assert!(index.insert(hash(key), row, |row| hash(keys[row.get() as usize])));
                model.insert(key, row);
            }
            (Some(row), false) => {
                assert!(index.remove(hash(key), row));
                assert!(!index.remove(hash(key), row));
                model.remove(&key);
            }
            _ => {}
        }
        if step % 5_000 == 0 {
            index.check(|row| keys.get(row.get() as usize).map(|&key| hash(key))).unwrap();
        }
    }
    assert_eq!(index.len(), model.len());
    index.check(|row| keys.get(row.get() as usize).map(|&key| hash(key))).unwrap();
    for key in 0..range {
        assert_eq!(find(&index, &keys, key, hash(key)), model.get(&key).copied());
    }
}

#[test]
fn agrees_with_a_map() {
    agree(1, 200_000, 50_000, |key| key.hash64());
    agree(2, 100_000, 300, |key| key.hash64());
}

#[test]
fn agrees_with_a_map_under_a_bad_hash() {
    // Everything in few buckets: long chains of overflow buckets.
    agree(3, 60_000, 500, |key| key % 3);
    agree(4, 60_000, 500, |key| key << 56);
}

#[test]
fn most_entries_are_in_their_first_bucket() {
    let mut index = HashIndex::new(usize::MAX, &mut Default::default()).unwrap();
    let mut worst = 0.0_f64;
    for key in 0..200_000_u64 {
        assert!(index.insert(key.hash64(), RowId::new(key as u32), |row| u64::from(row.get()).hash64()));
        if key % 10_000 == 9_999 {
            let elsewhere = (0..=key).filter(|key| index.candidate_of(key.hash64()).is_none()).count();
            worst = worst.max(elsewhere as f64 / key as f64);
        }
    }
    assert!(worst < 0.04, "{worst}");
    assert!(index.used_bytes() < 200_000 * 13, "{}", index.used_bytes());
}

#[test]
fn overflow_space_is_reused() {
    let mut index = HashIndex::new(usize::MAX, &mut Default::default()).unwrap();
    let mut used = 0;
    for round in 0..10 {
        (0..100).for_each(|n| assert!(index.insert(7, RowId::new(n), |_| 7)));
        (0..100).for_each(|n| assert!(index.remove(7, RowId::new(n))));
        index.check(|_| None).unwrap();
        used = if round == 0 { index.used_bytes() } else { used };
    }
    assert_eq!((index.used_bytes(), index.len()), (used, 0));
}

#[test]
fn tags_compare_the_same_with_and_without_the_processors_help() {
    let mut dice = Dice(5);
    for _ in 0..1_000 {
        let mut bucket = Bucket::EMPTY;
        // The row numbers lie right behind the tags and must not be taken for tags.
        (0..SLOTS).for_each(|slot| bucket.fill(slot, dice.below(4) as u8, RowId::new(0x0101_0101)));
        for tag in 0..4 {
            assert!(bucket.slots_with(tag).eq(bucket.slots_with_portably(tag)));
        }
    }
}

#[test]
fn damage_is_found() {
    let hash_of = |row: RowId| Some(u64::from(row.get()).hash64());
    let sound = || {
        let mut index = HashIndex::new(usize::MAX, &mut Default::default()).unwrap();
        (0..1_000).for_each(|n| {
            assert!(index.insert(hash_of(RowId::new(n)).unwrap(), RowId::new(n), |row| hash_of(row).unwrap()));
        });
        index.check(hash_of).unwrap();
        index
    };
    let mut index = sound();
    let slot = index.bucket(5).used().next().unwrap();
    index.bucket_mut(5).clear(slot);
    assert!(index.check(hash_of).unwrap_err().contains("the count is"));
    let mut index = sound();
    let (row, tag) = (index.bucket(5).row(slot), index.bucket(5).tag(slot));
    index.bucket_mut(5).fill(slot, tag ^ 1 | 2, row);
    assert!(index.check(hash_of).unwrap_err().contains("tag"));
    let mut index = sound();
    let other = index.bucket(6).used().next().map(|slot| index.bucket(6).row(slot)).unwrap();
    index.bucket_mut(5).fill(slot, tag, other);
    assert!(index.check(hash_of).unwrap_err().contains("belongs to"));
    let mut index = sound();
    index.overflow_count += 1;
    assert!(index.check(hash_of).unwrap_err().contains("overflow"));
    assert!(sound().check(|_| None).unwrap_err().contains("does not exist"));
}

#[test]
fn structures_may_change_their_thread() {
    fn is_send<T: Send>() {}
    is_send::<HashIndex>();
    is_send::<crate::partitioned::storage::memory::rows::Rows<u64>>();
    is_send::<crate::partitioned::storage::memory::btree::BTree<u64>>();
}
