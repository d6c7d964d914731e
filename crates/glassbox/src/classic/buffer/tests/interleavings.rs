//! Every interleaving of a few threads at one frame: those who fix, one who claims it for another page, and one who
//! writes its page out.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test -p glassbox --lib interleavings`.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use super::super::frame::{Fix, Frame};
use crate::classic::ids::PageId;
use crate::classic::latch::ReadWriteLatch;
use crate::log::Lsn;

const OLD: PageId = PageId(1);
const NEW: PageId = PageId(2);

/// A frame, its memory, and what is on disk of the old page. Content is the page's number times 10, plus changes.
struct World {
    frame: Frame<ReadWriteLatch>,
    memory: UnsafeCell<u32>,
    disk: UnsafeCell<u32>,
}

// SAFETY: that this is so is what the test checks: loom fails on any two uses of a cell that are not ordered.
unsafe impl Sync for World {}
// SAFETY: numbers.
unsafe impl Send for World {}

impl World {
    /// The frame holds the old page, as it is on disk, not fixed.
    fn new() -> Arc<World> {
        let world = World { frame: Frame::default(), memory: UnsafeCell::new(0), disk: UnsafeCell::new(10 * OLD.0) };
        assert!(world.take_for(OLD));
        Arc::new(world)
    }

    /// Claims the frame for a page and brings it.
    fn take_for(&self, page: PageId) -> bool {
        let Some((old, _)) = self.frame.claim() else { return false };
        if old == OLD {
            // What leaves memory is on disk.
            // SAFETY: the claim.
            let held = self.memory.with(|memory| unsafe { *memory });
            // SAFETY: written before the claim could succeed.
            assert_eq!(self.disk.with(|disk| unsafe { *disk }), held, "a dirty page left");
        }
        self.frame.prepare(page);
        self.frame.publish();
        // SAFETY: latched exclusively.
        self.memory.with_mut(|memory| unsafe { *memory = 10 * page.0 });
        self.frame.arrived();
        self.frame.unfix_exclusive();
        true
    }

    fn take_for_new(&self) {
        self.take_for(NEW);
    }

    /// Claims the frame for a page that then cannot be read.
    fn take_in_vain(&self) {
        if self.frame.claim().is_none() {
            return;
        }
        self.frame.prepare(NEW);
        self.frame.publish();
        // SAFETY: latched exclusively.
        self.memory.with_mut(|memory| unsafe { *memory = 0 });
        self.frame.forget();
        self.frame.unfix_exclusive();
    }

    fn look_for(&self, page: PageId) {
        if let Fix::Fixed { .. } = self.frame.fix(page, false, true) {
            // SAFETY: fixed to read.
            let found = self.memory.with(|memory| unsafe { *memory });
            assert_eq!(found / 10, page.0, "another page than was wanted");
            self.frame.unfix_shared();
        }
    }

    fn look_for_old(&self) {
        self.look_for(OLD);
    }

    fn look_for_new(&self) {
        self.look_for(NEW);
    }

    /// Pins the old page, and needs it after its latch is released.
    fn pin_old(&self) {
        if let Fix::Fixed { .. } = self.frame.fix(OLD, false, true) {
            let is_pinned = self.frame.pin();
            self.frame.unfix_shared();
            if is_pinned {
                self.need_pinned(OLD);
            }
        }
    }

    /// Pins a page without its latch, and needs it.
    fn pin_unfixed(&self, page: PageId) {
        if self.frame.pin_unfixed(page) {
            self.need_pinned(page);
        }
    }

    fn pin_old_unfixed(&self) {
        self.pin_unfixed(OLD);
    }

    fn pin_new_unfixed(&self) {
        self.pin_unfixed(NEW);
    }

    /// Looks at a pinned page, and removes the pin.
    fn need_pinned(&self, page: PageId) {
        assert!(matches!(self.frame.fix(page, false, true), Fix::Fixed { .. }), "a pinned page left");
        // SAFETY: fixed to read.
        let found = self.memory.with(|memory| unsafe { *memory });
        assert_eq!(found / 10, page.0, "another page than was pinned");
        self.frame.unfix_shared();
        self.frame.unpin();
    }

    fn change_old(&self) {
        if let Fix::Fixed { .. } = self.frame.fix(OLD, true, true) {
            // SAFETY: fixed to change.
            self.memory.with_mut(|memory| unsafe { *memory += 1 });
            self.frame.note_change(Lsn(8));
            self.frame.unfix_exclusive();
        }
    }

    fn write_old(&self) {
        if let Fix::Fixed { .. } = self.frame.fix_to_copy(OLD, false) {
            // SAFETY: fixed to read.
            let copy = self.memory.with(|memory| unsafe { *memory });
            let changed = self.frame.is_changed();
            if changed {
                self.frame.begin_write();
            }
            self.frame.unfix_shared();
            if changed {
                assert!(self.frame.needed_from().is_some(), "called clean before it is on disk");
                // SAFETY: the only one who writes; who reads does so after a claim, which is after `end_write`.
                self.disk.with_mut(|disk| unsafe { *disk = copy });
                self.frame.end_write();
            }
        }
    }
}

/// Tries all orders of what `threads` do, with at most `switches` switches away from a thread that could go on.
fn check(switches: usize, threads: &'static [fn(&World)]) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(switches);
    model.check(move || {
        let world = World::new();
        let spawn = |work: &fn(&World)| {
            let (world, work) = (world.clone(), *work);
            thread::spawn(move || work(&world))
        };
        let running: Vec<_> = threads[1..].iter().map(spawn).collect();
        threads[0](&world);
        running.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(world.frame.uses_if_unfixed().is_some(), "the page is still fixed");
    });
}

#[test]
fn who_fixes_gets_the_page_he_wants() {
    check(4, &[World::take_for_new, World::look_for_old]);
    check(4, &[World::take_for_new, World::look_for_new]);
    check(3, &[World::take_for_new, World::look_for_old, World::look_for_new]);
}

#[test]
fn a_pinned_page_stays_without_its_latch() {
    check(4, &[World::take_for_new, World::pin_old]);
    check(3, &[World::take_for_new, World::pin_old, World::pin_old]);
    check(3, &[World::take_for_new, World::pin_old, World::look_for_new]);
}

#[test]
fn a_page_that_is_pinned_without_its_latch_stays() {
    check(4, &[World::take_for_new, World::pin_old_unfixed]);
    check(4, &[World::take_for_new, World::pin_new_unfixed]);
    check(4, &[World::take_in_vain, World::pin_new_unfixed]);
    check(3, &[World::take_for_new, World::pin_old_unfixed, World::pin_new_unfixed]);
    check(3, &[World::take_for_new, World::take_in_vain, World::pin_new_unfixed]);
}

#[test]
fn a_page_that_could_not_be_read_is_not_returned() {
    check(4, &[World::take_in_vain, World::look_for_new]);
    check(3, &[World::take_in_vain, World::look_for_new, World::take_for_new]);
}

#[test]
fn what_leaves_memory_is_on_disk() {
    check(4, &[World::take_for_new, World::change_old]);
    check(3, &[World::take_for_new, World::change_old, World::write_old]);
    check(2, &[World::change_old, World::change_old, World::write_old, World::take_for_new]);
}
