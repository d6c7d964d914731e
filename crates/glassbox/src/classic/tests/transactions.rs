//! Statements that end transactions or parts of them, and those that meet others' locks.

use std::ops::ControlFlow;
use std::sync::mpsc::channel;

use super::trace::say;
use super::world::{Customer, District, Tx, World, fine, golden, page_locks, usual};
use crate::classic::engine::sessions::Sessions as _;
use crate::config::{ClassicConfig, Granularity};
use crate::procedure::{Stop, Transaction};
use crate::record::Direction;

/// So many have a root and two leaves.
const DISTRICTS: u32 = 400;
const CUSTOMERS: u32 = 400;

#[test]
fn commit() {
    let world = World::new(&usual(), DISTRICTS, 0);
    let mut lines = world.observe(|tx| {
        say("update district 4: next_order + 1");
        tx.update::<District, _>(&4, |row| row.next_order += 1)?;
        say("update district 6: nothing is different");
        tx.update::<District, _>(&6, |row| row.next_order += 0)?;
        say("commit");
        Ok(())
    });
    lines.push(String::new());
    lines.extend(world.observe(|tx| {
        say("get district 6");
        tx.get::<District>(&6)?;
        say("commit");
        Ok(())
    }));
    let caption = "What commits costs. The commit record goes to the log, then the locks are released, then the log
        is forced up to the record, together with what others have appended, and only then is there an
        answer. An update that changes nothing logs nothing. The second transaction has no record at all;
        its answer waits until what it may have read is durable.";
    golden("commit", caption, &lines);
}

#[test]
fn abort() {
    let lines = World::new(&usual(), 0, CUSTOMERS).observe(|tx| {
        say("update customer 4: balance - 10");
        tx.update::<Customer, _>(&4, |row| row.balance -= 10)?;
        say("insert customer 777");
        tx.insert(&Customer { id: 777, city: 1, balance: 0 })?;
        say("abort");
        Err(Stop::abort(1, "not enough money"))
    });
    let caption = "Everything is undone, newest first. Each compensation says which record is next, so that after a
        crash in the middle nothing is undone twice. Entries are looked for by key from the root; records are changed
        where they are. No lock is asked for: those of the changes are still held. They are released when all is done.";
    golden("abort", caption, &lines);
}

#[test]
fn rollback_to_a_savepoint() {
    let lines = World::new(&usual(), DISTRICTS, 0).observe(|tx| {
        say("update district 4: next_order + 1");
        tx.update::<District, _>(&4, |row| row.next_order += 1)?;
        say("savepoint");
        let savepoint = tx.session.journal.savepoint();
        say("update district 6: next_order + 1");
        tx.update::<District, _>(&6, |row| row.next_order += 1)?;
        say("roll back to the savepoint");
        fine(tx.engine.roll_back(tx.session, savepoint));
        say("commit");
        Ok(())
    });
    let caption =
        "A savepoint is a place in the list of what would be undone: no record, no page. A rollback to it undoes the
        later changes, and says that the earlier ones are the next to undo. Locks are kept: two-phase locking
        gives none back before the end.";
    golden("savepoint", caption, &lines);
}

#[test]
fn page_locks_in_place_of_record_locks() {
    let lines = World::new(&page_locks(), DISTRICTS, 4).observe(|tx| {
        say("get district 4");
        tx.get::<District>(&4)?;
        say("get district 6, on the same page");
        tx.get::<District>(&6)?;
        say("update district 6: next_order + 1");
        tx.update::<District, _>(&6, |row| row.next_order += 1)?;
        say("get customer 4, in a table whose records are locked");
        tx.get::<Customer>(&4)?;
        say("commit");
        Ok(())
    });
    let caption =
        "The same where the pages of a table are locked, as in Berkeley DB: the page stands for all records on it,
        so the second costs nothing, and a change locks all of them. Another table of the same database locks records;
        since pages can be locked, an intent on the page comes before the record.";
    golden("page-locks", caption, &lines);
}

#[test]
fn leaf_locks_before_locks_of_what_is_in_the_leaf() {
    let config = ClassicConfig { granularity: Granularity::PageAndLeaf, ..usual() };
    let lines = World::new(&config, 800, 0).observe(|tx| {
        say("get district 40");
        tx.get::<District>(&40)?;
        say("update district 42, in the same leaf: next_order + 1");
        tx.update::<District, _>(&42, |row| row.next_order += 1)?;
        say("delete district 700");
        tx.delete::<District>(&700)?;
        say("insert district 101, for which its leaf has no room");
        tx.insert(&District { id: 101, next_order: 1, ytd: 0 })?;
        say("commit");
        Ok(())
    });
    let caption =
        "Where leaves of indexes are locked too, as Berkeley DB locks all pages, a leaf is locked before what is in it,
        under its latch: in S to find a row, though the row is changed, in X to delete or insert a key. A split locks
        the leaf that it has made, when no latch is held any more: it has entries of one that was locked in X.";
    golden("leaf-locks", caption, &lines);
}

#[test]
fn escalation() {
    let config = ClassicConfig { escalate_at: 3, ..usual() };
    let lines = World::new(&config, DISTRICTS, 0).observe(|tx| {
        for id in [4, 6, 8, 10, 12] {
            say(&format!("update district {id}: next_order + 1"));
            tx.update::<District, _>(&id, |row| row.next_order += 1)?;
        }
        say("commit");
        Ok(())
    });
    let caption =
        "Too many locks in one table (here more than three) become one: the intent is converted to X, as no other
        transaction is there, and the locks below are given up, being covered. What follows needs no lock of its own.";
    golden("escalation", caption, &lines);
}

/// Lets another transaction hold what it got until this thread waits for it, while `run` is observed.
fn beside(
    world: &World,
    first: impl Fn(&mut Tx<'_>) -> Result<(), Stop> + Send,
    second: impl FnMut(&mut Tx<'_>) -> Result<(), Stop>,
) -> Vec<String> {
    let (held, is_held) = channel();
    // A session remembers where it inserted lately. So the other must get another session than this thread's, always.
    let own = world.engine.sessions.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            world.unforced(|tx| {
                first(tx)?;
                held.send(()).unwrap();
                let waits = |owner| world.engine.locks.0.is_waiting(owner);
                let began = std::time::Instant::now();
                while !(0..2).any(waits) {
                    assert!(began.elapsed().as_secs() < 60, "the other does not wait");
                    std::thread::yield_now();
                }
                Ok(())
            });
        });
        is_held.recv().unwrap();
        drop(own);
        world.observe(second)
    })
}

#[test]
fn a_record_that_another_has_locked() {
    let world = World::new(&usual(), DISTRICTS, 0);
    let lines = beside(
        &world,
        |tx| tx.update::<District, _>(&4, |row| row.next_order += 1).map(drop),
        |tx| {
            say("get district 4, which another transaction has updated");
            assert_eq!(tx.get::<District>(&4)?.map(|row| row.next_order), Some(2));
            say("commit");
            Ok(())
        },
    );
    let caption =
        "No thread waits for a lock while it holds a latch. The lock is asked for without waiting, the latches
        are let go, then it is waited for, and the access begins again from the root: the entry may have moved
        or gone. The other has released its locks before its commit was forced; so this answer has to wait for
        that.";
    golden("waits-for-a-record", caption, &lines);
}

#[test]
fn a_gap_that_another_has_read() {
    let world = World::new(&usual(), DISTRICTS, 0);
    let lines = beside(
        &world,
        |tx| tx.scan::<District>(700..=704, Direction::Forward, |_| ControlFlow::Continue(())),
        |tx| {
            say("insert district 703, into a range that another transaction has read");
            tx.insert(&District { id: 703, next_order: 1, ytd: 0 })?;
            say("commit");
            Ok(())
        },
    );
    let caption =
        "How a phantom is kept out. The other has read districts 700 to 704, so it holds S on the record of 704. The
        insertion wants X on the next key, which is that record, for a moment; it waits until the reader has ended, and
        then puts the key in without keeping the lock.";
    golden("waits-for-a-gap", caption, &lines);
}
