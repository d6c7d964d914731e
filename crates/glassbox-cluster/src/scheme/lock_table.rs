//! The lock table of a partition. One thread uses it, so a lock is a map entry without synchronization.
//!
//! Strict two-phase locking: an owner keeps its locks until it ends. An owner whose request is refused is undone and
//! keeps its locks; it is run again once it has no blockers left. Invariants:
//!
//! - no two owners hold conflicting locks;
//! - a request that conflicts with an older waiting request, or with one that was granted a new run and has not been
//!   run yet, waits too: no request starves;
//! - an owner waits only while it is in `waiting`, with one request.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use foldhash::fast::FixedState;
use glassbox::research::shard::{Touch, Watch, WatchedKey};
use smallvec::{SmallVec, smallvec};

use super::waits_for::cycle_through;

/// An owner of locks, numbered by the scheme in the order of arrival.
pub(crate) type Owner = u64;

/// Owners that block a request.
pub(crate) type Owners = SmallVec<[Owner; 4]>;

/// A space, and a key in it.
type LockKey = (u32, WatchedKey);

/// A range of keys of one space, both ends included.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Span {
    space: u32,
    low: WatchedKey,
    high: WatchedKey,
}

#[derive(Debug, Clone)]
struct Request {
    span: Span,
    touch: Touch,
}

impl Span {
    fn has(&self, (space, key): &LockKey) -> bool {
        self.space == *space && self.low <= *key && *key <= self.high
    }

    fn meets(&self, other: &Self) -> bool {
        self.space == other.space && self.low <= other.high && other.low <= self.high
    }
}

impl Request {
    fn conflicts(&self, other: &Self) -> bool {
        self.span.meets(&other.span) && (self.touch == Touch::Write || other.touch == Touch::Write)
    }
}

/// The owners of a key's lock, and its mode: one writer, or any number of readers.
#[derive(Debug)]
struct Lock {
    touch: Touch,
    owners: SmallVec<[Owner; 2]>,
}

impl Lock {
    /// Whether an owner's lock covers a request.
    fn is_enough(&self, owner: Owner, touch: Touch) -> bool {
        (self.touch == Touch::Write || touch == Touch::Read) && self.owners.contains(&owner)
    }

    /// The owners that conflict with a request, the requester possibly among them.
    fn against(&self, touch: Touch) -> &[Owner] {
        if self.touch == Touch::Write || touch == Touch::Write { &self.owners } else { &[] }
    }
}

/// An owner whose request was refused.
#[derive(Debug)]
struct Waiting {
    owner: Owner,
    /// The refused request; `None`: a deadlock victim, which will request all of its locks again.
    request: Option<Request>,
    /// The owners that it waits for; without any it keeps its place in the queue until it is run again.
    blockers: Owners,
}

/// The locks of a partition.
#[derive(Debug, Default)]
pub(crate) struct LockTable {
    /// By hash, so the cost of a lock does not depend on their number. Range requests, which are rare, scan the held
    /// locks.
    points: HashMap<LockKey, Lock, FixedState>,
    /// Ranges locked for reading, with their owners.
    ranges: Vec<(Span, Owner)>,
    /// The keys of each owner.
    held: BTreeMap<Owner, Vec<LockKey>>,
    /// In the order of refusal.
    waiting: Vec<Waiting>,
}

impl LockTable {
    /// The view with which an owner is run; it no longer waits.
    pub(crate) fn watch(&mut self, owner: Owner) -> Locks<'_> {
        self.waiting.retain(|waiting| waiting.owner != owner);
        let keys = self.held.remove(&owner).unwrap_or_default();
        Locks { table: self, owner, keys }
    }

    /// The blockers of a request among range locks and older requests.
    fn before(&self, owner: Owner, holds_some: bool, request: &Request) -> Owners {
        let mut blockers = Owners::new();
        let mut add = |other: Owner| add_other(&mut blockers, owner, other);
        if request.touch == Touch::Write {
            let over = self.ranges.iter().filter(|(span, _)| span.meets(&request.span));
            over.for_each(|(_, other)| add(*other));
        }
        // An owner that holds locks never queues behind waiting requests: one of them may wait for a lock that it
        // already holds (self-deadlock).
        if !holds_some && !self.ranges.iter().any(|(_, other)| *other == owner) {
            let conflicts = |it: &&Waiting| it.request.as_ref().is_some_and(|other| other.conflicts(request));
            // A request that waits for this owner is younger.
            let older = self.waiting.iter().filter(conflicts).filter(|it| !it.blockers.contains(&owner));
            older.for_each(|waiting| add(waiting.owner));
        }
        blockers
    }

    /// Releases all locks and requests of an owner; the owners that have no blockers left, oldest first.
    pub(crate) fn release(&mut self, owner: Owner) -> Vec<Owner> {
        for key in self.held.remove(&owner).unwrap_or_default() {
            let Entry::Occupied(mut lock) = self.points.entry(key) else { unreachable!("a held key is locked") };
            lock.get_mut().owners.retain(|other| *other != owner);
            if lock.get().owners.is_empty() {
                lock.remove();
            }
        }
        self.ranges.retain(|(_, other)| *other != owner);
        self.waiting.retain(|waiting| waiting.owner != owner);
        let free = self.waiting.iter_mut().filter_map(|waiting| {
            let waited = !waiting.blockers.is_empty();
            waiting.blockers.retain(|blocker| *blocker != owner);
            (waited && waiting.blockers.is_empty()).then_some(waiting.owner)
        });
        free.collect()
    }

    /// Has a deadlock victim, which has released all of its locks, wait until the other owners of the cycle have ended.
    pub(crate) fn back_off(&mut self, victim: Owner, cycle: &[Owner]) {
        let blockers = cycle.iter().copied().filter(|other| *other != victim).collect();
        self.waiting.push(Waiting { owner: victim, request: None, blockers });
    }

    /// A cycle of owners that wait for each other, through the given one.
    pub(crate) fn deadlock(&self, owner: Owner) -> Option<Vec<Owner>> {
        cycle_through(owner, |owner, meet| self.blockers(owner).iter().for_each(|blocker| meet(*blocker)))
    }

    /// The owners for which an owner waits.
    pub(crate) fn blockers(&self, owner: Owner) -> &[Owner] {
        self.waiting.iter().find(|waiting| waiting.owner == owner).map_or(&[], |waiting| &waiting.blockers)
    }

    /// Whether all locks of an owner come before the one that it waits for, in the order of spaces and keys.
    pub(crate) fn waits_in_order(&self, owner: Owner) -> bool {
        let request = self.waiting.iter().find(|waiting| waiting.owner == owner).and_then(|it| it.request.as_ref());
        let Some(Request { span, .. }) = request else { return true };
        let is_before = |space: u32, key: &WatchedKey| (space, key) < (span.space, &span.low);
        let mut keys = self.held.get(&owner).into_iter().flatten();
        let mut ranges = self.ranges.iter().filter(|(_, other)| *other == owner);
        keys.all(|(space, key)| is_before(*space, key)) && ranges.all(|(range, _)| is_before(range.space, &range.high))
    }

    /// Whether no lock is held or requested.
    pub(crate) fn is_empty(&self) -> bool {
        self.points.is_empty() && self.ranges.is_empty() && self.waiting.is_empty()
    }
}

fn add_other(blockers: &mut Owners, owner: Owner, other: Owner) {
    if other != owner && !blockers.contains(&other) {
        blockers.push(other);
    }
}

/// One owner's view of the lock table during a run.
pub(crate) struct Locks<'a> {
    table: &'a mut LockTable,
    owner: Owner,
    /// The owner's keys, which go back to the table when the run ends.
    keys: Vec<LockKey>,
}

impl Locks<'_> {
    /// Refuses a request because of these blockers.
    fn refuse(&mut self, request: Request, blockers: Owners) -> bool {
        self.table.waiting.push(Waiting { owner: self.owner, request: Some(request), blockers });
        false
    }
}

impl Watch for Locks<'_> {
    fn point(&mut self, space: u32, key: WatchedKey, touch: Touch) -> bool {
        let owner = self.owner;
        let request = Request { span: Span { space, low: key.clone(), high: key.clone() }, touch };
        let mut blockers = self.table.before(owner, !self.keys.is_empty(), &request);
        match self.table.points.entry((space, key.clone())) {
            Entry::Vacant(entry) if blockers.is_empty() => {
                entry.insert(Lock { touch, owners: smallvec![owner] });
                self.keys.push((space, key));
            }
            Entry::Vacant(_) => return self.refuse(request, blockers),
            Entry::Occupied(mut entry) => {
                let lock = entry.get_mut();
                if lock.is_enough(owner, touch) {
                    return true;
                }
                lock.against(touch).iter().for_each(|&other| add_other(&mut blockers, owner, other));
                if !blockers.is_empty() {
                    return self.refuse(request, blockers);
                }
                lock.touch = touch;
                if !lock.owners.contains(&owner) {
                    lock.owners.push(owner);
                    self.keys.push((space, key));
                }
            }
        }
        true
    }

    fn range(&mut self, space: u32, low: WatchedKey, high: WatchedKey) -> bool {
        // A range from outside may be invalid; it is empty then.
        if low > high {
            return true;
        }
        let span = Span { space, low, high };
        let request = Request { span: span.clone(), touch: Touch::Read };
        let mut blockers = self.table.before(self.owner, !self.keys.is_empty(), &request);
        for (&other, keys) in &self.table.held {
            if keys.iter().any(|key| request.span.has(key) && self.table.points[key].touch == Touch::Write) {
                add_other(&mut blockers, self.owner, other);
            }
        }
        if !blockers.is_empty() {
            return self.refuse(request, blockers);
        }
        let range = (span, self.owner);
        if !self.table.ranges.contains(&range) {
            self.table.ranges.push(range);
        }
        true
    }
}

impl Drop for Locks<'_> {
    fn drop(&mut self) {
        if !self.keys.is_empty() {
            self.table.held.insert(self.owner, std::mem::take(&mut self.keys));
        }
    }
}

#[cfg(test)]
mod tests;
