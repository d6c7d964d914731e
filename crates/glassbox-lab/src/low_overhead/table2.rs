//! Table 2: the constants, and the same as one would measure them from outside.
//!
//! Paper: *Low Overhead Concurrency Control*, Table 2 and section 6.4.
//!
//! What differs here: the simulation was given the table's processor times, so that measuring them from throughput and
//! from how much partitions are at work shows that it charges what it was given, and nothing else. *t_mp* it was not
//! given. The table's *t_mpN* of 40 µs is the time of a `ping`; section 6.2 defines it as *t_mp* − *t_mpC*, which is
//! 156.

use super::checks::{Check, check};
use super::figure4;
use super::lines::{BLOCKING, FORCED, PARTITION_BUSY, SPECULATION, rate, value};
use crate::points::Points;
use crate::report::Table;

/// In results.
pub const FIGURE: &str = "Table 2";

/// The table's numbers, by the names that it gives them, as the simulation has them.
struct Measured {
    single_us: f64,
    speculative_us: f64,
    several_us: f64,
    several_cpu_us: f64,
    locking: f64,
}

/// Measures them by the lines of Figure 4.
fn measured(points: &Points) -> Option<Measured> {
    // Of both partitions, a transaction.
    let cpu_us = |row, percent| {
        let busy = value(points, figure4::FIGURE, row, percent, PARTITION_BUSY)?;
        Some(2e6 * busy / rate(points, figure4::FIGURE, row, percent)?)
    };
    let several_cpu_us = cpu_us(BLOCKING, 100)? / 2.0;
    // At 50 % everything on one partition is run speculatively.
    let speculative_us = (cpu_us(SPECULATION, 50)? - several_cpu_us) / 0.5;
    Some(Measured {
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
        row(["t_mpC", "the processor's part of it", "55 µs"], us(it.several_cpu_us)),
        row(
            ["t_mpN", "t_mp − t_mpC; in the paper's table the time of a ping", "40 µs"],
            us(it.several_us - it.several_cpu_us),
        ),
        row(["l", "what locks add", "13.2 %"], format!("{:.1} %", it.locking)),
    ];
    Some(Table { header: ["constant", "paper", "simulated", "of what"].map(str::to_owned).to_vec(), rows })
}

/// Its claims.
pub(super) fn checks(points: &Points) -> Vec<Option<Check>> {
    let it = measured(points);
    let it = it.as_ref();
    vec![
        check((FIGURE, "t_sp"), "64 µs", it.map(|it| it.single_us), (63.0, 65.0), "µs"),
        check((FIGURE, "t_spS"), "73 µs", it.map(|it| it.speculative_us), (71.5, 74.5), "µs"),
        check((FIGURE, "t_mp"), "211 µs", it.map(|it| it.several_us), (209.0, 213.0), "µs"),
        check((FIGURE, "t_mpC"), "55 µs", it.map(|it| it.several_cpu_us), (54.0, 56.0), "µs"),
        check((FIGURE, "l"), "13.2 %", it.map(|it| it.locking), (11.0, 15.5), "%"),
    ]
}
