//! Proposes schemes.
//!
//! The model predicts the throughput of each scheme. The throughput of the scheme in force is measured, and trusted
//! while the load stays similar; the model then only accounts for the small changes of the load. So a scheme that the
//! model overestimates is tried once, and left. Half of the error on the tried schemes is applied to the untried ones:
//! part of it is due to the machine. The more the measurements vary, the larger the lead that another scheme must have.

use super::advice::Advice;
use super::model::{Prediction, predict};
use super::statistics::{Counted, Counters, Statistics, Surroundings};
use super::times::Times;
use crate::protocol::configuration::SchemeKind;

/// The candidates: for every load one of these is the best. Of equal ones, the last is proposed.
pub const CANDIDATES: [SchemeKind; 4] =
    [SchemeKind::Blocking, SchemeKind::LimitedSpeculation, SchemeKind::Speculation, SchemeKind::Locking];

/// Positions of candidates.
const LIMITED: usize = 1;
const UNLIMITED: usize = 2;
/// Predictions that differ by less are equal.
const ALIKE: f64 = 1e-6;
/// The minimum lead of another scheme, as a share.
const MARGIN: f64 = 0.03;
/// The weight of the newest measurement.
const NEWEST: f64 = 0.3;
/// The minimum lead of another scheme, in terms of the difference of successive measurements.
const APART: f64 = 1.5;

/// The throughput of a scheme while it was in force.
#[derive(Debug, Clone, Copy)]
struct Tried {
    /// The last load, with the mean throughput.
    load: Statistics,
    /// The last throughput.
    last: f64,
    /// The mean difference of successive measurements, as a share.
    apart: f64,
}

/// Observes a load, and proposes the scheme that suits it.
#[derive(Debug)]
pub struct Advisor {
    now: SchemeKind,
    times: Times,
    before: Option<Counted>,
    /// Intervals to skip because of a recent change.
    settling: u32,
    /// By candidate, under loads that resemble `first`.
    tried: [Option<Tried>; CANDIDATES.len()],
    /// The first of these loads.
    first: Option<Statistics>,
    advice: Option<Advice>,
}

impl Advisor {
    /// An advisor of a cluster that began with this scheme.
    pub fn new(now: SchemeKind) -> Self {
        let tried = [None; CANDIDATES.len()];
        Self { now, times: Times::default(), before: None, settling: 0, tried, first: None, advice: None }
    }

    /// The latest advice.
    pub fn advice(&self) -> Option<&Advice> {
        self.advice.as_ref()
    }

    /// The cluster uses this scheme from now on.
    pub fn switched(&mut self, now: SchemeKind) {
        if self.now != now {
            (self.now, self.settling) = (now, 1);
        }
    }

    /// The present interval was disturbed, and says nothing about the scheme.
    pub fn disturbed(&mut self) {
        self.settling = self.settling.max(1);
    }

    /// Ends an interval, with the counters so far and the conditions in the interval; the scheme to change to, if there
    /// is one.
    pub fn observe(&mut self, counted: &Counted, around: &Surroundings) -> Option<SchemeKind> {
        let before = self.before.replace(*counted)?;
        self.times.learn(
            self.now,
            &counted.partitions.since(before.partitions),
            &counted.coordinator.since(before.coordinator),
        );
        if self.settling > 0 {
            self.settling -= 1;
            return None;
        }
        let seen = counted.seen.since(before.seen);
        if seen == Counters::default() || around.hottest.is_none() {
            return None;
        }
        let advice = self.consider(Statistics::of(&seen, around));
        let choice = advice.choice;
        self.advice = Some(advice);
        (choice != self.now).then_some(choice)
    }

    fn consider(&mut self, load: Statistics) -> Advice {
        if !self.first.as_ref().is_some_and(|first| first.resembles(&load)) {
            (self.tried, self.first) = (Default::default(), Some(load));
        }
        if let Some(now) = CANDIDATES.iter().position(|scheme| *scheme == self.now) {
            self.tried[now] = Some(match self.tried[now] {
                None => Tried { load, last: load.per_second, apart: 0.0 },
                Some(Tried { load: Statistics { per_second: before, .. }, last, apart }) => {
                    let newest = (load.per_second / last - 1.0).abs().min(1.0);
                    let per_second = before + NEWEST * (load.per_second - before);
                    let apart = apart + NEWEST * (newest - apart);
                    Tried { load: Statistics { per_second, ..load }, last: load.per_second, apart }
                }
            });
            // The variation of older measurements loses its weight.
            let others = self.tried.iter_mut().enumerate().filter(|(at, _)| *at != now);
            others.filter_map(|(_, tried)| tried.as_mut()).for_each(|tried| tried.apart *= 1.0 - NEWEST / 2.0);
        }
        let predictions = CANDIDATES.map(|scheme| predict(scheme, &load, &self.times));
        // Both with the present durations, which differ with every measurement and scheme, so their changes cancel out.
        let correct = |(scheme, tried): (SchemeKind, Option<Tried>)| {
            tried.map(|Tried { load, .. }| load.per_second / predict(scheme, &load, &self.times).per_second)
        };
        let mut measured: Vec<_> = CANDIDATES.into_iter().zip(self.tried).map(correct).collect();
        if (predictions[LIMITED].per_second / predictions[UNLIMITED].per_second - 1.0).abs() < ALIKE {
            // Without aborts they are one scheme: to try the other would say nothing new.
            (measured[LIMITED], measured[UNLIMITED]) =
                (measured[LIMITED].or(measured[UNLIMITED]), measured[UNLIMITED].or(measured[LIMITED]));
        }
        let of_untried = untried(measured.iter().copied().flatten());
        let corrections: Vec<_> = measured.into_iter().map(|it| it.unwrap_or(of_untried)).collect();
        let apart = self.tried.iter().flatten().map(|tried| tried.apart).fold(0.0, f64::max);
        let (choice, why) = choose(self.now, &predictions, &corrections, MARGIN.max(APART * apart));
        let (times, now) = (self.times, self.now);
        Advice { load, times, now, predictions: predictions.to_vec(), corrections, choice, why }
    }
}

/// The correction of an untried scheme: the square root of the geometric mean of the others'.
fn untried(others: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = others.fold((0.0, 0.0), |(sum, count), it| (sum + it.max(1e-3).ln(), count + 1.0));
    if count > 0.0 { (0.5 * sum / count).exp() } else { 1.0 }
}

fn choose(now: SchemeKind, predictions: &[Prediction], corrections: &[f64], margin: f64) -> (SchemeKind, String) {
    let expected = |at: usize| predictions[at].per_second * corrections[at];
    let Some(at) = CANDIDATES.iter().position(|scheme| *scheme == now) else {
        let best = (0..CANDIDATES.len()).max_by(|&a, &b| expected(a).total_cmp(&expected(b)));
        let best = CANDIDATES[best.expect("there are candidates")];
        return (best, "the highest; the present scheme is no candidate".to_owned());
    };
    let ahead = |other: usize| expected(other) / expected(at) - 1.0;
    let others = (0..CANDIDATES.len()).filter(|other| *other != at);
    let best = others.max_by(|&a, &b| ahead(a).total_cmp(&ahead(b))).expect("there are several");
    if ahead(best) > margin {
        let more = 100.0 * ahead(best);
        (CANDIDATES[best], format!("expected to be {more:.1} % faster than {now}"))
    } else {
        (now, format!("no other is expected to be more than {:.1} % faster", 100.0 * margin))
    }
}

impl Advice {
    /// The advice for a load and durations, when no scheme was tried.
    pub fn of_model(load: Statistics, times: Times, now: SchemeKind) -> Self {
        let predictions = CANDIDATES.map(|scheme| predict(scheme, &load, &times));
        let corrections = vec![1.0; CANDIDATES.len()];
        let (choice, why) = choose(now, &predictions, &corrections, MARGIN);
        Self { load, times, now, predictions: predictions.to_vec(), corrections, choice, why }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(several: f64, per_second: f64) -> Statistics {
        Statistics { several, per_second, round_trip_us: 120.0, ..Statistics::default() }
    }

    #[test]
    fn a_scheme_that_is_ahead_is_proposed_and_left_when_it_disappoints() {
        let mut advisor = Advisor::new(SchemeKind::Blocking);
        let predicted = |scheme, several| predict(scheme, &load(several, 0.0), &Times::default()).per_second;
        let as_predicted = |scheme, several| load(several, predicted(scheme, several));
        let advice = advisor.consider(as_predicted(SchemeKind::Blocking, 0.3));
        let first = advice.choice;
        assert_ne!(first, SchemeKind::Blocking, "{advice}");
        // It achieves much less than predicted: others are tried, and finally the best is kept.
        advisor.switched(first);
        let poor = load(0.3, 0.5 * predicted(SchemeKind::Blocking, 0.3));
        let mut tried = vec![first];
        while let choice = advisor.consider(poor).choice
            && choice != advisor.now
        {
            assert!(tried.len() < 4, "{tried:?}");
            tried.push(choice);
            advisor.switched(choice);
            if choice == SchemeKind::Blocking {
                break;
            }
        }
        assert_eq!(advisor.now, SchemeKind::Blocking, "{tried:?}");
        assert_eq!(advisor.consider(as_predicted(SchemeKind::Blocking, 0.3)).choice, SchemeKind::Blocking);
        // Another load: the measurements are no longer valid.
        let advice = advisor.consider(as_predicted(SchemeKind::Blocking, 0.8));
        assert_eq!(advice.choice, first, "{advice}");
        assert!(advice.to_string().contains("the choice: "));
    }

    #[test]
    fn half_of_the_models_error_is_applied_to_untried_schemes() {
        for (others, expected) in [(&[][..], 1.0), (&[1.0], 1.0), (&[0.25], 0.5), (&[0.5, 0.125], 0.5), (&[4.0], 2.0)] {
            let correction = untried(others.iter().copied());
            assert!((correction - expected).abs() < 1e-9, "{others:?}: {correction}");
        }
    }

    #[test]
    fn the_required_lead_grows_with_the_variation_of_the_measurements() {
        let choice = |varies: f64| {
            let mut advisor = Advisor::new(SchemeKind::Blocking);
            for (scheme, per_second) in [(SchemeKind::Blocking, 100.0), (SchemeKind::Locking, 1_060.0)] {
                advisor.switched(scheme);
                advisor.consider(load(0.3, per_second));
            }
            advisor.switched(SchemeKind::Speculation);
            let measured = [1.0, 1.0 + varies, 1.0 - varies].into_iter().cycle().take(9);
            measured.map(|share| advisor.consider(load(0.3, 1_000.0 * share)).choice).last()
        };
        assert_eq!(choice(0.005), Some(SchemeKind::Locking));
        assert_eq!(choice(0.15), Some(SchemeKind::Speculation));
    }
}
