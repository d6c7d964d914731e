//! Space that becomes free is used again; space that may not be used is not.

use std::collections::VecDeque;

use super::Volume;
use crate::classic::ids::Rid;
use crate::error::Error;
use crate::io::Dice;

fn insert(volume: &Volume, record: &[u8], reusable: impl FnMut(Rid) -> bool) -> Result<Option<Rid>, Error> {
    volume.heap.insert(&*volume.pages, &volume.space, &mut volume.log.journal(), record, reusable)
}

fn delete(volume: &Volume, rid: Rid) {
    assert!(volume.heap.delete(&*volume.pages, &mut volume.log.journal(), rid).unwrap());
}

/// Inserts and deletes as many, oldest first or anywhere, and returns the pages of the file before and after.
fn steady(mut volume: Volume, oldest_first: bool, reopen: bool) -> (usize, usize) {
    let (mut dice, mut live) = (Dice(3), VecDeque::new());
    let width = volume.heap.width();
    let mut before = 0;
    for round in 0..60 {
        for _ in 0..100 {
            live.push_back(insert(&volume, &dice.bytes(width), |_| true).unwrap().unwrap());
        }
        if round == 10 {
            before = volume.verify();
        }
        while round >= 9 && live.len() > 900 {
            let at = if oldest_first { 0 } else { dice.place(live.len()) };
            delete(&volume, live.remove(at).unwrap());
        }
        if reopen {
            volume.reopen();
        }
    }
    volume.check_redo();
    (before, volume.verify())
}

#[test]
fn a_steady_workload_does_not_grow() {
    for oldest_first in [true, false] {
        for reopen in [true, false] {
            for (page_bytes, width) in [(128, 20), (4096, 100)] {
                let (before, after) = steady(Volume::new(page_bytes, width, 5000), oldest_first, reopen);
                assert!(after <= before + before / 4 + 2, "{oldest_first} {reopen} {width}: {before} {after}");
            }
        }
    }
}

#[test]
fn a_ghost_that_is_refused_is_left_alone_and_used_later() {
    let volume = Volume::new(128, 20, 100);
    let rids: Vec<_> = (0..6).map(|_| insert(&volume, &[1; 20], |_| true).unwrap().unwrap()).collect();
    let pages = volume.verify();
    delete(&volume, rids[1]);
    let other = insert(&volume, &[2; 20], |rid| rid != rids[1]).unwrap().unwrap();
    assert!(!rids.contains(&other));
    assert_eq!(volume.verify(), pages + 1);
    // Once the new page is full, the ghost's page comes up again.
    let later: Vec<_> = (0..3).map(|_| insert(&volume, &[3; 20], |_| true).unwrap().unwrap()).collect();
    assert!(later.contains(&rids[1]), "{later:?}");
    assert_eq!(volume.verify(), pages + 1);
}

#[test]
fn who_refuses_everything_inserts_nothing() {
    let volume = Volume::new(128, 20, 100);
    assert_eq!(insert(&volume, &[1; 20], |_| false).unwrap(), None);
    let mut records = 0;
    volume
        .heap
        .scan(&*volume.pages, |_, _| {
            records += 1;
            Ok(())
        })
        .unwrap();
    assert_eq!(records, 0);
    let rid = insert(&volume, &[1; 20], |_| true).unwrap().unwrap();
    assert_eq!(rid.slot, 0);
    volume.verify();
}

#[test]
fn a_full_volume_is_an_error_and_goes_on_when_there_is_room_again() {
    let volume = Volume::new(128, 20, 20);
    let mut rids = Vec::new();
    let error = loop {
        let mut journal = volume.log.journal();
        match volume.heap.insert(&*volume.pages, &volume.space, &mut journal, &[4; 20], |_| true) {
            Ok(rid) => rids.push(rid.unwrap()),
            Err(error) => {
                journal.roll_back(&volume.pages, |_, _, _| panic!("nothing is logical here"));
                break error;
            }
        }
    };
    assert!(matches!(error, Error::VolumeFull { limit_pages: 20 }), "{error}");
    // All pages behind the root: one more of the list, the others with records.
    assert_eq!((volume.verify(), rids.len()), (17, 16 * 3));
    delete(&volume, rids[5]);
    assert_eq!(insert(&volume, &[5; 20], |_| true).unwrap(), Some(rids[5]));
    volume.check_redo();
}

#[test]
fn a_width_that_fits_no_page_is_refused() {
    let volume = Volume::new(128, 20, 20);
    let opened = super::HeapFile::open(&*volume.pages, super::STORE, volume.root, 85);
    assert!(matches!(opened.map(drop), Err(Error::Config(_))));
}
