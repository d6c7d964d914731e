//! Who keeps whom off, and who may go on when somebody has ended.

use super::*;

fn wants(table: &mut LockTable, owner: Owner) -> bool {
    table.watch(owner).point(0, 7, Touch::Write)
}

#[test]
fn who_waited_first_is_not_in_a_circle_with_who_waits_behind_it() {
    let mut table = LockTable::default();
    assert!(wants(&mut table, 0) && !wants(&mut table, 1) && !wants(&mut table, 2));
    assert_eq!(table.release(0), [1]);
    assert!(wants(&mut table, 1), "the one behind it is not in its way");
    assert_eq!(table.deadlock(2), None);
    assert_eq!(table.release(1), [2]);
    assert!(wants(&mut table, 2));
    assert!(table.release(2).is_empty());
    assert!(table.is_empty());
}

#[test]
fn many_read_a_key_and_one_writes_it() {
    let mut table = LockTable::default();
    assert!(table.watch(0).point(0, 7, Touch::Read) && table.watch(1).point(0, 7, Touch::Read));
    assert!(!wants(&mut table, 1), "another reads it");
    assert_eq!(table.release(0), [1]);
    assert!(wants(&mut table, 1) && table.watch(1).point(0, 7, Touch::Read));
    assert!(!table.watch(2).point(0, 7, Touch::Read), "reading again gave nothing back");
    assert_eq!(table.release(1), [2]);
    assert!(table.watch(2).point(0, 7, Touch::Read));
    assert!(table.release(2).is_empty());
    assert!(table.is_empty());
}

#[test]
fn who_reads_a_range_and_who_writes_in_it_keep_each_other_off() {
    let mut table = LockTable::default();
    let scans = |table: &mut LockTable, owner, low, high| table.watch(owner).range(0, low, high);
    assert!(scans(&mut table, 0, 3, 7) && table.watch(0).point(0, 5, Touch::Write), "its own range");
    assert!(!wants(&mut table, 1), "it is read");
    assert!(table.watch(2).point(0, 8, Touch::Write) && table.watch(3).point(1, 5, Touch::Write));
    assert!(!scans(&mut table, 4, 6, 8), "somebody waits to write there");
    assert_eq!(table.release(0), [1]);
    assert!(wants(&mut table, 1));
    assert_eq!(table.deadlock(4), None);
    assert!(table.release(1).is_empty(), "who scans waits for another too");
    assert_eq!(table.release(2), [4]);
    assert!(table.watch(5).point(0, 9, Touch::Read) && scans(&mut table, 4, 6, 9), "both read");
    assert!((3..=5).all(|owner| table.release(owner).is_empty()));
    assert!(table.is_empty());
}

#[test]
fn who_waited_and_was_not_run_yet_is_not_passed_over() {
    let mut table = LockTable::default();
    assert!(wants(&mut table, 0) && !wants(&mut table, 1));
    assert_eq!(table.release(0), [1]);
    assert!(!wants(&mut table, 2), "it came later");
    assert!(table.release(7).is_empty(), "each is told once");
    assert!(wants(&mut table, 1));
    assert_eq!(table.release(1), [2]);
    assert!(wants(&mut table, 2));
    assert!(table.release(2).is_empty());
    assert!(table.is_empty());
}
