//! Calls that are handed over to the core of their partition.
//!
//! A call is a procedure, what is to be kept of its output, and the memory for that; it lies in a block which its
//! submitter took from a pool of its thread, and is linked into the partition's [inbox](super::inbox). The next holder
//! of the token runs it there. The submitter reads the outcome when it needs it; if the call has not run by then, the
//! submitter acquires the token and runs what is in the inbox, so no call depends on another thread.
//!
//! Only calls whose declaration is complete are handed over. A call that turns out to need more has its run undone, and
//! its submitter runs it again.

use std::any::Any;
use std::cell::{RefCell, UnsafeCell};
use std::mem::{MaybeUninit, size_of};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;

use super::calls::{
    CallFunctions, CallHead, LeftIn, empty_inbox, empty_multi_inbox, run_inbox_if_free, run_multi_inbox_if_free,
};
use super::cores::CallTurn;
use super::engine::{Ending, Engine};
use super::held::Hold;
use super::inbox::InboxEntry;
use crate::answer::{Answer, discard};
use crate::error::Error;
use crate::executed::StoredAnswer;
use crate::log::Lsn;
use crate::prefetch::{CACHE_LINE_BYTES, prefetch_write};
use crate::procedure::{PartitionSet, Procedure};

/// Memory of one call. Most calls are smaller, and only what they use is touched.
#[repr(align(64))]
struct CallBlock {
    _bytes: [MaybeUninit<u8>; BLOCK_BYTES],
}

const BLOCK_BYTES: usize = 2_048;
/// Blocks that a thread keeps.
const MAX_BLOCKS: usize = 4_096;

thread_local! {
    #[allow(clippy::vec_box, reason = "a block stays where it is, also while it is in use")]
    static BLOCKS: RefCell<Vec<Box<CallBlock>>> = const { RefCell::new(Vec::new()) };
}

/// The outcome of a call that was run for its submitter.
enum HandedOutcome<N> {
    Ran {
        answer: StoredAnswer<N>,
        lsn: Lsn,
    },
    Panicked(Box<Box<dyn Any + Send>>),
    /// It was undone, and needs more than its partition.
    NeedsMore,
}

impl<N> HandedOutcome<N> {
    #[inline(always)]
    fn ran(answer: Result<N, Error>, lsn: Lsn) -> Self {
        Self::Ran { answer: StoredAnswer::new(answer), lsn }
    }

    /// The outcome of a call whose output panicked when it was dropped: the first panic is the one to report.
    #[cold]
    fn with_panic(self, panic: Box<dyn Any + Send>) -> Self {
        if let Self::Panicked(_) = self {
            std::mem::forget(panic);
            return self;
        }
        discard(|| drop(self));
        Self::Panicked(Box::new(panic))
    }
}

/// What a ticket knows of a call: the part that does not depend on the procedure.
#[repr(C)]
struct CallFront<N> {
    head: CallHead,
    outcome: UnsafeCell<Option<HandedOutcome<N>>>,
}

#[repr(C)]
struct OwnedCall<P, N, T> {
    front: CallFront<N>,
    /// In place whenever the call runs: the call is in an inbox of it, or has a ticket that borrows it.
    engine: *const Engine,
    procedure: P,
    take: Option<T>,
}

/// Takes what is to be kept out of an answer.
pub(crate) trait Take<O, N>: FnOnce(&mut Answer<O>) -> Result<N, Error> + Send + 'static {}
impl<O, N, T: FnOnce(&mut Answer<O>) -> Result<N, Error> + Send + 'static> Take<O, N> for T {}

impl<P: Procedure, N: Send + 'static, T: Take<P::Output, N>> OwnedCall<P, N, T> {
    const FUNCTIONS: CallFunctions =
        CallFunctions { run: Self::run, run_alone: Self::run_alone, release: Self::release };
    const FITS: bool = size_of::<Self>() <= BLOCK_BYTES && align_of::<Self>() <= align_of::<CallBlock>();

    unsafe fn run(entry: *mut InboxEntry, hold: Hold<'_>) {
        // SAFETY: the entry is the first field of a call of these types, which the caller owns now, and its engine is
        // in place.
        let (engine, call) = unsafe { (&*(*entry.cast::<Self>()).engine, &mut *entry.cast::<Self>()) };
        let mut answer = Answer::Empty;
        let mut outcome = match engine.run_held(hold, &call.procedure, &mut answer) {
            Ok(lsn) => Self::taken(engine, &mut call.take, &mut answer, lsn),
            Err(Ending::Aborted(reason, lsn)) => HandedOutcome::ran(Err(reason.into()), lsn),
            Err(Ending::Failed(error)) => HandedOutcome::ran(Err(error), Lsn::NONE),
            Err(Ending::Panicked(panic)) => HandedOutcome::Panicked(Box::new(panic)),
            Err(Ending::Widen(_)) => HandedOutcome::NeedsMore,
        };
        // The output is the submitter's, and so is the panic of its drop: the thread of the partition outlives it.
        if let Err(panic) = answer.end() {
            outcome = outcome.with_panic(panic);
        }
        *call.front.outcome.get_mut() = Some(outcome);
    }

    /// `take` is the submitter's code: its panic is the submitter's, and it must not call the database, whose partition
    /// is held.
    fn taken(engine: &Engine, take: &mut Option<T>, answer: &mut Answer<P::Output>, lsn: Lsn) -> HandedOutcome<N> {
        let take = take.take().expect("a call is answered once");
        let _inside = engine.health().enter();
        match catch_unwind(AssertUnwindSafe(|| take(answer))) {
            Ok(answer) => HandedOutcome::ran(answer, lsn),
            Err(panic) => HandedOutcome::Panicked(Box::new(panic)),
        }
    }

    unsafe fn run_alone(entry: *mut InboxEntry) {
        // SAFETY: as in `run`.
        let (engine, call) = unsafe { (&*(*entry.cast::<Self>()).engine, &mut *entry.cast::<Self>()) };
        let mut answer = Answer::Empty;
        let outcome = match engine.execute(&call.procedure, &mut answer) {
            Ok(lsn) => Self::taken(engine, &mut call.take, &mut answer, lsn),
            Err(error) => HandedOutcome::ran(Err(error), Lsn::NONE),
        };
        *call.front.outcome.get_mut() = Some(outcome);
    }

    unsafe fn release(entry: *mut InboxEntry) {
        let call = entry.cast::<Self>();
        // SAFETY: it was made by `hand_over`, has run, and is not used again; its memory is that of a block.
        let block = unsafe {
            call.drop_in_place();
            Box::from_raw(call.cast::<CallBlock>())
        };
        // At the end of a thread there is no pool any more.
        let _ = BLOCKS.try_with(|blocks| {
            let mut blocks = blocks.borrow_mut();
            if blocks.len() < MAX_BLOCKS {
                blocks.push(block);
            }
        });
    }
}

/// A call that was handed over, for its submitter. Dropping it does not undo the call.
pub(crate) struct HandedCall<'a, N> {
    engine: &'a Engine,
    front: NonNull<CallFront<N>>,
}

// SAFETY: the outcome is all that is read through it, and may go to another thread.
unsafe impl<N: Send> Send for HandedCall<'_, N> {}

/// A call that was submitted.
pub(crate) enum Submission<'a, N> {
    Ran(StoredAnswer<N>, Lsn),
    Handed(HandedCall<'a, N>),
}

/// Runs a procedure here, or leaves it for a thread on its partition's core.
#[inline(always)]
pub(crate) fn submit<P: Procedure, N: Send + 'static, T: Take<P::Output, N>>(
    engine: &Engine,
    procedure: P,
    take: T,
) -> Result<Submission<'_, N>, Error> {
    let (needed, unknown) = engine.declared(&procedure)?;
    let mut inbox_first = true;
    if !unknown {
        let needed = needed.or_if_empty(0);
        match engine.cores.turn(&engine.cells, needed) {
            CallTurn::Now { inbox_first: first } => inbox_first = first,
            CallTurn::Left(left_in) if OwnedCall::<P, N, T>::FITS => {
                // The token may be held by this thread.
                engine.health().refuse_nested()?;
                return Ok(Submission::Handed(hand_over(engine, needed, left_in, procedure, take)));
            }
            CallTurn::Left(_) => {}
        }
    }
    let mut answer = Answer::Empty;
    let lsn = engine.execute_declared(&procedure, needed, unknown, inbox_first, &mut answer)?;
    // As where another thread runs the call.
    let _inside = engine.health().enter();
    Ok(Submission::Ran(StoredAnswer::new(take(&mut answer)), lsn))
}

/// Leaves a call, which fits into a block, in an inbox.
#[inline(never)]
fn hand_over<P: Procedure, N: Send + 'static, T: Take<P::Output, N>>(
    engine: &Engine,
    needed: PartitionSet,
    left_in: LeftIn,
    procedure: P,
    take: T,
) -> HandedCall<'_, N> {
    let new = || Box::new(CallBlock { _bytes: [MaybeUninit::uninit(); BLOCK_BYTES] });
    let pooled = BLOCKS.try_with(|blocks| {
        let mut blocks = blocks.borrow_mut();
        let block = blocks.pop();
        if let Some(next) = blocks.last() {
            // The next call will be written there, and another core had it last.
            let next: *const CallBlock = &raw const **next;
            let lines = (0..size_of::<OwnedCall<P, N, T>>()).step_by(CACHE_LINE_BYTES);
            lines.for_each(|offset| prefetch_write(next.cast::<u8>().wrapping_add(offset)));
        }
        block
    });
    let block = pooled.ok().flatten().unwrap_or_else(new);
    let call = Box::into_raw(block).cast::<OwnedCall<P, N, T>>();
    let head = CallHead { entry: InboxEntry::new(), functions: &OwnedCall::<P, N, T>::FUNCTIONS, needed, left_in };
    let front = CallFront { head, outcome: UnsafeCell::new(None) };
    let cell = &engine.cells[inbox_of(needed, left_in)];
    // SAFETY: the block is large enough and aligned; the call stays in it until `HandedCall` releases it, after it has
    // run.
    unsafe {
        call.write(OwnedCall { front, engine, procedure, take: Some(take) });
        match left_in {
            LeftIn::Inbox => cell.inbox.push(call.cast()),
            LeftIn::Multi { of, .. } => {
                cell.multi_runs.begin_push();
                cell.multi_inbox.push(call.cast());
                engine.cores.left_multi(of, cell.multi_runs.number(), needed);
            }
        }
    }
    cell.place.wake();
    // SAFETY: a pointer to a block is not null.
    HandedCall { engine, front: unsafe { NonNull::new_unchecked(call.cast()) } }
}

/// The partition in one of whose inboxes a call is left.
#[inline(always)]
fn inbox_of(needed: PartitionSet, left_in: LeftIn) -> usize {
    match left_in {
        LeftIn::Inbox => needed.lowest(),
        LeftIn::Multi { of, .. } => of,
    }
}

/// How often a submitter looks for its answer before it asks for it, before it lets other threads run, and before it
/// waits for the token: about the time of one transaction, of some, and of thousands.
const LOOKS: [u32; 3] = [20, 60, 1_000];
/// How often in a row it finds the token free and its call not run before it runs the inbox itself.
const FREE_LOOKS: u32 = 40;

impl<N> HandedCall<'_, N> {
    fn head(&self) -> &CallHead {
        // SAFETY: the call is in place until it is released, and the head is not written before that.
        unsafe { &(*self.front.as_ptr()).head }
    }

    fn inbox_of(&self) -> usize {
        inbox_of(self.head().needed, self.head().left_in)
    }

    /// Whether the call has run.
    pub(crate) fn has_run(&self) -> bool {
        self.head().entry.is_done()
    }

    /// The position up to which the log must be durable before the answer is given, if the call has run. Runs it if
    /// no thread does.
    pub(crate) fn ran_at(&self) -> Option<Lsn> {
        if !self.has_run() {
            let partition = self.inbox_of();
            run_inbox_if_free(&self.engine.cells, partition);
            run_multi_inbox_if_free(&self.engine.cells, partition);
        }
        // SAFETY: if it has run, the outcome is this thread's.
        let outcome = self.has_run().then(|| unsafe { &*(*self.front.as_ptr()).outcome.get() })?;
        match outcome {
            Some(HandedOutcome::Ran { lsn, .. }) => Some(*lsn),
            _ => Some(Lsn::NONE),
        }
    }

    /// Returns when the call has run.
    #[inline]
    fn await_run(&self) {
        if !self.has_run() {
            self.await_run_slowly();
        }
    }

    #[cold]
    #[inline(never)]
    fn await_run_slowly(&self) {
        let Engine { cores, cells, .. } = self.engine;
        let partition = self.inbox_of();
        let (mut looks, mut free_looks) = (0, 0);
        loop {
            cores.run_own(cells, true);
            if self.has_run() {
                return;
            }
            free_looks = if cells[partition].is_free() { free_looks + 1 } else { 0 };
            if free_looks > FREE_LOOKS {
                cores.help(cells, partition);
                continue;
            }
            looks += 1;
            match LOOKS.partition_point(|&many| many < looks) {
                0 => std::hint::spin_loop(),
                1 => {
                    cells[partition].place.hurry();
                    std::hint::spin_loop();
                }
                2 => cores.let_others_run(),
                _ => break,
            }
        }
        match self.head().left_in {
            LeftIn::Inbox => empty_inbox(cells, partition),
            LeftIn::Multi { .. } => empty_multi_inbox(cells, partition),
        }
        // A holder of the token that took it from the inbox has finished it.
        debug_assert!(self.has_run());
    }

    /// Waits until the call has run: its answer, and the position up to which the log must be durable before the answer
    /// is given.
    ///
    /// # Panics
    /// When the procedure did.
    #[inline]
    pub(crate) fn answer(self) -> (StoredAnswer<N>, Lsn) {
        self.await_run();
        // SAFETY: it has run, so the outcome is this thread's.
        let mut outcome = unsafe { (*(*self.front.as_ptr()).outcome.get()).take() };
        if let Some(HandedOutcome::NeedsMore) = outcome {
            // SAFETY: the call is this thread's since it has run.
            unsafe { (self.head().functions.run_alone)(self.front.as_ptr().cast()) };
            // SAFETY: as above.
            outcome = unsafe { (*(*self.front.as_ptr()).outcome.get()).take() };
        }
        match outcome {
            Some(HandedOutcome::Ran { answer, lsn }) => (answer, lsn),
            Some(HandedOutcome::Panicked(panic)) => resume_unwind(*panic),
            Some(HandedOutcome::NeedsMore) | None => unreachable!("a call that has run has an outcome"),
        }
    }
}

impl<N> Drop for HandedCall<'_, N> {
    fn drop(&mut self) {
        if !self.engine.process.is_current() {
            // The threads that could run it are the parent's.
            return;
        }
        self.await_run();
        let functions = self.head().functions;
        // SAFETY: it has run, so it is this thread's.
        let needs_more = unsafe { matches!(*(*self.front.as_ptr()).outcome.get(), Some(HandedOutcome::NeedsMore)) };
        let entry: *mut InboxEntry = self.front.as_ptr().cast();
        if needs_more {
            // No thread waits for the panic of a call whose ticket was dropped.
            // SAFETY: as above.
            let _ = catch_unwind(AssertUnwindSafe(|| unsafe { (functions.run_alone)(entry) }));
        }
        // SAFETY: as above; released once.
        unsafe { (functions.release)(entry) };
    }
}
