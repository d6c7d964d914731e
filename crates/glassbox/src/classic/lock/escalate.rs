//! Lock escalation, and early release of locks.
//!
//! The list of an owner's locks counts, for stores and pages, the locks acquired below. When they are too many, the
//! store or page is locked instead: in X if anything below was or will be written, else in S. This happens only if the
//! coarse lock needs no wait, because a waiting owner holds locks that others need, and escalation would cause
//! deadlocks. The locks below are then released, as the coarse lock covers them. If the coarse lock is not available,
//! fine locks are acquired as before, and the next attempt is made when their number has doubled.

use super::descend::Place;
use super::held::Held;
use super::locks::Duration;
use super::manager::LockManager;
use super::mode::Mode;
use super::name::{END, Key, PAGE, RECORD, STORE, VOLUME};
use super::owner::Owner;
use super::sync::latch;

impl LockManager {
    /// Escalates if too many locks below are held and the coarse lock is available. Returns whether it did.
    #[inline(always)]
    pub(super) fn escalates(&self, owner: &mut Owner, at: usize, mode: Mode) -> bool {
        let held = owner.held.entry(at);
        held.below >= held.escalate_at && self.escalate(owner, at, mode)
    }

    #[cold]
    fn escalate(&self, owner: &mut Owner, at: usize, mode: Mode) -> bool {
        let Held { key, hash, mode: held, .. } = *owner.held.entry(at);
        let whole = if held == Mode::IS && mode.intent() == Mode::IS { Mode::S } else { Mode::X };
        let place = Place { key, hash, at: Some(at) };
        if self.take(owner, place, whole, false, Duration::Commit).is_err() {
            let held = owner.held.entry(at);
            held.escalate_at = held.escalate_at.saturating_mul(2);
            return false;
        }
        latch(&self.history).counters.escalations += 1;
        owner.held.entry(at).below = 0;
        let mut released = 0;
        // From the end, because a removed lock is replaced by the last one.
        for at in (0..owner.count()).rev() {
            let below = owner.held.entries()[at];
            if is_below(below.key, key) {
                released += 1;
                self.unlist(owner, at);
                self.partition(below.hash).release(below.request);
            }
        }
        if key.kind() == PAGE {
            self.fewer_below(owner, Key::of_store(key.store()), released);
        }
        true
    }

    /// Releases one lock of a read, unless it is an intent that a lock below needs.
    pub(super) fn release_one(&self, owner: &mut Owner, key: Key) {
        let Some(at) = self.place(owner, key).at else { return };
        let held = owner.held.entries()[at];
        let written = !matches!(held.mode, Mode::IS | Mode::S | Mode::U);
        let needed = match key.kind() {
            VOLUME => true,
            STORE | PAGE => owner.held.entries().iter().any(|other| is_below(other.key, key)),
            _ => false,
        };
        if written || needed {
            return;
        }
        self.unlist(owner, at);
        self.partition(held.hash).release(held.request);
        if matches!(key.kind(), RECORD | END) {
            self.fewer_below(owner, Key::of_store(key.store()), 1);
        }
        if key.kind() == RECORD {
            self.fewer_below(owner, Key::of_page(key.store(), key.page()), 1);
        }
    }

    /// Removes a lock from the owner's list.
    fn unlist(&self, owner: &mut Owner, at: usize) {
        owner.held.remove(at);
        if let Some(moved) = owner.held.entries().get(at) {
            self.partition(moved.hash).set_place(moved.request, at);
        }
    }

    fn fewer_below(&self, owner: &mut Owner, key: Key, by: u32) {
        if let Some(at) = self.place(owner, key).at {
            let held = owner.held.entry(at);
            held.below = held.below.saturating_sub(by);
        }
    }
}

fn is_below(key: Key, above: Key) -> bool {
    let inside = match above.kind() {
        STORE => matches!(key.kind(), PAGE | RECORD | END),
        PAGE => key.kind() == RECORD && key.page() == above.page(),
        _ => false,
    };
    inside && key.store() == above.store()
}
