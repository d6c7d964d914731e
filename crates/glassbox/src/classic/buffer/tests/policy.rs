//! The clock, and that the simulator is the pool.

use super::super::clock::{Clock, Take};
use super::super::simulate;
use super::*;

fn pages(ids: &[u32]) -> Vec<PageId> {
    ids.iter().map(|id| PageId(*id)).collect()
}

#[test]
fn what_was_used_is_spared_once() {
    let clock = Clock::new(3);
    let mut uses = [1, 1, 1];
    let victim = |uses: &[u64; 3]| clock.victim(|frame| Some(uses[frame]), |_| Take::Taken).unwrap();
    (0..3).for_each(|frame| clock.arrived(frame));
    uses[0] = 2;
    assert_eq!(victim(&uses), 1, "0 was used since it came");
    assert_eq!(victim(&uses), 2);
    assert_eq!(victim(&uses), 0, "and not since the hand came by");
    uses = [5, 6, 7];
    assert_eq!(victim(&uses), 1, "when all were used, the first in the hand's way goes");
}

#[test]
fn what_is_fixed_or_refused_is_passed_over() {
    let clock = Clock::new(4);
    let uses = |frame: usize| (frame != 0).then_some(0);
    let refuse = |frame: usize| if frame == 1 { Take::Refused } else { Take::Taken };
    assert_eq!(clock.victim(uses, refuse), Some(2));
    assert_eq!(clock.victim(uses, refuse), Some(3));
    assert_eq!(clock.victim(uses, refuse), Some(2));
    assert_eq!(clock.victim(|_| None, refuse), None);
    assert_eq!(clock.victim(uses, |_| Take::Refused), None);
    let mut asked = 0;
    let stop = |_| {
        asked += 1;
        Take::Stop
    };
    assert_eq!((clock.victim(uses, stop), asked), (None, 1));
}

#[test]
fn simulated_reads_are_those_of_a_clock() {
    assert_eq!(simulate(&[], 1), 0);
    assert_eq!(simulate(&pages(&[1, 1, 2, 2, 1]), 1), 3);
    assert_eq!(simulate(&pages(&[1, 2, 3, 1, 2, 3]), 3), 3);
    assert_eq!(simulate(&pages(&[1, 2, 3, 1, 2, 3]), 2), 6, "a loop larger than the pool");
    // 1 is used twice in each round and stays while the others pass through.
    assert_eq!(simulate(&pages(&[1, 1, 2, 1, 3, 1, 4, 1, 5, 1]), 2), 5);
}

#[test]
fn a_scan_does_not_drive_out_what_is_used() {
    let mut trace = Vec::new();
    for scanned in 0..1000 {
        trace.push(PageId(10_000 + scanned));
        trace.push(PageId(scanned % 8));
    }
    assert_eq!(simulate(&trace, 16), 1000 + 8);
}

#[test]
fn the_simulator_reads_what_the_pool_reads() {
    let files = MemoryFiles::new();
    let pool = create(&files, 16);
    (0..200).for_each(|id| make(&pool, pool.wal(), id, 1));
    pool.flush_all().unwrap();
    assert!(pool.take_trace().is_empty(), "not asked for");
    drop(pool);
    for frames in [5, 16, 60] {
        let tracing = PoolConfig { trace: true, ..config(frames) };
        let pool = Pool::open(&files, &tracing, FakeLog::default()).unwrap();
        let mut dice = Dice(9);
        for _ in 0..5000 {
            let id = dice.below(200).min(dice.below(200)).min(dice.below(200)) as u32;
            read(&pool, id).unwrap();
        }
        let (trace, stats) = (pool.take_trace(), pool.stats());
        assert_eq!(trace.len(), 5000);
        assert_eq!(stats.reads, simulate(&trace, frames));
        assert_eq!((stats.fixes, stats.hits), (5000, 5000 - stats.reads));
    }
}
