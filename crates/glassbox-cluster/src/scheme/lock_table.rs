//! Who may touch which keys. One thread asks, so a lock is an entry of a map and nothing else.
//!
//! Strict two-phase: an owner keeps what it has until its end. An owner that is refused is taken back and keeps its
//! locks; it is run again when nobody that it was refused for is left. Invariants:
//!
//! - no two owners hold locks that conflict;
//! - a request that conflicts with an older one that waits, or may be run again and has not been, waits too: nobody is
//!   passed over for ever;
//! - an owner waits for others only while it is in `waiting`, with one request.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use foldhash::fast::FixedState;
use glassbox::shard::{Touch, Watch};
use smallvec::{SmallVec, smallvec};

/// Who holds locks: numbered by the scheme, in the order of arrival.
pub(crate) type Owner = u64;

/// Owners that one waits for.
pub(crate) type Owners = SmallVec<[Owner; 4]>;

/// A space, and a key in it.
type Key = (u32, u128);

/// Keys of one space, from a first to a last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    space: u32,
    low: u128,
    high: u128,
}

#[derive(Debug, Clone, Copy)]
struct Request {
    span: Span,
    touch: Touch,
}

impl Span {
    fn has(&self, (space, key): Key) -> bool {
        self.space == space && self.low <= key && key <= self.high
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

/// Who holds a key, and what for: one may write it, or any number read it.
#[derive(Debug)]
struct Lock {
    touch: Touch,
    owners: SmallVec<[Owner; 2]>,
}

impl Lock {
    /// Whether an owner holds all that it wants.
    fn is_enough(&self, owner: Owner, touch: Touch) -> bool {
        (self.touch == Touch::Write || touch == Touch::Read) && self.owners.contains(&owner)
    }

    /// Those who must not hold it, unless they are the one who wants it.
    fn against(&self, touch: Touch) -> &[Owner] {
        if self.touch == Touch::Write || touch == Touch::Write { &self.owners } else { &[] }
    }
}

/// An owner that was refused.
#[derive(Debug)]
struct Waiting {
    owner: Owner,
    /// What it wants; `None`: it was a victim, and will ask again for all that it needs.
    request: Option<Request>,
    /// Those that it waits for; without any it keeps its place until it is run again.
    blockers: Owners,
}

/// The locks of a partition.
#[derive(Debug, Default)]
pub(crate) struct LockTable {
    /// By hash: what a lock takes does not depend on how many there are. Ranges, which are rare, look at what is held.
    points: HashMap<Key, Lock, FixedState>,
    /// Ranges that are read, and by whom.
    ranges: Vec<(Span, Owner)>,
    /// Keys of each owner.
    held: BTreeMap<Owner, Vec<Key>>,
    /// In the order in which they were refused.
    waiting: Vec<Waiting>,
}

impl LockTable {
    /// What an owner is run with; it waits no more.
    pub(crate) fn watch(&mut self, owner: Owner) -> Locks<'_> {
        self.waiting.retain(|waiting| waiting.owner != owner);
        let keys = self.held.remove(&owner).unwrap_or_default();
        Locks { table: self, owner, keys }
    }

    /// Those in the way of a request who hold ranges, or came before.
    fn before(&self, owner: Owner, holds_some: bool, request: &Request) -> Owners {
        let mut blockers = Owners::new();
        let mut add = |other: Owner| add_other(&mut blockers, owner, other);
        if request.touch == Touch::Write {
            let over = self.ranges.iter().filter(|(span, _)| span.meets(&request.span));
            over.for_each(|&(_, other)| add(other));
        }
        // Who waits for what one holds already must not be waited for: it would never get it.
        if !holds_some && !self.ranges.iter().any(|&(_, other)| other == owner) {
            let conflicts = |it: &&Waiting| it.request.is_some_and(|other| other.conflicts(request));
            // Who waits for this one came later.
            let older = self.waiting.iter().filter(conflicts).filter(|it| !it.blockers.contains(&owner));
            older.for_each(|waiting| add(waiting.owner));
        }
        blockers
    }

    /// Gives back all that an owner has and waits for; those who need not wait any more, oldest first.
    pub(crate) fn release(&mut self, owner: Owner) -> Vec<Owner> {
        for key in self.held.remove(&owner).unwrap_or_default() {
            let Entry::Occupied(mut lock) = self.points.entry(key) else { unreachable!("what is held is locked") };
            lock.get_mut().owners.retain(|other| *other != owner);
            if lock.get().owners.is_empty() {
                lock.remove();
            }
        }
        self.ranges.retain(|&(_, other)| other != owner);
        self.waiting.retain(|waiting| waiting.owner != owner);
        let free = self.waiting.iter_mut().filter_map(|waiting| {
            let waited = !waiting.blockers.is_empty();
            waiting.blockers.retain(|blocker| *blocker != owner);
            (waited && waiting.blockers.is_empty()).then_some(waiting.owner)
        });
        free.collect()
    }

    /// Lets a victim, which has given back all that it had, wait until the others of its circle have ended.
    pub(crate) fn stand_back(&mut self, victim: Owner, circle: &[Owner]) {
        let blockers = circle.iter().copied().filter(|other| *other != victim).collect();
        self.waiting.push(Waiting { owner: victim, request: None, blockers });
    }

    /// A circle of owners that wait for each other, the given one among them.
    pub(crate) fn deadlock(&self, owner: Owner) -> Option<Vec<Owner>> {
        let mut path = vec![owner];
        let mut seen = vec![owner];
        self.closes(owner, &mut path, &mut seen).then_some(path)
    }

    fn closes(&self, start: Owner, path: &mut Vec<Owner>, seen: &mut Vec<Owner>) -> bool {
        let last = *path.last().expect("it begins with one");
        let blockers = self.waiting.iter().find(|waiting| waiting.owner == last).map(|waiting| &waiting.blockers);
        for &next in blockers.into_iter().flatten() {
            if next == start {
                return true;
            }
            if seen.contains(&next) {
                continue;
            }
            seen.push(next);
            path.push(next);
            if self.closes(start, path, seen) {
                return true;
            }
            path.pop();
        }
        false
    }

    /// Whether nobody holds anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.points.is_empty() && self.ranges.is_empty() && self.waiting.is_empty()
    }
}

fn add_other(blockers: &mut Owners, owner: Owner, other: Owner) {
    if other != owner && !blockers.contains(&other) {
        blockers.push(other);
    }
}

/// One owner's view: what a run asks.
pub(crate) struct Locks<'a> {
    table: &'a mut LockTable,
    owner: Owner,
    /// What it holds; with the table's when the run is over.
    keys: Vec<Key>,
}

impl Locks<'_> {
    /// Not now: these are in the way.
    fn refuse(&mut self, request: Request, blockers: Owners) -> bool {
        self.table.waiting.push(Waiting { owner: self.owner, request: Some(request), blockers });
        false
    }
}

impl Watch for Locks<'_> {
    fn point(&mut self, space: u32, key: u128, touch: Touch) -> bool {
        let owner = self.owner;
        let request = Request { span: Span { space, low: key, high: key }, touch };
        let mut blockers = self.table.before(owner, !self.keys.is_empty(), &request);
        match self.table.points.entry((space, key)) {
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

    fn range(&mut self, space: u32, low: u128, high: u128) -> bool {
        // What comes from outside may be nonsense, and then nothing is read.
        if low > high {
            return true;
        }
        let span = Span { space, low, high };
        let request = Request { span, touch: Touch::Read };
        let mut blockers = self.table.before(self.owner, !self.keys.is_empty(), &request);
        for (&other, keys) in &self.table.held {
            if keys.iter().any(|key| request.span.has(*key) && self.table.points[key].touch == Touch::Write) {
                add_other(&mut blockers, self.owner, other);
            }
        }
        if !blockers.is_empty() {
            return self.refuse(request, blockers);
        }
        if !self.table.ranges.contains(&(span, self.owner)) {
            self.table.ranges.push((span, self.owner));
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
