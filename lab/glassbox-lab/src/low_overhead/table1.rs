//! Table 1: the best scheme for each situation.
//!
//! Paper: *Low Overhead Concurrency Control*, Table 1 and section 5.7. Claim: speculation if few transactions abort and
//! few take several rounds, locking if many take several rounds; if many abort, locking, or blocking if few are on
//! several partitions.
//!
//! The difference here: the paper does not define "few" and "many". Here they are 5 and 30 % of transactions on two
//! partitions, none and 10 % aborts, none and 60 % conflicts, and all transactions on two partitions with one round or
//! with two.

use glassbox_cluster::SchemeKind;
use glassbox_sim::cluster::{ALL, Load, Settings};

use super::series::{BLOCKING, LOCKING, PERCENT, SPECULATION, Series, rate};
use crate::claim::{Claim, claim};
use crate::points::Points;
use crate::section::Table;
use glassbox_workloads::format;

/// Its name in results.
pub const FIGURE: &str = "Table 1";
const SCHEMES: [(&str, SchemeKind); 3] =
    [(BLOCKING, SchemeKind::Blocking), (SPECULATION, SchemeKind::Speculation), (LOCKING, SchemeKind::Locking)];

/// A situation, and the schemes that are best in it.
struct Situation {
    /// On two partitions, in percent.
    several: u64,
    two_rounds: bool,
    many_aborts: bool,
    many_conflicts: bool,
    /// The paper's best schemes.
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

/// Minimum share of the best throughput of a scheme that is equally good.
const MIN_GOOD: f64 = 0.98;

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

    /// The throughput of each scheme.
    fn rates(&self, points: &Points) -> Option<[f64; 3]> {
        let rates = SCHEMES.map(|(scheme, _)| rate(points, FIGURE, &self.row(scheme), self.several));
        let [Some(blocking), Some(speculation), Some(locking)] = rates else { return None };
        Some([blocking, speculation, locking])
    }

    /// The best schemes here, and whether the paper names one of them.
    fn best_here(&self, points: &Points) -> Option<(Vec<&'static str>, bool)> {
        let rates = self.rates(points)?;
        let most = rates.into_iter().fold(0.0, f64::max);
        let good = SCHEMES.iter().zip(rates).filter(|(_, rate)| *rate >= MIN_GOOD * most);
        let good: Vec<_> = good.map(|((name, _), _)| *name).collect();
        let agrees = good.iter().any(|name| self.best.contains(name));
        Some((good, agrees))
    }
}

/// The simulated series.
pub(super) fn series() -> Vec<Series> {
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
        rows.map(|(row, scheme)| Series {
            change,
            shares: Some(vec![several]),
            ..Series::new(FIGURE, row, scheme, load)
        })
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

/// The claims about it.
pub(super) fn claims(points: &Points) -> Vec<Option<Claim>> {
    let agree = |of: fn(&Situation) -> bool| {
        let agrees = SITUATIONS.iter().filter(|it| of(it)).map(|it| Some(it.best_here(points)?.1));
        let agrees: Option<Vec<bool>> = agrees.collect();
        agrees.map(|agrees| agrees.into_iter().filter(|agrees| *agrees).count() as f64)
    };
    let few_aborts = agree(|it| !it.many_aborts);
    let many_aborts = agree(|it| it.many_aborts);
    vec![
        claim((FIGURE, "best schemes as in the paper, few aborts"), "6", few_aborts, (6.0, 6.0), "of 6"),
        claim((FIGURE, "best schemes as in the paper, many aborts"), "6", many_aborts, (6.0, 6.0), "of 6")
            .map(|it| it.not_reproduced((2.0, 5.0), MANY)),
    ]
}

const MANY: &str = "If few transactions are on two partitions, speculation is best even with 10 % aborts: it loses \
                    less by repeating than it gains (see Figure 6).";
