//! How often an optimistic execution is converted: a procedure that reads another row in each of its runs finds pages
//! missing again and again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::{Parcel, parcel};
use crate::config::{ClassRule, ClassicConfig, ExecutionPolicy, FetchMethod, HybridPolicy};
use crate::io::{MemoryFiles, RealClock};
use crate::procedure::{Procedure, Stop, Transaction};
use crate::{Architecture, Catalog, Config, Database};

/// On three times as many pages as the pool has.
const ROWS: u64 = 40_000;
const POOL_BYTES: usize = 400 * (4 << 10);

#[derive(Serialize, Deserialize)]
struct Roams;

impl Procedure for Roams {
    const NAME: &'static str = "roams";
    type Output = bool;

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<bool, Stop> {
        static RUNS: AtomicU64 = AtomicU64::new(0);
        let id = RUNS.fetch_add(1, Ordering::Relaxed) * 977 % ROWS;
        Ok(tx.get::<Parcel>(&id)?.is_some())
    }
}

/// The most conversions of an execution.
fn most_conversions(execution: ExecutionPolicy) -> u64 {
    let classic = ClassicConfig {
        page_bytes: 4 << 10,
        pool_bytes: POOL_BYTES,
        sessions: 2,
        execution,
        fetch: FetchMethod::OneByOne,
        ..ClassicConfig::default()
    };
    let config = Config { architecture: Architecture::Classic, classic, ..Config::default() };
    let catalog = Catalog::new().table::<Parcel>().procedure::<Roams>();
    let db = Database::open_files(Arc::new(MemoryFiles::new()), Box::new(RealClock::new()), config, catalog).unwrap();
    let load = db.bulk_load().unwrap();
    (0..ROWS).for_each(|id| load.insert(&parcel(id)).unwrap());
    load.finish().unwrap();
    let conversions = || db.explain_execution().unwrap()[0].conversions;
    let of_one = |_| {
        let before = conversions();
        assert!(db.call(&Roams).unwrap());
        conversions() - before
    };
    (0..600).map(of_one).max().unwrap()
}

#[test]
fn the_paper_s_executions_are_converted_once() {
    const ALWAYS: u32 = 1_000_000;
    let of_paper = HybridPolicy {
        missed_ppm: ALWAYS,
        two_stage_ppm: ALWAYS,
        rule: ClassRule::Ratios,
        converts_missed: false,
        ..HybridPolicy::DEFAULT
    };
    assert_eq!(most_conversions(ExecutionPolicy::Optimistic), 3);
    assert_eq!(most_conversions(ExecutionPolicy::Hybrid(of_paper)), 1);
}
