//! Names: their integers, their order in the hierarchy, and their stored form.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;

use super::super::name::{BadLocks, LockName, PackedName, decode_locks};
use super::super::{Duration, LockConfig, LockManager, LockMode, Locks, Outcome};
use crate::classic::ids::{PageId, Rid, StoreId};
use crate::io::RealClock;

fn name() -> impl Strategy<Value = LockName> {
    let store = || any::<u32>().prop_map(StoreId);
    prop_oneof![
        Just(LockName::Volume),
        store().prop_map(LockName::Store),
        store().prop_map(LockName::End),
        (store(), any::<u32>()).prop_map(|(store, page)| LockName::Page(store, PageId(page))),
        (store(), any::<u32>(), any::<u16>())
            .prop_map(|(store, page, slot)| LockName::Record(store, Rid { page: PageId(page), slot })),
    ]
}

proptest! {
    #[test]
    fn a_key_is_its_name(name in name()) {
        prop_assert_eq!(PackedName::of(name).name(), name);
    }

    #[test]
    fn locks_are_read_as_they_were_written(locks in prop::collection::vec((mode(), name()), 0..20)) {
        prop_assert_eq!(decode_locks(&stored(&locks)), Ok(locks.iter().map(|(mode, name)| (*name, *mode)).collect()));
    }

    #[test]
    fn any_bytes_are_a_list_or_an_error(bytes in prop::collection::vec(0..16_u8, 0..40)) {
        if let Ok(locks) = decode_locks(&bytes) {
            let locks: Vec<_> = locks.into_iter().map(|(name, mode)| (mode, name)).collect();
            prop_assert_eq!(stored(&locks), bytes);
        }
    }
}

/// The modes that a prepared transaction keeps.
fn mode() -> impl Strategy<Value = LockMode> {
    prop_oneof![Just(LockMode::S), Just(LockMode::SIX), Just(LockMode::X)]
}

fn stored(locks: &[(LockMode, LockName)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (mode, name) in locks {
        bytes.push(*mode as u8);
        name.encode(&mut bytes);
    }
    bytes
}

#[test]
fn the_stored_form_is_fixed() {
    let store = StoreId(0x0102_0304);
    let rid = Rid { page: PageId(0x0506_0708), slot: 0x090a };
    let locks = [
        (LockMode::S, LockName::Volume),
        (LockMode::SIX, LockName::Store(store)),
        (LockMode::X, LockName::Page(store, rid.page)),
        (LockMode::X, LockName::Record(store, rid)),
        (LockMode::S, LockName::End(store)),
    ];
    let bytes = stored(&locks);
    let expected: &[u8] = &[
        2, 0, 3, 1, 4, 3, 2, 1, 5, 2, 4, 3, 2, 1, 8, 7, 6, 5, 5, 3, 4, 3, 2, 1, 8, 7, 6, 5, 0x0a, 9, 2, 4, 4, 3, 2, 1,
    ];
    assert_eq!(bytes, expected);
    assert_eq!(decode_locks(&bytes[..bytes.len() - 1]), Err(BadLocks("ends within a name")));
    assert_eq!(decode_locks(&[2, 5, 0, 0, 0, 0]), Err(BadLocks("names no kind of lock")));
    for other in [0, 1, 4, 6] {
        let problem = "has a mode that no prepared transaction keeps";
        assert_eq!(decode_locks(&[other, 0]), Err(BadLocks(problem)));
    }
}

#[test]
fn intents_and_reads_for_update_are_stored_as_what_is_left_of_them() {
    let locks = LockManager::new(LockConfig::default(), Arc::new(RealClock::new()));
    let mut owner = locks.owner();
    let record = |slot| LockName::Record(StoreId(1), Rid { page: PageId(2), slot });
    for (slot, mode) in [(0, LockMode::S), (1, LockMode::U), (2, LockMode::X)] {
        assert_eq!(locks.lock(&mut owner, record(slot), mode, false, Duration::Commit), Outcome::Granted);
    }
    let mut bytes = Vec::new();
    owner.encode_locks(&mut bytes);
    let mut found = decode_locks(&bytes).unwrap();
    found.sort_unstable();
    assert_eq!(found, [(record(0), LockMode::S), (record(1), LockMode::S), (record(2), LockMode::X)]);
    // They are compatible in any order, as those of prepared transactions are.
    let mut reader = locks.owner();
    locks.release_all(&mut owner);
    assert!(locks.lock_again(&mut reader, &found[..2]) && locks.lock_again(&mut owner, &found));
    assert!(!locks.lock_again(&mut reader, &found[2..]), "X is held");
    locks.release_all(&mut reader);
    locks.release_all(&mut owner);
}

#[test]
fn locks_that_are_handed_over_let_readers_beside_what_was_read_for_update() {
    let locks = LockManager::new(LockConfig::default(), Arc::new(RealClock::new()));
    let [mut session, mut prepared, mut other] = [(); 3].map(|()| locks.owner());
    let record = |slot| LockName::Record(StoreId(1), Rid { page: PageId(2), slot });
    let lock = |owner: &mut _, slot, mode| locks.lock(owner, record(slot), mode, false, Duration::Commit);
    assert_eq!([lock(&mut session, 0, LockMode::U), lock(&mut session, 1, LockMode::X)], [Outcome::Granted; 2]);
    assert_eq!(lock(&mut other, 0, LockMode::S), Outcome::WouldBlock);
    locks.hand_over(&mut session, &mut prepared);
    assert_eq!((session.count(), locks.names()), (0, 5));
    assert_eq!(lock(&mut other, 0, LockMode::S), Outcome::Granted);
    // Neither the session nor others have what was handed over.
    assert_eq!([lock(&mut session, 1, LockMode::X), lock(&mut other, 1, LockMode::S)], [Outcome::WouldBlock; 2]);
    locks.release_all(&mut prepared);
    assert_eq!(lock(&mut session, 1, LockMode::X), Outcome::Granted);
    locks.release_all(&mut session);
    locks.release_all(&mut other);
    assert_eq!(locks.names(), 0);
}

#[test]
fn what_is_locked_again_does_not_escalate() {
    let config = LockConfig { escalate_store_at: 2, ..LockConfig::default() };
    let locks = LockManager::new(config, Arc::new(RealClock::new()));
    let record = |slot| (LockName::Record(StoreId(1), Rid { page: PageId(2), slot }), LockMode::X);
    let (mut first, mut second) = (locks.owner(), locks.owner());
    assert!(locks.lock_again(&mut first, &[0, 1, 2, 3].map(record)));
    assert!(locks.lock_again(&mut second, &[record(4)]), "the first has locked the store");
    locks.release_all(&mut first);
    locks.release_all(&mut second);
}

#[test]
fn each_is_below_what_it_belongs_to() {
    let (store, rid) = (StoreId(3), Rid { page: PageId(7), slot: 1 });
    let above = |name| PackedName::of(name).above().map(PackedName::name).collect::<Vec<_>>();
    let (volume, in_volume) = (LockName::Volume, LockName::Store(store));
    assert_eq!(above(volume), []);
    assert_eq!(above(in_volume), [volume]);
    assert_eq!(above(LockName::End(store)), [in_volume, volume]);
    assert_eq!(above(LockName::Page(store, rid.page)), [in_volume, volume]);
    assert_eq!(above(LockName::Record(store, rid)), [LockName::Page(store, rid.page), in_volume, volume]);
}

#[test]
fn near_names_hash_apart() {
    let of_page = |store, page| {
        let name = move |slot| LockName::Record(StoreId(store), Rid { page: PageId(page), slot });
        (0..50).map(move |slot| PackedName::of(name(slot)).hash())
    };
    // 8,000 pages in 64 partitions, 125 in each if they fell evenly.
    let pages: Vec<(u32, u32)> = (1..5).flat_map(|store| (1..2_001).map(move |page| (store, page))).collect();
    let mut here = [0; 64];
    for (store, page) in &pages {
        let partitions: BTreeSet<u64> = of_page(*store, *page).map(|hash| hash & 63).collect();
        assert_eq!(partitions.len(), 1, "the records of a page are in one partition");
        here[partitions.into_iter().next().unwrap() as usize] += 1;
    }
    assert!(here.iter().all(|pages| (75..180).contains(pages)), "{here:?}");
    // Of 20,000 names some meet in 65,536 buckets.
    let near = pages.iter().filter(|(_, page)| *page <= 100);
    let hashes: Vec<u64> = near.flat_map(|(store, page)| of_page(*store, *page)).collect();
    let buckets: BTreeSet<u64> = hashes.iter().map(|hash| hash >> 16 & 0xffff).collect();
    assert!(buckets.len() > 16_000, "{} buckets", buckets.len());
    // And the names of one page.
    let buckets: BTreeSet<u64> = of_page(1, 1).map(|hash| hash >> 16 & 63).collect();
    assert_eq!(buckets.len(), 50);
}
