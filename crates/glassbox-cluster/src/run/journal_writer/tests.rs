//! What a reopened journal contains, and what happens when the disk fails.

use std::sync::mpsc;

use glassbox_workloads::micro::catalog;
use tempfile::TempDir;

use super::*;
use crate::protocol::configuration::SchemeKind;

const ME: Address = Address::Replica { partition: 0, replica: 0 };

fn shard() -> Shard {
    Shard::new(&catalog(), 0, 1, 1 << 20).unwrap()
}

fn open(dir: &TempDir, cluster: u64, woken: mpsc::Sender<()>) -> Result<JournalWriter, Error> {
    let wake = move || {
        let _ = woken.send(());
    };
    JournalWriter::open(&dir.path().join("journal"), (ME, cluster), &catalog(), shard(), wake)
}

fn base(held: u64) -> Base {
    Base { held, scheme: SchemeKind::Blocking, remembered: Vec::new() }
}

#[test]
fn acknowledged_entries_are_recovered() {
    let (dir, configuration) = (tempfile::tempdir().unwrap(), Configuration::first(1, 1, SchemeKind::Blocking));
    let (woken, wakes) = mpsc::channel();
    let mut journal = open(&dir, 7, woken.clone()).unwrap();
    assert!(journal.recovered().is_none() && journal.is_base_due(0, || 4) && !journal.is_based());
    let mut rows = shard();
    rows.fix();
    journal.base(base(4), 1, &configuration);
    journal.secure(&mut rows);
    assert!(journal.is_based() && journal.failed().is_none() && !journal.is_base_due(0, || 4));
    for sequence in 5..8 {
        journal.entry(sequence, Entry::NoOp);
    }
    journal.force(&configuration);
    wakes.recv().unwrap();
    assert_eq!((journal.held(), journal.held()), (Some(7), None));
    assert!(open(&dir, 7, woken.clone()).is_err(), "it is in use");
    // As after a kill of the process.
    drop(journal);
    let other = open(&dir, 8, woken.clone()).err().unwrap().to_string();
    assert!(other.contains("of cluster 7, format 9, not of") && other.contains("of cluster 8"), "{other}");
    let mut journal = open(&dir, 7, woken).unwrap();
    let recovered = journal.take().unwrap();
    assert_eq!((recovered.configuration, recovered.since), (configuration, 1));
    journal.forget();
    assert!(!journal.is_based() && journal.failed().is_none());
}

/// As on a full disk. With a valid former base the replica continues.
#[test]
fn a_base_that_cannot_be_begun_is_postponed() {
    let (dir, configuration) = (tempfile::tempdir().unwrap(), Configuration::first(1, 1, SchemeKind::Blocking));
    let mut journal = open(&dir, 7, mpsc::channel().0).unwrap();
    let bases = dir.path().join("journal/checkpoint");
    let _ = std::fs::remove_dir_all(&bases);
    std::fs::write(&bases, "no directory").unwrap();
    journal.base(base(0), 1, &configuration);
    assert!(!journal.makes_base() && journal.failed().is_none());
    assert!(!journal.is_base_due(0, || 4), "it would be tried for ever");
    journal.entry(1, Entry::NoOp);
    assert!(journal.failed().is_none());
    // A primary without any base stops.
    journal.secure(&mut shard());
    assert!(journal.failed().is_some() && !journal.is_base_due(0, || 4));
}

#[test]
fn a_disk_that_makes_no_progress_with_what_waits_hangs() {
    let (dir, configuration) = (tempfile::tempdir().unwrap(), Configuration::first(1, 1, SchemeKind::Blocking));
    let (woken, wakes) = mpsc::channel();
    let mut journal = open(&dir, 7, woken).unwrap();
    let first = journal.journal.durable();
    journal.entry(1, Entry::NoOp);
    journal.force(&configuration);
    wakes.recv().unwrap();
    let second = journal.journal.durable();
    let (mut disk, s) = (DiskProgress::default(), 1_000_000);
    let looks = [(first, first, 0), (first, second, 90 * s), (first, second, 93 * s), (first, second, 93 * s + 1)];
    assert_eq!(looks.map(|(durable, appended, at)| disk.hangs((durable, appended), at)), [false, false, false, true]);
    assert!(!disk.hangs((second, second), 94 * s), "it has gone on");
    // However much waits.
    assert!(!disk.hangs((first, second), 95 * s) && !disk.hangs((second, first), 200 * s));
    assert!(!journal.hangs(0) && !journal.hangs(10 * s), "nothing waits");
}
