//! The report of throughput.

use std::io::{self, Write};

use glassbox_lab::limits::systems::{BASE, min_throughput};
use glassbox_lab::limits::{MeasuredSystem, Round, ThroughputPlan};
use glassbox_lab::measurement::Spread;

use crate::program::shared::table;
use glassbox_program::results::{Figure, Results};
use glassbox_workloads::format;

/// Maximum share of the time that the executing thread may wait for a core. Beyond it, the machine's other work was
/// measured, and no goal is judged.
const MAX_WAITED: f64 = 0.02;

/// A system's numbers.
struct Row<'a> {
    measured: &'a MeasuredSystem,
    rate: Spread,
    of_best: Spread,
    of_base: Spread,
    log_bytes: f64,
    forces: f64,
}

fn rates(measured: &MeasuredSystem) -> Vec<f64> {
    measured.runs.iter().map(Round::rate).collect()
}

fn rows(all: &[MeasuredSystem]) -> Vec<Row<'_>> {
    let median = |of: &&MeasuredSystem| Spread::of(rates(of)).median;
    let kernels = all.iter().filter(|of| of.system.is_kernel());
    let best = kernels.max_by(|one, other| median(one).total_cmp(&median(other))).expect("one is always measured");
    let base = all.iter().find(|of| of.system == BASE).expect("it is always measured");
    let (best, base) = (rates(best), rates(base));
    all.iter().map(|measured| row(measured, &best, &base)).collect()
}

fn row<'a>(measured: &'a MeasuredSystem, best: &[f64], base: &[f64]) -> Row<'a> {
    let (runs, rates) = (&measured.runs, rates(measured));
    let transactions: usize = runs.iter().map(|run| run.transactions).sum();
    let per = |amount: u64| amount as f64 / transactions as f64;
    Row {
        measured,
        of_best: Spread::of_ratios(&rates, best),
        of_base: Spread::of_ratios(&rates, base),
        rate: Spread::of(rates),
        log_bytes: per(runs.iter().map(|run| run.log_bytes).sum()),
        forces: per(runs.iter().map(|run| run.forces).sum()),
    }
}

/// The table, and the results as JSON.
pub fn report(
    out: &mut dyn Write,
    results: &mut Results,
    plan: &ThroughputPlan,
    all: &[MeasuredSystem],
) -> io::Result<()> {
    let rows = rows(all);
    let waited = waited(all.iter().flat_map(|of| &of.runs));
    let is_busy = waited > MAX_WAITED;
    let (best, base) = ("of best\nkernel", "of tree-\nprefetch");
    let header =
        ["throughput", "per\nsecond", "min – max", best, base, "min – max", "goal", "log\nbytes/tx", "forces\n/tx"];
    let cells = rows.iter().map(|row| {
        let (system, logs) = (&row.measured.system, row.measured.system.log().is_some());
        let logged = |value: f64| if logs { format::number(value) } else { String::new() };
        vec![
            system.to_string(),
            format::number(row.rate.median),
            format!("{} – {}", format::number(row.rate.min), format::number(row.rate.max)),
            format!("{:.3}", row.of_best.median),
            format!("{:.3}", row.of_base.median),
            format!("{:.3} – {:.3}", row.of_base.min, row.of_base.max),
            goal_cell(row, is_busy),
            logged(row.log_bytes),
            logged(row.forces),
        ]
    });
    writeln!(out, "{}", table(header, cells.collect()))?;
    writeln!(
        out,
        "medians of {} interleaved rounds of {} transactions; shares are formed within each round{}",
        all[0].runs.len(),
        format::count(plan.transactions as u64),
        if all[0].runs.len() < plan.rounds { "; INTERRUPTED" } else { "" },
    )?;
    if is_busy {
        let percent = format::number(waited * 100.0);
        writeln!(
            out,
            "goals unknown: the machine was busy, and the executing thread waited {percent} % of the time for its \
             core; end other programs and measure again"
        )?;
    }
    rows.iter().try_for_each(|row| put(results, row, is_busy))
}

/// A system's goal, if it has one, and whether it is met; on a busy machine that is unknown.
fn goal_cell(row: &Row<'_>, is_busy: bool) -> String {
    min_throughput(&row.measured.system).map_or_else(String::new, |goal| {
        let verdict = match (is_busy, row.of_base.median >= goal) {
            (true, _) => "unknown",
            (false, true) => "met",
            (false, false) => "NOT MET",
        };
        format!("≥ {goal:.2} {verdict}")
    })
}

/// The share of its time that the executing thread was ready but had no core.
fn waited<'a>(runs: impl Iterator<Item = &'a Round>) -> f64 {
    let (waited, all) = runs.fold((0.0, 0.0), |(waited, all), run| (waited + run.waited_seconds, all + run.seconds));
    waited / all
}

fn put(results: &mut Results, row: &Row<'_>, is_busy: bool) -> io::Result<()> {
    let (name, x) = (row.measured.system.to_string(), row.measured.system.in_flight() as f64);
    let mut put = |metric: &str, value: f64, spread: Option<f64>, unit: &str| {
        results.put(Figure { figure: "throughput", row: &name, x, metric, value, spread, unit })
    };
    for (metric, spread, unit) in [
        ("throughput", row.rate, "transactions/s"),
        ("share_of_best_kernel", row.of_best, "ratio"),
        ("share_of_tree_prefetch", row.of_base, "ratio"),
    ] {
        put(metric, spread.median, spread.middle_half(), unit)?;
        put(&format!("{metric}_least"), spread.min, None, unit)?;
        put(&format!("{metric}_most"), spread.max, None, unit)?;
    }
    if let Some(goal) = min_throughput(&row.measured.system) {
        put("goal", goal, None, "ratio")?;
        if !is_busy {
            put("goal_met", f64::from(u8::from(row.of_base.median >= goal)), None, "yes or no")?;
        }
    }
    put("waited_for_core", waited(row.measured.runs.iter()), None, "ratio")?;
    let transactions = row.measured.runs.iter().map(|run| run.transactions).sum::<usize>();
    put("transactions", transactions as f64, None, "transactions")?;
    put("log_per_transaction", row.log_bytes, None, "bytes")?;
    put("forces_per_transaction", row.forces, None, "forces")
}

/// Whether all systems did the same work and their data is consistent.
pub fn checked(out: &mut dyn Write, results: &mut Results, all: &[MeasuredSystem]) -> io::Result<bool> {
    let expected = &all[0].checksum;
    let other: Vec<_> = all.iter().filter(|of| of.checksum != *expected).collect();
    let wrong: usize = all.iter().map(|of| of.wrong.len()).sum();
    writeln!(
        out,
        "checks: {}, {}",
        if other.is_empty() { "the sums over all systems' data agree" } else { "SUMS DIFFER" },
        if wrong == 0 { "all consistency conditions hold, all indexes agree" } else { "DATA IS INCONSISTENT" },
    )?;
    for of in &other {
        writeln!(out, "  {}: {:?}\n  {}: {:?}", of.system, of.checksum, all[0].system, expected)?;
    }
    for of in all {
        for what in &of.wrong {
            writeln!(out, "  {}: {what}", of.system)?;
        }
        let violations = of.wrong.len() + usize::from(of.checksum != *expected);
        let (row, x) = (of.system.to_string(), of.system.in_flight() as f64);
        let (metric, unit, value) = ("violations", "violations", violations as f64);
        results.put(Figure { figure: "checks", row: &row, x, metric, value, spread: None, unit })?;
    }
    Ok(other.is_empty() && wrong == 0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use glassbox_kernels::Checksum;
    use glassbox_lab::limits::systems::System;
    use glassbox_workloads::tpcc::Scale;
    use serde_json::Value;

    use super::*;

    fn run(seconds: f64, waited_seconds: f64) -> Round {
        Round { transactions: 1, seconds, log_bytes: 0, forces: 0, waited_seconds }
    }

    #[test]
    fn the_wait_for_a_core_is_a_share_of_all_runs() {
        assert_eq!(waited([run(3.0, 0.5), run(1.0, 0.5)].iter()), 0.25);
    }

    /// The report and the JSON of an engine at a tenth of the kernel's throughput, whose thread waited for a core for
    /// that share of the time.
    fn reported(waited: f64) -> (String, String) {
        let measured = |system, seconds: f64| MeasuredSystem {
            system,
            runs: vec![run(seconds, seconds * waited)],
            checksum: Checksum::default(),
            wrong: Vec::new(),
        };
        let all = [measured(BASE, 1.0), measured(System::None, 10.0)];
        let dir = tempfile::tempdir().unwrap();
        let (json, mut out) = (dir.path().join("limits.json"), Vec::new());
        let plan = ThroughputPlan {
            scale: Scale::small(1),
            systems: vec![BASE, System::None],
            transactions: 1,
            rounds: 1,
            max_time: Duration::ZERO,
            dir: dir.path().to_owned(),
            seed: 1,
        };
        let mut results = Results::new(Some(&json), "limits", Value::Null).unwrap();
        report(&mut out, &mut results, &plan, &all).unwrap();
        results.finish().unwrap();
        (String::from_utf8(out).unwrap(), std::fs::read_to_string(&json).unwrap())
    }

    #[test]
    fn a_goal_is_judged_only_on_an_idle_machine() {
        let (text, json) = reported(0.0);
        assert!(text.contains("NOT MET") && !text.contains("busy"), "{text}");
        assert_eq!(json.matches("\"goal_met\"").count(), 1, "{json}");
        let (text, json) = reported(0.5);
        assert!(text.contains("≥ 0.60 unknown") && !text.contains("NOT MET"), "{text}");
        assert!(text.contains("waited 50.0 % of the time for its core") && text.contains("measure again"), "{text}");
        assert_eq!((json.matches("\"goal\"").count(), json.matches("\"goal_met\"").count()), (1, 0), "{json}");
    }
}
