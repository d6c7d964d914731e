//! Several threads on one file.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Barrier, Mutex};

use super::Volume;
use crate::classic::ids::Rid;
use crate::io::Dice;

#[test]
fn threads_insert_update_and_delete_without_losing_anything() {
    const THREADS: usize = 4;
    let volume = Volume::new(512, 40, 10_000);
    // Who may use a record id: the thread that locked it; none if it is not there.
    let locks = Mutex::new(HashMap::<Rid, usize>::new());
    let all = Mutex::new(BTreeMap::new());
    let start = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (volume, locks, all, start) = (&volume, &locks, &all, &start);
            scope.spawn(move || {
                let mut own = work(volume, locks, start, thread);
                all.lock().unwrap().append(&mut own);
            });
        }
    });
    let mut found = BTreeMap::new();
    let each = |rid, record: &[u8]| {
        found.insert(rid, record.to_vec());
        Ok(())
    };
    volume.heap.scan(&*volume.pages, each).unwrap();
    assert_eq!(found, all.into_inner().unwrap());
    let pages = volume.verify();
    // 10 records fit in a page; 4 threads hold about 400 records each, and may leave pages half full.
    assert!(pages < 400, "{pages} pages");
    volume.check_redo();
}

fn work(volume: &Volume, locks: &Mutex<HashMap<Rid, usize>>, start: &Barrier, thread: usize) -> BTreeMap<Rid, Vec<u8>> {
    let Volume { pages, space, heap, log, .. } = volume;
    let (mut dice, mut own) = (Dice(thread as u64), BTreeMap::new());
    start.wait();
    for turn in 0..3000 {
        let mut journal = log.journal();
        if own.len() < 400 {
            let record = dice.bytes(40);
            let lock = |rid| *locks.lock().unwrap().entry(rid).or_insert(thread) == thread;
            let rid = heap.insert(&**pages, space, &mut journal, &record, lock).unwrap().unwrap();
            assert_eq!(own.insert(rid, record), None);
            continue;
        }
        let rid = *own.keys().nth(dice.place(own.len())).unwrap();
        assert_eq!(heap.read(&**pages, rid, <[u8]>::to_vec).unwrap().as_ref(), own.get(&rid));
        if turn % 3 == 0 {
            let record = dice.bytes(40);
            assert!(heap.update(&**pages, &mut journal, rid, &record).unwrap());
            own.insert(rid, record);
        } else {
            assert!(heap.delete(&**pages, &mut journal, rid).unwrap());
            own.remove(&rid);
            // Some deleters do not end at once.
            if turn % 7 != 0 {
                locks.lock().unwrap().remove(&rid);
            }
        }
    }
    own
}
