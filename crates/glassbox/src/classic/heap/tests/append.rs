//! Records that come behind each other under one latch: as many as belong there, and no more.

use super::Volume;
use crate::classic::ids::Rid;

const WIDTH: usize = 20;

fn insert(volume: &Volume, record: [u8; WIDTH]) -> Rid {
    let inserted = volume.heap.insert(&*volume.pages, &volume.space, &mut volume.log.journal(), &record, |_| true);
    inserted.unwrap().unwrap()
}

/// Appends records of the bytes 1, 2, and so on, and says where they are.
fn append(volume: &Volume, count: u8, reusable: impl FnMut(Rid) -> bool) -> Vec<Rid> {
    let records: Vec<u8> = (1..=count).flat_map(|byte| [byte; WIDTH]).collect();
    let mut rids = Vec::new();
    let journal = &mut volume.log.journal();
    volume.heap.append(&*volume.pages, journal, &records, reusable, |rid| rids.push(rid)).unwrap();
    for (rid, byte) in rids.iter().zip(1..) {
        let found = volume.heap.read(&*volume.pages, *rid, |record| record == [byte; WIDTH]).unwrap();
        assert_eq!(found, Some(true));
    }
    volume.verify();
    volume.check_redo();
    rids
}

#[test]
fn they_go_behind_those_of_the_page_that_is_inserted_to() {
    let volume = Volume::new(256, WIDTH, 100);
    assert_eq!(append(&volume, 3, |_| true), [], "there is no such page yet");
    let first = insert(&volume, [9; WIDTH]);
    let rids = append(&volume, 3, |_| true);
    assert_eq!(rids, [1, 2, 3].map(|slot| Rid { slot, ..first }));
    assert_eq!(insert(&volume, [9; WIDTH]), Rid { slot: 4, ..first });
}

#[test]
fn they_end_before_the_page_is_full() {
    let volume = Volume::new(256, WIDTH, 100);
    let first = insert(&volume, [9; WIDTH]);
    let rids = append(&volume, 100, |_| true);
    assert!(rids.iter().all(|rid| rid.page == first.page));
    // The last one is inserted alone: that notes that the page is full.
    let last = insert(&volume, [9; WIDTH]);
    assert_eq!(last, Rid { slot: rids.last().unwrap().slot + 1, ..first });
    assert_ne!(insert(&volume, [9; WIDTH]).page, first.page);
}

#[test]
fn they_end_where_a_place_is_refused() {
    let volume = Volume::new(256, WIDTH, 100);
    insert(&volume, [9; WIDTH]);
    assert_eq!(append(&volume, 4, |rid| rid.slot != 3).len(), 2);
}

#[test]
fn ghosts_are_left_to_who_inserts_one() {
    let volume = Volume::new(256, WIDTH, 100);
    let first = insert(&volume, [9; WIDTH]);
    insert(&volume, [9; WIDTH]);
    assert!(volume.heap.delete(&*volume.pages, &mut volume.log.journal(), first).unwrap());
    assert_eq!(append(&volume, 3, |_| true), []);
    assert_eq!(insert(&volume, [9; WIDTH]), first);
}
