//! Every scheduler: conflicting transactions run in the order of the log, and all run.

use std::collections::{BTreeMap, BTreeSet};

use glassbox::procedure::Declared;
use glassbox::research::shard::{DeclaredKeys, KeyRequest, Touch, WatchedKey};
use proptest::prelude::*;

use super::{LogPlace, Scheduler, new_scheduler};
use crate::protocol::configuration::SchedulerKind;

const KINDS: [SchedulerKind; 3] = [SchedulerKind::Serial, SchedulerKind::OrderedLocks, SchedulerKind::Vll];

fn whole(space: u32, touch: Touch) -> KeyRequest {
    KeyRequest { space, low: WatchedKey::Short(0), high: WatchedKey::End, touch }
}

/// Keys of a few spaces: mostly single ones, prefixes and other ranges of a small space, and whole spaces.
fn request() -> impl Strategy<Value = KeyRequest> {
    let touch = prop::bool::weighted(0.4).prop_map(|writes| if writes { Touch::Write } else { Touch::Read });
    prop_oneof![12 => ranges(), 1 => (0..3_u32, touch).prop_map(|(space, touch)| whole(space, touch))]
}

fn ranges() -> impl Strategy<Value = KeyRequest> {
    let shape = prop_oneof![6 => Just(0_u128), 2 => Just(3), 1 => Just(15), 2 => 1..9_u128];
    (0..3_u32, 0..40_u128, shape, prop::bool::weighted(0.4)).prop_map(|(space, key, width, writes)| {
        let low = if (width + 1).is_power_of_two() { key & !width } else { key };
        let touch = if writes { Touch::Write } else { Touch::Read };
        KeyRequest { space, low: WatchedKey::Short(low), high: WatchedKey::Short(low + width), touch }
    })
}

fn keys() -> impl Strategy<Value = DeclaredKeys> {
    prop::collection::vec(request(), 0..6).prop_map(|requests| DeclaredKeys::new(requests, Declared::Complete))
}

/// What a scheduler is compared with: the transactions that have requested, run and ended.
struct Schedule<'a> {
    scheduler: Box<dyn Scheduler>,
    all: &'a [DeclaredKeys],
    requested: usize,
    running: BTreeSet<LogPlace>,
    ended: BTreeSet<LogPlace>,
}

impl Schedule<'_> {
    fn request_next(&mut self) {
        if let Some(keys) = self.all.get(self.requested) {
            self.scheduler.request(self.requested as LogPlace, keys);
            self.requested += 1;
        }
    }

    /// Begins a ready transaction; whether there was one.
    fn begin_next(&mut self) -> bool {
        let Some(place) = self.scheduler.next_ready() else { return false };
        assert!((place as usize) < self.requested && !self.ended.contains(&place), "{place} was not requested");
        assert!(self.running.insert(place), "{place} was given twice");
        for earlier in (0..place).filter(|earlier| !self.ended.contains(earlier)) {
            let conflict = self.all[earlier as usize].conflicts(&self.all[place as usize]);
            assert!(!conflict, "{place} began before {earlier} had ended, which it conflicts with");
        }
        true
    }

    fn end(&mut self, nth: usize) {
        if let Some(&place) = self.running.iter().nth(nth % self.running.len().max(1)) {
            self.running.remove(&place);
            self.ended.insert(place);
            self.scheduler.release(place);
        }
    }
}

/// Runs all in an order that `choices` give; how many ran at the same time at most.
fn run(scheduler: Box<dyn Scheduler>, all: &[DeclaredKeys], choices: &[(u8, usize)]) -> usize {
    let (running, ended) = (BTreeSet::new(), BTreeSet::new());
    let mut schedule = Schedule { scheduler, all, requested: 0, running, ended };
    let mut at_once = 0;
    for &(choice, nth) in choices {
        match choice {
            0 | 1 => schedule.request_next(),
            2 => drop(schedule.begin_next()),
            _ => schedule.end(nth),
        }
        at_once = at_once.max(schedule.running.len());
    }
    while schedule.requested < all.len() {
        schedule.request_next();
    }
    while schedule.ended.len() < all.len() {
        while schedule.begin_next() {}
        at_once = at_once.max(schedule.running.len());
        assert!(!schedule.running.is_empty(), "nothing is ready: {:?}", schedule.scheduler);
        schedule.end(0);
    }
    assert!(schedule.scheduler.is_idle() && schedule.scheduler.next_ready().is_none());
    at_once
}

proptest! {
    #[test]
    fn conflicting_transactions_run_in_the_order_of_the_log(
        all in prop::collection::vec(keys(), 1..60),
        choices in prop::collection::vec((0..4_u8, 0..8_usize), 0..200),
    ) {
        for kind in KINDS {
            run(new_scheduler(kind), &all, &choices);
        }
    }
}

fn single(key: u128, touch: Touch) -> DeclaredKeys {
    let key = WatchedKey::Short(key);
    DeclaredKeys::new(vec![KeyRequest { space: 0, low: key.clone(), high: key, touch }], Declared::Complete)
}

#[test]
fn transactions_without_conflicts_run_at_the_same_time() {
    let writers: Vec<_> = (0..30).map(|key| single(key, Touch::Write)).collect();
    let readers: Vec<_> = (0..30).map(|_| single(7, Touch::Read)).collect();
    for (all, name) in [(&writers, "writers"), (&readers, "readers")] {
        let at_once: BTreeMap<_, _> = KINDS.map(|kind| (kind, run(new_scheduler(kind), all, &[]))).into();
        let expected = [(SchedulerKind::Serial, 1), (SchedulerKind::OrderedLocks, 30), (SchedulerKind::Vll, 30)];
        assert_eq!(at_once, expected.into(), "{name}");
    }
}

#[test]
fn a_lock_of_a_whole_space_excludes_its_keys_and_no_others() {
    let request = |space, key: u128, touch| {
        let key = WatchedKey::Short(key);
        DeclaredKeys::found(vec![KeyRequest { space, low: key.clone(), high: key, touch }])
    };
    for kind in [SchedulerKind::OrderedLocks, SchedulerKind::Vll] {
        let mut scheduler = new_scheduler(kind);
        let all = |touch| DeclaredKeys::found(vec![whole(1, touch)]);
        // A reader of the whole space, then keys of it and of another one, then a writer of the whole space.
        scheduler.request(0, &all(Touch::Read));
        scheduler.request(1, &request(1, 7, Touch::Write));
        scheduler.request(2, &request(1, u128::MAX, Touch::Read));
        scheduler.request(3, &request(2, 7, Touch::Write));
        scheduler.request(4, &all(Touch::Write));
        scheduler.request(5, &request(1, 8, Touch::Read));
        scheduler.request(6, &request(0, 8, Touch::Write));
        let mut ready = || std::iter::from_fn(|| scheduler.next_ready()).collect::<Vec<_>>();
        assert_eq!(ready(), [0, 2, 3, 6], "{kind:?}");
        // Others go on; under VLL a blocked one waits until it is the first of all.
        scheduler.release(3);
        scheduler.release(0);
        let next = std::iter::from_fn(|| scheduler.next_ready()).collect::<Vec<_>>();
        assert_eq!(next, [1], "{kind:?}: the writer of all waits for it and for the reader");
        scheduler.release(1);
        assert_eq!(scheduler.next_ready(), None, "{kind:?}");
        scheduler.release(2);
        assert_eq!((scheduler.next_ready(), scheduler.next_ready()), (Some(4), None), "{kind:?}");
        scheduler.release(4);
        assert_eq!(scheduler.next_ready(), Some(5), "{kind:?}");
    }
}

/// Only the first of the queue is known not to be blocked; the analysis finds the others.
#[test]
fn contention_analysis_releases_blocked_transactions_that_conflict_with_no_earlier_one() {
    let mut vll = new_scheduler(SchedulerKind::Vll);
    // The first two write a key each, and all others write one of these.
    let of = |place: u64| if place.is_multiple_of(2) { single(1, Touch::Write) } else { single(2, Touch::Write) };
    (0..30).for_each(|place| vll.request(place, &of(place)));
    assert_eq!([(); 3].map(|()| vll.next_ready()), [Some(0), Some(1), None], "28 are blocked");
    vll.release(1);
    assert_eq!(
        [(); 2].map(|()| vll.next_ready()),
        [Some(3), None],
        "by analysis: 2 is before it, and is blocked still"
    );
    vll.release(0);
    assert_eq!([(); 2].map(|()| vll.next_ready()), [Some(2), None], "it is the first");
}

/// The checker: a scheduler that lets a transaction overtake another one in its way is caught.
#[test]
#[should_panic(expected = "which it conflicts with")]
fn a_scheduler_that_ignores_writers_is_caught() {
    let all = [single(1, Touch::Write), single(1, Touch::Write)];
    let mut scheduler = new_scheduler(SchedulerKind::OrderedLocks);
    // The second one is requested with no key.
    scheduler.request(0, &all[0]);
    scheduler.request(1, &DeclaredKeys::new(Vec::new(), Declared::Complete));
    let (running, ended) = (BTreeSet::new(), BTreeSet::new());
    let mut schedule = Schedule { scheduler, all: &all, requested: 2, running, ended };
    while schedule.begin_next() {}
}
