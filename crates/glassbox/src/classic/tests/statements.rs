//! Statements that read or change rows.

use std::ops::ControlFlow;

use super::trace::say;
use super::world::{Customer, CustomerByCity, District, World, golden, usual};
use crate::procedure::Transaction;
use crate::record::Direction;

/// So many districts have a root and three leaves; the last one is not full.
const THREE_LEAVES: u32 = 800;
/// So many customers have a root and leaves, in both trees.
const CUSTOMERS: u32 = 400;

#[test]
fn get() {
    let lines = World::new(&usual(), THREE_LEAVES, 0).observe(|tx| {
        say("get district 40");
        assert!(tx.get::<District>(&40)?.is_some());
        say("commit");
        Ok(())
    });
    let caption =
        "A row is read by its key. Latches are coupled down the tree: the leaf is latched before its parent is
        let go. The lock is asked for under the latch of the leaf, so the entry cannot go away before it is granted,
        after the intents on what the record is part of. A transaction that has only read logs nothing and forces
        nothing.";
    golden("get", caption, &lines);
}

#[test]
fn get_missing() {
    let lines = World::new(&usual(), THREE_LEAVES, 0).observe(|tx| {
        say("get district 41");
        assert!(tx.get::<District>(&41)?.is_none());
        say("get district 9999");
        assert!(tx.get::<District>(&9999)?.is_none());
        say("commit");
        Ok(())
    });
    let caption =
        "A key that is not there. The lock covers the gap where it would be: by the record of the next key, or
        after the last key by the end of the index. So it is not inserted before this transaction has ended.";
    golden("get-missing", caption, &lines);
}

#[test]
fn update() {
    let lines = World::new(&usual(), THREE_LEAVES, 0).observe(|tx| {
        say("update district 40: next_order + 1");
        tx.update::<District, _>(&40, |row| row.next_order += 1)?;
        say("commit");
        Ok(())
    });
    let caption =
        "A column that is in no index. The record is locked in X from the start, so that no two who read first
        wait for each other. The log record holds the bytes before and after; it is appended while the page is latched.
        At commit: the record of it, then the locks, then the force; others may read what is not durable yet, but they
        are answered behind it.";
    golden("update", caption, &lines);
}

#[test]
fn update_of_an_indexed_column() {
    let lines = World::new(&usual(), 0, CUSTOMERS).observe(|tx| {
        say("update customer 8: city 1 -> 2");
        tx.update::<Customer, _>(&8, |row| row.city = 2)?;
        say("commit");
        Ok(())
    });
    let caption =
        "A column that is part of an index: the entry moves. Its removal is a deletion in that index, which locks
        the next key in X to the end: the gap that it leaves is not certain before. Putting it elsewhere is an
        insertion, for which the next key is locked in X for a moment only: it says that no transaction has read
        the gap. Entries are undone by their key, wherever they will be then; the record on its page.";
    golden("update-indexed", caption, &lines);
}

#[test]
fn insert() {
    let lines = World::new(&usual(), 0, CUSTOMERS).observe(|tx| {
        say("insert customer 777");
        tx.insert(&Customer { id: 777, city: 1, balance: 0 })?;
        say("commit");
        Ok(())
    });
    let caption = "The record comes first, into a page with room. It is locked in X before it is visible, as the lock
        of the record is that of its keys too. Then one entry in each tree, each after a moment's X lock on the
        record of the next key there: no transaction has read the gap that the new key falls into.";
    golden("insert", caption, &lines);
}

#[test]
fn insert_of_a_duplicate() {
    let lines = World::new(&usual(), 0, CUSTOMERS).observe(|tx| {
        say("insert customer 8, which is there");
        let stop = tx.insert(&Customer { id: 8, city: 1, balance: 0 }).unwrap_err();
        say("abort, as the procedure passes it on");
        Err(stop)
    });
    let caption = "The key is there. Its record is locked in S, under the latch: its inserter may yet be rolled back,
        and then the answer would be another. It is granted, so the statement is undone: the
        compensation says that nothing is left to undo. The new record becomes a ghost, whose slot is used again
        when its lock is gone.";
    golden("insert-duplicate", caption, &lines);
}

#[test]
fn insert_that_splits_a_leaf() {
    let lines = World::new(&usual(), THREE_LEAVES, 0).observe(|tx| {
        say("insert district 101, for which its leaf has no room");
        tx.insert(&District { id: 101, next_order: 1, ytd: 0 })?;
        say("commit");
        Ok(())
    });
    let caption =
        "A full leaf is split in a nested action, by a second descent with exclusive latches: take a page, move
        half of the entries, link it in, tell the parent. The record that ends the action points behind it: once
        it is in the log the split stays, whatever becomes of the insertion. Then the insertion begins again.";
    golden("insert-splits-a-leaf", caption, &lines);
}

#[test]
fn delete() {
    let lines = World::new(&usual(), 0, CUSTOMERS).observe(|tx| {
        say("delete customer 8");
        assert!(tx.delete::<Customer>(&8)?);
        say("commit");
        Ok(())
    });
    let caption =
        "Entries go first, the record last. For each entry the next key is locked in X to the end, because the
        gap that the entry leaves is not certain before: who looked for the key would find nothing, although it may come
        back. The record stays as a ghost, so that it can come back to its place.";
    golden("delete", caption, &lines);
}

/// Only this one is left of the second leaf.
const LAST_OF_LEAF: u32 = 1000;

/// All that leave the second leaf but one entry, which has between 339 and 676 in the order of keys.
fn empty_but_one(world: &World, from: u32, to: u32) {
    world.quietly(|tx| {
        for id in (from..=to).map(|n| 2 * n).filter(|id| *id != LAST_OF_LEAF) {
            tx.delete::<District>(&id)?;
        }
        Ok(())
    });
}

#[test]
fn delete_that_empties_a_leaf() {
    let world = World::new(&usual(), THREE_LEAVES, 0);
    empty_but_one(&world, 300, 700);
    let lines = world.observe(|tx| {
        say("delete district 1000, the last in its leaf");
        assert!(tx.delete::<District>(&LAST_OF_LEAF)?);
        say("commit");
        Ok(())
    });
    let caption =
        "The leaf that became empty is unlinked in a nested action of its own, by a second descent: both siblings
        and the parent are changed, and the page goes back to the space map, which stays latched until the
        action has ended, so that the page is not allocated before. Siblings are latched from left to right, so
        the left one is only tried.";
    golden("delete-empties-a-leaf", caption, &lines);
}

#[test]
fn delete_that_shrinks_the_root() {
    let world = World::new(&usual(), 600, 0);
    empty_but_one(&world, 300, 600);
    let lines = world.observe(|tx| {
        say("delete district 1000, the last in the second leaf of two");
        assert!(tx.delete::<District>(&LAST_OF_LEAF)?);
        say("commit");
        Ok(())
    });
    let caption =
        "When the root has only one child left, it becomes what that child is: a second nested action. The root
        keeps its page, so that a remembered address stays right.";
    golden("delete-shrinks-the-root", caption, &lines);
}

#[test]
fn scan_forward() {
    let lines = World::new(&usual(), THREE_LEAVES, 0).observe(|tx| {
        say("scan districts 672 to 680, forward");
        let mut seen = Vec::new();
        tx.scan::<District>(672..=680, Direction::Forward, |row| {
            seen.push(row.id);
            ControlFlow::Continue(())
        })?;
        assert_eq!(seen, [672, 674, 676, 678, 680]);
        say("commit");
        Ok(())
    });
    let caption =
        "Each record is locked before it is given, and then the first one above the range: with the gaps below
        the keys all of the range is locked, and no phantom appears. No latch is held while the row is visited; the leaf
        is fixed again, and what it was like remembered. The walk goes on to the right sibling.";
    golden("scan-forward", caption, &lines);
}

#[test]
fn scan_backward() {
    let lines = World::new(&usual(), THREE_LEAVES, 0).observe(|tx| {
        say("scan districts 674 to 680, backward");
        let mut seen = Vec::new();
        tx.scan::<District>(674..=680, Direction::Backward, |row| {
            seen.push(row.id);
            ControlFlow::Continue(())
        })?;
        assert_eq!(seen, [680, 678, 676, 674]);
        say("commit");
        Ok(())
    });
    let caption =
        "The walk begins at the upper end, so what is above the range is locked first. The left sibling is only
        tried, because latches are waited for from left to right. Below the lowest key of the range no lock is
        needed: the gap there belongs to that key.";
    golden("scan-backward", caption, &lines);
}

#[test]
fn lookup_by_an_index() {
    let lines = World::new(&usual(), 0, CUSTOMERS).observe(|tx| {
        say("scan customers of city 2 with numbers up to 20");
        let mut seen = Vec::new();
        tx.scan_index::<CustomerByCity>((2, 0)..=(2, 20), Direction::Forward, |row| {
            seen.push(row.id);
            ControlFlow::Continue(())
        })?;
        assert_eq!(seen, [4, 10, 16]);
        say("commit");
        Ok(())
    });
    let caption =
        "By a secondary index: its entries name the records, so the tree of the primary key is not visited. The
        locks are on the same records as by the primary key, and the one that is next in the order of this index.";
    golden("index-lookup", caption, &lines);
}
