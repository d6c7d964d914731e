//! The report of a run: a table and a few lines of text, and JSON lines.

use std::io::{self, Write};

use glassbox::stats::{Recovery, Stats};
use glassbox::{Database, Durability};
use glassbox_program::latencies::{put_latencies, table};
use glassbox_workloads::tpcc::Scale;

use super::arguments::TpccArguments;
use super::measure::{CheckResults, MeasuredRun};
use super::{busy, classic};
use crate::options::ExecutionOption;
use glassbox_program::results::{Figure, Results};
use glassbox_workloads::format;

/// The costs of reopening the database.
pub struct Reopened {
    pub seconds: f64,
    pub recovery: Recovery,
}

/// The headline of a run.
pub fn headline(out: &mut dyn Write, arguments: &TpccArguments, scale: &Scale, db: &Database) -> io::Result<()> {
    let many = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let size = if *scale == Scale::full(scale.warehouses) { "" } else { " of reduced size" };
    let (engine, logged) = match db.counts().classic {
        Some(classic) => {
            let pool = format::bytes(classic.pool_pages * classic.page_bytes);
            let locks = arguments.engine.locks().name();
            let execution = match arguments.engine.execution() {
                ExecutionOption::Conventional => String::new(),
                other => format!(", {} execution", other.name()),
            };
            let disk = match arguments.disk.model() {
                Some(model) => format!(", pages read from disk `{}`", model.name),
                None => String::new(),
            };
            let pages = format!("{pool} for pages of {} KiB", classic.page_bytes >> 10);
            (format!("classic engine ({pages}, {locks} locks{execution}{disk})"), None)
        }
        None => (many(db.partitions() as u64, "partition"), Some(format!(" ({} logged)", arguments.log.name()))),
    };
    let logged = logged.unwrap_or_default();
    writeln!(
        out,
        "TPC-C, {} mix: {}{size}, {engine}, {} with {} in flight each, {}",
        arguments.mix().name(),
        many(scale.warehouses.into(), "warehouse"),
        many(arguments.clients() as u64, "client"),
        arguments.in_flight,
        match arguments.durability.into() {
            Durability::Sync => format!("durable when answered{logged}"),
            Durability::Async => format!("durable shortly after the answer{logged}"),
            Durability::None => "durable after a clean close".to_owned(),
        },
    )
}

/// The table, and the lines below it.
pub fn measured(
    out: &mut dyn Write,
    results: &mut Results,
    arguments: &TpccArguments,
    measured: &MeasuredRun,
) -> io::Result<()> {
    let (committed, ..) = measured.tally.total();
    writeln!(out, "{}", table(&measured.tally, measured.seconds))?;
    if measured.interrupted || measured.failed.is_some() {
        let how = if measured.failed.is_some() { "ended by an error" } else { "interrupted" };
        writeln!(out, "{how} after {:.1} s of {} s", measured.seconds, arguments.seconds)?;
    }
    below(out, &measured.stats, measured.seconds, committed)?;
    busy::below(out, &measured.stats, &measured.busy, measured.seconds)?;
    if let Some(classic) = &measured.stats.classic {
        classic::traced(out, measured, classic)?;
        classic::put(results, arguments.clients() as f64, measured, classic)?;
    }
    put_measured(results, arguments, measured)
}

fn below(out: &mut dyn Write, stats: &Stats, seconds: f64, committed: u64) -> io::Result<()> {
    let process =
        peak_memory_bytes().map_or_else(String::new, |peak| format!("; the process at most {}", format::bytes(peak)));
    match &stats.classic {
        Some(classic) => classic::below(out, stats, classic, committed, &process)?,
        None => {
            let rows: u64 = stats.tables.iter().map(|table| table.row_bytes).sum();
            let indexes = format::bytes(stats.memory_bytes() - rows);
            writeln!(out, "memory      {} of rows, {indexes} of indexes{process}", format::bytes(rows))?;
        }
    }
    let per = |amount: u64| amount as f64 / committed.max(1) as f64;
    if stats.log_bytes > 0 {
        writeln!(
            out,
            "log         {}, {} MB/s, {} bytes per transaction",
            format::bytes(stats.log_bytes),
            format::number(stats.log_bytes as f64 / seconds / 1e6),
            format::number(per(stats.log_bytes)),
        )?;
    }
    if stats.log_forces > 0 {
        let forces = stats.log_forces;
        writeln!(
            out,
            "forces      {}: {} per transaction, {} transactions per force, one every {}",
            format::count(forces),
            format::number(per(forces)),
            format::number(committed as f64 / forces as f64),
            format::time(seconds * 1e9 / forces as f64),
        )?;
    }
    if stats.misdeclared > 0 {
        writeln!(
            out,
            "misdeclared {} runs needed a partition that they had not declared",
            format::count(stats.misdeclared)
        )?;
    }
    if stats.failed_checkpoints > 0 {
        writeln!(out, "checkpoints {} could not be written", stats.failed_checkpoints)?;
    }
    Ok(())
}

fn put_measured(results: &mut Results, arguments: &TpccArguments, measured: &MeasuredRun) -> io::Result<()> {
    let x = arguments.clients() as f64;
    put_latencies(results, x, &measured.tally, measured.seconds, measured.throughput_spread)?;
    let mut put = |row: &str, metric: &str, value: f64, spread, unit: &str| {
        results.put(Figure { figure: "run", row, x, metric, value, spread, unit })
    };
    let (committed, ..) = measured.tally.total();
    let stats = &measured.stats;
    let per = |amount: u64| amount as f64 / committed.max(1) as f64;
    put("all", "seconds", measured.seconds, None, "s")?;
    if stats.classic.is_none() {
        put("all", "memory", stats.memory_bytes() as f64, None, "bytes")?;
    }
    put("all", "log", stats.log_bytes as f64, None, "bytes")?;
    put("all", "log_per_transaction", per(stats.log_bytes), None, "bytes")?;
    put("all", "forces", stats.log_forces as f64, None, "forces")?;
    put("all", "forces_per_transaction", per(stats.log_forces), None, "forces")?;
    for (what, shares) in [("partition", &measured.busy.partitions), ("core", &measured.busy.cores)] {
        for (number, &share) in shares.iter().enumerate() {
            put(&format!("{what} {number}"), "busy", share, None, "share")?;
        }
    }
    for (metric, seconds) in
        [("cpu_program", measured.busy.process.program), ("cpu_kernel", measured.busy.process.kernel)]
    {
        put("all", metric, seconds, None, "s")?;
    }
    put("all", "multi_partition", stats.multi_partition as f64, None, "transactions")?;
    put("all", "multi_partition_held", stats.multi_partition_ns as f64 / 1e9, None, "s")?;
    put("all", "handed_over", stats.handed_over as f64, None, "calls")?;
    put("all", "interrupted", f64::from(u8::from(measured.interrupted)), None, "yes or no")?;
    put("all", "failed", f64::from(u8::from(measured.failed.is_some())), None, "yes or no")
}

/// The results of the checks.
pub fn checked(out: &mut dyn Write, results: &mut Results, when: &str, checked: &CheckResults) -> io::Result<()> {
    let holding = checked.conditions.iter().filter(|report| report.holds()).count();
    let all = checked.conditions.len();
    let indexes = if checked.indexes.is_empty() { "all indexes agree" } else { "INDEXES DISAGREE" };
    let verdict = if holding == all {
        format!("all {all} conditions hold")
    } else {
        format!("{} CONDITIONS VIOLATED", all - holding)
    };
    writeln!(out, "consistency {verdict}, {indexes}, {when} (checked in {})", format::time(checked.seconds * 1e9))?;
    for report in checked.conditions.iter().filter(|report| !report.holds()) {
        writeln!(out, "            {report}")?;
    }
    for wrong in &checked.indexes {
        writeln!(out, "            {wrong}")?;
    }
    let figure = format!("checks {when}");
    for report in &checked.conditions {
        let x = report.condition.into();
        results.put(Figure {
            figure: &figure,
            row: "condition",
            x,
            metric: "violations",
            value: report.wrong as f64,
            spread: None,
            unit: "violations",
        })?;
    }
    let value = checked.indexes.len() as f64;
    results.put(Figure {
        figure: &figure,
        row: "indexes",
        x: 0.0,
        metric: "violations",
        value,
        spread: None,
        unit: "violations",
    })
}

/// The time of recovery.
pub fn reopened(
    out: &mut dyn Write,
    results: &mut Results,
    arguments: &TpccArguments,
    reopened: &Reopened,
) -> io::Result<()> {
    let Reopened { seconds, recovery } = reopened;
    if arguments.engine.is_classic() {
        classic::recovered(out, *seconds, recovery)?;
    } else {
        writeln!(
            out,
            "recovery    {}: {} rows of the checkpoint in {}, {} log records ({}) in {}",
            format::time(seconds * 1e9),
            format::count(recovery.checkpoint_rows),
            format::time(recovery.checkpoint_s * 1e9),
            format::count(recovery.log_records),
            format::bytes(recovery.log_bytes),
            format::time(recovery.log_s * 1e9),
        )?;
    }
    let x = arguments.clients() as f64;
    let mut put = |metric, value, unit| {
        results.put(Figure { figure: "recovery", row: "all", x, metric, value, spread: None, unit })
    };
    put("total", *seconds, "s")?;
    put("checkpoint", recovery.checkpoint_s, "s")?;
    put("checkpoint_rows", recovery.checkpoint_rows as f64, "rows")?;
    put("log", recovery.log_s, "s")?;
    put("log_records", recovery.log_records as f64, "records")?;
    put("redone", recovery.redone as f64, "changes")?;
    put("rolled_back", recovery.rolled_back as f64, "transactions")?;
    put("log_bytes", recovery.log_bytes as f64, "bytes")
}

/// The maximum memory of this process so far.
fn peak_memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kib| kib * 1024)
}
