//! The share of runs that write the hottest row, from a sample of runs.

use std::collections::BTreeMap;

use glassbox::research::shard::{Touch, Watch, WatchedKey};
use smallvec::SmallVec;

/// One run in this many is sampled until there are enough.
const ONE_IN_AT_FIRST: u32 = 4;
/// One run in at least this many is sampled later.
const ONE_IN: u32 = 16;
/// The factor by which the sampling rate rises at the beginning of an interval.
const AFRESH: u32 = 2;
/// The number of samples that suffice for a share.
const ENOUGH: u64 = 32;
/// The number of samples after which all counts are halved.
const FULL: u64 = 8 * ENOUGH;

/// A space and a key in it.
pub(crate) type RowKey = (u32, WatchedKey);

/// Samples runs.
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    on: bool,
    runs: u32,
    /// The present sampling rate: one run in this many. Recording a run costs more than running it, and more runs need
    /// no more samples, so the rate is halved whenever there are enough.
    one_in: u32,
    /// Samples until the rate is halved.
    left: u64,
    noted: u64,
    /// For each key, the sampled runs that wrote it.
    written: BTreeMap<RowKey, u64>,
}

impl Sampler {
    /// Turns sampling off, or begins an interval.
    pub(crate) fn turn(&mut self, on: bool) {
        self.on = on;
        self.left = ENOUGH;
        let first = if self.noted < ENOUGH { ONE_IN_AT_FIRST } else { ONE_IN };
        self.one_in = (self.one_in / AFRESH).max(first);
    }

    /// Whether sampling is on.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.on
    }

    /// Whether the next run is sampled.
    pub(crate) fn is_due(&mut self) -> bool {
        if !self.on {
            return false;
        }
        self.runs += 1;
        let due = self.runs >= self.one_in;
        if due {
            self.runs = 0;
        }
        due
    }

    /// Adds a sample: the keys that a run wrote.
    pub(crate) fn note(&mut self, written: &[RowKey]) {
        if self.noted >= FULL {
            self.noted /= 2;
            self.written.retain(|_, count| {
                *count /= 2;
                *count > 0
            });
        }
        self.noted += 1;
        self.left -= 1;
        if self.left == 0 {
            self.left = ENOUGH;
            self.one_in = self.one_in.saturating_mul(2).max(ONE_IN);
        }
        for key in written {
            *self.written.entry(key.clone()).or_default() += 1;
        }
    }

    /// The share of runs that write the hottest row; `None`: too few samples.
    pub(crate) fn hottest(&self) -> Option<f64> {
        let most = self.written.values().max().copied().unwrap_or_default();
        (self.noted >= ENOUGH).then(|| (most as f64 / self.noted as f64).min(1.0))
    }
}

/// Watches one run, in addition to its own watch.
pub(crate) struct Sampling<'a, 'w> {
    /// Each key once.
    pub(crate) written: SmallVec<[RowKey; 16]>,
    watch: Option<&'a mut (dyn Watch + 'w)>,
}

impl<'a, 'w> Sampling<'a, 'w> {
    pub(crate) fn beside(watch: Option<&'a mut (dyn Watch + 'w)>) -> Self {
        Self { written: SmallVec::new(), watch }
    }
}

impl Watch for Sampling<'_, '_> {
    fn point(&mut self, space: u32, key: WatchedKey, touch: Touch) -> bool {
        if touch == Touch::Write && !self.written.iter().any(|written| written.0 == space && written.1 == key) {
            self.written.push((space, key.clone()));
        }
        match &mut self.watch {
            Some(watch) => (**watch).point(space, key, touch),
            None => true,
        }
    }

    fn range(&mut self, space: u32, low: WatchedKey, high: WatchedKey) -> bool {
        match &mut self.watch {
            Some(watch) => (**watch).range(space, low, high),
            None => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u128) -> WatchedKey {
        WatchedKey::Short(number)
    }

    #[test]
    fn the_hottest_row_is_found_and_forgotten() {
        let mut sampler = Sampler::default();
        assert!((0..100).all(|_| !sampler.is_due()), "it is off");
        sampler.turn(true);
        let due = (0..1600).filter(|_| sampler.is_due()).count();
        assert_eq!(due, 400, "none is noted yet");
        for run in 0..400_u128 {
            let mut watch = Sampling::beside(None);
            assert!(watch.point(1, key(run), Touch::Write) && watch.range(1, key(0), key(9)));
            if run % 4 == 0 {
                assert!((0..2).all(|_| watch.point(1, key(1 << 20), Touch::Write)));
            }
            watch.point(1, key(1 << 21), Touch::Read);
            sampler.note(&watch.written);
        }
        assert!((sampler.hottest().unwrap() - 0.25).abs() < 0.01, "{sampler:?}");
        // Enough samples for the twelfth time: one run in 32,768 is sampled, and then half as many.
        assert_eq!((0..3_276_800).filter(|_| sampler.is_due()).count(), 100);
        sampler.turn(true);
        assert_eq!((0..1_638_400).filter(|_| sampler.is_due()).count(), 100);
        for run in 0..4000_u128 {
            sampler.note(&[(2, key(run))]);
        }
        assert!(sampler.hottest().unwrap() < 0.02, "{sampler:?}");
    }
}
