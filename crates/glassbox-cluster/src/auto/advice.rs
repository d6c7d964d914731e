//! The advisor's calculation, in print.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::model::{Prediction, predict};
use super::statistics::Statistics;
use super::times::Times;
use crate::protocol::configuration::SchemeKind;

/// The observed load, the prediction for each scheme, and the choice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// The load.
    pub load: Statistics,
    /// The durations of work.
    pub times: Times,
    /// The scheme in force.
    pub now: SchemeKind,
    /// The model's prediction for each candidate.
    pub predictions: Vec<Prediction>,
    /// For each candidate, the measured throughput as a share of the predicted one; a guess from the others if the
    /// candidate was not tried under this load.
    pub corrections: Vec<f64>,
    /// The scheme to use.
    pub choice: SchemeKind,
    /// The reason.
    pub why: String,
}

impl Advice {
    /// The expected throughput of each candidate: its corrected prediction.
    pub fn expected(&self) -> impl Iterator<Item = (SchemeKind, f64)> {
        let corrected = self.predictions.iter().zip(&self.corrections);
        corrected.map(|(prediction, correction)| (prediction.scheme, prediction.per_second * correction))
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Statistics { several, participants, rounds, single_aborts, several_aborts, hottest, .. } = self.load;
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        writeln!(
            f,
            "load:  {} distributed transactions, on {participants:.1} partitions in {rounds:.2} rounds",
            percent(several)
        )?;
        writeln!(
            f,
            "       aborts: {} of those on one partition, {} of those on several; the hottest row: {} of a \
             partition's runs",
            percent(single_aborts),
            percent(several_aborts),
            percent(hottest)
        )?;
        writeln!(
            f,
            "       {} partitions, coordinators: {}, {:.0} calls in flight, {:.0} transactions a second, a round trip \
             of {:.1} µs",
            self.load.partitions,
            self.load.coordinators,
            self.load.clients,
            self.load.per_second,
            self.load.round_trip_us
        )?;
        let t = &self.times;
        writeln!(
            f,
            "times: t_sp {:.2} µs, t_spS {:.2}, l {}, a fragment {:.2}, a decision {:.2}, stopping {:.2}, undoing \
             {:.2}, a message at the coordinator {:.2}",
            t.single_us,
            t.single_us * t.keeping,
            percent(t.locking),
            t.fragment_us,
            t.decide_us,
            t.stopped_us,
            t.undo_us,
            t.message_us
        )?;
        for (prediction, correction) in self.predictions.iter().zip(&self.corrections) {
            writeln!(f, "\n{}", prediction.scheme)?;
            for term in prediction.terms.iter().filter(|term| term.us >= 0.005) {
                writeln!(f, "  {:>10.2} µs  {}", term.us, term.name)?;
            }
            let us: f64 = prediction.terms.iter().map(|term| term.us).sum();
            writeln!(f, "  {us:>10.2} µs  a transaction, of all partitions")?;
            for limit in &prediction.limits {
                writeln!(f, "  {:>10.0} /s  {}", limit.per_second, limit.name)?;
            }
            let expected = prediction.per_second * correction;
            writeln!(f, "  {expected:>10.0} /s  expected: the least of these, times {correction:.3}")?;
        }
        let others = SchemeKind::LOW_OVERHEAD
            .into_iter()
            .filter(|scheme| self.predictions.iter().all(|it| it.scheme != *scheme));
        let others =
            others.map(|scheme| format!("{scheme} {:.0}", predict(scheme, &self.load, &self.times).per_second));
        writeln!(f, "\nno candidates, /s by the model alone: {}", others.collect::<Vec<_>>().join(", "))?;
        write!(f, "\nthe choice: {} ({})", self.choice, self.why)
    }
}
