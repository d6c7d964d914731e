//! The report of a run on a cluster.

use std::io::{self, Write};

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};

use super::absence::Absence;
use super::arguments::{Arguments, LoadOptions};
use super::auto::Change;
use super::check::{Checked, Counted};
use super::config::{Config, Workload};
use super::incidents::Pauses;
use super::load::{Measured, Tally};
use glassbox_program::results::{Figure, Results};
use glassbox_workloads::format;

/// The setting of the run.
pub fn headline(out: &mut dyn Write, arguments: &Arguments, load: &LoadOptions, config: &Config) -> io::Result<()> {
    let many = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let what = match &config.workload {
        Workload::Tpcc { scale, .. } => {
            let size = if load.common.small { " of reduced size" } else { "" };
            format!("TPC-C, {}{size}", many(scale.warehouses.into(), "warehouse"))
        }
        Workload::Contention { load } => {
            let percent = |share: u64| format::number(share as f64 / 1e4);
            let (hot, participants) = (load.hot, load.participants);
            let mut what = format!("hot rows, {hot} of each partition; {} % on {participants}", percent(load.several));
            if load.dependent > 0 {
                let (dependent, relists) = (percent(load.dependent), percent(load.relists));
                what += &format!("; {dependent} % dependent, {relists} % change what these depend on");
            }
            what
        }
        Workload::Micro { load, .. } => {
            let percent = |share: u64| format::number(share as f64 / 1e4);
            let mut what = format!("microbenchmark, {} % on two partitions", percent(load.several));
            for (share, words) in [
                (load.two_rounds, "of them in two rounds"),
                (load.aborts, "abort"),
                (load.conflicts, "touch a hot row"),
            ] {
                if share > 0 {
                    what += &format!(", {} % {words}", percent(share));
                }
            }
            what
        }
    };
    let coordinators = match u64::from(config.coordinators) {
        1 if arguments.is_deterministic() => "a sequencer".to_owned(),
        all if arguments.by_clocks => format!("{}, which order by their clocks", many(all, "sequencer")),
        all if config.order.agreement.is_some() && arguments.is_deterministic() => {
            format!("{} of a log that a majority decides", many(all, "member"))
        }
        all if config.order.agreement.is_some() => {
            format!("{}, of which a majority elects one", many(all, "coordinator"))
        }
        all if arguments.is_deterministic() => format!("a sequencer with {}", many(all - 1, "hot backup")),
        all => many(all, "coordinator"),
    };
    writeln!(
        out,
        "{what}; {} with {} each and {}, processes of their own; {}; {}",
        many(config.partitions.into(), "partition"),
        many(config.replicas.into(), "replica"),
        coordinators,
        arguments.scheme.name(),
        many(load.clients.into(), "client"),
    )?;
    let disk = match &arguments.dir {
        Some(dir) => format!("answers wait for the journals in {}", dir.display()),
        None => "no disk".to_owned(),
    };
    writeln!(out, "round trip: loopback's, and {} us injected; {disk}", config.round_trip_us)
}

/// Counts, rates and latencies.
pub fn measured(out: &mut dyn Write, results: &mut Results, round_trip_us: u64, measured: &Measured) -> io::Result<()> {
    let mut table = Table::new();
    let line = LineStyle::none().fill('─').junction('─');
    table.load_style(TableStyle::new().header_separator(line).bottom_border(line));
    table.set_header(["transaction", "count", "per second", "p50", "p99", "aborts"]);
    let mut all = Tally::new();
    let x = round_trip_us as f64;
    let mut row = |name: &str, tally: &Tally| {
        let committed = tally.latency.len() - tally.aborted;
        let (p50, p99) = (tally.latency.value_at_quantile(0.5) as f64, tally.latency.value_at_quantile(0.99) as f64);
        let rate = committed as f64 / measured.seconds;
        let (count, aborts) = (format::count(committed), format::count(tally.aborted));
        table.add_row([name.to_owned(), count, format::number(rate), format::time(p50), format::time(p99), aborts]);
        let mut put = |metric, value, unit| {
            results.put(Figure { figure: "run", row: name, x, metric, value, spread: None, unit })
        };
        put("committed", committed as f64, "transactions")?;
        put("throughput", rate, "1/s")?;
        put("latency_p50", p50, "ns")?;
        put("latency_p99", p99, "ns")?;
        put("aborted", tally.aborted as f64, "transactions")
    };
    for ((_, name), tally) in &measured.tallies {
        row(name, tally)?;
        all.add(tally);
    }
    row("all", &all)?;
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    writeln!(out, "{table}")?;
    if measured.retries > 0 {
        writeln!(out, "restarts because of deadlocks or undeclared keys: {}", format::count(measured.retries))?;
    }
    if measured.refused > 0 {
        writeln!(out, "calls refused because a partition was late: {}", format::count(measured.refused))?;
    }
    if all.uncertain > 0 {
        let uncertain = all.uncertain;
        writeln!(
            out,
            "calls with an unknown outcome: {uncertain}; the process that had them failed before it answered"
        )?;
    }
    if measured.interrupted {
        writeln!(out, "interrupted after {:.1} s", measured.seconds)?;
    }
    for why in measured.failed.iter().take(5) {
        writeln!(out, "a client ended: {why}")?;
    }
    Ok(())
}

/// The changes of the scheme.
pub fn changes(out: &mut dyn Write, results: &mut Results, changes: &[Change]) -> io::Result<()> {
    for Change { after, to, advice } in changes {
        let (x, row) = (after.as_secs_f64(), to.to_string());
        writeln!(out, "after {x:.1} s: {row} ({})", advice.why)?;
        let value = advice.expected().find(|(scheme, _)| scheme == to).map_or(0.0, |(_, per_second)| per_second);
        results.put(Figure { figure: "auto", row: &row, x, metric: "expected", value, spread: None, unit: "1/s" })?;
    }
    Ok(())
}

/// How long incidents blocked partitions.
pub fn pauses(out: &mut dyn Write, results: &mut Results, pauses: &Pauses) -> io::Result<()> {
    let kinds = [
        ("left-out", "after a backup was left out", &pauses.left_out),
        ("promoted", "after a backup took over", &pauses.promoted),
        ("coordinator", "after a coordinator was restarted", &pauses.coordinator),
        ("stood-in", "after a replica, or a whole set, was killed and others answered", &pauses.stood_in),
        ("resumed", "after processes were killed and went on", &pauses.resumed),
        ("returned", "until a backup that was brought back has the rows", &pauses.returned),
    ];
    for (row, words, times) in kinds {
        let mut ns: Vec<f64> = times.iter().map(|time| time.as_nanos() as f64).collect();
        ns.sort_unstable_by(f64::total_cmp);
        let (Some(most), middle) = (ns.last(), ns.len() / 2) else { continue };
        let (median, many) = (format::time(ns[middle]), ns.len());
        writeln!(out, "pause {words}: median {median}, maximum {}, of {many}", format::time(*most))?;
        for (x, value) in ns.iter().enumerate() {
            let x = x as f64;
            results.put(Figure {
                figure: "incidents",
                row,
                x,
                metric: "pause",
                value: *value,
                spread: None,
                unit: "ns",
            })?;
        }
    }
    Ok(())
}

/// What the absence of a host did to the throughput.
pub fn absence(out: &mut dyn Write, results: &mut Results, absence: &Absence) -> io::Result<()> {
    let before = absence.rate("before");
    writeln!(out, "a host was away for {} MiB of the log; calls a second:", absence.bytes >> 20)?;
    for (row, seconds, _) in &absence.parts {
        let rate = absence.rate(row);
        let least = absence.seconds.iter().copied().min_by(f64::total_cmp).filter(|_| *row == "returns");
        let least =
            least.map_or_else(String::new, |it| format!("; in the worst second {}", format::number(it / before)));
        let of_before = format::number(rate / before);
        writeln!(out, "  {row:8} {:>9}, {of_before} of those before{least} ({seconds:.1} s)", format::number(rate))?;
        for (metric, value, unit) in [("throughput", rate, "1/s"), ("duration", *seconds, "s")] {
            let x = absence.bytes as f64;
            results.put(Figure { figure: "away", row, x, metric, value, spread: None, unit })?;
        }
    }
    for (second, value) in (1..).zip(&absence.seconds) {
        let (row, x, value) = ("returns", f64::from(second), *value);
        results.put(Figure { figure: "away", row, x, metric: "of-second", value, spread: None, unit: "1/s" })?;
    }
    Ok(())
}

/// The results of the checks.
pub fn checked(out: &mut dyn Write, results: &mut Results, checked: &Checked) -> io::Result<()> {
    let mut put = |row: &str, x, value| {
        results.put(Figure { figure: "checks", row, x, metric: "violations", value, spread: None, unit: "violations" })
    };
    put("replicas", 0.0, checked.problems.len() as f64)?;
    for problem in &checked.problems {
        writeln!(out, "WRONG: {problem}")?;
    }
    if checked.problems.is_empty() {
        let of = if checked.is_set {
            "replicas of other sets have the same rows"
        } else {
            "backups have the rows of their primaries"
        };
        writeln!(out, "no transaction is active; {} {of}", checked.replicas)?;
    }
    for counted in &checked.counted {
        put("lost", 0.0, counted.lost() as f64)?;
        let Counted { what, acknowledged, uncertain, found } = counted;
        let verdict = if counted.lost() == 0 { "none is lost" } else { "WRONG" };
        let (acknowledged, found) = (format::count(*acknowledged), format::count(*found));
        writeln!(out, "{what}: {acknowledged} acknowledged, {uncertain} unknown, {found} found: {verdict}")?;
    }
    let mut violated = 0;
    for (number, _, wrong, words) in &checked.conditions {
        put("condition", f64::from(*number), *wrong as f64)?;
        if *wrong > 0 {
            violated += 1;
            writeln!(out, "VIOLATED: {words}")?;
        }
    }
    if violated == 0 && !checked.conditions.is_empty() {
        writeln!(out, "all {} conditions hold", checked.conditions.len())?;
    }
    Ok(())
}
