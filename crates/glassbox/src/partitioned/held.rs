//! The witness that partitions are held: safe access to their data.
//!
//! Problem: a partition belongs to the thread that holds its token, and the compiler knows nothing of tokens. If every
//! place that reaches the data says so in a comment, a test does not find the one comment that is wrong. So the
//! fact is a value: a [`Held`] is made only here, where a token is acquired or where partitions are borrowed
//! exclusively, and lives no longer than that. It lends the data of its partitions through `&mut self`, so two
//! references to one table cannot exist; and as it has pointers, it stays in its thread.
//!
//! Invariant: of each partition at most one witness exists, in the thread that holds the token.
//!
//! Rejected: a witness for each partition, borrowed from a guard for each token. A transaction finds its partition by
//! the key, so it would look its witness up in a list at every access; one witness for a set is a word and a bit test.

use std::cell::UnsafeCell;
use std::thread;

use smallvec::SmallVec;

use super::inbox::{Inbox, RunCount};
use super::partition::{Partition, Scratch};
use super::run_place::RunPlace;
use super::token::{Token, Waiter};
use crate::executed::SharedCounters;
use crate::io::{Clock, RealClock};
use crate::partitioned::storage::table::Table;
use crate::procedure::{PartitionSet, Retry, Stop, partition_of};
use crate::record::{Key, Record};

/// A partition with its token. The data is reached through a [`Held`], or by a mutable borrow.
pub(crate) struct Cell {
    token: Token,
    /// Of the transactions whose home this is: added to by the holder of the token, read by any thread.
    pub(crate) counters: SharedCounters,
    /// Calls for the holder of the token.
    pub(super) inbox: Inbox,
    /// Calls that need others too, of which this is the lowest; and calls of their threads that come after them.
    pub(super) multi_inbox: Inbox,
    pub(super) multi_runs: RunCount,
    /// Where its calls run.
    pub(super) place: RunPlace,
    partition: UnsafeCell<Partition>,
    scratch: UnsafeCell<Scratch>,
}

// SAFETY: partition and scratch are reached only through `Hold`s, whose maker holds the token; both may move between
// threads (`Partition: Send`, `Scratch: Send`, asserted below).
unsafe impl Sync for Cell {}
const fn assert_send<T: Send>() {}
const _: () = assert_send::<Partition>();
const _: () = assert_send::<Scratch>();

impl Cell {
    pub(crate) fn new(partition: Partition) -> Self {
        Self {
            token: Token::default(),
            counters: SharedCounters::default(),
            inbox: Inbox::new(),
            multi_inbox: Inbox::new(),
            multi_runs: RunCount::new(),
            place: RunPlace::new(),
            partition: UnsafeCell::new(partition),
            scratch: UnsafeCell::default(),
        }
    }

    /// Whether no thread holds its token at this moment.
    #[inline(always)]
    pub(super) fn is_free(&self) -> bool {
        self.token.is_free()
    }

    /// The data, for a sole owner.
    pub(crate) fn get_mut(&mut self) -> &mut Partition {
        self.partition.get_mut()
    }

    /// The buffers, for a sole owner.
    pub(super) fn scratch_mut(&mut self) -> &mut Scratch {
        self.scratch.get_mut()
    }
}

/// The witness that the tokens of a set of partitions are held.
pub(crate) struct Held<'a> {
    cells: &'a [Cell],
    set: PartitionSet,
    /// The lowest partition of the set, whose copy of replicated tables is read: its number, and its data.
    home: usize,
    home_data: *mut Partition,
    /// Partitions that were asked for and are not held.
    missing: PartitionSet,
    /// Partition, record and table of the access before: the next one is often to the same.
    last: (usize, usize, *mut ()),
}

/// A witness, with the buffers of the home partition.
pub(crate) struct Hold<'a> {
    pub(super) held: Held<'a>,
    pub(super) scratch: &'a mut Scratch,
}

impl<'a> Hold<'a> {
    /// # Safety
    /// For as long as the result lives, the caller holds the tokens of `set`, which is not empty, and makes no other
    /// witness of them.
    #[inline(always)]
    pub(super) unsafe fn new(cells: &'a [Cell], set: PartitionSet) -> Self {
        let home = set.lowest();
        let (home_data, last) = (cells[home].partition.get(), (usize::MAX, 0, std::ptr::null_mut()));
        // SAFETY: the home's token is held, and this is its only witness.
        let scratch = unsafe { &mut *cells[home].scratch.get() };
        Self { held: Held { cells, set, home, home_data, missing: PartitionSet::EMPTY, last }, scratch }
    }

    /// A partition's cell: what needs no witness.
    #[inline(always)]
    pub(super) fn cell(&self, partition: usize) -> &'a Cell {
        &self.held.cells[partition]
    }

    /// The witness of some of the held partitions, as long as this one is not used.
    ///
    /// # Panics
    /// When one is not held.
    #[inline(always)]
    pub(super) fn of(&mut self, set: PartitionSet) -> Hold<'_> {
        assert!(set.difference(self.held.set).is_empty(), "partitions that are held");
        // SAFETY: their tokens are held, and the borrow excludes the use of this witness.
        unsafe { Hold::new(self.held.cells, set) }
    }

    /// The same witness, as long as this one is not used.
    #[inline(always)]
    pub(super) fn all(&mut self) -> Hold<'_> {
        self.of(self.held.set)
    }

    /// Runs `work` under the tokens of this witness and those of the `others`, if no thread holds those when asked
    /// `looks` times; whether it ran. Threads that hold them know that another waits.
    pub(super) fn with_others(&mut self, others: PartitionSet, looks: u32, work: impl FnOnce(Hold<'_>)) -> bool {
        let cells = self.held.cells;
        let set = self.held.set.union(others);
        let others = others.difference(self.held.set);
        let mut waiters = waiters_for(others);
        let mut release = Release { cells, acquired: SmallVec::new(), waiters: waiters.as_mut_ptr() };
        for partition in others.iter() {
            let cell = &cells[partition];
            let mut look = 0;
            cell.place.claim(true);
            // SAFETY: the waiter is fresh, and stays in place until `release` drops, before `waiters`.
            while !(cell.is_free()
                && unsafe { cell.token.acquire_if_free(release.waiters.add(release.acquired.len())) })
            {
                look += 1;
                if look > looks {
                    cell.place.claim(false);
                    return false;
                }
                std::hint::spin_loop();
            }
            cell.place.claim(false);
            release.acquired.push(partition as u8);
        }
        let clock = RealClock::new();
        // SAFETY: the tokens of the others are held until `release` drops, that of this witness longer; the borrow
        // excludes its use.
        work(unsafe { Hold::new(cells, set) });
        if !set.is_single() {
            cells[set.lowest()].counters.multi_ns.add(clock.monotonic_ns());
        }
        true
    }

    /// The witness of all partitions, for their sole owner.
    #[inline(always)]
    pub(super) fn borrowed(cells: &'a mut [Cell]) -> Self {
        // SAFETY: a mutable borrow excludes every other thread and every other witness, as tokens do.
        unsafe { Self::new(cells, PartitionSet::all(cells.len())) }
    }
}

impl Held<'_> {
    /// The partitions that are held.
    #[inline(always)]
    pub(super) fn set(&self) -> PartitionSet {
        self.set
    }

    /// The number of partitions of the database.
    #[inline(always)]
    pub(super) fn count(&self) -> usize {
        self.cells.len()
    }

    /// Whether all partitions are held.
    #[inline(always)]
    fn has_all(&self) -> bool {
        self.set == PartitionSet::all(self.cells.len())
    }

    /// Partitions that were asked for and are not held.
    #[inline(always)]
    pub(super) fn missing(&self) -> PartitionSet {
        self.missing
    }

    /// The home partition.
    #[inline(always)]
    pub(super) fn home(&mut self) -> &mut Partition {
        // SAFETY: the home is held, and the borrow of its only witness makes this the only reference.
        unsafe { &mut *self.home_data }
    }

    /// The counters of the home partition.
    #[inline(always)]
    pub(super) fn counters(&self) -> &SharedCounters {
        &self.cells[self.home].counters
    }

    /// A partition, if it is held.
    #[inline(always)]
    pub(super) fn partition(&mut self, at: usize) -> Option<&mut Partition> {
        // SAFETY: as in `home`.
        self.set.contains(at).then(|| unsafe { &mut *self.cells[at].partition.get() })
    }

    /// All held partitions with their numbers, in ascending order.
    pub(super) fn partitions(&mut self) -> impl Iterator<Item = (usize, &mut Partition)> {
        // SAFETY: as in `home`; the iterator gives each partition once.
        self.set.iter().map(|at| (at, unsafe { &mut *self.cells[at].partition.get() }))
    }

    /// A partition; a restart with it if it is not held.
    #[inline(always)]
    pub(super) fn need(&mut self, at: usize) -> Result<&mut Partition, Stop> {
        if !self.set.contains(at) {
            return Err(self.miss(PartitionSet::of(at)));
        }
        // SAFETY: as in `home`.
        Ok(unsafe { &mut *self.cells[at].partition.get() })
    }

    /// Every partition, for a change of a replicated table or a scan whose bounds do not fix one.
    pub(super) fn need_all(&mut self) -> Result<impl Iterator<Item = &mut Partition>, Stop> {
        if !self.has_all() {
            return Err(self.miss(PartitionSet::all(self.cells.len())));
        }
        Ok(self.partitions().map(|(_, partition)| partition))
    }

    #[cold]
    fn miss(&mut self, partitions: PartitionSet) -> Stop {
        self.missing.extend(partitions);
        Stop::Retry(Retry { partitions })
    }

    /// The partition of rows with this placement number; of a replicated table (`None`), the home.
    #[inline(always)]
    pub(super) fn placed(&mut self, placement: Option<u64>) -> Result<&mut Partition, Stop> {
        let home = self.home;
        self.need(placement.map_or(home, |it| partition_of(it, self.cells.len() as u64) as usize))
    }

    /// As [`Held::placed`], of a partition that is held; `several`: there is more than one.
    #[inline(always)]
    pub(super) fn placed_if_held(&mut self, placement: Option<u64>, several: bool) -> Option<&mut Partition> {
        match placement {
            Some(placement) if several => self.partition(partition_of(placement, self.cells.len() as u64) as usize),
            _ => Some(self.home()),
        }
    }

    /// The number of the partition of the row with this key; of a replicated table, the home.
    #[inline(always)]
    pub(super) fn place_of<R: Record>(&self, key: &R::Key) -> usize {
        match R::PLACEMENT {
            Some(position) => partition_of(key.placement_at(position), self.cells.len() as u64) as usize,
            None => self.home,
        }
    }

    /// The table of the row with this key, in its partition.
    #[inline(always)]
    pub(super) fn table_of<R: Record>(&mut self, key: &R::Key) -> Result<&mut Table<R>, Stop> {
        let at = self.place_of::<R>(key);
        let record = R::table_id().get();
        if (at, record) != (self.last.0, self.last.1) {
            let table: *mut Table<R> = self.need(at)?.table::<R>();
            self.last = (at, record, table.cast());
        }
        // SAFETY: it is the table of this record in a held partition, and the borrow of the witness makes this the only
        // reference.
        Ok(unsafe { &mut *self.last.2.cast() })
    }
}

/// A place in the queue of each of these partitions.
#[inline(always)]
fn waiters_for(set: PartitionSet) -> SmallVec<[Waiter; 4]> {
    set.iter().map(|_| Waiter::new()).collect()
}

/// Tokens that were acquired, each with the waiter at its place; dropping it releases them.
struct Release<'a> {
    cells: &'a [Cell],
    acquired: SmallVec<[u8; PartitionSet::MAX_PARTITIONS]>,
    waiters: *mut Waiter,
}

impl Drop for Release<'_> {
    fn drop(&mut self) {
        for (at, &partition) in self.acquired.iter().enumerate() {
            // SAFETY: acquired with this waiter, released once.
            unsafe { self.cells[usize::from(partition)].token.release(self.waiters.add(at)) };
        }
    }
}

/// Runs `work` under the tokens of `set`, which are acquired in ascending order, so that no two threads wait for each
/// other in a circle.
pub(super) fn holding<O>(cells: &[Cell], set: PartitionSet, work: impl FnOnce(Hold<'_>) -> O) -> O {
    let mut waiters = waiters_for(set);
    let mut release = Release { cells, acquired: SmallVec::new(), waiters: waiters.as_mut_ptr() };
    for partition in set.iter() {
        // SAFETY: the waiter is fresh, and stays in place until `release` drops, before `waiters`.
        unsafe { cells[partition].token.acquire(release.waiters.add(release.acquired.len())) };
        release.acquired.push(partition as u8);
    }
    let clock = RealClock::new();
    // SAFETY: the tokens are held until `release` drops.
    let output = work(unsafe { Hold::new(cells, set) });
    if !set.is_single() {
        cells[set.lowest()].counters.multi_ns.add(clock.monotonic_ns());
    }
    output
}

/// How long a partition runs one transaction until a thread that waits for it holds no other partition meanwhile.
const LONG_RUN_NS: u64 = 1_000_000;
/// How often such a thread looks again whether one of its partitions has begun a long run; then it takes them in order.
const MAX_LONG_RUNS: u32 = 8;

/// Waits for the partitions of `set` that run one transaction for long, while this thread holds none: calls on the
/// others go on. Shorter transactions are waited for with tokens held, in order.
#[cold]
pub(super) fn await_long_runs(cells: &[Cell], set: PartitionSet) {
    for _ in 0..MAX_LONG_RUNS {
        let Some(busy) = set.iter().find(|&partition| runs_long(&cells[partition])) else { return };
        // Queues up without work.
        hold_or_delegate(cells, busy, |_| ());
    }
}

/// Whether a partition is held for long without the end of a run.
fn runs_long(cell: &Cell) -> bool {
    if cell.is_free() {
        return false;
    }
    let (ended, clock) = (cell.counters.ended(), RealClock::new());
    let began_ns = clock.monotonic_ns();
    while !cell.is_free() && cell.counters.ended() == ended {
        if clock.monotonic_ns() - began_ns >= LONG_RUN_NS {
            return true;
        }
        thread::yield_now();
    }
    false
}

/// A token that this thread holds. A witness whose address is taken stays in memory; so each user gets a fresh one.
pub(super) struct HeldToken<'a> {
    cells: &'a [Cell],
    partition: usize,
    others_wait: &'a dyn Fn() -> bool,
}

impl<'a> HeldToken<'a> {
    /// The witness, as long as this is not used.
    #[inline(always)]
    pub(super) fn hold(&mut self) -> Hold<'_> {
        // SAFETY: the token is held while this exists, and the borrow excludes a second witness.
        unsafe { Hold::new(self.cells, PartitionSet::of(self.partition)) }
    }

    /// Says whether other threads wait for the token.
    pub(super) fn others_wait(&self) -> &'a dyn Fn() -> bool {
        self.others_wait
    }
}

/// Runs `work` under the token of a partition if it is free; `None` if it is not.
#[inline(always)]
pub(super) fn hold_if_free<O>(cells: &[Cell], partition: usize, work: impl FnOnce(HeldToken<'_>) -> O) -> Option<O> {
    let run = |others_wait: &dyn Fn() -> bool| work(HeldToken { cells, partition, others_wait });
    cells[partition].token.run_if_free(run)
}

/// Runs `work` under the token of a partition: in this thread, or, while this one waits, in the holder's. It must not
/// panic.
pub(super) fn hold_or_delegate(cells: &[Cell], partition: usize, mut work: impl FnMut(Hold<'_>)) {
    struct SendPtr<T>(T);
    // SAFETY: the owner of what it points to waits until the job is done; the job runs in one thread.
    unsafe impl<T> Send for SendPtr<T> {}
    let work = SendPtr(&raw mut work);
    cells[partition].token.run(move || {
        let work = &work;
        // SAFETY: the waiting thread keeps `work` in place until the job is done, and the token is held.
        unsafe { (*work.0)(Hold::new(cells, PartitionSet::of(partition))) }
    });
}
