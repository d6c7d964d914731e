//! Rates and latencies of TPC-C's transactions, as a table and as results.

use std::io;

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};
use glassbox_workloads::format;
use glassbox_workloads::tpcc::{Kind, LatencyTally};
use hdrhistogram::Histogram;

use crate::results::{Figure, Results};

/// The quantiles of the report, with their names.
const QUANTILES: [(f64, &str); 4] = [(0.5, "p50"), (0.95, "p95"), (0.99, "p99"), (0.999, "p99.9")];

/// The table of a run: rates and latencies by type of transaction.
pub fn table(tally: &LatencyTally, seconds: f64) -> Table {
    let mut table = Table::new();
    let line = LineStyle::none().fill('─').junction('─');
    table.load_style(TableStyle::new().header_separator(line).bottom_border(line));
    table.set_header(["transaction", "count", "per second", "p50", "p95", "p99", "p99.9", "max", "aborts"]);
    let mut row = |name: &str, committed: u64, aborted: u64, latency: &Histogram<u64>| {
        let mut cells = vec![name.to_owned(), format::count(committed)];
        cells.push(format::number(committed as f64 / seconds));
        cells.extend(QUANTILES.map(|(at, _)| format::time(latency.value_at_quantile(at) as f64)));
        cells.push(format::time(latency.max() as f64));
        cells.push(format::count(aborted));
        table.add_row(cells);
    };
    for kind in Kind::ALL.into_iter().filter(|&kind| tally.answered(kind) > 0) {
        row(kind.name(), tally.committed(kind), tally.aborted[kind as usize], &tally.latency[kind as usize]);
    }
    let (committed, aborted, latency) = tally.total();
    row("all", committed, aborted, &latency);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// The numbers of the table.
pub fn put_latencies(
    results: &mut Results,
    x: f64,
    tally: &LatencyTally,
    seconds: f64,
    spread: Option<f64>,
) -> io::Result<()> {
    let mut put = |row: &str, metric: &str, value: f64, spread, unit: &str| {
        results.put(Figure { figure: "run", row, x, metric, value, spread, unit })
    };
    let (committed, aborted, latency) = tally.total();
    let kinds = Kind::ALL.into_iter().filter(|&kind| tally.answered(kind) > 0);
    let kinds =
        kinds.map(|it| (it.name(), tally.committed(it), tally.aborted[it as usize], &tally.latency[it as usize]));
    for (row, committed, aborted, latency) in kinds.chain([("all", committed, aborted, &latency)]) {
        let spread = if row == "all" { spread } else { None };
        put(row, "committed", committed as f64, None, "transactions")?;
        put(row, "throughput", committed as f64 / seconds, spread, "transactions/s")?;
        for (at, name) in QUANTILES {
            put(row, &format!("latency_{name}"), latency.value_at_quantile(at) as f64, None, "ns")?;
        }
        put(row, "latency_max", latency.max() as f64, None, "ns")?;
        put(row, "aborted", aborted as f64, None, "transactions")?;
    }
    Ok(())
}
