//! Table 1: the best scheme for each situation.
//!
//! Paper: *Low Overhead Concurrency Control*, Table 1 and section 5.7. Claim: speculation where few transactions abort
//! and few take several rounds, locking where many take several rounds; where many abort, locking, or blocking if few
//! are on several partitions.
//!
//! What differs here: the paper does not say how many are many. Here 5 and 30 % of transactions on two partitions, none
//! and 10 % aborts, none and 60 % conflicts, and all transactions on two partitions with one round or with two.

use glassbox_cluster::SchemeKind;
use glassbox_sim::cluster::{ALL, Load, Settings};

use super::checks::{Check, check};
use super::lines::{BLOCKING, LOCKING, Line, PERCENT, SPECULATION, rate};
use crate::format;
use crate::points::Points;
use crate::report::Table;

/// In results.
pub const FIGURE: &str = "Table 1";
const SCHEMES: [(&str, SchemeKind); 3] =
    [(BLOCKING, SchemeKind::Blocking), (SPECULATION, SchemeKind::Speculation), (LOCKING, SchemeKind::Locking)];

/// Where which scheme is best.
struct Situation {
    /// On two partitions, in percent.
    several: u64,
    two_rounds: bool,
    many_aborts: bool,
    many_conflicts: bool,
    /// What the paper calls best.
    best: &'static [&'static str],
}

const fn situation(several: u64, two_rounds: bool, many: (bool, bool), best: &'static [&'static str]) -> Situation {
    Situation { several, two_rounds, many_aborts: many.0, many_conflicts: many.1, best }
}

/// The cells of the table, row by row.
const SITUATIONS: [Situation; 12] = [
    situation(30, false, (false, false), &[SPECULATION]),
    situation(30, false, (false, true), &[SPECULATION]),
    situation(30, false, (true, false), &[LOCKING]),
    situation(30, false, (true, true), &[LOCKING, SPECULATION]),
    situation(5, false, (false, false), &[SPECULATION]),
    situation(5, false, (false, true), &[SPECULATION]),
    situation(5, false, (true, false), &[BLOCKING, LOCKING]),
    situation(5, false, (true, true), &[BLOCKING]),
    situation(30, true, (false, false), &[LOCKING]),
    situation(30, true, (false, true), &[LOCKING]),
    situation(30, true, (true, false), &[LOCKING]),
    situation(30, true, (true, true), &[LOCKING]),
];

/// A scheme that comes as near to the best is as good.
const AS_GOOD: f64 = 0.98;

impl Situation {
    fn name(&self) -> String {
        let many = |many: bool| if many { "many" } else { "few" };
        format!(
            "{} % on two partitions, {}, {} aborts, {} conflicts",
            self.several,
            if self.two_rounds { "two rounds" } else { "one round" },
            many(self.many_aborts),
            many(self.many_conflicts),
        )
    }

    fn row(&self, scheme: &str) -> String {
        format!("{scheme}: {}", self.name())
    }

    /// What each scheme does.
    fn rates(&self, points: &Points) -> Option<[f64; 3]> {
        let rates = SCHEMES.map(|(scheme, _)| rate(points, FIGURE, &self.row(scheme), self.several));
        let [Some(blocking), Some(speculation), Some(locking)] = rates else { return None };
        Some([blocking, speculation, locking])
    }

    /// Those that are best here, and whether the paper names one of them.
    fn best_here(&self, points: &Points) -> Option<(Vec<&'static str>, bool)> {
        let rates = self.rates(points)?;
        let most = rates.into_iter().fold(0.0, f64::max);
        let good = SCHEMES.iter().zip(rates).filter(|(_, rate)| *rate >= AS_GOOD * most);
        let good: Vec<_> = good.map(|((name, _), _)| *name).collect();
        let agrees = good.iter().any(|name| self.best.contains(name));
        Some((good, agrees))
    }
}

/// What is simulated.
pub(super) fn lines() -> Vec<Line> {
    let of_situation = |situation: &Situation| {
        let load = Load {
            aborts: if situation.many_aborts { 10 * PERCENT } else { 0 },
            conflicts: if situation.many_conflicts { 60 * PERCENT } else { 0 },
            two_rounds: if situation.two_rounds { ALL } else { 0 },
            ..Load::default()
        };
        let change: fn(&mut Settings) =
            if situation.two_rounds { |settings| settings.costs = settings.costs.in_two_rounds() } else { |_| {} };
        let (several, rows) = (situation.several, SCHEMES.map(|(name, scheme)| (situation.row(name), scheme)));
        rows.map(|(row, scheme)| Line { change, shares: Some(vec![several]), ..Line::new(FIGURE, row, scheme, load) })
    };
    SITUATIONS.iter().flat_map(of_situation).collect()
}

/// The table.
pub(super) fn table(points: &Points) -> Option<Table> {
    let row = |situation: &Situation| {
        let (best, agrees) = situation.best_here(points)?;
        let rates = situation.rates(points)?.map(format::number);
        let verdict = if agrees { "" } else { "differs" };
        let [name, paper, best] = [situation.name(), situation.best.join(" or "), best.join(" or ")];
        Some([vec![name, paper, best, verdict.to_owned()], rates.to_vec()].concat())
    };
    let rows: Vec<_> = SITUATIONS.iter().filter_map(row).collect();
    let header = ["the best scheme, simulated", "paper", "here", "", BLOCKING, SPECULATION, LOCKING];
    (!rows.is_empty()).then(|| Table { header: header.map(str::to_owned).to_vec(), rows })
}

/// Its claims.
pub(super) fn checks(points: &Points) -> Vec<Option<Check>> {
    let agree = |of: fn(&Situation) -> bool| {
        let agrees = SITUATIONS.iter().filter(|it| of(it)).map(|it| Some(it.best_here(points)?.1));
        let agrees: Option<Vec<bool>> = agrees.collect();
        agrees.map(|agrees| agrees.into_iter().filter(|agrees| *agrees).count() as f64)
    };
    let few_aborts = agree(|it| !it.many_aborts);
    let many_aborts = agree(|it| it.many_aborts);
    vec![
        check((FIGURE, "best schemes as in the paper, few aborts"), "6", few_aborts, (6.0, 6.0), "of 6"),
        check((FIGURE, "best schemes as in the paper, many aborts"), "6", many_aborts, (2.0, 6.0), "of 6")
            .map(|it| it.because(MANY)),
    ]
}

const MANY: &str = "Where few transactions are on two partitions, speculation is best even with 10 % aborts: what it \
                    loses by repeating is less than what it gains (see Figure 6).";
