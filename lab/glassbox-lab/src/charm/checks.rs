//! The paper's claims as numbers, this project's checks, and its goals for the disks of today.
//!
//! The bounds of a claim are the paper's number with a tolerance, mostly of a quarter: the paper's machine is modelled,
//! and rates move by a fifth from run to run. The bounds of a difference are round the results of one full-size round.

use glassbox_workloads::tpcc::Kind;

use super::grid_verdicts;
use super::instructions::{INSTRUCTIONS, MIXES};
use super::measure::{
    EXECUTION, LOCK_WAIT, MISSED_UNDER_LOCKS, NEW_ORDERS, OTHERS_READS, PREDICTED, READ_EACH, READS, RESPONSE,
    THROUGHPUT, VICTIMS, pinned,
};
use super::plan::{COMPUTATION, DETECTION, FASTER, FETCH, HERE, IDLE, MISSED, PINNED, POOLS, SESSIONS, SHARE};
use super::policy::Policy;
use super::pools::SHARES;
use crate::claim::{Claim, claim, goal, own_check, put};
use crate::points::Points;

const LOCKING: &str = Policy::TwoPhaseLocking.name();
const HYBRID: &str = Policy::Hybrid.name();
const TWO_STAGE: &str = Policy::TwoStage.name();
const OPTIMISTIC: &str = Policy::Optimistic.name();

/// The claims that were measured.
pub fn claims(points: &Points) -> Vec<Claim> {
    let all = [
        of_sessions(points),
        of_waits(points),
        of_pools(points),
        of_missed(points),
        of_computation(points),
        of_today(points),
        grid_verdicts::goals(points),
    ];
    all.into_iter().flatten().flatten().collect()
}

/// Adds them to the results.
pub fn put_claims(points: &mut Points) {
    put(&claims(points), points);
}

/// A number of a cell.
pub(super) fn value(points: &Points, figure: &str, row: &str, x: f64, metric: &str) -> Option<f64> {
    points.at(figure, row, x, metric).map(|point| point.value)
}

/// The same of one row, divided by that of another.
pub(super) fn ratio(points: &Points, figure: &str, rows: [&str; 2], x: f64, metric: &str) -> Option<f64> {
    let of = |row: &str| value(points, figure, row, x, metric);
    Some(of(rows[0])? / of(rows[1])?.max(1e-9))
}

/// The values of the independent variable in a figure, ascending.
pub(super) fn places(points: &Points, figure: &str) -> Vec<f64> {
    let mut places: Vec<f64> = points.0.iter().filter(|it| it.figure == figure).map(|it| it.x).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    places
}

/// Tables 1 and 2, Figure 2.
fn of_sessions(points: &Points) -> Vec<Option<Claim>> {
    let gain = |sessions| ratio(points, SESSIONS, [HYBRID, LOCKING], sessions, NEW_ORDERS);
    let between = |from: f64, to: f64| places(points, SESSIONS).into_iter().filter(move |x| (from..=to).contains(x));
    let more_reads = between(1.0, 12.0).filter_map(|x| ratio(points, SESSIONS, [HYBRID, LOCKING], x, READS));
    let others = |figure, row, x| value(points, figure, row, x, OTHERS_READS);
    let least_gain = between(2.0, 8.0).filter_map(gain).reduce(f64::min);
    vec![
        claim(
            ("Table 1", "lock wait due to others' reads, 2PL, 2 sessions"),
            "93.3 %",
            others(SESSIONS, LOCKING, 2.0),
            (75.0, 100.0),
            "%",
        )
        .map(|it| it.not_reproduced((50.0, 75.0), COMPUTED_UNDER_LOCKS)),
        own_check(("Table 1", "the same under HTSTE"), others(SESSIONS, HYBRID, 2.0), (0.0, 10.0), "%"),
        claim(
            ("Table 1", "2PL, 8 sessions, with deadlocks searched for every 100 ms"),
            "34.8 %",
            others(DETECTION, LOCKING, 8.0),
            (20.0, 50.0),
            "%",
        )
        .map(|it| it.not_reproduced((50.0, 90.0), FEW_DEADLOCKS)),
        claim(("Figure 2a", "New-Orders, HTSTE / 2PL, 1 session"), "nearly the same", gain(1.0), (0.85, 1.15), "×"),
        claim(("Figure 2a", "the same, 4 sessions"), "2.64", gain(4.0), (2.1, 3.2), "×")
            .map(|it| it.at("§4.2").not_reproduced((1.2, 2.1), PROCESSOR)),
        claim(("Figure 2a", "the least for 2 to 8 sessions"), "always ahead", least_gain, (1.0, 10.0), "×"),
        claim(
            ("Figure 2b, Table 2", "time of a read, HTSTE / 2PL, 4 sessions"),
            "1.81",
            ratio(points, SESSIONS, [HYBRID, LOCKING], 4.0, READ_EACH),
            (1.35, 2.25),
            "×",
        )
        .map(|it| it.at("Table 5").not_reproduced((1.0, 1.35), SHORT_QUEUES)),
        claim(
            ("Table 2", "reads of a transaction, HTSTE / 2PL, the most"),
            "about the same",
            more_reads.reduce(f64::max),
            (0.9, 1.1),
            "×",
        )
        .map(|it| it.at("§4.2").not_reproduced((1.1, 1.35), SHORT_RUNS)),
    ]
}

const COMPUTED_UNDER_LOCKS: &str = "A third of the waits are for a computation. Here all of it is at the end of a \
                                    transaction, while it holds its locks.";
const FEW_DEADLOCKS: &str = "The paper's share falls because the delay of true contention begins to dominate. Here \
                             eight sessions on one modelled processor contend less: a transaction in 300 is a victim, \
                             3.7 % of the paper's.";
const PROCESSOR: &str = "The gain is at most that of Little's law (`at most` in the table), because the modelled \
                         processor runs each transaction twice.";
const SHORT_RUNS: &str = "It is within 1.1 up to eight sessions. With more, runs of a second differ: 2PL reads 0.44 to \
                          0.51 pages, HTSTE 0.48 to 0.56.";
const SHORT_QUEUES: &str = "As HTSTE makes fewer transactions than the paper's, its reads queue for a shorter time.";

/// Figure 3, Table 3.
fn of_waits(points: &Points) -> Vec<Option<Claim>> {
    let less_wait = |sessions| ratio(points, SESSIONS, [LOCKING, HYBRID], sessions, LOCK_WAIT);
    let victims = |row| {
        let sessions = places(points, SESSIONS).into_iter().filter(|x| (2.0..=8.0).contains(x));
        sessions.filter_map(|x| value(points, SESSIONS, row, x, VICTIMS)).sum::<f64>()
    };
    let less_victims = points.has(SESSIONS).then(|| victims(HYBRID) / victims(LOCKING).max(1e-9));
    vec![
        claim(
            ("Figure 3", "lock wait of a New-Order, 2PL / HTSTE, 2 sessions"),
            "a factor of 10",
            less_wait(2.0),
            (7.0, 14.0),
            "×",
        )
        .map(|it| it.not_reproduced((14.0, 40.0), FEWER_MISSED)),
        claim(("Figure 3", "the same, 4 sessions"), "5.26", less_wait(4.0), (3.9, 6.6), "×")
            .map(|it| it.at("Table 7").not_reproduced((6.6, 40.0), FEWER_MISSED)),
        claim(
            ("Figure 3", "the same, 8 sessions / 2"),
            "falls",
            Some(()).and_then(|()| Some(less_wait(8.0)? / less_wait(2.0)?)),
            (0.0, 1.0),
            "×",
        ),
        claim(
            ("Table 3", "deadlock victims, HTSTE / 2PL, 2 to 8 sessions together"),
            "0.59",
            less_victims,
            (0.3, 0.9),
            "×",
        )
        .map(|it| it.not_reproduced((0.0, 10.0), RARE)),
    ]
}

const FEWER_MISSED: &str = "HTSTE hardly ever reads under locks here: a page that is missing again is fetched again, \
                            up to three times, where the paper's reads it.";
const RARE: &str = "Deadlocks are rare with either, at most 0.3 % of the transactions: warehouse and district, which \
                    most transactions need, are locked first, in the same order.";

/// Figures 4 and 5, Tables 4 and 5.
fn of_pools(points: &Points) -> Vec<Option<Claim>> {
    let gain = |share| ratio(points, POOLS, [HYBRID, LOCKING], share, NEW_ORDERS);
    let by = |share: f64| Some((gain(share)? - 1.0) / (gain(SHARES[3])? - 1.0).max(0.01));
    let longer = SHARES.into_iter().filter_map(|share| {
        let of = |row| value(points, POOLS, row, share, READ_EACH);
        Some((of(HYBRID)? - of(LOCKING)?) * FASTER as f64)
    });
    let response = |share| ratio(points, POOLS, [HYBRID, LOCKING], share, RESPONSE);
    let much_more = |name, share| {
        claim(("Figure 4, Table 4", name), "most pronounced", by(share), (2.0, f64::INFINITY), "×")
            .map(|it| it.at("§4.3").not_reproduced((-1.0, 2.0), FEW_READS))
    };
    vec![
        much_more("gain where 13.3 % need the disk / where 99.8 % do", SHARES[0]),
        much_more("gain where 22 % need the disk / where 99.8 % do", SHARES[1]),
        claim(
            ("Figure 4, Table 4", "New-Orders, HTSTE / 2PL, where 99.8 % need the disk"),
            "not improved much",
            gain(SHARES[3]),
            (0.95, 1.3),
            "×",
        )
        .map(|it| it.at("§4.3").not_reproduced((1.3, 1.7), IDLE_DISKS)),
        claim(
            ("Figure 5, Table 5", "time of a read, HTSTE − 2PL, the least"),
            "8.8 ms",
            longer.reduce(f64::min),
            (0.0, 20.0),
            "ms",
        )
        .map(|it| it.at("Table 5")),
        claim(
            ("Figure 5, Table 5", "time of a New-Order, HTSTE / 2PL, where 13.3 % need the disk"),
            "shorter",
            response(SHARES[0]),
            (0.0, 1.0),
            "×",
        )
        .map(|it| it.not_reproduced((1.0, 1.2), FEW_READS)),
    ]
}

const FEW_READS: &str = "With as many New-Orders that need the disk as the paper's, a transaction reads 0.14 pages \
                         here, and waits under locks for 1.8 ms instead of the 5.8 that follow from Table 7. \
                         Computation is the limit then, and two stages compute twice: at most 1.05 times as many are \
                         possible. The paper's other transactions needed the disk far more often.";
const IDLE_DISKS: &str = "Sessions of two-phase locking wait for locks for two thirds of their time, so the two disks \
                          are not always busy.";

/// Tables 6 and 8.
fn of_missed(points: &Points) -> Vec<Option<Claim>> {
    let most = points.0.iter().filter(|it| it.figure == MISSED && it.metric == MISSED_UNDER_LOCKS).map(|it| it.value);
    let missed = |row, sessions| value(points, MISSED, row, sessions, MISSED_UNDER_LOCKS).map(|it| it.max(1e-3));
    let kinds = [Kind::StockLevel, Kind::Delivery, Kind::NewOrder, Kind::OrderStatus, Kind::Payment];
    let of = |kind, row, warehouses| value(points, PINNED, row, warehouses, &pinned(kind));
    let in_order = kinds.map(|kind| of(kind, "5 warehouses", 5.0));
    let order = in_order
        .iter()
        .all(Option::is_some)
        .then(|| in_order.windows(2).filter(|pair| pair[0] < pair[1]).count() as f64);
    let ratio = |kind| Some(of(kind, "5 warehouses", 5.0)? / of(kind, "1 warehouse", 1.0)?.max(1e-9));
    vec![
        claim(
            ("Table 6", "executions that read under locks, OTSTE, the most"),
            "4.4 %",
            most.reduce(f64::max),
            (2.5, 6.5),
            "%",
        )
        .map(|it| it.not_reproduced((0.3, 2.5), SHORT_WAITS)),
        claim(
            ("Table 6", "the same, 5 warehouses, 5 sessions / 2"),
            "1.76",
            Some(()).and_then(|()| Some(missed("5 warehouses", 5.0)? / missed("5 warehouses", 2.0)?)),
            (1.0, 3.5),
            "×",
        )
        .map(|it| it.not_reproduced((0.0, 15.0), SMALL_NUMBERS)),
        claim(
            ("Table 6", "the same, 5 sessions, 5 warehouses / 1"),
            "0.79",
            Some(()).and_then(|()| Some(missed("5 warehouses", 5.0)? / missed("1 warehouse", 5.0)?)),
            (0.0, 1.0),
            "×",
        )
        .map(|it| it.not_reproduced((1.0, 5.0), SMALL_NUMBERS)),
        claim(
            ("Table 8", "pairs out of the order Stock-Level, Delivery, New-Order, Order-Status, Payment"),
            "all in order",
            order,
            (0.0, 0.0),
            "pairs",
        )
        .map(|it| it.not_reproduced((1.0, 1.0), ALIKE)),
        claim(
            ("Table 8", "memory pinned by a New-Order, 5 warehouses / 1"),
            "2.0",
            ratio(Kind::NewOrder),
            (1.5, 2.5),
            "×",
        )
        .map(|it| it.not_reproduced((0.9, 1.5), ALL_PINNED)),
    ]
}

const SHORT_WAITS: &str = "A page is missing under locks when rows have changed since they were fetched. A New-Order \
                           waits for locks for some 1 ms here and 20 ms in the paper (Table 7), so fewer have.";
const SMALL_NUMBERS: &str = "One to twenty executions of a run read under locks.";
const ALIKE: &str = "Payment and Order-Status pin nearly as much as each other.";
const ALL_PINNED: &str = "Pages are pinned whether they were missing or not, so it hardly depends on the warehouses.";

/// Table 7, and the formula.
fn of_computation(points: &Points) -> Vec<Option<Claim>> {
    let gain = |policy, x| ratio(points, COMPUTATION, [policy, LOCKING], x, NEW_ORDERS);
    let same = ratio(points, COMPUTATION, [TWO_STAGE, HYBRID], 1.0, NEW_ORDERS);
    let falls = Some(()).and_then(|()| Some(gain(TWO_STAGE, 8.0)? / gain(TWO_STAGE, 1.0)?));
    // From the run of the other policy: from its own, the formula only adds up what was measured.
    let crossed = [(TWO_STAGE, OPTIMISTIC, PREDICTED[1]), (OPTIMISTIC, TWO_STAGE, PREDICTED[2])];
    let apart = crossed.into_iter().filter_map(|(policy, from, predicted)| {
        let of = |row, metric| value(points, COMPUTATION, row, 1.0, metric);
        Some((of(from, predicted)? / of(policy, EXECUTION)? - 1.0).abs() * 100.0)
    });
    let first = |name, says, policy, bounds| claim(("Table 7", name), says, gain(policy, 1.0), bounds, "×");
    let second = |name, says, policy, bounds| claim(("Table 7", name), says, gain(policy, IDLE), bounds, "×");
    vec![
        claim(("Table 7", "New-Orders, TSTE / HTSTE"), "1.0", same, (0.95, 1.05), "×")
            .map(|it| it.not_reproduced((0.8, 0.95), PAYMENTS)),
        first("New-Orders, TSTE / 2PL", "2.65", TWO_STAGE, (2.1, 3.2))
            .map(|it| it.not_reproduced((1.2, 2.1), PROCESSOR)),
        first("New-Orders, OTSTE / 2PL", "1.88", OPTIMISTIC, (1.5, 2.3))
            .map(|it| it.not_reproduced((1.2, 1.5), PROCESSOR)),
        second("3 ms more, New-Orders, TSTE / 2PL", "2.05", TWO_STAGE, (1.6, 2.5))
            .map(|it| it.not_reproduced((0.7, 1.6), TWICE)),
        second("3 ms more, New-Orders, HTSTE / 2PL", "1.78", HYBRID, (1.4, 2.2))
            .map(|it| it.not_reproduced((0.7, 1.4), TWICE)),
        second("3 ms more, New-Orders, OTSTE / 2PL", "1.59", OPTIMISTIC, (1.2, 2.0)),
        claim(
            ("Table 7", "gain of TSTE at 8 times the computation / at the paper's"),
            "decreases",
            falls,
            (0.0, 1.0),
            "×",
        )
        .map(|it| it.at("§4.4")),
        own_check(
            ("Formula", "time of an execution, TSTE and OTSTE, each predicted from a run of the other, at most apart"),
            apart.reduce(f64::max),
            (0.0, 15.0),
            "%",
        ),
    ]
}

const PAYMENTS: &str = "The modelled processor is busy, and TSTE runs Payments twice, which HTSTE runs once.";
const TWICE: &str = "The modelled processor is the limit: with 3 ms more, two stages need it for 8.7 ms. The paper's \
                     30 ms cannot have been spent on a processor: four sessions would make 133 transactions a second, \
                     and 290 were made.";

/// Here: today's disks and processor, which the paper has not.
fn of_today(points: &Points) -> Vec<Option<Claim>> {
    let gain = |at: usize, x| ratio(points, HERE[at].0, [HYBRID, LOCKING], x, THROUGHPUT);
    let mut worst: Option<f64> = None;
    for figure in [HERE[0].0, HERE[1].0, SHARE] {
        for x in places(points, figure) {
            let of = |policy: &Policy| value(points, figure, policy.name(), x, THROUGHPUT);
            let best = Policy::ALL.iter().filter_map(of).reduce(f64::max);
            if let (Some(hybrid), Some(best)) = (of(&Policy::Hybrid), best) {
                worst = Some(worst.unwrap_or(1.0).min(hybrid / best));
            }
        }
    }
    let batches = ratio(points, FETCH, ["one by one", "batches"], SHARES[3], RESPONSE);
    let of_locking = |policy, mix| ratio(points, INSTRUCTIONS, [policy, LOCKING], 0.0, mix);
    let [(full, _), (declared, _)] = MIXES;
    let fetch = of_locking(TWO_STAGE, declared).map(|whole| whole - 1.0);
    let missed = value(points, HERE[0].0, HYBRID, 16.0, MISSED_UNDER_LOCKS);
    let others = value(points, HERE[0].0, HYBRID, 4.0, OTHERS_READS);
    let at_least = |name, asked, here, least| goal(("Here", name), asked, here, (least, f64::INFINITY), "×");
    let at_most = |name, asked, here, most, unit| goal(("Here", name), asked, here, (0.0, most), unit);
    vec![
        at_least("HTSTE / 2PL, page locks, 1 ms, 4 sessions", "3.3", gain(0, 4.0), 3.3),
        at_least("the same, 16 sessions", "10", gain(0, 16.0), 10.0),
        at_least("the same, 64 sessions", "16", gain(0, 64.0), 16.0),
        at_least("the same, record locks, 64 sessions", "4", gain(1, 64.0), 4.0),
        at_least("HTSTE / the best policy, the least of all cells", "0.95", worst, 0.95),
        at_most("instructions, all in memory, HTSTE / 2PL", "1.03", of_locking(HYBRID, full), 1.03, "×"),
        at_most("instructions of a declared fetch, all in memory / of the operate stage", "0.15", fetch, 0.15, "×"),
        at_most("executions that read under locks, HTSTE, 16 sessions", "0.1", missed, 0.1, "%"),
        at_most("lock wait due to others' reads, HTSTE, 4 sessions", "1", others, 1.0, "%"),
        at_least("time of a New-Order that needs the disk, one by one / batches", "4", batches, 4.0),
    ]
}
