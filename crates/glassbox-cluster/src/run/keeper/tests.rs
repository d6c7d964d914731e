//! What a replica's journal has when it is opened again, and what it does when the disk does not do as it should.

use std::sync::mpsc;

use glassbox_workloads::micro::catalog;
use tempfile::TempDir;

use super::*;
use crate::protocol::scheme_kind::SchemeKind;

const ME: Address = Address::Replica { partition: 0, replica: 0 };

fn shard() -> Shard {
    Shard::new(&catalog(), 0, 1, 1 << 20).unwrap()
}

fn open(dir: &TempDir, cluster: u64, woken: mpsc::Sender<()>) -> Result<Keeper, Error> {
    let wake = move || {
        let _ = woken.send(());
    };
    Keeper::open(&dir.path().join("journal"), (ME, cluster), &catalog(), shard(), wake)
}

fn base(held: u64) -> Base {
    Base { held, scheme: SchemeKind::Blocking, remembered: Vec::new() }
}

#[test]
fn what_was_held_is_there_when_it_is_opened_again() {
    let (dir, configuration) = (tempfile::tempdir().unwrap(), Configuration::first(1, 1, SchemeKind::Blocking));
    let (woken, wakes) = mpsc::channel();
    let mut keeper = open(&dir, 7, woken.clone()).unwrap();
    assert!(keeper.recovered().is_none() && keeper.is_base_due() && !keeper.is_based());
    let mut rows = shard();
    rows.fix();
    keeper.base(base(4), 1, &configuration);
    keeper.secure(&mut rows);
    assert!(keeper.is_based() && keeper.failed().is_none() && !keeper.is_base_due());
    for sequence in 5..8 {
        keeper.entry(sequence, Entry::Mark);
    }
    keeper.force(&configuration);
    wakes.recv().unwrap();
    assert_eq!((keeper.held(), keeper.held()), (Some(7), None));
    assert!(open(&dir, 7, woken.clone()).is_err(), "it is in use");
    // As when the process is killed.
    drop(keeper);
    let other = open(&dir, 8, woken.clone()).err().unwrap().to_string();
    assert!(other.contains("of cluster 7, format 1, not of") && other.contains("of cluster 8"), "{other}");
    let mut keeper = open(&dir, 7, woken).unwrap();
    let recovered = keeper.take().unwrap();
    assert_eq!((recovered.configuration, recovered.since), (configuration, 1));
    keeper.forget();
    assert!(!keeper.is_based() && keeper.failed().is_none());
}

/// With a full disk, as a rule. Where the base before still counts, the replica goes on.
#[test]
fn a_base_that_cannot_be_begun_is_put_off() {
    let (dir, configuration) = (tempfile::tempdir().unwrap(), Configuration::first(1, 1, SchemeKind::Blocking));
    let mut keeper = open(&dir, 7, mpsc::channel().0).unwrap();
    let bases = dir.path().join("journal/checkpoint");
    let _ = std::fs::remove_dir_all(&bases);
    std::fs::write(&bases, "no directory").unwrap();
    keeper.base(base(0), 1, &configuration);
    assert!(!keeper.makes_base() && keeper.failed().is_none());
    assert!(!keeper.is_base_due(), "it would be tried for ever");
    keeper.entry(1, Entry::Mark);
    assert!(keeper.failed().is_none());
    // Who has nobody else with the rows stops.
    keeper.secure(&mut shard());
    assert!(keeper.failed().is_some() && !keeper.is_base_due());
}
