//! Simulation of the replacement policy alone: the reads and writes of a recorded run.
//!
//! The record is of one run, in its order; the simulator has the frames and the clock, but no threads, latches or disk.
//! Its background writer is always in time: it writes a dirty page as soon as the hand is near enough for the real
//! writer to check its frame, unless the page was used since the hand's last visit.

use std::collections::BTreeMap;

use super::clock::{ClaimResult, ClockSweep};
use crate::classic::ids::PageId;

/// An event of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A page was fixed to read it.
    Read(PageId),
    /// A page was fixed to change it.
    Change(PageId),
    /// All dirty pages were written.
    Cleaned,
}

/// The result of a simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Simulated {
    /// Pages fixed that were not in memory.
    pub(crate) misses: u64,
    /// Pages written.
    pub(crate) writes: u64,
}

/// A page in a frame.
#[derive(Clone, Copy)]
struct HeldPage {
    page: PageId,
    uses: u64,
    dirty: bool,
}

/// Simulates a pool of `frames` frames on a record.
///
/// # Panics
/// When `frames` is 0.
pub(crate) fn simulate(trace: &[Event], frames: usize) -> Simulated {
    assert!(frames > 0, "a pool without frames");
    let clock = ClockSweep::new(frames);
    let mut frames: Vec<Option<HeldPage>> = vec![None; frames];
    let mut places = BTreeMap::<PageId, usize>::new();
    let mut simulated = Simulated::default();
    // The step of the hand up to which the writer has checked.
    let mut looked = 0;
    for event in trace {
        let (page, dirty) = match *event {
            Event::Read(page) => (page, false),
            Event::Change(page) => (page, true),
            Event::Cleaned => {
                let all = frames.iter_mut().flatten();
                simulated.writes += all.map(|held| u64::from(std::mem::take(&mut held.dirty))).sum::<u64>();
                continue;
            }
        };
        if let Some(&frame) = places.get(&page) {
            let held = frames[frame].as_mut().expect("it is there");
            held.uses += 1;
            held.dirty |= dirty;
            continue;
        }
        simulated.misses += 1;
        let uses = |frame: usize| Some(frames[frame].map_or(0, |held| held.uses));
        let frame = clock.victim(uses, |_| ClaimResult::Taken).expect("nothing is fixed");
        if let Some(old) = frames[frame].replace(HeldPage { page, uses: 1, dirty }) {
            simulated.writes += u64::from(old.dirty);
            places.remove(&old.page);
        }
        places.insert(page, frame);
        clock.arrived(frame);
        let ahead = clock.ahead();
        for frame in (ahead.start.max(looked)..ahead.end).map(|step| clock.frame(step)) {
            if let Some(held) = &mut frames[frame]
                && clock.is_idle(frame, held.uses)
            {
                simulated.writes += u64::from(std::mem::take(&mut held.dirty));
            }
        }
        looked = ahead.end;
    }
    simulated
}
