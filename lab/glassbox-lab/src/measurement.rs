//! What all measurements share: progress that a caller can follow and interrupt, and repeated measurements as a few
//! numbers.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// Follows a measurement, and may end it.
pub trait Progress {
    /// Step `done` of `of` starts.
    fn step(&self, done: usize, of: usize, what: &str);
    /// Whether to stop early, with the results so far.
    fn interrupted(&self) -> bool;
}

/// Runs jobs on all cores, in any order; their results in the order of the jobs, and `None` for those that an
/// interrupt left out. `name` says what a job is.
pub(crate) fn run_on_all_cores<J: Sync, R: Send>(
    jobs: &[J],
    run: impl Fn(&J) -> R + Sync,
    name: impl Fn(&J) -> String,
    watch: &dyn Progress,
) -> Vec<Option<R>> {
    let mut results: Vec<Option<R>> = jobs.iter().map(|_| None).collect();
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let workers = thread::available_parallelism().map_or(1, NonZero::get).min(jobs.len());
    watch.step(0, jobs.len(), "simulated runs");
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..workers {
            let (sender, run, next, stop) = (sender.clone(), &run, &next, &stop);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(at) else { break };
                    // The receiver is gone only if the scope ends by a panic.
                    let _ = sender.send((at, run(job)));
                }
            });
        }
        drop(sender);
        for (done, (at, result)) in receiver.into_iter().enumerate() {
            watch.step(done + 1, jobs.len(), &name(&jobs[at]));
            results[at] = Some(result);
            if watch.interrupted() {
                stop.store(true, Ordering::Relaxed);
            }
        }
    });
    results
}

/// A median with its quartiles and extremes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The minimum.
    pub min: f64,
    /// The lower quartile.
    pub low: f64,
    /// The median; of an even number, the mean of the middle two.
    pub median: f64,
    /// The upper quartile.
    pub high: f64,
    /// The maximum.
    pub max: f64,
}

impl Spread {
    /// Of these measurements.
    ///
    /// # Panics
    /// When there are none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        assert!(!values.is_empty(), "a spread needs at least one measurement");
        values.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = share * (values.len() - 1) as f64;
            let (below, above) = (values[place.floor() as usize], values[place.ceil() as usize]);
            below + (above - below) * place.fract()
        };
        Self { min: at(0.0), low: at(0.25), median: at(0.5), high: at(0.75), max: at(1.0) }
    }

    /// Of the ratios of measurements that form pairs; not the ratio of the medians.
    ///
    /// # Panics
    /// When there are none, or the numbers differ.
    pub fn of_ratios(values: &[f64], bases: &[f64]) -> Self {
        assert_eq!(values.len(), bases.len(), "ratios are formed in pairs");
        Self::of(values.iter().zip(bases).map(|(value, base)| value / base))
    }

    /// The distance between the quartiles; `None` when there were not enough measurements to have any.
    pub fn middle_half(&self) -> Option<f64> {
        (self.low < self.high).then_some(self.high - self.low)
    }
}

/// Progress of a test, which checks it and shows nothing.
#[cfg(test)]
pub(crate) struct Silent;

#[cfg(test)]
impl Progress for Silent {
    fn step(&self, done: usize, of: usize, _: &str) {
        assert!(done < of, "step {done} of {of}");
    }

    fn interrupted(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_of_the_sorted_measurements() {
        let spread = Spread::of([9.0, 1.0, 5.0, 3.0, 7.0]);
        assert_eq!(spread, Spread { min: 1.0, low: 3.0, median: 5.0, high: 7.0, max: 9.0 });
        assert_eq!(spread.middle_half(), Some(4.0));
        assert_eq!(Spread::of([4.0, 1.0]).median, 2.5);
        assert_eq!(Spread::of([2.0]).middle_half(), None);
    }

    #[test]
    fn ratios_are_formed_within_a_round() {
        // The machine was three times as slow in the second round, which affects the ratio of medians only.
        let spread = Spread::of_ratios(&[50.0, 20.0, 60.0], &[100.0, 33.0, 100.0]);
        assert_eq!((spread.min, spread.median), (0.5, 0.6));
        assert!((spread.max - 20.0 / 33.0).abs() < 1e-12);
    }
}
