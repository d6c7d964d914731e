//! Who may touch which keys. One thread asks, so a lock is an entry of a map and nothing else.
//!
//! Strict two-phase: an owner keeps what it has until its end. An owner that is refused is taken back and keeps its
//! locks; it is run again when nobody that it was refused for is left. Invariants:
//!
//! - no two owners hold locks that conflict;
//! - a request that conflicts with an older one that waits, or may be run again and has not been, waits too: nobody is
//!   passed over for ever;
//! - an owner waits for others only while it is in `waiting`, with one request.

use std::collections::BTreeMap;

use glassbox::shard::{Touch, Watch};
use smallvec::SmallVec;

/// Who holds locks: numbered by the scheme, in the order of arrival.
pub(crate) type Owner = u64;

/// Owners that one waits for.
pub(crate) type Owners = SmallVec<[Owner; 4]>;

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

impl Request {
    fn conflicts(&self, other: &Self) -> bool {
        let meets =
            self.span.space == other.span.space && self.span.low <= other.span.high && other.span.low <= self.span.high;
        meets && (self.touch == Touch::Write || other.touch == Touch::Write)
    }
}

/// Who holds a key.
#[derive(Debug, Default)]
struct Lock {
    writer: Option<Owner>,
    readers: SmallVec<[Owner; 2]>,
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
    points: BTreeMap<(u32, u128), Lock>,
    /// Ranges that are read, and by whom.
    ranges: Vec<(Span, Owner)>,
    /// Keys of each owner.
    held: BTreeMap<Owner, Vec<(u32, u128)>>,
    /// In the order in which they were refused.
    waiting: Vec<Waiting>,
}

impl LockTable {
    /// What an owner is run with.
    pub(crate) fn watch(&mut self, owner: Owner) -> Locks<'_> {
        Locks { table: self, owner }
    }

    /// Those who keep a request from being granted.
    fn blockers(&self, owner: Owner, request: &Request) -> Owners {
        let mut blockers = Owners::new();
        let mut add = |other: Owner| {
            if other != owner && !blockers.contains(&other) {
                blockers.push(other);
            }
        };
        let Span { space, low, high } = request.span;
        for lock in self.points.range((space, low)..=(space, high)).map(|(_, lock)| lock) {
            lock.writer.into_iter().for_each(&mut add);
            if request.touch == Touch::Write {
                lock.readers.iter().copied().for_each(&mut add);
            }
        }
        if request.touch == Touch::Write {
            let over =
                self.ranges.iter().filter(|(span, _)| span.space == space && span.low <= high && low <= span.high);
            over.for_each(|&(_, other)| add(other));
        }
        // Who waits for what one holds already must not be waited for: it would never get it.
        if !self.holds_some(owner) {
            let conflicts = |it: &&Waiting| it.request.is_some_and(|other| other.conflicts(request));
            // Who waits for this one came later.
            let older = self.waiting.iter().filter(conflicts).filter(|it| !it.blockers.contains(&owner));
            older.for_each(|waiting| add(waiting.owner));
        }
        blockers
    }

    fn holds_some(&self, owner: Owner) -> bool {
        self.held.contains_key(&owner) || self.ranges.iter().any(|&(_, other)| other == owner)
    }

    fn has(&self, owner: Owner, space: u32, key: u128, touch: Touch) -> bool {
        let lock = self.points.get(&(space, key));
        lock.is_some_and(|lock| lock.writer == Some(owner) || (touch == Touch::Read && lock.readers.contains(&owner)))
    }

    fn request(&mut self, owner: Owner, request: Request) -> bool {
        let blockers = self.blockers(owner, &request);
        if !self.waiting.is_empty() {
            self.waiting.retain(|waiting| waiting.owner != owner);
        }
        let granted = blockers.is_empty();
        if !granted {
            self.waiting.push(Waiting { owner, request: Some(request), blockers });
        }
        granted
    }

    fn point(&mut self, owner: Owner, space: u32, key: u128, touch: Touch) -> bool {
        if self.has(owner, space, key, touch) {
            return true;
        }
        let request = Request { span: Span { space, low: key, high: key }, touch };
        if !self.request(owner, request) {
            return false;
        }
        let lock = self.points.entry((space, key)).or_default();
        let new = lock.writer != Some(owner) && !lock.readers.contains(&owner);
        match touch {
            Touch::Write => lock.writer = Some(owner),
            Touch::Read => lock.readers.push(owner),
        }
        if new {
            self.held.entry(owner).or_default().push((space, key));
        }
        true
    }

    fn range(&mut self, owner: Owner, span: Span) -> bool {
        let request = Request { span, touch: Touch::Read };
        let granted = self.request(owner, request);
        if granted && !self.ranges.contains(&(span, owner)) {
            self.ranges.push((span, owner));
        }
        granted
    }

    /// Gives back all that an owner has and waits for; those who need not wait any more, oldest first.
    pub(crate) fn release(&mut self, owner: Owner) -> Vec<Owner> {
        for key in self.held.remove(&owner).unwrap_or_default() {
            let lock = self.points.get_mut(&key).expect("what is held is locked");
            lock.writer.take_if(|writer| *writer == owner);
            lock.readers.retain(|reader| *reader != owner);
            if lock.writer.is_none() && lock.readers.is_empty() {
                self.points.remove(&key);
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

/// One owner's view: what a run asks.
pub(crate) struct Locks<'a> {
    table: &'a mut LockTable,
    owner: Owner,
}

impl Watch for Locks<'_> {
    fn point(&mut self, space: u32, key: u128, touch: Touch) -> bool {
        self.table.point(self.owner, space, key, touch)
    }

    fn range(&mut self, space: u32, low: u128, high: u128) -> bool {
        // What comes from outside may be nonsense, and then nothing is read.
        low > high || self.table.range(self.owner, Span { space, low, high })
    }
}

#[cfg(test)]
mod tests {
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
}
