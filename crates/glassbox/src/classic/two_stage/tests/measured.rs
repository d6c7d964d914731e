//! Classes that follow from measured costs, on a disk whose time is simulated: computation takes no time.

use std::sync::Arc;

use super::declared::{DISK, Moves, cold_in_pool};
use crate::Database;
use crate::config::{ExecutionPolicy, FetchMethod, HybridPolicy};
use crate::io::{Clock, Dice, Files, ManualClock, MemoryFiles, SlowFiles};
use crate::stats::{ExecutionClass, ProcedureExecution};

/// A database on a simulated disk.
struct Simulated {
    db: Database,
    clock: ManualClock,
    dice: Dice,
    /// Rows that an execution moves.
    moved: usize,
}

impl Simulated {
    fn new(pool_pages: usize, policy: ExecutionPolicy, fetch: FetchMethod, moved: usize) -> Self {
        let files = Arc::new(MemoryFiles::new());
        let clock = ManualClock::default();
        let slow: Arc<dyn Files> = Arc::new(SlowFiles::new(files, DISK, Arc::new(clock.clone()), 1));
        let db = cold_in_pool(pool_pages, &slow, &clock, policy, fetch);
        Self { db, clock, dice: Dice(5), moved }
    }

    /// The mean time of this many executions, milliseconds.
    fn execute(&mut self, executions: u64) -> f64 {
        let began_ns = self.clock.monotonic_ns();
        for _ in 0..executions {
            self.db.call(&Moves::random(&mut self.dice, self.moved, 0)).unwrap();
        }
        (self.clock.monotonic_ns() - began_ns) as f64 / 1e6 / executions as f64
    }

    fn executed(&self) -> ProcedureExecution {
        self.db.explain_execution().unwrap().swap_remove(0)
    }
}

/// The times of each class, and of what hybrid execution makes of them; its class.
fn compare(pool_pages: usize, fetch: FetchMethod, moved: usize) -> ([f64; 3], f64, ExecutionClass) {
    let policies = [ExecutionPolicy::Conventional, ExecutionPolicy::TwoStage, ExecutionPolicy::Optimistic];
    let times = policies.map(|policy| {
        let mut simulated = Simulated::new(pool_pages, policy, fetch, moved);
        simulated.execute(100);
        simulated.execute(200)
    });
    let mut hybrid = Simulated::new(pool_pages, ExecutionPolicy::Hybrid(HybridPolicy::default()), fetch, moved);
    assert_eq!(hybrid.executed().class, ExecutionClass::TwoStage, "at first");
    hybrid.execute(800);
    let time = hybrid.execute(400);
    let executed = hybrid.executed();
    let measured = executed.measured.expect("costs are measured");
    let chosen = [measured.conventional_ns, measured.two_stage_ns, measured.optimistic_ns];
    for (class_ms, chosen_ns) in times.iter().zip(chosen) {
        let of_time = chosen_ns.expect("all classes were probed") / 1e6 / class_ms;
        assert!((0.5..2.0).contains(&of_time), "{times:?} ms, measured {measured}");
    }
    assert_eq!(hybrid.db.verify(), Vec::<String>::new());
    (times, time, executed.class)
}

#[test]
fn batches_of_a_fetch_stage_are_worth_more_than_single_reads() {
    let (times, hybrid, class) = compare(96, FetchMethod::Batches, 20);
    let [conventional, staged, optimistic] = times;
    assert!(conventional > 1.5 * staged.min(optimistic), "{times:?} ms");
    assert_ne!(class, ExecutionClass::Conventional, "{times:?} ms");
    assert!(hybrid < 1.15 * staged.min(optimistic), "{hybrid} ms instead of {times:?}");
}

#[test]
fn a_procedure_whose_pages_are_gone_before_they_are_used_becomes_conventional() {
    // The smallest pool: nothing can be pinned.
    let (times, hybrid, class) = compare(1, FetchMethod::OneByOne, 40);
    let [conventional, staged, optimistic] = times;
    assert!(staged.min(optimistic) > 1.3 * conventional, "{times:?} ms");
    assert_eq!(class, ExecutionClass::Conventional, "{times:?} ms");
    assert!(hybrid < 1.15 * conventional, "{hybrid} ms instead of {times:?}");
}
