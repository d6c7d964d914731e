//! The numbers as tables: the paper's, with its numbers beside ours, and those that it has not.

use glassbox_workloads::tpcc::Kind;

use super::checks::{claims, places, ratio, value};
use super::grid_verdicts;
use super::instructions::{INSTRUCTIONS, MIXES};
use super::measure::{
    BOUND, EXECUTION, LOCK_WAIT, MISSED_UNDER_LOCKS, NEED_DISK, NEW_ORDERS, OTHERS_READS, PREDICTED, READ_EACH,
    READ_TIME, READS, RESPONSE, THROUGHPUT, VICTIMS, pinned,
};
use super::plan::{
    BATCHES, COMPUTATION, DETECTION, FASTER, FETCH, FOUND, HERE, IDLE, LATENCY, LEAVES, MISSED, PINNED, POOLS,
    SESSIONS, SHARE,
};
use super::policy::Policy;
use crate::claim::{self, Claim, Source};
use crate::points::Points;
use crate::section::Table;
use glassbox_workloads::format;

const LOCKING: &str = Policy::TwoPhaseLocking.name();
const HYBRID: &str = Policy::Hybrid.name();

/// By sessions, the percentage of 2PL's lock wait that is due to others' reads: Table 1 of the paper.
pub(super) const OTHERS_READS_OF_PAPER: [(f64, f64); 5] =
    [(2.0, 93.3), (4.0, 80.9), (6.0, 54.1), (8.0, 34.8), (10.0, 18.4)];
/// By computation, New-Orders per minute of each policy with four sessions: Table 7.
pub(super) const COMPUTATION_OF_PAPER: [(&str, [(f64, f64); 2]); 4] = [
    (LOCKING, [(1.0, 3_648.0), (IDLE, 3_650.0)]),
    (Policy::TwoStage.name(), [(1.0, 9_662.0), (IDLE, 7_490.0)]),
    (Policy::Optimistic.name(), [(1.0, 6_869.0), (IDLE, 5_787.0)]),
    (HYBRID, [(1.0, 9_686.0), (IDLE, 6_507.0)]),
];
/// By sessions, milliseconds of lock wait of a New-Order: Table 7.
pub(super) static LOCK_WAITS_OF_PAPER: [(&str, [(f64, f64); 1]); 2] =
    [(LOCKING, [(4.0, 58.9)]), (HYBRID, [(4.0, 11.2)])];

/// By sessions, the percentage of deadlock victims with 2PL and HTSTE: Table 3.
static VICTIMS_OF_PAPER: [[(f64, f64); 7]; 2] = [
    [(1.0, 0.0), (2.0, 0.7), (4.0, 1.8), (6.0, 2.8), (8.0, 3.7), (10.0, 4.6), (12.0, 5.4)],
    [(1.0, 0.0), (2.0, 0.1), (4.0, 0.4), (6.0, 1.6), (8.0, 3.2), (10.0, 4.1), (12.0, 5.0)],
];
/// By sessions, the percentage of OTSTE's transactions that read in the operate stage, with 1 and 5 warehouses: Table
/// 6.
static MISSED_OF_PAPER: [[(f64, f64); 5]; 2] = [
    [(2.0, 0.9), (3.0, 2.1), (4.0, 2.9), (5.0, 3.8), (6.0, 4.4)],
    [(2.0, 1.7), (3.0, 2.1), (4.0, 2.4), (5.0, 3.0), (6.0, 3.3)],
];

/// The parts that are modelled where the paper's constants are used.
pub(super) const MODELLED: &str = "disks and processor modelled, hot rows first";

/// The title of the grid.
const GRID_TITLE: &str = "Grid: transactions per second, and HTSTE against the best; its classes of New-Order, \
                          Payment, Order-Status, Delivery, Stock-Level: 1 conventional, 2 two-stage, 3 optimistic";

/// A column: its title, and the number in a row's place.
struct Column<'a>(&'a str, Box<dyn Fn(f64) -> Option<f64> + 'a>);

/// A table with a row for each place of a figure; `None` if there is none.
fn table(points: &Points, figure: &str, first: &str, columns: Vec<Column<'_>>) -> Option<Table> {
    let places = places(points, figure);
    let row = |x: &f64| {
        let cell = |Column(_, of): &Column<'_>| of(*x).map_or_else(String::new, format::number);
        std::iter::once(format!("{x}")).chain(columns.iter().map(cell)).collect()
    };
    let header = std::iter::once(first).chain(columns.iter().map(|column| column.0)).map(str::to_owned).collect();
    (!places.is_empty()).then(|| Table { header, rows: places.iter().map(row).collect() })
}

/// A number that the paper gives for some places.
fn of_paper<'a>(title: &'a str, known: &'static [(f64, f64)]) -> Column<'a> {
    Column(title, Box::new(move |x| known.iter().find(|it| it.0 == x).map(|it| it.1)))
}

/// All tables, each with its title, which says what is modelled.
pub fn all(points: &Points) -> Vec<(String, Table)> {
    let modelled = [
        ("Table 1. The part of lock wait that is due to other transactions' reads, %", of_others_reads(points)),
        ("Figure 2, Table 2. New-Orders and reads by sessions, with the paper's constants", of_sessions(points)),
        ("Figure 3, Table 3. Lock wait and deadlock victims by sessions", of_waits(points)),
        ("New-Orders and lock wait with locks of pages of rows, and of leaves too", of_leaves(points)),
        ("Figure 4, Table 4. New-Orders by the share that needs the disk, 4 sessions", of_pools(points)),
        ("Figure 5, Table 5. Times of a New-Order by the share that needs the disk", of_times(points)),
        ("Table 6. Executions that read under locks, OTSTE, %", of_missed(points)),
        ("Table 7. New-Orders by computation, 4 sessions", of_computation(points)),
        ("The formula: time of an execution, measured and predicted, ms", of_formula(points)),
        ("Table 8. Memory pinned by an execution, KiB", of_pinned(points)),
    ];
    let here = [
        ("Here: page locks, a modelled disk of 1 ms, transactions per second", of_here(points, HERE[0].0)),
        ("Here: record locks, a modelled disk of 1 ms, transactions per second", of_here(points, HERE[1].0)),
        ("Here: 16 sessions, by the latency of the modelled disk", of_latency(points)),
        ("Here: 16 sessions, by the share of New-Orders that needs the disk", of_here(points, SHARE)),
        ("Here: instructions of a transaction whose pages are in memory", of_instructions(points)),
        (GRID_TITLE, grid_verdicts::table(points)),
        ("Here: declared keys read in batches, and one by one; 1 session", of_fetch(points)),
    ];
    let modelled = modelled.into_iter().map(|(title, table)| (format!("{title} ({MODELLED})"), table));
    let all = modelled.chain(here.into_iter().map(|(title, table)| (title.to_owned(), table)));
    all.filter_map(|(title, table)| Some((title, table?))).collect()
}

/// The claims, and apart from them the goals, with their verdicts; each with its title.
pub fn verdicts(points: &Points) -> Vec<(&'static str, Table)> {
    let (goals, claims): (Vec<Claim>, _) =
        claims(points).into_iter().partition(|claim| matches!(claim.source, Source::Goal(_)));
    let tables =
        [("The paper's claims", claim::table("the paper's claims", &claims)), ("Goals", claim::table("goals", &goals))];
    tables.into_iter().filter_map(|(title, table)| Some((title, table?))).collect()
}

fn of<'a>(points: &'a Points, figure: &'a str, row: &'a str, metric: &'a str) -> Box<dyn Fn(f64) -> Option<f64> + 'a> {
    Box::new(move |x| value(points, figure, row, x, metric))
}

fn of_others_reads(points: &Points) -> Option<Table> {
    let columns = vec![
        Column("2PL", of(points, SESSIONS, LOCKING, OTHERS_READS)),
        Column("2PL, deadlocks searched for every 100 ms", of(points, DETECTION, LOCKING, OTHERS_READS)),
        Column("HTSTE", of(points, SESSIONS, HYBRID, OTHERS_READS)),
        of_paper("2PL, the paper", &OTHERS_READS_OF_PAPER),
    ];
    table(points, SESSIONS, "sessions", columns)
}

/// A modelled rate as one of the paper's: of New-Orders a minute.
fn per_minute(points: &Points, figure: &str, row: &str, x: f64) -> Option<f64> {
    Some(value(points, figure, row, x, NEW_ORDERS)? * 60.0 / FASTER as f64)
}

fn of_sessions(points: &Points) -> Option<Table> {
    let rate = |row: &'static str| Box::new(move |x| per_minute(points, SESSIONS, row, x));
    let gain = Box::new(|x| ratio(points, SESSIONS, [HYBRID, LOCKING], x, NEW_ORDERS));
    let read = |row: &'static str| Box::new(move |x| Some(value(points, SESSIONS, row, x, READ_EACH)? * FASTER as f64));
    let columns = vec![
        Column("2PL, a minute", rate(LOCKING)),
        Column("HTSTE", rate(HYBRID)),
        Column("classes found", rate(FOUND)),
        Column("with batches", rate(BATCHES)),
        Column("gain", gain),
        Column("at most", of(points, SESSIONS, LOCKING, BOUND)),
        of_paper("gain, the paper", &[(4.0, 2.64)]),
        Column("a read, 2PL, ms", read(LOCKING)),
        Column("HTSTE, ms", read(HYBRID)),
        Column("reads each, 2PL", of(points, SESSIONS, LOCKING, READS)),
        Column("HTSTE", of(points, SESSIONS, HYBRID, READS)),
    ];
    table(points, SESSIONS, "sessions", columns)
}

fn of_waits(points: &Points) -> Option<Table> {
    let wait = |row: &'static str| Box::new(move |x| Some(value(points, SESSIONS, row, x, LOCK_WAIT)? * FASTER as f64));
    let share = |row: &'static str| {
        Box::new(move |x| {
            let of = |metric| value(points, SESSIONS, row, x, metric);
            Some(100.0 * of(LOCK_WAIT)? / of(RESPONSE)?)
        })
    };
    let columns = vec![
        Column("lock wait of a New-Order, 2PL, ms", wait(LOCKING)),
        Column("HTSTE, ms", wait(HYBRID)),
        Column("of its time, 2PL, %", share(LOCKING)),
        Column("HTSTE, %", share(HYBRID)),
        of_paper("the paper: 2PL, ms", &LOCK_WAITS_OF_PAPER[0].1),
        of_paper("HTSTE, ms", &LOCK_WAITS_OF_PAPER[1].1),
        Column("victims, 2PL, %", of(points, SESSIONS, LOCKING, VICTIMS)),
        Column("HTSTE, %", of(points, SESSIONS, HYBRID, VICTIMS)),
        of_paper("the paper: 2PL, %", &VICTIMS_OF_PAPER[0]),
        of_paper("HTSTE, %", &VICTIMS_OF_PAPER[1]),
    ];
    table(points, SESSIONS, "sessions", columns)
}

fn of_leaves(points: &Points) -> Option<Table> {
    let rate = |figure, row: &'static str| Box::new(move |x| per_minute(points, figure, row, x));
    let gain = |figure| Box::new(move |x| ratio(points, figure, [HYBRID, LOCKING], x, NEW_ORDERS));
    let wait =
        |figure, row: &'static str| Box::new(move |x| Some(value(points, figure, row, x, LOCK_WAIT)? * FASTER as f64));
    let columns = vec![
        Column("2PL, a minute, pages", rate(SESSIONS, LOCKING)),
        Column("and leaves", rate(LEAVES, LOCKING)),
        Column("HTSTE, pages", rate(SESSIONS, HYBRID)),
        Column("and leaves", rate(LEAVES, HYBRID)),
        Column("gain, pages", gain(SESSIONS)),
        Column("and leaves", gain(LEAVES)),
        Column("lock wait of a New-Order, 2PL, ms, pages", wait(SESSIONS, LOCKING)),
        Column("and leaves", wait(LEAVES, LOCKING)),
        Column("HTSTE, ms, pages", wait(SESSIONS, HYBRID)),
        Column("and leaves", wait(LEAVES, HYBRID)),
        Column("victims, 2PL, %, pages", of(points, SESSIONS, LOCKING, VICTIMS)),
        Column("and leaves", of(points, LEAVES, LOCKING, VICTIMS)),
    ];
    table(points, LEAVES, "sessions", columns)
}

fn of_pools(points: &Points) -> Option<Table> {
    let rate = |row: &'static str| Box::new(move |x| per_minute(points, POOLS, row, x));
    let columns = vec![
        Column("reached, %", of(points, POOLS, LOCKING, NEED_DISK)),
        Column("2PL, a minute", rate(LOCKING)),
        Column("HTSTE", rate(HYBRID)),
        Column("gain", Box::new(|x| ratio(points, POOLS, [HYBRID, LOCKING], x, NEW_ORDERS))),
        Column("at most", of(points, POOLS, LOCKING, BOUND)),
    ];
    table(points, POOLS, "need the disk, %", columns)
}

fn of_times(points: &Points) -> Option<Table> {
    const LOCKING_READS: &[(f64, f64)] = &[(99.8, 112.0), (75.5, 114.0), (22.0, 34.0), (13.3, 18.0)];
    const HYBRID_READS: &[(f64, f64)] = &[(99.8, 147.0), (75.5, 123.0), (22.0, 47.0), (13.3, 32.0)];
    let time = |row: &'static str, metric: &'static str| {
        Box::new(move |x| Some(value(points, POOLS, row, x, metric)? * FASTER as f64))
    };
    let columns = vec![
        Column("response, 2PL, ms", time(LOCKING, RESPONSE)),
        Column("HTSTE", time(HYBRID, RESPONSE)),
        Column("lock wait, 2PL", time(LOCKING, LOCK_WAIT)),
        Column("HTSTE", time(HYBRID, LOCK_WAIT)),
        Column("reads, 2PL", time(LOCKING, READ_TIME)),
        Column("HTSTE", time(HYBRID, READ_TIME)),
        of_paper("the paper: reads, 2PL", LOCKING_READS),
        of_paper("HTSTE", HYBRID_READS),
    ];
    table(points, POOLS, "need the disk, %", columns)
}

fn of_missed(points: &Points) -> Option<Table> {
    let columns = vec![
        Column("1 warehouse", of(points, MISSED, "1 warehouse", MISSED_UNDER_LOCKS)),
        Column("5 warehouses", of(points, MISSED, "5 warehouses", MISSED_UNDER_LOCKS)),
        of_paper("the paper, 1 warehouse", &MISSED_OF_PAPER[0]),
        of_paper("5 warehouses", &MISSED_OF_PAPER[1]),
    ];
    table(points, MISSED, "sessions", columns)
}

fn of_computation(points: &Points) -> Option<Table> {
    let rate = |row: &'static str| Box::new(move |x| per_minute(points, COMPUTATION, row, x));
    let mut columns: Vec<_> =
        Policy::ALL.iter().map(|policy| Column(policy.name(), rate(policy.name()) as Box<dyn Fn(f64) -> _>)).collect();
    columns.push(Column(
        "TSTE / 2PL",
        Box::new(|x| ratio(points, COMPUTATION, [Policy::TwoStage.name(), LOCKING], x, NEW_ORDERS)),
    ));
    columns.push(Column("at most", of(points, COMPUTATION, LOCKING, BOUND)));
    for (policy, rates) in COMPUTATION_OF_PAPER {
        let name = if policy == LOCKING { "the paper: 2PL" } else { policy };
        columns.push(Column(name, Box::new(move |x| rates.iter().find(|it| it.0 == x).map(|it| it.1))));
    }
    table(points, COMPUTATION, "computation, times the paper's", columns)
}

fn of_formula(points: &Points) -> Option<Table> {
    let time = |row: &'static str, metric: &'static str| {
        Box::new(move |x| Some(value(points, COMPUTATION, row, x, metric)? * FASTER as f64))
    };
    let [two_stage, optimistic] = [Policy::TwoStage.name(), Policy::Optimistic.name()];
    let columns = vec![
        Column("TSTE", time(two_stage, EXECUTION)),
        Column("predicted from itself", time(two_stage, PREDICTED[1])),
        Column("from OTSTE", time(optimistic, PREDICTED[1])),
        Column("OTSTE", time(optimistic, EXECUTION)),
        Column("predicted from itself", time(optimistic, PREDICTED[2])),
        Column("from TSTE", time(two_stage, PREDICTED[2])),
    ];
    table(points, COMPUTATION, "computation, times the paper's", columns)
}

fn of_pinned(points: &Points) -> Option<Table> {
    const PAPER: [[f64; 2]; 5] = [[184.0, 370.0], [48.0, 66.0], [64.0, 104.0], [344.0, 534.0], [1_340.0, 2_305.0]];
    let row = |kind: Kind| {
        let here = [("1 warehouse", 1.0), ("5 warehouses", 5.0)]
            .map(|(row, x)| value(points, PINNED, row, x, &pinned(kind)).map_or_else(String::new, format::number));
        let paper = PAPER[kind as usize].map(format::number);
        std::iter::once(kind.name().to_owned()).chain(here).chain(paper).collect()
    };
    let header = ["procedure", "1 warehouse", "5 warehouses", "the paper: 1", "5"];
    points.has(PINNED).then(|| Table::new(&header, Kind::ALL.map(row).to_vec()))
}

fn of_here(points: &Points, figure: &'static str) -> Option<Table> {
    let policies = Policy::HERE.iter();
    let mut columns: Vec<_> =
        policies.map(|policy| Column(policy.name(), of(points, figure, policy.name(), THROUGHPUT))).collect();
    columns.extend([
        Column(
            "HTSTE / 2PL",
            Box::new(move |x| ratio(points, figure, [HYBRID, LOCKING], x, THROUGHPUT)) as Box<dyn Fn(f64) -> _>,
        ),
        Column("at most", of(points, figure, LOCKING, BOUND)),
        Column("due to others' reads, 2PL, %", of(points, figure, LOCKING, OTHERS_READS)),
        Column("HTSTE, %", of(points, figure, HYBRID, OTHERS_READS)),
        Column("read under locks, HTSTE, %", of(points, figure, HYBRID, MISSED_UNDER_LOCKS)),
    ]);
    table(points, figure, if figure == SHARE { "need the disk, %" } else { "sessions" }, columns)
}

fn of_latency(points: &Points) -> Option<Table> {
    let columns = vec![
        Column("2PL", of(points, LATENCY, LOCKING, THROUGHPUT)),
        Column("HTSTE", of(points, LATENCY, HYBRID, THROUGHPUT)),
        Column("gain", Box::new(|x| ratio(points, LATENCY, [HYBRID, LOCKING], x, THROUGHPUT))),
        Column("at most", of(points, LATENCY, LOCKING, BOUND)),
    ];
    table(points, LATENCY, "µs", columns)
}

fn of_fetch(points: &Points) -> Option<Table> {
    let rows = ["batches", "one by one"];
    let columns = vec![
        Column("batches, ms", of(points, FETCH, rows[0], RESPONSE)),
        Column("one by one, ms", of(points, FETCH, rows[1], RESPONSE)),
        Column("one by one / batches", Box::new(move |x| ratio(points, FETCH, [rows[1], rows[0]], x, RESPONSE))),
    ];
    table(points, FETCH, "New-Orders that need the disk, %", columns)
}

fn of_instructions(points: &Points) -> Option<Table> {
    let row = |policy: Policy| {
        let of = |mix: &str, policy: Policy| value(points, INSTRUCTIONS, policy.name(), 0.0, mix);
        let cells = MIXES.iter().flat_map(|(mix, _)| {
            let here = of(mix, policy);
            let more = here.zip(of(mix, Policy::TwoPhaseLocking)).map(|(here, base)| here / base);
            [here.map_or_else(String::new, format::number), more.map_or_else(String::new, |it| format!("{it:.3}"))]
        });
        std::iter::once(policy.name().to_owned()).chain(cells).collect()
    };
    let header = ["policy", "full mix", "of 2PL", "New-Order and Payment, declared", "of 2PL"];
    points.has(INSTRUCTIONS).then(|| Table::new(&header, Policy::ALL.map(row).to_vec()))
}
