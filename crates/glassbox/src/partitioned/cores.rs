//! Cores: where the calls of a partition run.
//!
//! Problem: a partition's data should stay in the caches of one core. If every thread runs its own calls, data moves
//! from core to core at every transaction, which costs more than the work. A thread of the database for each partition
//! would keep the data in place, but a single caller would pay two thread switches a call; and of many callers, some
//! are suspended by the operating system at any moment, so none of them can be the one that others wait for.
//!
//! So each partition has a core. A thread that submits a call runs it at once if it is on the partition's core at that
//! moment; else it leaves the call in the partition's [inbox](super::inbox), and goes on. Every thread that submits or
//! waits on that core runs what is in the inbox, between its own calls and in batches. As long as only one thread has
//! submitted calls, it is alone and runs each at once.
//!
//! A call on several partitions is left in a second inbox of the lowest, unless all are on the thread's core. There
//! some are collected, because running them stops the threads of the others. A thread that runs them holds the lowest
//! and looks for a moment whether the others are free; so no thread sleeps in the queue of a token while it holds
//! another.
//!
//! A partition's core is a hint; what protects the data is the token. It changes by two rules. A thread whose core has
//! at least two partitions fewer than another takes one from that. And a waiting thread that finds calls in an inbox
//! although no thread holds the token runs them, wherever it is; when this has happened several times in a row, the
//! partition moves to its core.
//!
//! Order: a thread's calls to one and the same partition run in the order in which it submitted them. It leaves them in
//! one inbox, or runs them at once; when it has left some and runs one at once, it empties the inbox first. A call on
//! several partitions says in which of them its thread has left calls: the thread that runs it runs those first. Until
//! it has run, its thread leaves its next calls on these partitions in the same inbox, after it. If the configuration
//! asks for no order, neither is done. A call that is not submitted waits for those that its thread has left.
//!
//! Rejected: a call on several partitions in the inbox of each of them. Calls on one partition would run meanwhile, but
//! each call on several would stop all of its cores, one by one, and those of several threads would have to be in the
//! same order in all inboxes.
//!
//! With more threads than cores, the operating system suspends a thread that has run for some milliseconds, at any
//! moment; if it holds a token then, the others of its core wait until it runs again. So a thread lets others run
//! before that, when it holds nothing.
//!
//! Rejected: threads that adopt partitions, whichever core they run on. With more threads than cores, the operating
//! system suspends an adopter for milliseconds, and all others wait or take over.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;

use super::calls::{LeftIn, empty_inbox, empty_multi_inbox, run_inbox_if_free, run_multi_inbox_if_free};
use super::held;
use super::run_place::NOWHERE;
use crate::config::{Config, CurrentCore, Execution};
use crate::huge_pages;
use crate::io::{Clock, RealClock};
use crate::procedure::PartitionSet;

/// After helping so often in a row, the helper's core takes the partition.
const MAX_HELPED: u32 = 200;
/// When so many calls were left for a core whose threads submitted none themselves, the partition should be elsewhere.
const MAX_PUSHES: u32 = 1_000;
/// How often a thread looks whether an inbox has been emptied before it does that itself, and before it lets others
/// run.
const MAX_LEFT_LOOKS: u32 = 400;
const MAX_LEFT_SPINS: u32 = 300;
/// Calls that a thread submits before it looks into the inboxes of its core again, if none is awaited; and into those
/// for calls that need several partitions, which it collects because they stop the threads of the others.
const LOOK_EVERY: u32 = 8;
const LOOK_MULTI_EVERY: u32 = 32;
/// How long a thread submits calls before it lets others run: less than what an operating system gives a thread at
/// once (1 to 4 ms), and long enough to keep the cost of a switch below a hundredth.
const MAX_TURN_NS: u64 = 400_000;

/// What a thread knows of itself and the engine to which it submitted its last call.
#[derive(Clone, Copy)]
struct Caller {
    /// The number of the engine; 0: none.
    engine: u64,
    /// [`Cores::version`] when `own` was found.
    version: u64,
    core: u32,
    /// Calls submitted since it looked into the inboxes.
    since_look: u32,
    /// The partitions whose calls it runs at once, because they are its core's or it is alone.
    own: PartitionSet,
    /// The partitions whose calls it ran at once since it looked into the inboxes.
    ran: PartitionSet,
    /// The partitions in whose inboxes it may have left calls that have not run.
    left: PartitionSet,
    /// When it last let others run, by [`Cores::clock`].
    turn_began_ns: u64,
    /// The calls that the thread has left in an inbox for calls on several partitions.
    multi: LeftMulti,
    /// Whether the thread may have left such calls on another engine, too.
    multi_elsewhere: bool,
}

/// Calls of a thread in an inbox for calls on several partitions.
#[derive(Clone, Copy)]
struct LeftMulti {
    /// The partitions on which later calls come after them; none: they have run.
    partitions: PartitionSet,
    /// The partition that has the inbox.
    of: usize,
    /// The number of the last one, for [`RunCount::has_run`](super::inbox::RunCount::has_run).
    number: u64,
}

const NO_MULTI: LeftMulti = LeftMulti { partitions: NONE, of: 0, number: 0 };

const NONE: PartitionSet = PartitionSet::EMPTY;

/// What becomes of a call.
pub(super) enum CallTurn {
    /// It runs at once; `inbox_first`: after what the thread may have left in the inbox.
    Now { inbox_first: bool },
    /// The thread leaves it in an inbox.
    Left(LeftIn),
}

thread_local! {
    static CALLER: Cell<Caller> = const {
        Cell::new(Caller {
            engine: 0,
            version: 0,
            core: 0,
            since_look: 0,
            own: NONE,
            ran: NONE,
            left: NONE,
            turn_began_ns: 0,
            multi: NO_MULTI,
            multi_elsewhere: false,
        })
    };
}

thread_local! {
    /// Whether the thread may have left calls on several partitions that have not run: all that a call asks.
    static MAY_HAVE_LEFT_MULTI: Cell<bool> = const { Cell::new(false) };
}

/// A number that no other engine of this process has.
fn new_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The cores of an engine's partitions.
#[repr(align(128))]
pub(super) struct Cores {
    execution: Execution,
    in_order: bool,
    /// Tells engines apart, also those that are gone.
    engine: u64,
    current: fn() -> u32,
    clock: RealClock,
    /// Changes with the core of any partition, and with the number of callers up to two.
    version: AtomicU64,
    /// Threads that have submitted calls; one that did so on another engine meanwhile counts again.
    callers: AtomicU32,
}

impl Cores {
    pub(super) fn new(config: &Config) -> Self {
        let (execution, CurrentCore(current)) = (config.execution, config.current_core);
        let in_order = config.in_order;
        Self {
            execution,
            in_order,
            engine: new_number(),
            current,
            clock: RealClock::new(),
            version: AtomicU64::new(1),
            callers: AtomicU32::new(0),
        }
    }

    /// What becomes of a call that this thread submits. Now and then, it runs calls of others first.
    #[inline(always)]
    pub(super) fn turn(&self, cells: &[held::Cell], needed: PartitionSet) -> CallTurn {
        match self.execution {
            Execution::Auto | Execution::Core => {}
            Execution::Caller => return CallTurn::Now { inbox_first: false },
            Execution::Thread => return CallTurn::Left(self.inbox_of_thread(cells, needed)),
        }
        if self.is_alone() && CALLER.get().engine == self.engine {
            return CallTurn::Now { inbox_first: false };
        }
        let mut caller = CALLER.get();
        let is_known = caller.engine == self.engine
            && caller.version == self.version.load(Ordering::Relaxed)
            && caller.core == (self.current)();
        if !is_known {
            self.know(cells, &mut caller);
        }
        let partition = needed.lowest();
        let place = &cells[partition].place;
        caller.since_look += 1;
        if caller.since_look.is_multiple_of(LOOK_EVERY) || place.is_awaited() {
            let multi = caller.since_look >= LOOK_MULTI_EVERY;
            if multi {
                caller.since_look = 0;
            }
            CALLER.set(caller);
            self.run_own(cells, multi);
            caller.ran = NONE;
            if !self.is_alone() {
                huge_pages::assist();
                self.end_long_turn(&mut caller);
            }
        }
        let is_own = needed.difference(caller.own).is_empty();
        let turn = if !needed.is_single() || Self::is_behind(cells, &mut caller, needed) {
            let after = caller.left.intersection(needed);
            let is_first = !self.in_order || after.is_empty() && !Self::is_behind(cells, &mut caller, needed);
            if is_own && is_first {
                CallTurn::Now { inbox_first: false }
            } else {
                CallTurn::Left(self.multi_inbox_of(cells, &mut caller, needed, after))
            }
        } else if is_own && cells[partition].is_free() && !place.is_claimed() {
            let inbox_first = caller.left.contains(partition);
            caller.left = caller.left.difference(needed);
            caller.ran.insert(partition);
            CallTurn::Now { inbox_first }
        } else {
            caller.left.insert(partition);
            if !is_own && cells[partition].inbox.pushes() > MAX_PUSHES {
                self.exchange(cells, partition);
            }
            CallTurn::Left(LeftIn::Inbox)
        };
        CALLER.set(caller);
        turn
    }

    /// The inbox for a call, where each partition has a thread of its own.
    fn inbox_of_thread(&self, cells: &[held::Cell], needed: PartitionSet) -> LeftIn {
        if !self.in_order {
            let of = needed.lowest();
            return if needed.is_single() { LeftIn::Inbox } else { LeftIn::Multi { of, after: NONE } };
        }
        let mut caller = CALLER.get();
        if caller.engine != self.engine {
            self.forget_multi(cells, &mut caller);
            caller.engine = self.engine;
        }
        let left_in = if needed.is_single() && !Self::is_behind(cells, &mut caller, needed) {
            LeftIn::Inbox
        } else {
            // What it has left in other inboxes is not noted.
            self.multi_inbox_of(cells, &mut caller, needed, needed)
        };
        CALLER.set(caller);
        left_in
    }

    /// The inbox for a call on several partitions, or for one that comes after such a call of this thread; `after`:
    /// where the thread has left calls that come first.
    fn multi_inbox_of(
        &self,
        cells: &[held::Cell],
        caller: &mut Caller,
        needed: PartitionSet,
        after: PartitionSet,
    ) -> LeftIn {
        // All in one inbox, also if this one has no partition in common with those before: a later call may.
        let has_others = Self::is_behind(cells, caller, PartitionSet::all(cells.len()));
        let of = if has_others { caller.multi.of } else { needed.lowest() };
        LeftIn::Multi { of, after: if self.in_order { after } else { NONE } }
    }

    /// Notes that this thread has left a call in the inbox for calls on several partitions of the partition `of`.
    pub(super) fn left_multi(&self, of: usize, number: u64, needed: PartitionSet) {
        if self.in_order {
            let caller = CALLER.get();
            MAY_HAVE_LEFT_MULTI.set(true);
            let partitions = caller.multi.partitions.union(needed);
            let multi = LeftMulti { partitions, of, number };
            CALLER.set(Caller { left: caller.left.difference(needed), multi, ..caller });
        }
    }

    /// Whether a call on these partitions has to wait for one on several that this thread has left.
    #[inline(always)]
    pub(super) fn has_multi_before(&self, cells: &[held::Cell], needed: PartitionSet) -> bool {
        MAY_HAVE_LEFT_MULTI.get() && self.has_unfinished_multi(cells, needed)
    }

    #[cold]
    fn has_unfinished_multi(&self, cells: &[held::Cell], needed: PartitionSet) -> bool {
        let mut caller = CALLER.get();
        if caller.engine == self.engine {
            let is_behind = Self::is_behind(cells, &mut caller, needed);
            MAY_HAVE_LEFT_MULTI.set(caller.multi_elsewhere || !caller.multi.partitions.is_empty());
            is_behind
        } else {
            self.in_order && caller.multi_elsewhere && !cells.iter().all(|cell| cell.multi_runs.is_idle())
        }
    }

    /// Whether a call on these partitions has to come after one on several that this thread has left.
    #[inline(always)]
    fn is_behind(cells: &[held::Cell], caller: &mut Caller, needed: PartitionSet) -> bool {
        !caller.multi.partitions.intersection(needed).is_empty() && {
            if cells[caller.multi.of].multi_runs.has_run(caller.multi.number) {
                caller.multi = NO_MULTI;
            }
            !caller.multi.partitions.is_empty()
        }
    }

    /// Waits until the calls on several partitions that this thread has left, and that come before one on these
    /// partitions, have run.
    pub(super) fn await_multi(&self, cells: &[held::Cell], needed: PartitionSet) {
        if self.has_multi_before(cells, needed) {
            let mut caller = CALLER.get();
            if caller.engine == self.engine {
                empty_multi_inbox(cells, caller.multi.of);
                caller.multi = NO_MULTI;
                CALLER.set(caller);
            } else {
                empty_multi_inboxes(cells);
            }
        }
    }

    /// Forgets what the thread has left on the engine that it used before, and waits for what it may have left on this
    /// one before that.
    fn forget_multi(&self, cells: &[held::Cell], caller: &mut Caller) {
        if caller.multi_elsewhere && self.in_order {
            empty_multi_inboxes(cells);
        }
        caller.multi_elsewhere |= !caller.multi.partitions.is_empty();
        caller.multi = NO_MULTI;
    }

    /// Finds the partitions of this thread's core.
    #[cold]
    #[inline(never)]
    fn know(&self, cells: &[held::Cell], caller: &mut Caller) {
        if caller.engine != self.engine {
            let before = self.callers.fetch_add(1, Ordering::Relaxed);
            if before == 1 {
                // The first one is not alone any more.
                self.version.fetch_add(1, Ordering::Relaxed);
            }
        }
        let core = (self.current)();
        let all = PartitionSet::all(cells.len());
        if caller.engine != self.engine {
            self.forget_multi(cells, caller);
            let has_left = caller.engine != 0 && !self.is_alone();
            (caller.engine, caller.left) = (self.engine, if has_left { all } else { NONE });
        }
        *caller = Caller {
            version: 0,
            core,
            since_look: 0,
            own: all,
            ran: NONE,
            turn_began_ns: self.clock.monotonic_ns(),
            ..*caller
        };
        if !self.is_alone() {
            self.balance(cells, core);
        }
        caller.version = self.version.load(Ordering::Relaxed);
        if !self.is_alone() {
            let is_own = |&partition: &usize| core_of(cells, partition) == core;
            caller.own = PartitionSet::EMPTY;
            (0..cells.len()).filter(is_own).for_each(|partition| caller.own.insert(partition));
        }
    }

    /// Lets other threads run if this one, which holds nothing, has run for long.
    fn end_long_turn(&self, caller: &mut Caller) {
        if self.clock.monotonic_ns().saturating_sub(caller.turn_began_ns) > MAX_TURN_NS {
            thread::yield_now();
            caller.turn_began_ns = self.clock.monotonic_ns();
        }
    }

    /// Lets other threads run: this one waits for them.
    pub(super) fn let_others_run(&self) {
        thread::yield_now();
        let caller = CALLER.get();
        if caller.engine == self.engine {
            CALLER.set(Caller { turn_began_ns: self.clock.monotonic_ns(), ..caller });
        }
    }

    /// Whether a thread that submits calls may run all of them, because there is no other.
    #[inline(always)]
    fn is_alone(&self) -> bool {
        self.execution == Execution::Auto && self.callers.load(Ordering::Relaxed) <= 1
    }

    /// Which of the fixed forms is in use now.
    pub(super) fn in_use(&self) -> Execution {
        match self.execution {
            Execution::Auto if self.is_alone() => Execution::Caller,
            Execution::Auto => Execution::Core,
            fixed => fixed,
        }
    }

    /// Waits until what this thread left in the inboxes of these partitions has run, if calls run in order. To be
    /// called before the tokens of several are acquired.
    pub(super) fn await_left(&self, cells: &[held::Cell], needed: PartitionSet) {
        let mut caller = CALLER.get();
        let has_thread = self.execution == Execution::Thread;
        // A thread that has submitted nothing has left nothing. Calls for the partitions' own threads are not noted.
        let never_left = self.is_alone() || self.execution == Execution::Caller || caller.engine == 0 && !has_thread;
        if !self.in_order || never_left {
            return;
        }
        let is_here = caller.engine == self.engine && !has_thread;
        let left = if is_here { caller.left.intersection(needed) } else { needed };
        for partition in left.iter() {
            let held::Cell { inbox, place, .. } = &cells[partition];
            let mut looks = 0;
            while !inbox.is_empty() && looks < MAX_LEFT_LOOKS {
                place.hurry();
                looks += 1;
                if looks < MAX_LEFT_SPINS {
                    std::hint::spin_loop();
                } else {
                    thread::yield_now();
                }
            }
            // Also if it is empty: the holder of the token may be running the last call.
            empty_inbox(cells, partition);
        }
        if is_here {
            caller.left = caller.left.difference(needed);
            CALLER.set(caller);
        }
    }

    /// Moves partitions to a core that has too few of them.
    fn balance(&self, cells: &[held::Cell], core: u32) {
        let count = |of: u32| (0..cells.len()).filter(|&partition| core_of(cells, partition) == of).count();
        for (partition, cell) in cells.iter().enumerate() {
            let of = core_of(cells, partition);
            if of == NOWHERE || of != core && count(of) > count(core) + 1 {
                self.place(cell, of, core);
            }
        }
    }

    /// Moves a partition to this thread's core, because the threads of its own submit no calls to it, and one of this
    /// core, of which the same holds, to that core.
    #[cold]
    #[inline(never)]
    fn exchange(&self, cells: &[held::Cell], partition: usize) {
        let (from, to) = (core_of(cells, partition), (self.current)());
        cells[partition].inbox.forget_pushes();
        let is_like = |&other: &usize| core_of(cells, other) == to && cells[other].inbox.pushes() > MAX_PUSHES / 4;
        if let Some(other) = (0..cells.len()).find(is_like) {
            cells[other].inbox.forget_pushes();
            self.place(&cells[other], to, from);
            self.place(&cells[partition], from, to);
        }
    }

    /// Moves a partition from one core to another, unless another thread has moved it.
    fn place(&self, cell: &held::Cell, from: u32, to: u32) {
        if cell.place.set_core(from, to) {
            self.version.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Runs the calls that were left for this thread's core; `multi`: also those that need several partitions.
    pub(super) fn run_own(&self, cells: &[held::Cell], multi: bool) {
        let caller = CALLER.get();
        if caller.engine != self.engine {
            return;
        }
        for partition in caller.own.iter() {
            let is_awaited = cells[partition].place.looked();
            if caller.ran.contains(partition) {
                cells[partition].inbox.forget_pushes();
            }
            run_inbox_if_free(cells, partition);
            if multi || is_awaited {
                run_multi_inbox_if_free(cells, partition);
            }
        }
    }

    /// Runs the calls left for another core, whose threads do not run them.
    #[cold]
    pub(super) fn help(&self, cells: &[held::Cell], partition: usize) {
        run_inbox_if_free(cells, partition);
        run_multi_inbox_if_free(cells, partition);
        let place = &cells[partition].place;
        let of = place.core();
        // A partition with a thread of its own stays there.
        if place.count_help() > MAX_HELPED && self.execution != Execution::Thread {
            self.place(&cells[partition], of, (self.current)());
        }
    }
}

/// How often a partition's own thread looks into its inboxes before it lets other threads run, and before it sleeps.
const IDLE_LOOKS: [u32; 2] = [200, 400];

/// Runs what is left in the inboxes of a partition, in the thread for it, until `stop`.
pub(super) fn serve(cells: &[held::Cell], partition: usize, stop: &AtomicBool) {
    let held::Cell { place, inbox, multi_inbox, .. } = &cells[partition];
    place.adopt();
    let mut looks = 0;
    while !stop.load(Ordering::Relaxed) {
        run_inbox_if_free(cells, partition);
        run_multi_inbox_if_free(cells, partition);
        let is_empty = || inbox.is_empty() && multi_inbox.is_empty();
        looks = if is_empty() { looks + 1 } else { 0 };
        match IDLE_LOOKS.partition_point(|&many| many < looks) {
            0 => std::hint::spin_loop(),
            1 => thread::yield_now(),
            _ => {
                place.sleep(|| !is_empty() || stop.load(Ordering::Relaxed));
                looks = 0;
            }
        }
    }
}

/// Runs what was left in the inboxes for calls on several partitions.
fn empty_multi_inboxes(cells: &[held::Cell]) {
    for partition in (0..cells.len()).filter(|&partition| !cells[partition].multi_runs.is_idle()) {
        empty_multi_inbox(cells, partition);
    }
}

fn core_of(cells: &[held::Cell], partition: usize) -> u32 {
    cells[partition].place.core()
}
