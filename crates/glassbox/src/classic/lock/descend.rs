//! Acquiring a lock: the intents above it, and locks that make it unnecessary.
//!
//! A lock of a name is acquired from the volume downwards. On each level above the name, the owner's lock may *cover*
//! the request (then it is done), or be a sufficient intent (then the next level follows); otherwise the intent is
//! acquired. The descent begins at the store, because the holder of an intent there holds one on the volume too.
//!
//! Lock escalation, and early release of locks.
//!
//! The list of an owner's locks counts, for stores and pages, the locks acquired below. When they are too many, the
//! store or page is locked instead: in X if anything below was or will be written, else in S. This happens only if the
//! coarse lock needs no wait, because a waiting owner holds locks that others need, and escalation would cause
//! deadlocks. The locks below are then released, as the coarse lock covers them. If the coarse lock is not available,
//! fine locks are acquired as before, and the next attempt is made when their number has doubled.

use super::config::LockGranularity;
use super::held::HeldLock;
use super::locks::{Duration, Outcome};
use super::manager::LockManager;
use super::mode::LockMode;
use super::name::{END, PAGE, PackedName, RECORD, STORE, VOLUME};
use super::owner::Owner;
use super::sync::latch;
use crate::classic::ids::StoreId;

/// A name, and its position in the owner's list.
#[derive(Clone, Copy)]
pub(super) struct LockPlace {
    pub(super) key: PackedName,
    pub(super) hash: u64,
    pub(super) at: Option<usize>,
}

/// The owner's lock on a level above the requested one.
enum Above {
    /// It covers everything below.
    Covered,
    /// An intent, at this position of its list.
    Intent(usize),
}

impl LockPlace {
    /// The mode held here, as seen from below by a request for `mode`; nothing if it is not enough.
    #[inline(always)]
    fn above(self, owner: &Owner, mode: LockMode) -> Option<Above> {
        let at = self.at?;
        let above = owner.held.entries()[at].mode;
        if above.covers_below(mode) {
            Some(Above::Covered)
        } else if above.covers(mode.intent()) {
            Some(Above::Intent(at))
        } else {
            None
        }
    }
}

impl LockManager {
    /// Looks a name up.
    pub(super) fn place(&self, owner: &Owner, key: PackedName) -> LockPlace {
        let hash = key.hash();
        let at = match key.kind() {
            VOLUME => owner.held.volume(),
            _ => self.partition(hash).place(key, hash, owner.number),
        };
        LockPlace { key, hash, at }
    }

    /// Looks a store up.
    fn place_of_store(&self, owner: &mut Owner, store: StoreId) -> LockPlace {
        let key = PackedName::of_store(store);
        if let Some(at) = owner.held.known_store(store) {
            return LockPlace { key, hash: owner.held.entries()[at].hash, at: Some(at) };
        }
        let place = self.place(owner, key);
        if let Some(at) = place.at {
            owner.held.know_store(store, at);
        }
        place
    }

    /// Descends to a name and locks it.
    #[inline]
    pub(super) fn descend(
        &self,
        owner: &mut Owner,
        mut target: LockPlace,
        mode: LockMode,
        wait: bool,
        duration: Duration,
    ) -> Result<(), Outcome> {
        if target.key.kind() <= STORE {
            return self.take_high(owner, target, mode, wait, duration);
        }
        let store = self.place_of_store(owner, target.key.store());
        let granularity = self.granularity_for(owner, store);
        if granularity != LockGranularity::Record || target.key.kind() == PAGE {
            target = self.place(owner, self.coarser(target.key, granularity));
            if target.key.kind() == STORE {
                return self.take_high(owner, target, mode, wait, duration);
            }
        }
        let above = match store.above(owner, mode) {
            Some(above) => above,
            None => self.store_intent(owner, store, mode, wait)?,
        };
        let Above::Intent(store) = above else { return Ok(()) };
        let kept = duration == Duration::Commit;
        if kept && self.escalates(owner, store, mode) {
            return Ok(());
        }
        let mut page = None;
        if target.key.kind() == RECORD && self.config.lock_pages {
            let place = self.place(owner, PackedName::of_page(target.key.store(), target.key.page()));
            let above = match place.above(owner, mode) {
                Some(above) => above,
                None => self.intent(owner, place, mode, wait)?,
            };
            let Above::Intent(at) = above else { return Ok(()) };
            if kept && self.escalates(owner, at, mode) {
                return Ok(());
            }
            page = Some(at);
        }
        if self.take(owner, target, mode, wait, duration)? {
            owner.held.entry(store).below += 1;
            if let Some(page) = page {
                owner.held.entry(page).below += 1;
            }
        }
        Ok(())
    }

    /// Locks the volume or a store directly. With an intent on the store first, two owners that convert it would end in
    /// a deadlock.
    fn take_high(
        &self,
        owner: &mut Owner,
        target: LockPlace,
        mode: LockMode,
        wait: bool,
        duration: Duration,
    ) -> Result<(), Outcome> {
        if target.key.kind() != VOLUME
            && let Above::Covered = self.volume_intent(owner, mode, wait)?
        {
            return Ok(());
        }
        self.take(owner, target, mode, wait, duration).map(drop)
    }

    /// The name that is locked for a requested one.
    #[cfg(test)]
    pub(super) fn target(&self, owner: &Owner, key: PackedName) -> PackedName {
        if key.kind() <= STORE {
            return key;
        }
        let store = self.place(owner, PackedName::of_store(key.store()));
        self.coarser(key, self.granularity_for(owner, store))
    }

    /// The lock granularity of this owner in a store: it does not change while it holds something there.
    #[inline(always)]
    fn granularity_for(&self, owner: &Owner, store: LockPlace) -> LockGranularity {
        match store.at {
            Some(at) => owner.held.entries()[at].granularity,
            None => self.granularity(store.key.store()),
        }
    }

    /// The name that is locked in place of one in a store.
    #[cold]
    fn coarser(&self, key: PackedName, granularity: LockGranularity) -> PackedName {
        let store = PackedName::of_store(key.store());
        let page = if self.config.lock_pages { PackedName::of_page(key.store(), key.page()) } else { store };
        match (granularity, key.kind()) {
            (LockGranularity::Store, _) => store,
            (LockGranularity::Record, PAGE) | (LockGranularity::Page, PAGE | RECORD) => page,
            (LockGranularity::Record, _) | (LockGranularity::Page, _) => key,
        }
    }

    /// Ensures an intent for `mode` on the volume.
    fn volume_intent(&self, owner: &mut Owner, mode: LockMode, wait: bool) -> Result<Above, Outcome> {
        let volume = self.place(owner, PackedName::THE_VOLUME);
        match volume.above(owner, mode) {
            Some(above) => Ok(above),
            None => self.intent(owner, volume, mode, wait),
        }
    }

    /// Acquires intents for `mode` on the volume and a store.
    fn store_intent(&self, owner: &mut Owner, store: LockPlace, mode: LockMode, wait: bool) -> Result<Above, Outcome> {
        match self.volume_intent(owner, mode, wait)? {
            Above::Covered => Ok(Above::Covered),
            Above::Intent(_) => self.intent(owner, store, mode, wait),
        }
    }

    /// Acquires an intent for `mode` on a name; the intents above are held.
    fn intent(&self, owner: &mut Owner, place: LockPlace, mode: LockMode, wait: bool) -> Result<Above, Outcome> {
        self.take(owner, place, mode.intent(), wait, Duration::Commit)?;
        // A new lock is the last in the list. With an intent, U becomes X, which is more than an intent.
        let at = place.at.unwrap_or(owner.count() - 1);
        Ok(LockPlace { at: Some(at), ..place }.above(owner, mode).expect("it was just taken"))
    }

    /// Locks a name; the intents above are held. Returns whether this added a lock to the owner's list.
    #[inline]
    pub(super) fn take(
        &self,
        owner: &mut Owner,
        place: LockPlace,
        mode: LockMode,
        wait: bool,
        duration: Duration,
    ) -> Result<bool, Outcome> {
        let LockPlace { key, hash, at } = place;
        let granted = if at.is_none() && duration == Duration::Commit {
            let granted = self.partition(hash).request(key, hash, owner.by(), mode);
            if let Some(request) = granted {
                self.note(owner, key, hash, request, mode);
                return Ok(true);
            }
            false
        } else {
            self.take_unlisted(owner, place, mode, duration)
        };
        if granted {
            Ok(false)
        } else if wait {
            self.wait(owner, key, mode, duration).map(|()| at.is_none() && duration == Duration::Commit)
        } else {
            Err(Outcome::WouldBlock)
        }
    }

    /// Locks a name that is held in another mode, or for an instant, if that needs no wait. Returns whether it did.
    fn take_unlisted(&self, owner: &mut Owner, place: LockPlace, mode: LockMode, duration: Duration) -> bool {
        let mut partition = self.partition(place.hash);
        let Some(at) = place.at else { return partition.would_grant(place.key, place.hash, mode) };
        let held = owner.held.entry(at);
        let wanted = held.mode.supremum(mode);
        if duration == Duration::Momentary {
            return wanted == held.mode || partition.would_convert(held.request, wanted);
        }
        let converted = wanted == held.mode || partition.convert(held.request, wanted);
        if converted {
            held.mode = wanted;
        }
        converted
    }

    /// Adds a granted lock to the owner's list.
    #[inline(always)]
    pub(super) fn note(&self, owner: &mut Owner, key: PackedName, hash: u64, request: u32, mode: LockMode) {
        let mut held = HeldLock::new(key, hash, request, mode);
        if matches!(key.kind(), STORE | PAGE) {
            self.note_limits(&mut held, owner.escalates);
        }
        if key.kind() == STORE {
            owner.held.know_store(key.store(), owner.count());
        }
        owner.held.push(held);
    }

    #[inline]
    fn note_limits(&self, held: &mut HeldLock, escalates: bool) {
        let limit = if held.key.kind() == STORE {
            held.granularity = self.granularity(held.key.store());
            self.config.escalate_store_at
        } else {
            self.config.escalate_page_at
        };
        if limit > 0 && escalates {
            held.escalate_at = limit;
        }
    }
}

impl LockManager {
    /// Escalates if too many locks below are held and the coarse lock is available. Returns whether it did.
    #[inline(always)]
    pub(super) fn escalates(&self, owner: &mut Owner, at: usize, mode: LockMode) -> bool {
        let held = owner.held.entry(at);
        held.below >= held.escalate_at && self.escalate(owner, at, mode)
    }

    #[cold]
    fn escalate(&self, owner: &mut Owner, at: usize, mode: LockMode) -> bool {
        let HeldLock { key, hash, mode: held, .. } = *owner.held.entry(at);
        let whole = if held == LockMode::IS && mode.intent() == LockMode::IS { LockMode::S } else { LockMode::X };
        let place = LockPlace { key, hash, at: Some(at) };
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
            self.fewer_below(owner, PackedName::of_store(key.store()), released);
        }
        true
    }

    /// Releases one lock of a read, unless it is an intent that a lock below needs.
    pub(super) fn release_one(&self, owner: &mut Owner, key: PackedName) {
        let Some(at) = self.place(owner, key).at else { return };
        let held = owner.held.entries()[at];
        let written = !matches!(held.mode, LockMode::IS | LockMode::S | LockMode::U);
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
            self.fewer_below(owner, PackedName::of_store(key.store()), 1);
        }
        if key.kind() == RECORD {
            self.fewer_below(owner, PackedName::of_page(key.store(), key.page()), 1);
        }
    }

    /// Removes a lock from the owner's list.
    fn unlist(&self, owner: &mut Owner, at: usize) {
        owner.held.remove(at);
        if let Some(moved) = owner.held.entries().get(at) {
            self.partition(moved.hash).set_place(moved.request, at);
        }
    }

    fn fewer_below(&self, owner: &mut Owner, key: PackedName, by: u32) {
        if let Some(at) = self.place(owner, key).at {
            let held = owner.held.entry(at);
            held.below = held.below.saturating_sub(by);
        }
    }
}

fn is_below(key: PackedName, above: PackedName) -> bool {
    let inside = match above.kind() {
        STORE => matches!(key.kind(), PAGE | RECORD | END),
        PAGE => key.kind() == RECORD && key.page() == above.page(),
        _ => false,
    };
    inside && key.store() == above.store()
}
