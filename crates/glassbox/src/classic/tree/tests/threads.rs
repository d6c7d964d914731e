//! Many threads at once: what they did to disjoint keys is there, scans see all that stays, and no thread waits for
//! ever.

use std::sync::atomic::AtomicBool;
use std::thread;

use super::*;
use crate::record::Direction;

const THREADS: u64 = 4;
const KEYS: u64 = 240;
const WIDTH: usize = 8;

/// Thread `t` owns the keys whose remainder is `t`; keys whose remainder is `THREADS` are there all the time.
fn owned(thread: u64, number: u64) -> Vec<u8> {
    key(number * (THREADS + 1) + thread, WIDTH)
}

/// Inserts and removes the thread's own keys; gives back which are there at the end.
fn change(fixture: &Fixture<IntegerKeys>, thread: u64, steps: usize, seed: u64) -> BTreeMap<Vec<u8>, Rid> {
    let mut dice = Dice(seed * 100 + thread + 1);
    let mut model = BTreeMap::new();
    for step in 0..steps {
        let mut journal = fixture.log.journal();
        let before = model.clone();
        // Phases, so that leaves are emptied and come again.
        let inserts = if step / 40 % 2 == 0 { 5 } else { 1 };
        for _ in 0..1 + dice.below(6) {
            let key = owned(thread, dice.below(KEYS));
            // Now and then the lock is not given, as if another transaction had it.
            let admitted = dice.below(16) > 0;
            if dice.below(6) < inserts {
                let rid = rid(dice.below(1 << 32));
                match fixture.tree().insert(&mut journal, &key, rid, Undo::Logical, |_| admitted).unwrap() {
                    Inserted::Done => assert_eq!(model.insert(key, rid), None),
                    Inserted::Exists(rid) => assert_eq!(model.get(&key), Some(&rid)),
                    Inserted::Refused(Neighbour::Here(rid)) => {
                        assert_eq!((admitted, model.get(&key)), (false, Some(&rid)));
                    }
                    Inserted::Refused(Neighbour::Beyond(_)) => assert!(!admitted && !model.contains_key(&key)),
                }
            } else {
                match fixture.tree().remove(&mut journal, &key, Undo::Logical, |_| admitted).unwrap() {
                    Removed::Done(rid) => assert_eq!(model.remove(&key), Some(rid)),
                    Removed::Missing => assert_eq!(model.get(&key), None),
                    Removed::Refused(_) => assert!(!admitted && model.contains_key(&key)),
                }
            }
        }
        if dice.below(4) == 0 {
            fixture.roll_back(journal);
            model = before;
        }
        let key = owned(thread, dice.below(KEYS));
        let expected = model.get(&key).map_or(Find::Missing, |rid| Find::Found(*rid));
        assert_eq!(fixture.tree().find(&key, |_| true).unwrap(), expected);
    }
    model
}

/// Scans one way until told to stop: keys come in order, and all that stay are among them.
fn scan(fixture: &Fixture<IntegerKeys>, direction: Direction, stop: &AtomicBool) -> usize {
    let mut out = [rid(0); 7];
    let mut scans = 0;
    while !stop.load(Ordering::Relaxed) || scans == 0 {
        let mut cursor = Cursor::new(direction, &[0; WIDTH], &[255; WIDTH]);
        let (mut last, mut stay) = (None, 0);
        loop {
            let step = if scans % 2 == 0 {
                cursor.step(&fixture.tree(), |_| true).unwrap()
            } else {
                match cursor.steps(&fixture.tree(), &mut out, |_| true).unwrap() {
                    Step::Got(count) => {
                        stay += out[..count].iter().filter(|rid| rid.slot == STAYS).count();
                        Step::Got(rid(0))
                    }
                    Step::End => Step::End,
                    Step::Refused(what) => Step::Refused(what),
                }
            };
            let Step::Got(rid) = step else { break };
            let key = cursor.key().to_vec();
            if let Some(last) = last.replace(key.clone()) {
                assert_eq!(key > last, direction == Direction::Forward, "{key:?} after {last:?}");
                assert_ne!(key, last);
            }
            stay += usize::from(rid.slot == STAYS);
        }
        assert_eq!(stay, KEYS as usize, "{direction:?}");
        scans += 1;
    }
    scans
}

const STAYS: u16 = 0xabcd;

fn stress(entries: usize, seed: u64, steps: usize) {
    let fixture = Fixture::new(IntegerKeys::new(WIDTH), entries);
    let mut model = BTreeMap::new();
    let mut journal = fixture.log.journal();
    for number in 0..KEYS {
        let rid = Rid { page: PageId(number as u32), slot: STAYS };
        insert(&fixture, &mut journal, &owned(THREADS, number), rid);
        model.insert(owned(THREADS, number), rid);
    }
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let scans = [Direction::Forward, Direction::Backward].map(|direction| {
            scope.spawn({
                let (fixture, stop) = (&fixture, &stop);
                move || scan(fixture, direction, stop)
            })
        });
        let changes: Vec<_> = (0..THREADS)
            .map(|thread| {
                scope.spawn({
                    let fixture = &fixture;
                    move || change(fixture, thread, steps, seed)
                })
            })
            .collect();
        let changes: Vec<_> = changes.into_iter().map(|change| change.join()).collect();
        // Whatever came of them: those who scan would wait for ever.
        stop.store(true, Ordering::Relaxed);
        changes.into_iter().for_each(|done| model.extend(done.unwrap()));
        for scan in scans {
            assert!(scan.join().unwrap() > 0);
        }
    });
    let tree = fixture.tree();
    assert_eq!(tree.check().unwrap(), []);
    assert_eq!(tree.pages().unwrap().len(), fixture.space.in_use());
    assert_eq!(tree.len().unwrap(), model.len() as u64);
    fixture.agrees(&model);
    fixture.replays();
}

#[test]
fn threads_change_and_scan_at_once() {
    for seed in 0..4 {
        stress(4, seed, 300);
    }
    stress(9, 9, 300);
}

/// Without keys that stay: leaves, levels and the root itself come and go under everybody's hands.
#[test]
fn threads_empty_and_fill_the_tree() {
    for seed in 0..4 {
        let fixture = Fixture::new(IntegerKeys::new(WIDTH), 4);
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let fixture = &fixture;
                scope.spawn(move || {
                    let mut dice = Dice(seed * 10 + thread + 1);
                    for _ in 0..60 {
                        let numbers = 1 + dice.below(20);
                        let mut journal = fixture.log.journal();
                        for number in 0..numbers {
                            assert_eq!(
                                insert(fixture, &mut journal, &owned(thread, number), rid(number)),
                                Inserted::Done
                            );
                        }
                        for number in 0..numbers {
                            let key = owned(thread, number);
                            assert_eq!(remove(fixture, &mut journal, &key), Removed::Done(rid(number)));
                        }
                    }
                });
            }
        });
        // A leaf whose sibling was latched whenever it was tried may be left; nothing else.
        assert_eq!(fixture.tree().check().unwrap(), []);
        assert_eq!(fixture.tree().len().unwrap(), 0);
        fixture.replays();
    }
}
