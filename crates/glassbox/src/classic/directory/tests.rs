//! Tests of the directory.

use std::sync::Arc;

use super::create::create_store;
use super::volume::VOLUME_PAGE;
use super::*;
use crate::classic::change::{Change, PageLog};
use crate::classic::heap::HeapFile;
use crate::classic::ids::{PageId, StoreId};
use crate::classic::page::pages::Pages;
use crate::classic::space::{Space, SpaceMap};
use crate::classic::testing::{MemoryLog, MemoryPages};
use crate::error::Error;

const ID: u128 = 0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10;

struct Volume {
    pages: Arc<MemoryPages>,
    log: MemoryLog,
    space: SpaceMap<Arc<MemoryPages>>,
}

fn volume(page_bytes: usize) -> Volume {
    let (pages, log) = (Arc::new(MemoryPages::new(page_bytes)), MemoryLog::default());
    let space = SpaceMap::new(Arc::clone(&pages), 1000);
    create_volume(&pages, &space, &mut log.journal(), ID).unwrap();
    Volume { pages, log, space }
}

const TREE: StoreKind = StoreKind::Tree { key_width: 12, heap: StoreId(1), number: 2, is_unique: true };

fn create_tree(volume: &Volume, journal: &mut impl PageLog, name: &[u8]) -> Result<StoreEntry, Error> {
    create_store(&volume.pages, &volume.space, journal, name, TREE, &mut |journal, _| volume.space.allocate(journal))
}

#[test]
fn stores_are_found_by_name_and_number_on_as_many_pages_as_it_takes() {
    // Two entries fit in a page.
    let volume = volume(256);
    let mut made = Vec::new();
    let cached = Cached::default();
    for number in 1..20_u32 {
        let name = format!("store number {number}");
        assert_eq!(cached.find(&volume.pages, name.as_bytes()).unwrap(), None);
        let mut journal = volume.log.journal();
        let entry = if number % 2 == 1 {
            create_heap(&volume.pages, &volume.space, &mut journal, name.as_bytes(), number as u16).unwrap()
        } else {
            create_tree(&volume, &mut journal, name.as_bytes()).unwrap()
        };
        // It stays, whatever becomes of the transaction.
        journal.roll_back(&volume.pages, |_, _, _| panic!("nothing is logical here"));
        assert_eq!(entry.store, StoreId(number));
        assert_eq!(entry.name.as_bytes(), name.as_bytes());
        made.push(entry);
    }
    assert_eq!(list(&volume.pages).unwrap(), made);
    for entry in &made {
        let name = entry.name.as_bytes();
        for _ in 0..2 {
            assert_eq!(Uncached.find(&volume.pages, name).unwrap(), Some(*entry));
            assert_eq!(cached.find(&volume.pages, name).unwrap(), Some(*entry));
        }
    }
    assert_eq!(Uncached.find(&volume.pages, b"store number").unwrap(), None);
    let roots: std::collections::BTreeSet<_> = made.iter().map(|entry| entry.root).collect();
    assert_eq!(roots.len(), made.len());
    let heap = HeapFile::open(&volume.pages, made[6].store, made[6].root, 7).unwrap();
    let rid = heap.insert(&volume.pages, &volume.space, &mut volume.log.journal(), &[7; 7], |_| true).unwrap();
    assert_eq!(heap.read(&volume.pages, rid.unwrap(), <[u8]>::to_vec).unwrap(), Some(vec![7; 7]));
    assert!(volume.log.replay(256).contents() == volume.pages.contents(), "redo gives other pages");
}

#[test]
fn what_the_cache_knows_is_not_read_again() {
    let volume = volume(4096);
    let entry = create_tree(&volume, &mut volume.log.journal(), b"t").unwrap();
    let cached = Cached::default();
    assert_eq!(cached.find(&volume.pages, b"t").unwrap(), Some(entry));
    volume.pages.fix_exclusive(VOLUME_PAGE).unwrap().fill(0);
    assert_eq!(cached.find(&volume.pages, b"t").unwrap(), Some(entry));
    assert!(Uncached.find(&volume.pages, b"t").unwrap_err().to_string().contains("directory should be here"));
}

#[test]
fn a_store_that_fails_half_made_leaves_nothing() {
    let volume = volume(256);
    create_tree(&volume, &mut volume.log.journal(), b"one").unwrap();
    let used = |volume: &Volume| {
        let mut used = Vec::new();
        volume.space.for_each_used(|page| used.push(page)).unwrap();
        used
    };
    let before = used(&volume);
    let mut journal = volume.log.journal();
    let failed = create_store(&volume.pages, &volume.space, &mut journal, b"two", TREE, &mut |journal, store| {
        HeapFile::create(&volume.pages, &volume.space, journal, store)?;
        Err(Error::Loading)
    });
    assert!(matches!(failed, Err(Error::Loading)));
    assert_ne!(used(&volume), before);
    journal.roll_back(&volume.pages, |_, _, _| panic!("nothing is logical here"));
    assert_eq!(used(&volume), before);
    assert_eq!(list(&volume.pages).unwrap().len(), 1);
    assert_eq!(create_tree(&volume, &mut volume.log.journal(), b"two").unwrap().store, StoreId(2));
}

#[test]
fn names_are_checked() {
    let volume = volume(4096);
    let mut journal = volume.log.journal();
    let longest = [b'n'; MAX_NAME_BYTES];
    create_tree(&volume, &mut journal, &longest).unwrap();
    assert!(Uncached.find(&volume.pages, &longest).unwrap().is_some());
    for (name, problem) in [
        (&longest[..], "is a store named"),
        (&[b'n'; MAX_NAME_BYTES + 1][..], "1 to 60 bytes"),
        (&b""[..], "1 to 60 bytes"),
    ] {
        let error = create_tree(&volume, &mut journal, name).unwrap_err();
        assert!(matches!(error, Error::Catalog(_)) && error.to_string().contains(problem), "{error}");
    }
}

#[test]
fn a_volume_says_what_it_is_and_others_are_refused() {
    let volume = volume(4096);
    let page = volume.pages.fix_shared(VOLUME_PAGE).unwrap().to_vec();
    let identity = VolumeIdentity::read(&page[..56]).unwrap();
    assert_eq!(identity, VolumeIdentity { page_bytes: 4096, database_id: ID });
    identity.check(identity).unwrap();
    let refused = |expected, problem: &str| {
        let error = identity.check(expected).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    };
    refused(VolumeIdentity { database_id: 1, ..identity }, "is of database 0102030405060708090a0b0c0d0e0f10, but");
    refused(VolumeIdentity { page_bytes: 8192, ..identity }, "pages have 4096 bytes, not 8192");
    let mut other = page.clone();
    other[32] = 2;
    let error = VolumeIdentity::read(&other).unwrap_err();
    assert!(matches!(error, Error::WrongFormat { offset: 32, found: 2, known: 1, .. }), "{error}");
    for broken in [&page[..55], &[0; 4096]] {
        assert!(VolumeIdentity::read(broken).unwrap_err().to_string().contains("does not begin as a volume"));
    }
}

#[test]
fn the_bytes_are_those_of_the_format() {
    let volume = volume(4096);
    create_tree(&volume, &mut volume.log.journal(), b"item by name").unwrap();
    let page = volume.pages.fix_shared(VOLUME_PAGE).unwrap();
    assert_eq!(page[4..8], [1, 0, 0, 0]);
    assert_eq!(page[24..40], *b"GBVOLUME\x01\0\0\0\0\x10\0\0");
    assert_eq!(page[40..56], ID.to_le_bytes());
    assert_eq!(page[56..64], [0, 0, 0, 0, 1, 0, 0, 0]);
    assert_eq!(page[64..84], [1, 0, 0, 0, 2, 1, 12, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 12]);
    assert_eq!(page[84..96], *b"item by name");
    assert!(page[96..].iter().all(|byte| *byte == 0));
}

#[test]
fn damaged_bytes_are_refused_or_read_and_nothing_panics() {
    let volume = volume(256);
    create_tree(&volume, &mut volume.log.journal(), b"a").unwrap();
    let page = volume.pages.fix_shared(VOLUME_PAGE).unwrap().to_vec();
    let entry = find(&volume.pages, b"a").unwrap().unwrap().encode();
    let changes = [
        DirectoryChange::Add { index: 1, entry: &entry },
        DirectoryChange::Remove { index: 0, entry: &entry },
        DirectoryChange::Link { next: PageId(9) },
    ];
    for change in changes {
        let mut bytes = Vec::new();
        Change::Directory(change).encode(&mut bytes);
        for at in 0..bytes.len() {
            assert!(Change::decode(&bytes[..at]).is_err());
            for flip in 0..8 {
                bytes[at] ^= 1 << flip;
                if let Ok(change) = Change::decode(&bytes) {
                    let mut changed = page.clone();
                    if change.apply(VOLUME_PAGE, &mut changed).is_err() {
                        assert_eq!(changed, page);
                    }
                }
                bytes[at] ^= 1 << flip;
            }
        }
        let mut changed = page.clone();
        change.apply(&mut changed).unwrap();
        assert_ne!(changed, page);
        change.inverse().apply(&mut changed).unwrap();
        assert_eq!(changed, page);
    }
    for at in 24..256 {
        for byte in [0, 1, 0x7f, 0xff] {
            let mut damaged = page.clone();
            damaged[at] = byte;
            // A chain that leads to itself would be read for ever; checksums keep a page from saying so.
            if !(56..60).contains(&at) {
                volume.pages.fix_exclusive(VOLUME_PAGE).unwrap().copy_from_slice(&damaged);
                let _ = (list(&volume.pages), Uncached.find(&volume.pages, b"x"));
            }
        }
    }
}
