//! Histories of several transactions at a time, some of which are rolled back, against a model.

use std::collections::{BTreeMap, BTreeSet};

use super::Volume;
use crate::classic::ids::Rid;
use crate::classic::testing::MemoryJournal;
use crate::io::Dice;

struct Running {
    journal: MemoryJournal,
    locks: BTreeSet<Rid>,
    /// Earlier values, newest last.
    before: Vec<(Rid, Option<Vec<u8>>)>,
}

struct History {
    volume: Volume,
    dice: Dice,
    model: BTreeMap<Rid, Vec<u8>>,
    running: Vec<Running>,
    /// Record ids that were ever used.
    seen: BTreeSet<Rid>,
}

impl History {
    fn new(volume: Volume, seed: u64) -> Self {
        Self { volume, dice: Dice(seed), model: BTreeMap::new(), running: Vec::new(), seen: BTreeSet::new() }
    }

    fn insert(&mut self, number: usize) {
        let record = self.dice.bytes(self.volume.heap.width());
        let mut running = self.running.remove(number);
        let others = &self.running;
        let is_free = |rid: Rid| !others.iter().any(|other| other.locks.contains(&rid));
        let Volume { pages, space, heap, .. } = &self.volume;
        let rid = heap.insert(&**pages, space, &mut running.journal, &record, is_free).unwrap().unwrap();
        assert!(is_free(rid), "{rid} is locked by another transaction");
        running.locks.insert(rid);
        running.before.push((rid, None));
        assert_eq!(self.model.insert(rid, record), None, "{rid} is in use");
        self.seen.insert(rid);
        self.running.insert(number, running);
    }

    /// A record id that this transaction may lock, and did.
    fn lock(&mut self, number: usize) -> Option<Rid> {
        let rid = *self.seen.iter().nth(self.dice.place(self.seen.len().max(1)))?;
        let other = |at: usize| at != number && self.running[at].locks.contains(&rid);
        if (0..self.running.len()).any(other) {
            return None;
        }
        self.running[number].locks.insert(rid);
        Some(rid)
    }

    fn change(&mut self, number: usize) {
        let Some(rid) = self.lock(number) else { return };
        let Volume { pages, heap, .. } = &self.volume;
        let running = &mut self.running[number];
        let old = self.model.get(&rid).cloned();
        match self.dice.place(3) {
            0 => {
                assert_eq!(heap.delete(&**pages, &mut running.journal, rid).unwrap(), old.is_some());
                self.model.remove(&rid);
            }
            1 => {
                let mut after = old.clone().unwrap_or_else(|| vec![0; heap.width()]);
                let at = self.dice.place(after.len());
                after[at] ^= self.dice.place(3) as u8;
                let found = heap.update(&**pages, &mut running.journal, rid, &after).unwrap();
                assert_eq!(found, old.is_some());
                if found {
                    self.model.insert(rid, after);
                }
            }
            _ => {
                let reversed = |record: &[u8]| record.iter().rev().copied().collect::<Vec<u8>>();
                let after = heap.read(&**pages, rid, reversed).unwrap();
                assert_eq!(after.is_some(), old.is_some());
                if let Some(after) = after {
                    assert!(heap.update(&**pages, &mut running.journal, rid, &after).unwrap());
                    self.model.insert(rid, after);
                }
            }
        }
        running.before.push((rid, old));
    }

    fn end(&mut self, number: usize, commit: bool) {
        let running = self.running.remove(number);
        if commit {
            return;
        }
        running.journal.roll_back(&self.volume.pages, |_, _, _| panic!("records are undone in their pages"));
        for (rid, before) in running.before.into_iter().rev() {
            match before {
                Some(record) => self.model.insert(rid, record),
                None => self.model.remove(&rid),
            };
        }
    }

    fn check(&self) {
        let Volume { pages, heap, .. } = &self.volume;
        for rid in &self.seen {
            let read = heap.read(&**pages, *rid, <[u8]>::to_vec).unwrap();
            assert_eq!(read.as_ref(), self.model.get(rid), "{rid}");
        }
        let mut scanned = BTreeMap::new();
        let each = |rid, record: &[u8]| {
            assert!(scanned.insert(rid, record.to_vec()).is_none());
            Ok(())
        };
        heap.scan(&**pages, each).unwrap();
        assert_eq!(scanned, self.model);
        self.volume.verify();
    }

    fn step(&mut self) {
        if self.running.len() < 3 {
            let journal = self.volume.log.journal();
            self.running.push(Running { journal, locks: BTreeSet::new(), before: Vec::new() });
        }
        let number = self.dice.place(self.running.len());
        match self.dice.place(20) {
            0..=7 => self.insert(number),
            8..=17 => self.change(number),
            18 => self.end(number, true),
            _ => self.end(number, false),
        }
    }
}

#[test]
fn histories_do_what_the_model_does_and_redo_does_the_same() {
    for seed in 0..30 {
        let (page_bytes, width) = [(128, 20), (256, 9), (4096, 330)][seed as usize % 3];
        let mut history = History::new(Volume::new(page_bytes, width, 5000), seed);
        for step in 0..1200 {
            history.step();
            if step % 50 == 0 {
                history.check();
            }
            if step == 700 {
                history.volume.reopen();
            }
        }
        history.check();
        history.volume.check_redo();
    }
}

#[test]
fn a_transaction_may_use_the_place_of_its_own_ghost_and_be_rolled_back() {
    let volume = Volume::new(128, 20, 100);
    let Volume { pages, space, heap, log, .. } = &volume;
    let rid = heap.insert(&**pages, space, &mut log.journal(), &[1; 20], |_| true).unwrap().unwrap();
    let mut journal = log.journal();
    assert!(heap.delete(&**pages, &mut journal, rid).unwrap());
    assert_eq!(heap.insert(&**pages, space, &mut journal, &[2; 20], |_| true).unwrap(), Some(rid));
    assert!(heap.update(&**pages, &mut journal, rid, &[3; 20]).unwrap());
    journal.roll_back(pages, |_, _, _| panic!("nothing is logical here"));
    assert_eq!(heap.read(&**pages, rid, <[u8]>::to_vec).unwrap(), Some(vec![1; 20]));
    volume.check_redo();
}

#[test]
fn a_record_id_of_no_record_is_none_and_of_another_store_is_damage() {
    let volume = Volume::new(128, 20, 100);
    let Volume { pages, space, heap, log, root, .. } = &volume;
    let mut journal = log.journal();
    let rid = heap.insert(&**pages, space, &mut journal, &[1; 20], |_| true).unwrap().unwrap();
    let stale = Rid { slot: rid.slot + 1, ..rid };
    assert_eq!(heap.fix(&**pages, stale).unwrap().record(), None);
    assert!(!heap.update(&**pages, &mut journal, stale, &[1; 20]).unwrap());
    assert!(!heap.delete(&**pages, &mut journal, stale).unwrap());
    let wrong = heap.read(&**pages, Rid { page: *root, slot: 0 }, |_| ()).unwrap_err();
    assert!(wrong.to_string().contains("a page with records of store 3 should be here"), "{wrong}");
}
