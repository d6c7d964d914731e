//! The report of a run on the classic engine: pages, latches, locks, recovery.

use std::io::{self, Write};

use glassbox::Database;
use glassbox::stats::{ClassicStats, ProcedureExecution, Recovery, Stats};

use super::measure::MeasuredRun;
use glassbox_program::results::{Figure, Results};
use glassbox_workloads::format;

/// Maximum number of waits in the report.
const MAX_WAITS: usize = 10;
/// Tables in a line.
const TABLES_IN_A_LINE: usize = 5;

/// A share in percent.
fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

/// The costs of pages and locks, as text.
pub fn below(out: &mut dyn Write, stats: &Stats, classic: &ClassicStats, committed: u64, peak: &str) -> io::Result<()> {
    let per = |amount: u64| format::number(amount as f64 / committed.max(1) as f64);
    let per_1000 = |amount: u64| format::number(1e3 * amount as f64 / committed.max(1) as f64);
    let (pool, on_disk) = (classic.pool_pages * classic.page_bytes, stats.memory_bytes());
    writeln!(
        out,
        "memory      {} for {} pages, {} % of the tables' space on disk{peak}",
        format::bytes(pool),
        format::count(classic.pool_pages),
        format::number(percent(pool, on_disk)),
    )?;
    on_disk_by_table(out, stats)?;
    writeln!(
        out,
        "pages       {} read and {} written per transaction; {} fixed, of which {:.2} % were in memory",
        per(classic.pages_read),
        per(classic.pages_written),
        per(classic.fixes),
        percent(classic.hits, classic.fixes),
    )?;
    let mean = classic.lock_waited_ns as f64 / classic.lock_waits.max(1) as f64;
    writeln!(
        out,
        "locks       per 1,000 transactions {} waits of {} on average, {} deadlocks, {} runs repeated; {} for latches",
        per_1000(classic.lock_waits),
        format::time(mean),
        per_1000(classic.deadlocks),
        per_1000(stats.rerun),
        per_1000(classic.latch_waits),
    )?;
    if classic.lock_waited_for_disk_ns > 0 {
        let share = percent(classic.lock_waited_for_disk_ns, classic.lock_waited_ns);
        writeln!(out, "            {share:.1} % of the time because transactions in the way were reading the disk")?;
    }
    if classic.lock_timeouts + classic.escalations > 0 {
        let (timeouts, escalations) = (format::count(classic.lock_timeouts), format::count(classic.escalations));
        writeln!(out, "            {timeouts} lock timeouts, {escalations} escalations to locks of tables or pages")?;
    }
    Ok(())
}

/// Space on disk, the largest tables first.
fn on_disk_by_table(out: &mut dyn Write, stats: &Stats) -> io::Result<()> {
    let mut tables: Vec<(u64, &str)> = Vec::new();
    for table in &stats.tables {
        let indexes: u64 = table.index_bytes.iter().map(|(_, bytes)| bytes).sum();
        tables.push((table.row_bytes + indexes, &table.table));
    }
    tables.sort_unstable_by(|one, two| two.cmp(one));
    let words: Vec<_> = tables.iter().map(|(bytes, name)| format!("{name} {}", format::bytes(*bytes))).collect();
    for (at, line) in words.chunks(TABLES_IN_A_LINE).enumerate() {
        match at {
            0 => write!(out, "on disk     {}, indexes included: ", format::bytes(stats.memory_bytes()))?,
            _ => write!(out, "            ")?,
        }
        let more = if (at + 1) * TABLES_IN_A_LINE < words.len() { "," } else { "" };
        writeln!(out, "{}{more}", line.join(", "))?;
    }
    Ok(())
}

/// The same as JSON.
pub fn put(results: &mut Results, x: f64, measured: &MeasuredRun, classic: &ClassicStats) -> io::Result<()> {
    let (committed, ..) = measured.tally.total();
    let stats = &measured.stats;
    let mut put = |metric, value: f64, unit| {
        results.put(Figure { figure: "run", row: "all", x, metric, value, spread: None, unit })
    };
    let per = |amount: u64| amount as f64 / committed.max(1) as f64;
    put("pool", (classic.pool_pages * classic.page_bytes) as f64, "bytes")?;
    put("on_disk", stats.memory_bytes() as f64, "bytes")?;
    put("fixes_per_transaction", per(classic.fixes), "pages")?;
    put("hits", percent(classic.hits, classic.fixes), "percent")?;
    put("reads_per_transaction", per(classic.pages_read), "pages")?;
    put("writes_per_transaction", per(classic.pages_written), "pages")?;
    put("evictions_per_transaction", per(classic.evictions), "pages")?;
    put("latch_waits_per_1000", 1e3 * per(classic.latch_waits), "waits")?;
    put("lock_waits_per_1000", 1e3 * per(classic.lock_waits), "waits")?;
    put("deadlocks_per_1000", 1e3 * per(classic.deadlocks), "deadlocks")?;
    put("lock_timeouts_per_1000", 1e3 * per(classic.lock_timeouts), "waits")?;
    put("escalations_per_1000", 1e3 * per(classic.escalations), "escalations")?;
    put("reruns_per_1000", 1e3 * per(stats.rerun), "runs")?;
    put("lock_wait_mean", classic.lock_waited_ns as f64 / classic.lock_waits.max(1) as f64, "ns")?;
    put("lock_wait_for_disk", percent(classic.lock_waited_for_disk_ns, classic.lock_waited_ns), "percent")?;
    if let Some(simulated) = measured.simulated {
        put("misses_per_transaction", per(classic.fixes - classic.hits), "pages")?;
        put("simulated_misses_per_transaction", per(simulated.missed), "pages")?;
        put("simulated_writes_per_transaction", per(simulated.written), "pages")?;
    }
    Ok(())
}

/// The page accesses of the buffer pool, compared with the replacement policy alone.
pub fn traced(out: &mut dyn Write, measured: &MeasuredRun, classic: &ClassicStats) -> io::Result<()> {
    let Some(simulated) = measured.simulated else { return Ok(()) };
    let (committed, ..) = measured.tally.total();
    let per = |amount: u64| format::number(amount as f64 / committed.max(1) as f64);
    let compared = |amount: u64, simulated: u64| {
        let apart = 100.0 * (amount as f64 - simulated as f64) / simulated.max(1) as f64;
        format!("simulated {}, {apart:+.1} %", per(simulated))
    };
    let missed = classic.fixes - classic.hits;
    writeln!(
        out,
        "trace       {} pages missing in memory per transaction ({} read, others new); {}\n            \
         {} written; {}",
        per(missed),
        per(classic.pages_read),
        compared(missed, simulated.missed),
        per(classic.pages_written),
        compared(classic.pages_written, simulated.written),
    )
}

/// The last waits for locks.
pub fn explain_waits(out: &mut dyn Write, db: &Database) -> io::Result<()> {
    let Some(waits) = db.explain_waits() else {
        return writeln!(out, "waits       none: the partitioned engine has no locks");
    };
    let last = &waits[waits.len().saturating_sub(MAX_WAITS)..];
    match last.len() {
        0 => writeln!(out, "waits       no transaction has waited for a lock")?,
        1 => writeln!(out, "waits       for locks, the only one:")?,
        count => writeln!(out, "waits       for locks, the last {count}:")?,
    }
    last.iter().try_for_each(|wait| writeln!(out, "            {wait}"))
}

/// How each procedure was executed.
pub fn explain_execution(out: &mut dyn Write, db: &Database) -> io::Result<()> {
    let Some(executions) = db.explain_execution() else {
        return writeln!(out, "execution   in one stage: the partitioned engine reads no disk");
    };
    let executed = |execution: &&ProcedureExecution| execution.executions > 0;
    if !executions.iter().any(|execution| executed(&execution)) {
        return writeln!(out, "execution   none: no procedure was called");
    }
    for (at, execution) in executions.iter().filter(executed).enumerate() {
        writeln!(out, "{:<12}{execution}", if at == 0 { "execution" } else { "" })?;
    }
    Ok(())
}

/// The work of recovery.
pub fn recovered(out: &mut dyn Write, seconds: f64, recovery: &Recovery) -> io::Result<()> {
    writeln!(
        out,
        "recovery    {}: {} log records ({}) analysed, {} changes of pages redone, {} transactions rolled back",
        format::time(seconds * 1e9),
        format::count(recovery.log_records),
        format::bytes(recovery.log_bytes),
        format::count(recovery.redone),
        format::count(recovery.rolled_back),
    )
}
