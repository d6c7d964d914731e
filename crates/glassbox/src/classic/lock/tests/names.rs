//! Names: their integers, their order in the hierarchy, and their stored form.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::super::name::{BadLocks, LockName, PackedName, decode_exclusive};
use crate::classic::ids::{PageId, Rid, StoreId};

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
    fn names_are_read_as_they_were_written(names in prop::collection::vec(name(), 0..20)) {
        let mut bytes = Vec::new();
        names.iter().for_each(|name| name.encode(&mut bytes));
        prop_assert_eq!(decode_exclusive(&bytes), Ok(names));
    }

    #[test]
    fn any_bytes_are_a_list_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        if let Ok(names) = decode_exclusive(&bytes) {
            let mut again = Vec::new();
            names.iter().for_each(|name| name.encode(&mut again));
            prop_assert_eq!(again, bytes);
        }
    }
}

#[test]
fn the_stored_form_is_fixed() {
    let store = StoreId(0x0102_0304);
    let rid = Rid { page: PageId(0x0506_0708), slot: 0x090a };
    let names = [
        LockName::Volume,
        LockName::Store(store),
        LockName::Page(store, rid.page),
        LockName::Record(store, rid),
        LockName::End(store),
    ];
    let mut bytes = Vec::new();
    names.iter().for_each(|name| name.encode(&mut bytes));
    let expected: &[u8] =
        &[0, 1, 4, 3, 2, 1, 2, 4, 3, 2, 1, 8, 7, 6, 5, 3, 4, 3, 2, 1, 8, 7, 6, 5, 0x0a, 9, 4, 4, 3, 2, 1];
    assert_eq!(bytes, expected);
    assert_eq!(decode_exclusive(&bytes[..bytes.len() - 1]), Err(BadLocks("ends within a name")));
    assert_eq!(decode_exclusive(&[5, 0, 0, 0, 0]), Err(BadLocks("names no kind of lock")));
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
