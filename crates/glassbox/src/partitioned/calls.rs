//! Running calls whose types are not known here: what [inboxes](super::inbox) are full of.

use super::held::{self, Hold, await_long_runs, hold_if_free, hold_or_delegate, holding};
use super::inbox::{InboxEntry, finish};
use crate::prefetch::prefetch_span;
use crate::procedure::PartitionSet;

/// What the holder of the token and the submitter do with a call whose types they do not know.
pub(super) struct CallFunctions {
    /// Runs it, and stores its outcome.
    pub(super) run: unsafe fn(*mut InboxEntry, Hold<'_>),
    /// Runs it as if it had not been handed over, and stores its outcome.
    pub(super) run_alone: unsafe fn(*mut InboxEntry),
    /// Drops what it consists of, and frees its memory.
    pub(super) release: unsafe fn(*mut InboxEntry),
}

/// The beginning of every call in an inbox.
#[repr(C)]
pub(super) struct CallHead {
    pub(super) entry: InboxEntry,
    pub(super) functions: &'static CallFunctions,
    /// The partitions that it needs.
    pub(super) needed: PartitionSet,
    pub(super) left_in: LeftIn,
}

/// The inbox in which a call is left.
#[derive(Clone, Copy)]
pub(super) enum LeftIn {
    /// The inbox of the only partition that the call needs.
    Inbox,
    /// The inbox of the partition `of` for calls on several; those left in the inboxes of `after` run before the call.
    Multi { of: usize, after: PartitionSet },
}

/// Calls of others that a thread runs before it returns to its own: so that neither waits for the other.
const MAX_BATCH: u32 = 16;

/// Runs the calls that were left before in the inbox of a held partition; with `others_wait`, only some of them, and no
/// more when other threads wait for the token.
#[cold]
#[inline(never)]
pub(super) fn run_inbox(hold: &mut Hold<'_>, partition: usize, others_wait: Option<&dyn Fn() -> bool>) {
    let cell = hold.cell(partition);
    let mut left = if others_wait.is_some() { MAX_BATCH } else { u32::MAX };
    let mut is_last = false;
    // SAFETY: the partition is held, as `hold` proves, until the call is finished.
    while let Some(entry) = unsafe { cell.inbox.take(&mut is_last) } {
        left -= 1;
        prefetch_call(cell.inbox.next_taken());
        // SAFETY: every entry is the head of a call, and the holder's between `take` and `finish`.
        unsafe {
            let functions = (*entry.cast::<CallHead>()).functions;
            (functions.run)(entry, hold.of(PartitionSet::of(partition)));
            finish(entry);
        }
        cell.counters.handed_over.add_one();
        let is_wanted = |others_wait: &dyn Fn() -> bool| others_wait() || cell.place.is_claimed();
        if left == 0 || others_wait.is_some_and(is_wanted) {
            return;
        }
    }
}

/// How often a thread that holds the lowest partition of a call looks whether the others are free.
const CLAIM_LOOKS: u32 = 1_000;

/// Runs the calls that were left before in the second inbox of a held partition, as long as the other partitions become
/// free soon, and `left` of them at most.
#[cold]
#[inline(never)]
fn run_multi_inbox(hold: &mut Hold<'_>, partition: usize, mut left: u32) {
    let cell = hold.cell(partition);
    let inbox = &cell.multi_inbox;
    let mut is_last = false;
    // SAFETY: the partition is held, as `hold` proves, until the calls are finished or put back.
    while let Some(first) = unsafe { inbox.take(&mut is_last) } {
        let head = |entry: *mut InboxEntry| {
            // SAFETY: every entry is the head of a call, and the holder's.
            let CallHead { functions, needed, left_in, .. } = unsafe { &*entry.cast::<CallHead>() };
            (*functions, *needed, *left_in)
        };
        let run_all = |mut hold: Hold<'_>| {
            let mut entry = first;
            loop {
                left -= 1;
                prefetch_call(inbox.next_taken());
                let (functions, needed, left_in) = head(entry);
                if let LeftIn::Multi { after, .. } = left_in {
                    after.iter().for_each(|before| run_inbox(&mut hold, before, None));
                }
                // SAFETY: as above.
                unsafe {
                    (functions.run)(entry, hold.of(needed));
                    finish(entry);
                }
                cell.multi_runs.count_run();
                cell.counters.handed_over.add_one();
                // SAFETY: as above; a call that does not run now is put back at once.
                let Some(next) = (unsafe { inbox.take(&mut is_last) }) else { return };
                let (_, needed, _) = head(next);
                if !needed.difference(hold.held.set()).is_empty() || left == 0 {
                    // SAFETY: as above.
                    unsafe { inbox.put_back(next) };
                    return;
                }
                entry = next;
            }
        };
        let (_, needed, _) = head(first);
        if !hold.with_others(needed, CLAIM_LOOKS, run_all) {
            // SAFETY: as above.
            unsafe { inbox.put_back(first) };
            return;
        }
        if left == 0 {
            return;
        }
    }
}

/// Runs the calls that were left in the inbox for calls that need several partitions, under the tokens of all.
pub(super) fn empty_multi_inbox(cells: &[held::Cell], partition: usize) {
    await_long_runs(cells, PartitionSet::all(cells.len()));
    holding(cells, PartitionSet::all(cells.len()), |mut hold| {
        run_multi_inbox(&mut hold, partition, u32::MAX);
    });
}

/// As [`run_inbox_if_free`], for calls that need several partitions.
#[inline]
pub(super) fn run_multi_inbox_if_free(cells: &[held::Cell], partition: usize) {
    if !cells[partition].multi_inbox.is_empty() {
        hold_if_free(cells, partition, |mut token| run_multi_inbox(&mut token.hold(), partition, MAX_BATCH));
    }
}

/// Asks for a call that runs soon.
#[inline(always)]
fn prefetch_call(entry: *mut InboxEntry) {
    if !entry.is_null() {
        prefetch_span(entry.cast_const(), CALL_BYTES);
    }
}

/// What most calls take.
const CALL_BYTES: usize = 256;

/// Runs the calls that were left in the inbox of a partition, when no other thread holds it.
pub(super) fn empty_inbox(cells: &[held::Cell], partition: usize) {
    hold_or_delegate(cells, partition, |mut hold| run_inbox(&mut hold, partition, None));
}

/// Runs calls in the inbox of a partition, if there are some and no thread holds it, until others wait for it.
#[inline]
pub(super) fn run_inbox_if_free(cells: &[held::Cell], partition: usize) {
    if !cells[partition].inbox.is_empty() {
        hold_if_free(cells, partition, |mut token| {
            let others_wait = token.others_wait();
            run_inbox(&mut token.hold(), partition, Some(others_wait));
        });
    }
}
