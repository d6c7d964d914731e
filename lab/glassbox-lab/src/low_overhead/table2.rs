//! Table 2: the constants, and the same as measured from outside.
//!
//! Paper: *Low Overhead Concurrency Control*, Table 2 and section 6.4.
//!
//! The difference here: the table's processor times are inputs of the simulation, so measuring them by throughput and
//! utilization only shows that it charges them. *t_mp* is no input. The table's *t_mpN* of 40 µs is the time of a
//! `ping`; section 6.2 defines it as *t_mp* − *t_mpC*, which is 156.

use super::figure4;
use super::series::{BLOCKING, FORCED, PARTITION_BUSY, SPECULATION, rate, value};
use crate::claim::{Claim, claim};
use crate::points::Points;
use crate::section::Table;

/// Its name in results.
pub const FIGURE: &str = "Table 2";

/// The table's numbers, as measured in the simulation.
struct MeasuredConstants {
    single_us: f64,
    speculative_us: f64,
    several_us: f64,
    several_cpu_us: f64,
    locking: f64,
}

/// Measures them by the series of Figure 4.
fn measured(points: &Points) -> Option<MeasuredConstants> {
    // Of both partitions, per transaction.
    let cpu_us = |row, percent| {
        let busy = value(points, figure4::FIGURE, row, percent, PARTITION_BUSY)?;
        Some(2e6 * busy / rate(points, figure4::FIGURE, row, percent)?)
    };
    let several_cpu_us = cpu_us(BLOCKING, 100)? / 2.0;
    // At 50 % all transactions on one partition are run speculatively.
    let speculative_us = (cpu_us(SPECULATION, 50)? - several_cpu_us) / 0.5;
    Some(MeasuredConstants {
        single_us: cpu_us(BLOCKING, 0)?,
        speculative_us,
        several_us: 1e6 / rate(points, figure4::FIGURE, BLOCKING, 100)?,
        several_cpu_us,
        locking: 100.0 * (cpu_us(FORCED, 0)? / speculative_us - 1.0),
    })
}

/// The table.
pub(super) fn table(points: &Points) -> Option<Table> {
    let it = measured(points)?;
    let us = |value: f64| format!("{value:.1} µs");
    let row = |cells: [&str; 3], here: String| {
        let [name, meaning, paper] = cells.map(str::to_owned);
        vec![name, paper, here, meaning]
    };
    let rows = vec![
        row(["t_sp", "a transaction on one partition", "64 µs"], us(it.single_us)),
        row(["t_spS", "the same, speculatively", "73 µs"], us(it.speculative_us)),
        row(["t_mp", "a transaction on two, with two-phase commit", "211 µs"], us(it.several_us)),
        row(["t_mpC", "its processor time", "55 µs"], us(it.several_cpu_us)),
        row(
            ["t_mpN", "t_mp − t_mpC; in the paper's table the time of a ping", "40 µs"],
            us(it.several_us - it.several_cpu_us),
        ),
        row(["l", "the additional cost of locks", "13.2 %"], format!("{:.1} %", it.locking)),
    ];
    Some(Table::new(&["constant", "paper", "simulated", "meaning"], rows))
}

/// The claims about it.
pub(super) fn claims(points: &Points) -> Vec<Option<Claim>> {
    let it = measured(points);
    let it = it.as_ref();
    // The costs of the simulation are chosen for these.
    let input = |name, paper, value, bounds, unit| {
        claim((FIGURE, name), paper, value, bounds, unit)
            .map(|it| it.by_construction(&["the processor times of Table 2"]))
    };
    vec![
        input("t_sp", "64 µs", it.map(|it| it.single_us), (63.0, 65.0), "µs"),
        input("t_spS", "73 µs", it.map(|it| it.speculative_us), (71.5, 74.5), "µs"),
        input("t_mp", "211 µs", it.map(|it| it.several_us), (209.0, 213.0), "µs"),
        input("t_mpC", "55 µs", it.map(|it| it.several_cpu_us), (54.0, 56.0), "µs"),
        input("l", "13.2 %", it.map(|it| it.locking), (11.0, 15.5), "%"),
    ]
}
