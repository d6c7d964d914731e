//! Proposes schemes.
//!
//! The model says what each scheme would come to. What the scheme in use does come to is measured, and believed as long
//! as the load is about the same; from there the model says only what little the load has changed since. So a scheme
//! that the model thinks too much of is tried once, and left. What the model has been wrong by with those that were
//! tried is believed half of those that were not: in part it is the machine's doing. The more what is measured varies
//! by itself, the more another scheme must be ahead.

use super::advice::Advice;
use super::model::{Prediction, predict};
use super::seen::Seen;
use super::statistics::{Counted, Statistics, Surroundings};
use super::times::Times;
use crate::protocol::scheme_kind::SchemeKind;

/// What the advisor chooses from: one of these is the best for every load.
pub const CANDIDATES: [SchemeKind; 3] = [SchemeKind::Blocking, SchemeKind::Speculation, SchemeKind::Locking];

/// Another scheme must be better by this share at least.
const MARGIN: f64 = 0.03;
/// How much the newest measurement counts.
const NEWEST: f64 = 0.3;
/// Another scheme must be better by so many times what a measurement is apart from the one before.
const APART: f64 = 1.5;

/// What a scheme came to when it was in use.
#[derive(Debug, Clone, Copy)]
struct Tried {
    /// The load of the last time, with the throughput of all times.
    load: Statistics,
    /// The throughput of the last time.
    last: f64,
    /// How far a measurement was from the one before, as a share.
    apart: f64,
}

/// Watches a load, and proposes the scheme that suits it.
#[derive(Debug)]
pub struct Advisor {
    now: SchemeKind,
    times: Times,
    before: Option<Counted>,
    /// Stretches of time that are passed over because something has just changed.
    settling: u32,
    /// By candidate: all under loads that resemble the first of them.
    tried: [Option<Tried>; CANDIDATES.len()],
    /// That one.
    first: Option<Statistics>,
    advice: Option<Advice>,
}

impl Advisor {
    /// An advisor of a cluster that has begun with this scheme.
    pub fn new(now: SchemeKind) -> Self {
        let tried = [None; CANDIDATES.len()];
        Self { now, times: Times::default(), before: None, settling: 0, tried, first: None, advice: None }
    }

    /// What the sums were when they were last made.
    pub fn advice(&self) -> Option<&Advice> {
        self.advice.as_ref()
    }

    /// The cluster uses this scheme from now on.
    pub fn switched(&mut self, now: SchemeKind) {
        if self.now != now {
            (self.now, self.settling) = (now, 1);
        }
    }

    /// Something else than the scheme was the matter: the stretch of time that ends now says nothing of it.
    pub fn disturbed(&mut self) {
        self.settling = self.settling.max(1);
    }

    /// A stretch of time is over: what was counted until now, and what else was seen in it. The scheme that is to be
    /// used instead of the one of now, if there is one.
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
        if seen == Seen::default() || around.hottest.is_none() {
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
            // Of what is long ago nobody knows how much it would vary now.
            let others = self.tried.iter_mut().enumerate().filter(|(at, _)| *at != now);
            others.filter_map(|(_, tried)| tried.as_mut()).for_each(|tried| tried.apart *= 1.0 - NEWEST / 2.0);
        }
        let predictions = CANDIDATES.map(|scheme| predict(scheme, &load, &self.times));
        // How long work takes is measured anew each time, and differently under each scheme: it must not matter here.
        let correct = |(scheme, tried): (SchemeKind, Option<Tried>)| {
            tried.map(|Tried { load, .. }| load.per_second / predict(scheme, &load, &self.times).per_second)
        };
        let measured: Vec<_> = CANDIDATES.into_iter().zip(self.tried).map(correct).collect();
        let of_untried = untried(measured.iter().copied().flatten());
        let corrections: Vec<_> = measured.into_iter().map(|it| it.unwrap_or(of_untried)).collect();
        let apart = self.tried.iter().flatten().map(|tried| tried.apart).fold(0.0, f64::max);
        let (choice, why) = choose(self.now, &predictions, &corrections, MARGIN.max(APART * apart));
        let (times, now) = (self.times, self.now);
        Advice { load, times, now, predictions: predictions.to_vec(), corrections, choice, why }
    }
}

/// The correction of what was not tried: the root of the geometric mean of the others'.
fn untried(others: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = others.fold((0.0, 0.0), |(sum, count), it| (sum + it.max(1e-3).ln(), count + 1.0));
    if count > 0.0 { (0.5 * sum / count).exp() } else { 1.0 }
}

fn choose(now: SchemeKind, predictions: &[Prediction], corrections: &[f64], margin: f64) -> (SchemeKind, String) {
    let expected = |at: usize| predictions[at].per_second * corrections[at];
    let Some(at) = CANDIDATES.iter().position(|scheme| *scheme == now) else {
        let best = (0..CANDIDATES.len()).max_by(|&a, &b| expected(a).total_cmp(&expected(b)));
        let best = CANDIDATES[best.expect("there are candidates")];
        return (best, "the highest; the scheme of now is none to be chosen from".to_owned());
    };
    let ahead = |other: usize| expected(other) / expected(at) - 1.0;
    let others = (0..CANDIDATES.len()).filter(|other| *other != at);
    let best = others.max_by(|&a, &b| ahead(a).total_cmp(&ahead(b))).expect("there are several");
    if ahead(best) > margin {
        let more = 100.0 * ahead(best);
        (CANDIDATES[best], format!("{more:.1} % more is expected of it than of {now}"))
    } else {
        (now, format!("no other is more than {:.1} % ahead of it", 100.0 * margin))
    }
}

impl Advice {
    /// What follows from a load and from how long work takes, when nothing has been tried.
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
    fn what_is_ahead_is_proposed_and_left_when_it_is_not() {
        let mut advisor = Advisor::new(SchemeKind::Blocking);
        let predicted = |scheme, several| predict(scheme, &load(several, 0.0), &Times::default()).per_second;
        let as_predicted = |scheme, several| load(several, predicted(scheme, several));
        let advice = advisor.consider(as_predicted(SchemeKind::Blocking, 0.3));
        let first = advice.choice;
        assert_ne!(first, SchemeKind::Blocking, "{advice}");
        // It comes to much less than the model said: something else is tried, and in the end the best is kept.
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
        // Another load: what was learned does not hold any more.
        let advice = advisor.consider(as_predicted(SchemeKind::Blocking, 0.8));
        assert_eq!(advice.choice, first, "{advice}");
        assert!(advice.to_string().contains("the choice: "));
    }

    #[test]
    fn what_the_model_is_wrong_by_is_half_believed_of_what_was_not_tried() {
        for (others, expected) in [(&[][..], 1.0), (&[1.0], 1.0), (&[0.25], 0.5), (&[0.5, 0.125], 0.5), (&[4.0], 2.0)] {
            let correction = untried(others.iter().copied());
            assert!((correction - expected).abs() < 1e-9, "{others:?}: {correction}");
        }
    }

    #[test]
    fn the_more_it_varies_the_more_another_must_be_ahead() {
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
