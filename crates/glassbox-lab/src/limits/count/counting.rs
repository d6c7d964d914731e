//! What is told of each system that was counted.

use anyhow::Context;

use super::{Counted, parts};
use crate::Watch;
use crate::count::{Child, Counting, Counts, Regions};
use crate::limits::systems::System;

/// Counts: see [`Counting::count`].
///
/// # Errors
/// As there.
///
/// # Panics
/// As there.
pub fn count(
    counting: &Counting<System>,
    command: &(dyn Fn(&Child<System>) -> Vec<String> + Sync),
    watch: &(dyn Watch + Sync),
) -> anyhow::Result<Vec<Counted>> {
    let regions = Regions { runs: 1, parts: &parts::PARTS, calls: None };
    let all = counting.count(regions, command, watch)?;
    let told = |(&system, counts): (&System, Vec<Counts>)| {
        let Counts { total, parts, functions, copying, allocating, .. } =
            counts.into_iter().next().context("the child did not run its region")?;
        let transactions = counting.transactions;
        Ok(Counted { system, transactions, total, parts, functions, copying, allocating })
    };
    counting.systems.iter().zip(all).map(told).collect()
}
