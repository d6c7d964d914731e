//! Taking a lock: what is needed above it, and whether it is needed at all.
//!
//! To lock a name is to go down to it from the volume. On each level above the name, what the owner holds may *cover*
//! the request (then nothing more is needed), or be a sufficient intent (then it goes on below), or the intent is taken.
//! It begins at the store, because whoever holds an intent there holds one on the volume too.

use super::config::Granularity;
use super::held::{Held, HeldLocks};
use super::locks::{Duration, Outcome};
use super::manager::LockManager;
use super::mode::Mode;
use super::name::{Key, PAGE, RECORD, STORE, VOLUME};
use super::owner::Owner;
use crate::classic::ids::StoreId;

/// What the owner has on a level above what it wants.
enum Above {
    /// Enough for everything below.
    Covered,
    /// An intent, at this place in its list.
    Intent(usize),
}

impl LockManager {
    /// Goes down to a name and locks it.
    pub(super) fn descend(
        &self,
        owner: &mut Owner,
        key: Key,
        mode: Mode,
        wait: bool,
        duration: Duration,
    ) -> Result<(), Outcome> {
        let kind = key.kind();
        if kind == VOLUME {
            return self.take(owner, key, mode, wait, duration).map(drop);
        }
        let target = if kind == STORE { key } else { self.target(owner, key) };
        if target.kind() == STORE {
            // Not by way of an intent on the store: two who made of it what they want would end in a deadlock.
            return match self.volume_intent(owner, mode, wait)? {
                Above::Covered => Ok(()),
                Above::Intent(_) => self.take(owner, target, mode, wait, duration).map(drop),
            };
        }
        let Above::Intent(store) = self.store_intent(owner, key.store(), mode, wait)? else { return Ok(()) };
        let kept = duration == Duration::Commit;
        if kept && self.escalates(owner, store, mode) {
            return Ok(());
        }
        let mut page = None;
        if target.kind() == RECORD && self.config.lock_pages {
            let Above::Intent(at) = self.intent(owner, Key::of_page(key.store(), key.page()), mode, wait)? else {
                return Ok(());
            };
            if kept && self.escalates(owner, at, mode) {
                return Ok(());
            }
            page = Some(at);
        }
        if self.take(owner, target, mode, wait, duration)? && kept {
            owner.held.entry(store).below += 1;
            if let Some(page) = page {
                owner.held.entry(page).below += 1;
            }
        }
        Ok(())
    }

    /// What is locked when something in a store is asked for.
    #[inline]
    fn target(&self, owner: &Owner, key: Key) -> Key {
        let store = Key::of_store(key.store());
        let granularity = match owner.held.find(store, store.hash()) {
            Some(at) => owner.held.entries()[at].granularity,
            None => self.granularity(key.store()),
        };
        let page = if self.config.lock_pages { Key::of_page(key.store(), key.page()) } else { store };
        match (granularity, key.kind()) {
            (Granularity::Store, _) => store,
            (Granularity::Record, PAGE) | (Granularity::Page, PAGE | RECORD) => page,
            (Granularity::Record, _) | (Granularity::Page, _) => key,
        }
    }

    /// Sees to an intent for `mode` on the volume.
    fn volume_intent(&self, owner: &mut Owner, mode: Mode, wait: bool) -> Result<Above, Outcome> {
        self.intent(owner, Key::THE_VOLUME, mode, wait)
    }

    /// Sees to intents for `mode` on the volume and a store.
    #[inline]
    fn store_intent(&self, owner: &mut Owner, store: StoreId, mode: Mode, wait: bool) -> Result<Above, Outcome> {
        let key = Key::of_store(store);
        if let Some(above) = above(&owner.held, key, mode) {
            return Ok(above);
        }
        match self.volume_intent(owner, mode, wait)? {
            Above::Covered => Ok(Above::Covered),
            Above::Intent(_) => self.intent(owner, key, mode, wait),
        }
    }

    /// Sees to an intent for `mode` on a name, all above having been seen to.
    #[inline]
    fn intent(&self, owner: &mut Owner, key: Key, mode: Mode, wait: bool) -> Result<Above, Outcome> {
        if let Some(above) = above(&owner.held, key, mode) {
            return Ok(above);
        }
        self.take(owner, key, mode.intent(), wait, Duration::Commit)?;
        Ok(above(&owner.held, key, mode).expect("it was just taken"))
    }

    /// Locks a name, all above having been seen to. Says whether the owner's list is longer by it.
    pub(super) fn take(
        &self,
        owner: &mut Owner,
        key: Key,
        mode: Mode,
        wait: bool,
        duration: Duration,
    ) -> Result<bool, Outcome> {
        let hash = key.hash();
        let at = owner.held.find(key, hash);
        let wanted = match at {
            None => mode,
            Some(at) => {
                let held = owner.held.entry(at).mode;
                if held.covers(mode) {
                    return Ok(false);
                }
                held.supremum(mode)
            }
        };
        let mut partition = self.partition(hash);
        let granted = match (at, duration) {
            (None, Duration::Commit) => {
                if let Some(request) = partition.request(key, hash, owner.number, mode) {
                    drop(partition);
                    self.note(owner, key, hash, request, mode);
                    return Ok(true);
                }
                false
            }
            (None, Duration::Momentary) => partition.would_grant(key, hash, mode),
            (Some(at), Duration::Commit) => {
                let held = owner.held.entry(at);
                let converted = partition.convert(held.request, wanted);
                if converted {
                    held.mode = wanted;
                }
                converted
            }
            (Some(at), Duration::Momentary) => partition.would_convert(owner.held.entry(at).request, wanted),
        };
        drop(partition);
        if granted {
            Ok(false)
        } else if wait {
            self.wait(owner, key, wanted, duration).map(|()| at.is_none() && duration == Duration::Commit)
        } else {
            Err(Outcome::WouldBlock)
        }
    }

    /// Adds a granted lock to the owner's list.
    #[inline]
    pub(super) fn note(&self, owner: &mut Owner, key: Key, hash: u64, request: u32, mode: Mode) {
        let (granularity, limit) = match key.kind() {
            STORE => (self.granularity(key.store()), self.config.escalate_store_at),
            PAGE => (Granularity::Record, self.config.escalate_page_at),
            _ => (Granularity::Record, 0),
        };
        let escalate_at = if limit == 0 { u32::MAX } else { limit };
        owner.held.insert(Held { key, hash, request, mode, granularity, below: 0, escalate_at });
    }
}

/// What a lock that is held means for `mode` on something below; nothing if it is not held, or in too weak a mode.
#[inline(always)]
fn above(held: &HeldLocks, key: Key, mode: Mode) -> Option<Above> {
    let at = held.find(key, key.hash())?;
    let above = held.entries()[at].mode;
    if above.covers_below(mode) {
        Some(Above::Covered)
    } else if above.covers(mode.intent()) {
        Some(Above::Intent(at))
    } else {
        None
    }
}
