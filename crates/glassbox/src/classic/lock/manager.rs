//! The lock manager: its components, and its interface for the engine.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock};

use super::brief::{Brief, Latched};
use super::config::{LockConfig, LockGranularity};
use super::deadlock::Detector;
use super::held::HeldLock;
use super::history::{History, LockCounters, Wait};
use super::locks::{Duration, Locks, Outcome};
use super::mode::{FromAbove, LockMode};
use super::name::{LockName, PackedName, RECORD};
use super::owner::Owner;
use super::sync::{Mutex, latch, whole};
use super::table::{LockPartition, Uncontended};
use crate::classic::ids::{StoreId, TxnId};
use crate::classic::page::miss::DiskRead;
use crate::io::Clock;

/// A value with cache lines of its own (two: processors fetch them in pairs).
#[repr(align(128))]
struct CacheLines<T>(T);

/// See the module's comment.
pub(crate) struct LockManager {
    partitions: Box<[CacheLines<Brief<LockPartition>>]>,
    pub(super) config: LockConfig,
    /// Lock granularity by store, where it is not the configured one.
    granularities: RwLock<Vec<Option<LockGranularity>>>,
    /// Whether any store has its own granularity: each intent tests this.
    have_granularities: AtomicBool,
    pub(super) detector: Mutex<Detector>,
    pub(super) history: Mutex<History>,
    pub(super) clock: Arc<dyn Clock>,
}

impl LockManager {
    /// A manager without locks.
    ///
    /// # Panics
    /// If the number of partitions is no power of two.
    pub(crate) fn new(config: LockConfig, clock: Arc<dyn Clock>) -> Self {
        assert!(config.partitions.is_power_of_two(), "the number of partitions is a power of two");
        let partition = |_| CacheLines(Brief::new(LockPartition::new(config.broken_s_beside_x)));
        Self {
            partitions: (0..config.partitions).map(partition).collect(),
            granularities: RwLock::default(),
            have_granularities: AtomicBool::new(false),
            detector: Mutex::new(Detector::default()),
            history: Mutex::new(History::new(config.waits_kept)),
            clock,
            config,
        }
    }

    /// Sets the lock granularity of a store; transactions that hold locks in it keep the former one. Any mixture is
    /// correct, as all use the same intents.
    pub(crate) fn set_granularity(&self, store: StoreId, granularity: LockGranularity) {
        let mut all = whole(self.granularities.write());
        let at = store.0 as usize;
        if all.len() <= at {
            all.resize(at + 1, None);
        }
        all[at] = Some(granularity);
        self.have_granularities.store(true, Ordering::Release);
    }

    pub(super) fn granularity(&self, store: StoreId) -> LockGranularity {
        if !self.have_granularities.load(Ordering::Acquire) {
            return self.config.granularity;
        }
        let all = whole(self.granularities.read());
        all.get(store.0 as usize).copied().flatten().unwrap_or(self.config.granularity)
    }

    /// The counters so far.
    pub(crate) fn counters(&self) -> LockCounters {
        latch(&self.history).counters
    }

    /// The last ended waits, oldest first.
    pub(crate) fn waits(&self) -> Vec<Wait> {
        latch(&self.history).waits()
    }

    /// The number of locked or requested names.
    #[cfg(test)]
    pub(crate) fn names(&self) -> usize {
        self.partitions.iter().map(|partition| partition.0.latch().names()).sum()
    }

    /// Latches the partition of a hash.
    #[inline(always)]
    pub(super) fn partition(&self, hash: u64) -> Latched<'_, LockPartition> {
        self.partitions[self.partition_number(hash)].0.latch()
    }

    #[inline(always)]
    fn partition_number(&self, hash: u64) -> usize {
        hash as usize & (self.partitions.len() - 1)
    }
}

impl LockManager {
    /// Locks a record in the usual case: something in its store is locked already, and the record is not locked.
    /// Returns whether that was so; otherwise nothing has happened.
    #[inline(never)]
    fn lock_record(&self, owner: &mut Owner, key: PackedName, mode: LockMode, duration: Duration) -> bool {
        let Some(above) = owner.held.known_store(key.store()).filter(|_| !self.config.lock_pages) else { return false };
        let by = owner.by();
        let store = owner.held.entry(above);
        let is_short = store.granularity == LockGranularity::Record && store.below < store.escalate_at;
        match store.mode.seen_from(mode) {
            FromAbove::Intent if is_short => {}
            above => return above == FromAbove::Covers,
        }
        let hash = key.hash();
        let partition = &self.partitions[self.partition_number(hash)].0;
        if duration == Duration::Momentary {
            return partition.with(|partition| partition.would_grant(key, hash, mode));
        }
        match partition.with(|partition| partition.request_alone(key, hash, by, mode)) {
            Uncontended::Granted(request) => {
                store.below += 1;
                owner.held.push(HeldLock::new(key, hash, request, mode));
                true
            }
            Uncontended::Held => true,
            Uncontended::Unknown => false,
        }
    }

    /// Acquires the intents on the volume and on a store whose records are locked, in the usual case that no lock
    /// conflicts. Returns whether it did.
    fn enter_store(&self, owner: &mut Owner, store: StoreId, mode: LockMode) -> bool {
        if self.config.lock_pages || self.granularity(store) != LockGranularity::Record {
            return false;
        }
        let (volume, known) = (owner.held.volume(), owner.held.known_store(store));
        self.intends(owner, PackedName::THE_VOLUME, volume, mode)
            && self.intends(owner, PackedName::of_store(store), known, mode)
    }

    /// Acquires the intent for `mode` on a name if that needs no wait. Returns whether it is held. `known`: its
    /// position in the owner's list, if known.
    #[inline(always)]
    fn intends(&self, owner: &mut Owner, key: PackedName, known: Option<usize>, mode: LockMode) -> bool {
        let (hash, by) = (key.hash(), owner.by());
        let partition = &self.partitions[self.partition_number(hash)].0;
        let request = |partition: &mut LockPartition| match partition.place(key, hash, by.owner) {
            Some(at) => Ok(at),
            None => Err(partition.request(key, hash, by, mode.intent())),
        };
        let at = match known.map_or_else(|| partition.with(request), Ok) {
            Ok(at) => at,
            Err(None) => return false,
            Err(Some(request)) => {
                self.note(owner, key, hash, request, mode.intent());
                return true;
            }
        };
        let held = owner.held.entry(at);
        match (held.mode.seen_from(mode), held.mode) {
            (FromAbove::Intent, _) => true,
            (_, LockMode::IS) => {
                let converted = partition.with(|partition| partition.convert(held.request, LockMode::IX));
                if converted {
                    held.mode = LockMode::IX;
                }
                converted
            }
            _ => false,
        }
    }

    /// Locks a name in the general case.
    #[inline(never)]
    fn lock_any(&self, owner: &mut Owner, key: PackedName, mode: LockMode, wait: bool, duration: Duration) -> Outcome {
        if key.kind() == RECORD
            && self.enter_store(owner, key.store(), mode)
            && self.lock_record(owner, key, mode, duration)
        {
            return Outcome::Granted;
        }
        let target = self.place(owner, key);
        if target.at.is_some_and(|at| owner.held.entries()[at].mode.covers(mode)) {
            return Outcome::Granted;
        }
        match self.descend(owner, target, mode, wait, duration) {
            Ok(()) => Outcome::Granted,
            Err(outcome) => outcome,
        }
    }
}

impl LockManager {
    /// Gives all locks of an owner, which stays that of its session, to a new one, for a prepared transaction. U
    /// becomes S, as that writes nothing more.
    pub(crate) fn hand_over(&self, from: &mut Owner, to: &mut Owner) {
        assert!(to.count() == 0, "the new owner has locks");
        std::mem::swap(&mut from.held, &mut to.held);
        for at in 0..to.count() {
            let held = to.held.entry(at);
            held.mode = self.partition(held.hash).hand_over(held.request, to.number);
        }
    }

    /// Locks what a prepared transaction held, for a new owner, without waiting; `false` if another owner is in the
    /// way. Nothing escalates: locks of further prepared transactions follow.
    pub(crate) fn lock_again(&self, owner: &mut Owner, locks: &[(LockName, LockMode)]) -> bool {
        owner.escalates = false;
        locks.iter().all(|(name, mode)| self.lock(owner, *name, *mode, false, Duration::Commit) == Outcome::Granted)
    }
}

impl Locks for LockManager {
    type Owner = Owner;

    fn owner(&self) -> Owner {
        self.register()
    }

    // Inlined, so that a record's name stays in registers.
    #[inline(always)]
    fn lock(&self, owner: &mut Owner, name: LockName, mode: LockMode, wait: bool, duration: Duration) -> Outcome {
        let key = PackedName::of(name);
        if matches!(name, LockName::Record(..)) && self.lock_record(owner, key, mode, duration) {
            return Outcome::Granted;
        }
        self.lock_any(owner, key, mode, wait, duration)
    }

    fn attribute(&self, owner: &Owner, reads: &[DiskRead]) {
        self.attribute_reads(owner, reads);
    }

    fn release(&self, owner: &mut Owner, name: LockName) {
        self.release_one(owner, PackedName::of(name));
    }

    fn release_all(&self, owner: &mut Owner) {
        // Lower levels first. Consecutive records of a page are in one partition.
        let mut held = owner.held.entries().iter().rev().peekable();
        while let Some(first) = held.next() {
            let number = self.partition_number(first.hash);
            self.partitions[number].0.with(|partition| {
                partition.release(first.request);
                while let Some(next) = held.next_if(|next| self.partition_number(next.hash) == number) {
                    partition.release(next.request);
                }
            });
        }
        owner.held.clear();
    }

    #[cfg(test)]
    fn holds(&self, owner: &Owner, name: LockName, mode: LockMode) -> bool {
        let asked = PackedName::of(name);
        let covered = |key: PackedName| owner.held.mode(key).is_some_and(|held| held.covers_below(mode));
        let held = |key: PackedName| owner.held.mode(key).is_some_and(|held| held.covers(mode));
        held(asked) || held(self.target(owner, asked)) || asked.above().any(covered)
    }

    #[inline(always)]
    fn number(&self, owner: &Owner) -> u32 {
        owner.number
    }

    fn set_txn(&self, owner: &mut Owner, txn: TxnId) {
        owner.set_txn(txn);
    }

    fn set_work(&self, owner: &mut Owner, work: u64) {
        owner.set_work(work);
    }
}
