//! Conflicts, queueing, and wake-ups.

use super::*;

fn key(number: u128) -> WatchedKey {
    WatchedKey::Short(number)
}

fn wants(table: &mut LockTable, owner: Owner) -> bool {
    table.watch(owner).point(0, key(7), Touch::Write)
}

#[test]
fn an_older_request_and_a_younger_one_behind_it_form_no_deadlock() {
    let mut table = LockTable::default();
    assert!(wants(&mut table, 0) && !wants(&mut table, 1) && !wants(&mut table, 2));
    assert_eq!(table.release(0), [1]);
    assert!(wants(&mut table, 1), "a younger request does not block it");
    assert_eq!(table.deadlock(2), None);
    assert_eq!(table.release(1), [2]);
    assert!(wants(&mut table, 2));
    assert!(table.release(2).is_empty());
    assert!(table.is_empty());
}

#[test]
fn readers_share_a_lock_and_a_writer_excludes_them() {
    let mut table = LockTable::default();
    assert!(table.watch(0).point(0, key(7), Touch::Read) && table.watch(1).point(0, key(7), Touch::Read));
    assert!(!wants(&mut table, 1), "another reads it");
    assert_eq!(table.release(0), [1]);
    assert!(wants(&mut table, 1) && table.watch(1).point(0, key(7), Touch::Read));
    assert!(!table.watch(2).point(0, key(7), Touch::Read), "another read released nothing");
    assert_eq!(table.release(1), [2]);
    assert!(table.watch(2).point(0, key(7), Touch::Read));
    assert!(table.release(2).is_empty());
    assert!(table.is_empty());
}

#[test]
fn a_range_lock_conflicts_with_writes_in_the_range() {
    let mut table = LockTable::default();
    let scans = |table: &mut LockTable, owner, low, high| table.watch(owner).range(0, key(low), key(high));
    assert!(scans(&mut table, 0, 3, 7) && table.watch(0).point(0, key(5), Touch::Write), "its own range");
    assert!(!wants(&mut table, 1), "it is read");
    assert!(table.watch(2).point(0, key(8), Touch::Write) && table.watch(3).point(1, key(5), Touch::Write));
    assert!(!scans(&mut table, 4, 6, 8), "an older request waits to write there");
    assert_eq!(table.release(0), [1]);
    assert!(wants(&mut table, 1));
    assert_eq!(table.deadlock(4), None);
    assert!(table.release(1).is_empty(), "the scan waits for another owner too");
    assert_eq!(table.release(2), [4]);
    assert!(table.watch(5).point(0, key(9), Touch::Read) && scans(&mut table, 4, 6, 9), "both read");
    assert!((3..=5).all(|owner| table.release(owner).is_empty()));
    assert!(table.is_empty());
}

#[test]
fn an_owner_that_is_ready_and_not_yet_run_keeps_its_place_in_the_queue() {
    let mut table = LockTable::default();
    assert!(wants(&mut table, 0) && !wants(&mut table, 1));
    assert_eq!(table.release(0), [1]);
    assert!(!wants(&mut table, 2), "it came later");
    assert!(table.release(7).is_empty(), "each is woken once");
    assert!(wants(&mut table, 1));
    assert_eq!(table.release(1), [2]);
    assert!(wants(&mut table, 2));
    assert!(table.release(2).is_empty());
    assert!(table.is_empty());
}

#[test]
fn an_owner_waits_in_order_if_all_its_locks_come_before_the_key() {
    let mut table = LockTable::default();
    let locks =
        |table: &mut LockTable, owner, space, number| table.watch(owner).point(space, key(number), Touch::Write);
    assert!(locks(&mut table, 0, 0, 7) && locks(&mut table, 0, 1, 1));
    assert!(!locks(&mut table, 1, 0, 7) && table.waits_in_order(1), "it has no locks");
    assert!(locks(&mut table, 2, 0, 9) && !locks(&mut table, 2, 1, 1) && table.waits_in_order(2), "of a later space");
    assert!(!locks(&mut table, 2, 0, 7) && !table.waits_in_order(2), "7 comes before 9");
    assert!(table.watch(3).range(0, key(20), key(30)) && !locks(&mut table, 4, 0, 25) && table.waits_in_order(4));
    assert!(!locks(&mut table, 3, 0, 9) && !table.waits_in_order(3), "9 comes before the range");
    assert!(locks(&mut table, 5, 0, 40) && table.watch(3).range(0, key(0), key(1)));
    assert!(!locks(&mut table, 3, 0, 40) && table.waits_in_order(3), "after all of both ranges");
}
