//! The keys of a partition that a call declares: what a deterministic scheme locks before the call runs, and what a run
//! may touch.
//!
//! A scheme that locks in the order of the input log must know all keys of a transaction before the next transaction
//! begins. So the declaration is read once more, with a receiver that makes lock requests of this partition's keys. The
//! run is compared with it ([`DeclaredKeys::watch`]): a key outside the set is refused before it is touched.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::super::transaction::watch::{Touch, Watch, WatchedKey, space, watched, watched_range};
use super::route::TableNumbers;
use crate::procedure::{Declared, KeySet, Mode, Partitions, Procedure, partition_of};
use crate::record::{Bounds, Index, Key, Record};

/// A request to lock a key of a space, or all keys from one to another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct KeyRequest {
    /// One index of one table, as in [`Watch`].
    pub space: u32,
    /// The first key.
    pub low: WatchedKey,
    /// The last key: the same for a request of one key.
    pub high: WatchedKey,
    /// The mode.
    pub touch: Touch,
}

impl KeyRequest {
    /// A request for every key of a space.
    fn whole(space: u32, touch: Touch) -> Self {
        Self { space, low: WatchedKey::Short(0), high: WatchedKey::End, touch }
    }

    /// Whether it is for one key.
    pub fn is_single(&self) -> bool {
        self.low == self.high
    }

    /// Whether two requests conflict: they have a key in common, and one of them writes.
    pub fn conflicts(&self, other: &Self) -> bool {
        let writes = self.touch == Touch::Write || other.touch == Touch::Write;
        writes && self.space == other.space && self.low <= other.high && other.low <= self.high
    }

    /// Whether what holds this lock may touch these keys so.
    fn covers(&self, space: u32, (low, high): (&WatchedKey, &WatchedKey), touch: Touch) -> bool {
        self.space == space && self.low <= *low && *high <= self.high && allows(self.touch, touch)
    }
}

/// Whether a lock of one mode is enough for a touch of another.
fn allows(held: Touch, touch: Touch) -> bool {
    held == Touch::Write || touch == Touch::Read
}

/// The keys of a partition that a call declares or was found to touch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(Vec<KeyRequest>, Declared)", into = "(Vec<KeyRequest>, Declared)")]
pub struct DeclaredKeys {
    /// Single keys, in order, then ranges, in order; each once, for writing if for both.
    requests: Vec<KeyRequest>,
    singles: usize,
    declared: Declared,
}

impl From<(Vec<KeyRequest>, Declared)> for DeclaredKeys {
    fn from((requests, declared): (Vec<KeyRequest>, Declared)) -> Self {
        Self::new(requests, declared)
    }
}

impl From<DeclaredKeys> for (Vec<KeyRequest>, Declared) {
    fn from(keys: DeclaredKeys) -> Self {
        (keys.requests, keys.declared)
    }
}

impl DeclaredKeys {
    /// These keys, in any order. A range whose last key comes before its first one is empty.
    pub fn new(mut requests: Vec<KeyRequest>, declared: Declared) -> Self {
        requests.retain(|it| it.low <= it.high);
        let order = |it: &KeyRequest| !it.is_single();
        requests.sort_unstable_by(|one, other| order(one).cmp(&order(other)).then_with(|| one.cmp(other)));
        // Of two requests that differ in the mode alone, the one for writing is the second.
        requests.dedup_by(|next, kept| {
            let is_same = (kept.space, &kept.low, &kept.high) == (next.space, &next.low, &next.high);
            if is_same {
                kept.touch = next.touch;
            }
            is_same
        });
        let singles = requests.partition_point(KeyRequest::is_single);
        Self { requests, singles, declared }
    }

    /// No keys.
    pub fn none() -> Self {
        Self::new(Vec::new(), Declared::Complete)
    }

    /// The keys that a reconnaissance found. There may be more by the time of the run.
    pub fn found(requests: Vec<KeyRequest>) -> Self {
        Self::new(requests, Declared::Partitions)
    }

    /// Every key of these spaces, for writing.
    pub(crate) fn whole(spaces: impl Iterator<Item = u32>) -> Self {
        Self::new(spaces.map(|space| KeyRequest::whole(space, Touch::Write)).collect(), Declared::Partitions)
    }

    /// These keys, and every key of some spaces instead of those named there: in the strongest mode that a space is
    /// given with or has a key in.
    #[must_use]
    pub fn widened(&self, spaces: impl IntoIterator<Item = (u32, Touch)>) -> Self {
        let mut whole: BTreeMap<u32, Touch> = spaces.into_iter().collect();
        let mut requests = Vec::new();
        for request in &self.requests {
            match whole.get_mut(&request.space) {
                Some(touch) => *touch = request.touch.max(*touch),
                None => requests.push(request.clone()),
            }
        }
        requests.extend(whole.into_iter().map(|(space, touch)| KeyRequest::whole(space, touch)));
        Self::new(requests, self.declared)
    }

    /// Every key of the spaces in which there is one: few requests, however many keys there are.
    #[must_use]
    pub fn coarse(&self) -> Self {
        self.widened(self.requests.iter().map(|request| (request.space, Touch::Read)))
    }

    /// Whether the declaration names every key.
    pub fn is_complete(&self) -> bool {
        self.declared == Declared::Complete
    }

    /// The requests: single keys first, each in the order of keys.
    pub fn requests(&self) -> &[KeyRequest] {
        &self.requests
    }

    /// The requests of single keys.
    pub fn singles(&self) -> &[KeyRequest] {
        &self.requests[..self.singles]
    }

    /// The requests of ranges of keys.
    pub fn ranges(&self) -> &[KeyRequest] {
        &self.requests[self.singles..]
    }

    /// Whether a transaction with these keys conflicts with another: one writes what the other one touches.
    pub fn conflicts(&self, other: &Self) -> bool {
        self.requests.iter().any(|one| other.requests.iter().any(|another| one.conflicts(another)))
    }

    /// Whether a touch of keys is within the set.
    pub fn covers(&self, space: u32, keys: (&WatchedKey, &WatchedKey), touch: Touch) -> bool {
        let is_single = keys.0 == keys.1;
        let place = |it: &KeyRequest| (it.space, &it.low).cmp(&(space, keys.0));
        let single = if is_single { self.singles().binary_search_by(place).ok() } else { None };
        single.is_some_and(|at| allows(self.requests[at].touch, touch))
            || self.ranges().iter().any(|range| range.covers(space, keys, touch))
    }

    /// The watch of a run that may touch these keys only.
    pub fn watch(&self) -> DeclaredWatch<'_> {
        DeclaredWatch { declared: self, undeclared: None }
    }
}

/// Refuses what is not declared.
#[derive(Debug)]
pub struct DeclaredWatch<'a> {
    declared: &'a DeclaredKeys,
    /// The first touch that was refused.
    pub undeclared: Option<KeyRequest>,
}

impl DeclaredWatch<'_> {
    fn admit(&mut self, space: u32, low: WatchedKey, high: WatchedKey, touch: Touch) -> bool {
        let is_covered = self.declared.covers(space, (&low, &high), touch);
        if !is_covered {
            self.undeclared.get_or_insert(KeyRequest { space, low, high, touch });
        }
        is_covered
    }
}

impl Watch for DeclaredWatch<'_> {
    fn point(&mut self, space: u32, key: WatchedKey, touch: Touch) -> bool {
        self.admit(space, key.clone(), key, touch)
    }

    fn range(&mut self, space: u32, low: WatchedKey, high: WatchedKey) -> bool {
        low > high || self.admit(space, low, high, Touch::Read)
    }
}

/// Notes what a run touches, and refuses nothing: for a reconnaissance.
#[derive(Debug, Default)]
pub struct TouchedKeys {
    /// In the order of the touches.
    pub requests: Vec<KeyRequest>,
}

impl Watch for TouchedKeys {
    fn point(&mut self, space: u32, key: WatchedKey, touch: Touch) -> bool {
        self.requests.push(KeyRequest { space, low: key.clone(), high: key, touch });
        true
    }

    fn range(&mut self, space: u32, low: WatchedKey, high: WatchedKey) -> bool {
        if low <= high {
            self.requests.push(KeyRequest { space, low, high, touch: Touch::Read });
        }
        true
    }
}

/// Collects the [`DeclaredKeys`] of a partition.
pub(crate) struct KeyCollector<'a> {
    index: u8,
    count: u8,
    partitions: Partitions,
    requests: Vec<KeyRequest>,
    numbers: TableNumbers<'a>,
    /// Whether a range was covered of which no other key says where it is.
    lacks_partition: bool,
}

impl<'a> KeyCollector<'a> {
    /// The keys of partition `index` of `count`.
    pub(crate) fn of(procedure: &impl Procedure, (index, count): (u8, u8), numbers: TableNumbers<'a>) -> DeclaredKeys {
        let partitions = Partitions::none(count.into());
        let requests = Vec::new();
        let mut collector = Self { index, count, partitions, requests, numbers, lacks_partition: false };
        let declared = match procedure.declare(&mut collector) {
            Declared::Complete if collector.lacks_partition => Declared::Unknown,
            declared => declared,
        };
        DeclaredKeys::new(collector.requests, declared)
    }

    /// Whether rows of this placement may be here; `None`: they may be anywhere.
    fn is_here(&self, placement: Option<u64>) -> bool {
        placement.is_none_or(|placement| partition_of(placement, self.count.into()) == u64::from(self.index))
    }

    fn add<R: Record>(&mut self, index: Option<usize>, (low, high): (WatchedKey, WatchedKey), mode: Mode) {
        if let Some(table) = (self.numbers)(R::table_id().get()) {
            let touch = if mode == Mode::Read { Touch::Read } else { Touch::Write };
            self.requests.push(KeyRequest { space: space(table, index), low, high, touch });
        }
    }

    fn add_range<R: Record>(&mut self, bounds: &impl Bounds<R::Key>, mode: Mode, placement: Option<u64>) {
        if self.is_here(placement)
            && let Some(range) = bounds.encode::<R::Encoded>()
        {
            self.add::<R>(None, watched_range(&range, R::Key::WIDTH), mode);
        }
    }

    fn add_index_range<I: Index>(&mut self, bounds: &impl Bounds<I::Key>, mode: Mode, placement: Option<u64>) {
        if self.is_here(placement)
            && let Some(range) = bounds.encode::<I::Encoded>()
        {
            self.add::<I::Record>(Some(I::POSITION), watched_range(&range, I::Key::WIDTH), mode);
        }
    }

    /// Notes whether keys that were declared before say where a covered range is.
    fn check_covered(&mut self, is_partitioned: bool, placement: Option<u64>) {
        let at = placement.map(|placement| partition_of(placement, self.count.into()) as usize);
        self.lacks_partition |= is_partitioned && at.is_none_or(|at| !self.partitions.set.contains(at));
    }
}

impl KeySet for KeyCollector<'_> {
    fn part<R: Record>(&mut self, key: &R::Key, mode: Mode, _bytes: Range<usize>) {
        let placement = R::PLACEMENT.map(|position| key.placement_at(position));
        self.partitions.add::<R>(placement, mode);
        if self.is_here(placement) {
            let key = watched(&key.encode::<R::Encoded>(), R::Key::WIDTH);
            self.add::<R>(None, (key.clone(), key), mode);
        }
    }

    fn range<R: Record>(&mut self, bounds: impl Bounds<R::Key>, mode: Mode) {
        let placement = R::PLACEMENT.and_then(|position| bounds.placement_at(position));
        self.partitions.add::<R>(placement, mode);
        self.add_range::<R>(&bounds, mode, placement);
    }

    fn index<I: Index>(&mut self, bounds: impl Bounds<I::Key>, mode: Mode) {
        let placement = I::PLACEMENT.and_then(|position| bounds.placement_at(position));
        self.partitions.add::<I::Record>(placement, mode);
        self.add_index_range::<I>(&bounds, mode, placement);
    }

    fn cover<R: Record>(&mut self, bounds: impl Bounds<R::Key>, mode: Mode) {
        let placement = R::PLACEMENT.and_then(|position| bounds.placement_at(position));
        self.check_covered(R::PLACEMENT.is_some(), placement);
        self.add_range::<R>(&bounds, mode, placement);
    }

    fn cover_index<I: Index>(&mut self, bounds: impl Bounds<I::Key>, mode: Mode) {
        let placement = I::PLACEMENT.and_then(|position| bounds.placement_at(position));
        self.check_covered(<I::Record as Record>::PLACEMENT.is_some(), placement);
        self.add_index_range::<I>(&bounds, mode, placement);
    }
}
