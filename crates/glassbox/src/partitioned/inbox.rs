//! The inbox of a partition: calls that other threads left for the holder of its token.
//!
//! Problem: a call that runs in its caller's thread brings the rows and indexes of the partition to the caller's core.
//! If two threads alternate on a partition, the data moves at every transaction, which costs more than the work. The
//! arguments of a call are smaller than what it touches, so the arguments should move.
//!
//! An inbox is a linked stack. Anyone pushes, with one exchange; the holder of the token takes everything with one
//! exchange, turns it round, so that calls of one thread stay in order, and runs one after the other. It may stop
//! between two and release the token: the next holder goes on. Nothing waits: a pusher does not wait for the holder,
//! and the holder not for a pusher.
//!
//! Invariant: an entry belongs to its pusher before [`Inbox::push`], to the inbox until [`Inbox::take`], then to the
//! holder of the token until it stores [`DONE`], then to its pusher again. `push` releases what the pusher wrote,
//! `take` acquires it; `finish` releases the answer, and `is_done` acquires it.
//!
//! Rejected: a ring between each pair of threads. It bounds the calls of a pair, but tickets in flight are bounded
//! already, and it needs a table of threads; the holder would look at as many rings as there are threads.

#[cfg(not(all(loom, test)))]
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};

#[cfg(all(loom, test))]
use loom::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};

use std::ptr;

use crate::prefetch::Padded;

const QUEUED: u32 = 0;
const DONE: u32 = 1;

/// What links a call into an inbox, and says when it has run. The first field of a call.
pub(super) struct InboxEntry {
    next: AtomicPtr<InboxEntry>,
    state: AtomicU32,
}

impl InboxEntry {
    pub(super) fn new() -> Self {
        Self { next: AtomicPtr::new(ptr::null_mut()), state: AtomicU32::new(QUEUED) }
    }

    /// Whether the call has run: its answer may be read.
    #[inline(always)]
    pub(super) fn is_done(&self) -> bool {
        self.state.load(Ordering::Acquire) == DONE
    }
}

/// Calls that wait for the holder of a token.
pub(super) struct Inbox {
    /// The newest of those pushed.
    pushed: Padded<Pushed>,
    /// The oldest of those taken and not run yet. Written by the holder of the token.
    taken: Padded<AtomicPtr<InboxEntry>>,
}

/// What pushers write.
struct Pushed {
    last: AtomicPtr<InboxEntry>,
    /// About how many were pushed since [`Inbox::forget_pushes`].
    count: AtomicU32,
}

impl Inbox {
    pub(super) fn new() -> Self {
        let none = || AtomicPtr::new(ptr::null_mut());
        Self { pushed: Padded(Pushed { last: none(), count: AtomicU32::new(0) }), taken: Padded(none()) }
    }

    /// Whether there is none. Others may push meanwhile.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.pushed.0.last.load(Ordering::Relaxed).is_null() && self.taken.0.load(Ordering::Relaxed).is_null()
    }

    /// Adds a call.
    ///
    /// # Safety
    /// The entry is new and stays in place until it [is done](InboxEntry::is_done); until then only `is_done` is used.
    #[inline]
    pub(super) unsafe fn push(&self, entry: *mut InboxEntry) {
        let mut last = self.pushed.0.last.load(Ordering::Relaxed);
        loop {
            // SAFETY: the entry is still the pusher's.
            unsafe { (*entry).next.store(last, Ordering::Relaxed) };
            match self.pushed.0.last.compare_exchange_weak(last, entry, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => break,
                Err(moved) => last = moved,
            }
        }
        // Concurrent pushes may be counted once.
        self.pushed.0.count.store(self.pushes().wrapping_add(1), Ordering::Relaxed);
    }

    /// About how many were pushed since [`Inbox::forget_pushes`].
    #[inline(always)]
    pub(super) fn pushes(&self) -> u32 {
        self.pushed.0.count.load(Ordering::Relaxed)
    }

    /// Begins to count pushes again.
    #[inline(always)]
    pub(super) fn forget_pushes(&self) {
        if self.pushes() != 0 {
            self.pushed.0.count.store(0, Ordering::Relaxed);
        }
    }

    /// Takes the oldest call of those that were pushed before the first use of `is_last`, which is false then.
    ///
    /// # Safety
    /// The caller holds the partition's token until it has [finished](finish) the call.
    #[inline]
    pub(super) unsafe fn take(&self, is_last: &mut bool) -> Option<*mut InboxEntry> {
        let mut first = self.taken.0.load(Ordering::Relaxed);
        if first.is_null() {
            if std::mem::replace(is_last, true) {
                return None;
            }
            // SAFETY: as promised.
            first = unsafe { self.take_pushed() };
            if first.is_null() {
                return None;
            }
        }
        // SAFETY: what was pushed and not finished is in place; taken, it is the holder's alone.
        let next = unsafe { (*first).next.load(Ordering::Relaxed) };
        self.taken.0.store(next, Ordering::Relaxed);
        Some(first)
    }

    /// Puts back the call that was taken last, so that it is the next again.
    ///
    /// # Safety
    /// The caller has held the partition's token since it took the call, and has not finished it.
    pub(super) unsafe fn put_back(&self, entry: *mut InboxEntry) {
        // SAFETY: as promised, it is in place and the caller's.
        unsafe { (*entry).next.store(self.taken.0.load(Ordering::Relaxed), Ordering::Relaxed) };
        self.taken.0.store(entry, Ordering::Relaxed);
    }

    /// The call that [`Inbox::take`] would return next without looking for newer ones; null: none.
    #[inline(always)]
    pub(super) fn next_taken(&self) -> *mut InboxEntry {
        self.taken.0.load(Ordering::Relaxed)
    }

    /// Takes all that were pushed; the oldest, which leads to the newer ones.
    unsafe fn take_pushed(&self) -> *mut InboxEntry {
        let mut newest = self.pushed.0.last.swap(ptr::null_mut(), Ordering::Acquire);
        let mut first = ptr::null_mut();
        while !newest.is_null() {
            // SAFETY: what was pushed and not finished is in place; the exchange made it the caller's alone.
            let next = unsafe {
                let next = (*newest).next.load(Ordering::Relaxed);
                (*newest).next.store(first, Ordering::Relaxed);
                next
            };
            (first, newest) = (newest, next);
        }
        first
    }
}

/// A count of the calls of an inbox that have run, by which their pushers know which have.
pub(super) struct RunCount {
    /// Pushes that have begun; written by pushers.
    begun: Padded<AtomicU64>,
    /// Calls that have run; written by the holder of the token.
    ran: Padded<AtomicU64>,
}

impl RunCount {
    pub(super) fn new() -> Self {
        let zero = || Padded(AtomicU64::new(0));
        Self { begun: zero(), ran: zero() }
    }

    /// Notes that a push begins.
    pub(super) fn begin_push(&self) {
        self.begun.0.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of a call that was just pushed, for [`RunCount::has_run`].
    pub(super) fn number(&self) -> u64 {
        // All that are before it in the inbox have been counted: each was, before it was pushed.
        fence(Ordering::Acquire);
        self.begun.0.load(Ordering::Relaxed)
    }

    /// Notes that a call has run. The holder of the token is the only writer.
    pub(super) fn count_run(&self) {
        self.ran.0.store(self.ran.0.load(Ordering::Relaxed) + 1, Ordering::Release);
    }

    /// Whether the call with this number has run. The answer is late if others were pushed at the same time, never
    /// early.
    pub(super) fn has_run(&self, number: u64) -> bool {
        self.ran.0.load(Ordering::Acquire) >= number
    }

    /// Whether all calls that this thread has pushed have run.
    pub(super) fn is_idle(&self) -> bool {
        self.has_run(self.begun.0.load(Ordering::Relaxed))
    }
}

/// Gives a call that has run back to its pusher.
///
/// # Safety
/// The entry was taken, is finished once, and is not used afterwards.
#[inline]
pub(super) unsafe fn finish(entry: *mut InboxEntry) {
    // SAFETY: it is in place until this store.
    unsafe { (*entry).state.store(DONE, Ordering::Release) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An entry that others may push and take, with what it stands for.
    #[repr(C)]
    struct Numbered {
        entry: InboxEntry,
        number: u64,
    }

    fn numbered(number: u64) -> *mut InboxEntry {
        Box::into_raw(Box::new(Numbered { entry: InboxEntry::new(), number })).cast()
    }

    /// Finishes an entry; its number.
    ///
    /// # Safety
    /// It was taken, and is a `Numbered` that no thread waits for.
    #[cfg(not(loom))]
    unsafe fn end(entry: *mut InboxEntry) -> u64 {
        // SAFETY: as promised.
        unsafe {
            finish(entry);
            Box::from_raw(entry.cast::<Numbered>()).number
        }
    }

    #[cfg(not(loom))]
    #[test]
    fn calls_of_one_thread_are_taken_in_order_and_none_is_lost() {
        const CALLS: u64 = 10_000;
        let inbox = Inbox::new();
        let mut taken = [Vec::new(), Vec::new()];
        std::thread::scope(|scope| {
            for thread in 0..2 {
                let inbox = &inbox;
                scope.spawn(move || {
                    for call in 0..CALLS {
                        // SAFETY: it is new, and only the taker uses it from here on.
                        unsafe { inbox.push(numbered(call * 2 + thread)) };
                    }
                });
            }
            while taken[0].len() + taken[1].len() < 2 * CALLS as usize {
                // SAFETY: this thread alone takes.
                while let Some(number) = unsafe { inbox.take(&mut false).map(|entry| end(entry)) } {
                    taken[number as usize % 2].push(number / 2);
                }
                std::thread::yield_now();
            }
        });
        assert!(inbox.is_empty());
        for calls in taken {
            assert_eq!(calls, (0..CALLS).collect::<Vec<_>>());
        }
    }

    #[cfg(not(loom))]
    #[test]
    fn calls_pushed_later_are_not_among_the_earlier() {
        let inbox = Inbox::new();
        // SAFETY: all entries are new, and this thread alone pushes and takes.
        unsafe {
            (0..3).for_each(|number| inbox.push(numbered(number)));
            assert_eq!(end(inbox.take(&mut false).unwrap()), 0);
            inbox.push(numbered(3));
            let mut is_last = false;
            let mut earlier = Vec::new();
            while let Some(entry) = inbox.take(&mut is_last) {
                earlier.push(end(entry));
                if earlier.len() == 3 {
                    inbox.push(numbered(4));
                }
            }
            assert_eq!(earlier, [1, 2, 3]);
            assert_eq!(end(inbox.take(&mut false).unwrap()), 4);
        }
    }

    /// Interleavings of two pushes and a holder: the number of a call says that it has run only when it has.
    #[cfg(loom)]
    #[test]
    fn interleavings_of_a_number_and_runs_are_never_early() {
        use loom::sync::Arc;
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let inbox = Arc::new((Inbox::new(), RunCount::new()));
            // Entries are never freed.
            let push = |inbox: &(Inbox, RunCount)| {
                let entry: &InboxEntry = Box::leak(Box::new(InboxEntry::new()));
                inbox.1.begin_push();
                // SAFETY: it is new, and stays in place.
                unsafe { inbox.0.push(ptr::from_ref(entry).cast_mut()) };
                entry
            };
            let other = {
                let inbox = Arc::clone(&inbox);
                loom::thread::spawn(move || {
                    let entry = push(&inbox);
                    let has_run = inbox.1.has_run(inbox.1.number());
                    assert!(!has_run || entry.is_done());
                })
            };
            push(&inbox);
            let run = || {
                // SAFETY: this thread alone takes, and finishes what it took.
                while unsafe { inbox.0.take(&mut false).inspect(|entry| finish(*entry)) }.is_some() {
                    inbox.1.count_run();
                }
            };
            run();
            other.join().unwrap();
            run();
            assert!(inbox.1.is_idle());
        });
    }

    /// Every interleaving of two threads that push, and a holder that takes, finishes, and is seen to have finished.
    #[cfg(loom)]
    #[test]
    fn interleavings_of_pushes_and_a_take_lose_nothing() {
        use loom::sync::Arc;
        loom::model(|| {
            let inbox = Arc::new(Inbox::new());
            let pushers: Vec<_> = (0..2)
                .map(|number| {
                    let inbox = Arc::clone(&inbox);
                    loom::thread::spawn(move || {
                        let entry = numbered(number);
                        // SAFETY: it is new, and stays until it is done.
                        unsafe { inbox.push(entry) };
                        entry as usize
                    })
                })
                .collect();
            let mut numbers = Vec::new();
            let mut take = || {
                // SAFETY: this thread alone takes.
                while let Some(entry) = unsafe { inbox.take(&mut false) } {
                    // SAFETY: it was taken just now; the pushers free nothing.
                    unsafe {
                        numbers.push((*entry.cast::<Numbered>()).number);
                        finish(entry);
                    }
                }
            };
            take();
            let entries: Vec<_> = pushers.into_iter().map(|pusher| pusher.join().unwrap()).collect();
            take();
            numbers.sort_unstable();
            assert_eq!(numbers, [0, 1]);
            for entry in entries {
                // SAFETY: both have been finished, and no other thread uses them.
                unsafe {
                    assert!((*(entry as *mut InboxEntry)).is_done());
                    drop(Box::from_raw(entry as *mut Numbered));
                }
            }
        });
    }
}
