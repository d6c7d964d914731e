//! Tests of the space map.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use super::map::{NEW_MAP, first_free, is_taken, pages_per_map};
use super::*;
use crate::classic::change::{Change, Undo};
use crate::classic::ids::StoreId;
use crate::classic::page::PageKind;
use crate::classic::page::pages::Pages;
use crate::classic::testing::{MemoryJournal, MemoryLog, MemoryPages};

/// A map page of so many bytes speaks for 256 pages.
const PAGE_BYTES: usize = 64;

struct Volume {
    pages: Arc<MemoryPages>,
    log: MemoryLog,
    space: SpaceMap<Arc<MemoryPages>>,
}

fn volume(limit_pages: u32) -> Volume {
    let (pages, log) = (Arc::new(MemoryPages::new(PAGE_BYTES)), MemoryLog::default());
    let space = SpaceMap::new(Arc::clone(&pages), limit_pages);
    space.create(&mut log.journal()).unwrap();
    Volume { pages, log, space }
}

impl Volume {
    fn used(&self) -> BTreeSet<PageId> {
        let mut used = BTreeSet::new();
        self.space.for_each_used(|page| assert!(used.insert(page))).unwrap();
        used
    }

    fn free(&self, journal: &mut MemoryJournal, pages: &[PageId]) -> Result<(), Error> {
        let freeing = self.space.fix_for_freeing(pages)?;
        let begun = journal.begin_nested();
        self.space.end_nested_freeing(journal, begun, freeing)
    }

    fn check_redo(&self) {
        assert!(self.log.replay(PAGE_BYTES).contents() == self.pages.contents(), "redo gives other pages");
    }
}

#[test]
fn every_page_is_given_once_up_to_the_limit_but_for_those_of_the_map() {
    for limit in [0, 1, 2, 3, 100, 256, 257, 258, 259, 260, 1000] {
        let volume = volume(limit);
        let mut journal = volume.log.journal();
        let mut taken = BTreeSet::new();
        let error = loop {
            match volume.space.allocate(&mut journal) {
                Ok(page) => assert!(taken.insert(page)),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, Error::VolumeFull { limit_pages } if limit_pages == limit), "{error}");
        let expected: BTreeSet<_> = (2..limit).filter(|page| page % 256 != 1).map(PageId).collect();
        assert_eq!(taken, expected, "limit {limit}");
        // Each map page has at least one page to speak for.
        let maps = volume.used().difference(&taken).copied().collect::<Vec<_>>();
        let expected: Vec<_> = (1..limit.max(2)).step_by(256).filter(|map| *map == 1 || map + 1 < limit).collect();
        let expected: Vec<_> = expected.into_iter().map(PageId).collect();
        assert_eq!(maps, expected, "limit {limit}");
        volume.check_redo();
    }
}

#[test]
fn freed_pages_are_used_again() {
    let volume = volume(100);
    let mut journal = volume.log.journal();
    let taken: Vec<_> = (0..10).map(|_| volume.space.allocate(&mut journal).unwrap()).collect();
    volume.free(&mut journal, &[taken[6], taken[2]]).unwrap();
    let again: Vec<_> = (0..3).map(|_| volume.space.allocate(&mut journal).unwrap()).collect();
    assert_eq!(again, [taken[2], taken[6], PageId(12)]);
    for wrong in [PageId(0), PageId(1), PageId(50)] {
        assert!(matches!(volume.free(&mut journal, &[wrong]), Err(Error::Damaged { .. })));
    }
    let before = volume.used();
    assert!(volume.free(&mut journal, &[again[0], PageId(50)]).is_err());
    assert_eq!(volume.used(), before, "all or none");
    volume.check_redo();
}

#[test]
fn an_undone_allocation_is_free_again_and_an_ended_one_stays() {
    let volume = volume(100);
    let mut journal = volume.log.journal();
    let begun = journal.begin_nested();
    let kept = volume.space.allocate(&mut journal).unwrap();
    journal.end_nested(begun).unwrap();
    let lost = volume.space.allocate(&mut journal).unwrap();
    let other = volume.space.allocate(&mut volume.log.journal()).unwrap();
    journal.roll_back(&volume.pages, |_, _, _| panic!("nothing is logical here"));
    assert_eq!(volume.used(), BTreeSet::from([PageId(1), kept, other]));
    // The hint is behind it; it is found when nothing else is left.
    let mut journal = volume.log.journal();
    let rest: BTreeSet<_> = (0..96).map(|_| volume.space.allocate(&mut journal).unwrap()).collect();
    assert!(rest.contains(&lost));
    volume.check_redo();
}

#[test]
fn a_page_freed_with_the_end_of_a_nested_action_is_given_back_with_it_only() {
    let volume = volume(600);
    let mut journal = volume.log.journal();
    let taken: Vec<_> = (0..300).map(|_| volume.space.allocate(&mut volume.log.journal()).unwrap()).collect();
    // Of two map pages, in no order.
    let freed = [taken[290], taken[3], taken[260], taken[5]];
    volume.free(&mut journal, &freed).unwrap();
    journal.roll_back(&volume.pages, |_, _, _| panic!("nothing is logical here"));
    assert!(freed.iter().all(|page| !volume.used().contains(page)));
    assert_eq!(volume.used().len(), 300 - freed.len() + 2);
    // Nothing of another transaction comes between what frees and the end in the log.
    assert!(volume.log.0.lock().unwrap().iter().rev().take(freed.len()).all(|logged| logged.nested));
    assert_eq!(volume.space.allocate(&mut volume.log.journal()).unwrap(), taken[3]);
    volume.check_redo();
}

#[test]
fn threads_are_never_given_the_same_page() {
    let volume = volume(5000);
    let owned = Mutex::new(BTreeSet::new());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (volume, owned) = (&volume, &owned);
            scope.spawn(move || {
                let mut journal = volume.log.journal();
                let mut own = Vec::new();
                for turn in 0..1500 {
                    let page = volume.space.allocate(&mut journal).unwrap();
                    assert!(owned.lock().unwrap().insert(page), "{page} has two owners");
                    own.push(page);
                    if turn % 3 == thread % 3 {
                        let page = own.swap_remove(turn * 7 % own.len());
                        assert!(owned.lock().unwrap().remove(&page));
                        volume.free(&mut journal, &[page]).unwrap();
                    }
                }
            });
        }
    });
    let mut used = volume.used();
    used.retain(|page| page.0 % 256 != 1);
    assert_eq!(used, owned.into_inner().unwrap());
    volume.check_redo();
}

#[test]
fn bits_are_found_wherever_they_are() {
    let mut map = vec![0; PAGE_BYTES];
    Change::Format { kind: PageKind::Map, store: StoreId::VOLUME, body: &NEW_MAP }.apply(PageId(1), &mut map).unwrap();
    assert_eq!(map[24..34], [0, 0, 0, 0, 0, 0, 0, 0, 1, 0]);
    assert_eq!(pages_per_map(PAGE_BYTES), 256);
    for bit in 1..256 {
        assert_eq!(first_free(&map, 0, 256), Some(bit));
        assert_eq!(first_free(&map, bit, 256), Some(bit));
        assert_eq!(first_free(&map, 0, bit), None);
        assert_eq!(first_free(&map, bit + 1, 256), Some(bit + 1).filter(|next| *next < 256));
        MapChange::Take { bit }.apply(&mut map).unwrap();
        assert!(is_taken(&map, bit));
    }
    assert_eq!(first_free(&map, 0, 256), None);
    MapChange::Give { bit: 200 }.apply(&mut map).unwrap();
    assert_eq!(first_free(&map, 3, 256), Some(200));
    assert_eq!(first_free(&map, 201, 256), None);
    let mut bytes = Vec::new();
    Change::Map(MapChange::Take { bit: 258 }).encode(&mut bytes);
    assert_eq!(bytes, [2, 0, 2, 1, 0, 0]);
}

#[test]
fn a_page_of_another_kind_in_place_of_the_map_is_damage() {
    let volume = volume(100);
    let body = Change::Format { kind: PageKind::Node, store: StoreId(4), body: &[] };
    volume.log.journal().change(&mut volume.pages.fix_new(PageId(1)).unwrap(), body, Undo::Nothing).unwrap();
    let error = volume.space.allocate(&mut volume.log.journal()).unwrap_err();
    assert!(matches!(error, Error::Damaged { offset: 64, .. }), "{error}");
    assert!(volume.space.for_each_used(|_| ()).is_err());
}
