//! How often the most wanted row is touched: of a few runs, all that they touch is noted.

use std::collections::BTreeMap;

use glassbox::shard::{Touch, Watch};
use smallvec::SmallVec;

/// One run in so many is noted; at first, until there are enough.
const ONE_IN_AT_FIRST: u32 = 4;
/// One run in so many is noted, later, at least.
const ONE_IN: u32 = 16;
/// A stretch of time begins with so many times more notes than the one before ended with.
const AFRESH: u32 = 2;
/// Enough runs for a share.
const ENOUGH: u64 = 32;
/// Runs after which half of what was noted is forgotten.
const FULL: u64 = 8 * ENOUGH;

/// A space and a key in it.
pub(crate) type Key = (u32, u128);

/// Notes what some runs touch.
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    on: bool,
    runs: u32,
    /// One run in so many is noted now. To note a run costs more than to run it, and for a share there need not be more
    /// notes because there are more runs: with each that are enough, half as many.
    one_in: u32,
    /// Until fewer are noted.
    left: u64,
    noted: u64,
    /// How many of the noted runs wrote each.
    written: BTreeMap<Key, u64>,
}

impl Sampler {
    /// Notes nothing from now on, or begins a stretch of time.
    pub(crate) fn turn(&mut self, on: bool) {
        self.on = on;
        self.left = ENOUGH;
        let first = if self.noted < ENOUGH { ONE_IN_AT_FIRST } else { ONE_IN };
        self.one_in = (self.one_in / AFRESH).max(first);
    }

    /// Whether some runs are noted.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.on
    }

    /// Whether the next run is to be noted.
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

    /// Notes what a run wrote.
    pub(crate) fn note(&mut self, written: &[Key]) {
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
            *self.written.entry(*key).or_default() += 1;
        }
    }

    /// The share of runs that write the most wanted row; `None`: too few were noted.
    pub(crate) fn hottest(&self) -> Option<f64> {
        let most = self.written.values().max().copied().unwrap_or_default();
        (self.noted >= ENOUGH).then(|| (most as f64 / self.noted as f64).min(1.0))
    }
}

/// Watches one run, beside who watches it anyway.
pub(crate) struct Sampling<'a, 'w> {
    /// Each key once.
    pub(crate) written: SmallVec<[Key; 16]>,
    watch: Option<&'a mut (dyn Watch + 'w)>,
}

impl<'a, 'w> Sampling<'a, 'w> {
    pub(crate) fn beside(watch: Option<&'a mut (dyn Watch + 'w)>) -> Self {
        Self { written: SmallVec::new(), watch }
    }
}

impl Watch for Sampling<'_, '_> {
    fn point(&mut self, space: u32, key: u128, touch: Touch) -> bool {
        if touch == Touch::Write && !self.written.contains(&(space, key)) {
            self.written.push((space, key));
        }
        match &mut self.watch {
            Some(watch) => (**watch).point(space, key, touch),
            None => true,
        }
    }

    fn range(&mut self, space: u32, low: u128, high: u128) -> bool {
        match &mut self.watch {
            Some(watch) => (**watch).range(space, low, high),
            None => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_wanted_row_is_found_and_forgotten() {
        let mut sampler = Sampler::default();
        assert!((0..100).all(|_| !sampler.is_due()), "it is off");
        sampler.turn(true);
        let due = (0..1600).filter(|_| sampler.is_due()).count();
        assert_eq!(due, 400, "none is noted yet");
        for run in 0..400_u128 {
            let mut watch = Sampling::beside(None);
            assert!(watch.point(1, run, Touch::Write) && watch.range(1, 0, 9));
            if run % 4 == 0 {
                assert!(watch.point(1, 1 << 20, Touch::Write) && watch.point(1, 1 << 20, Touch::Write));
            }
            watch.point(1, 1 << 21, Touch::Read);
            sampler.note(&watch.written);
        }
        assert!((sampler.hottest().unwrap() - 0.25).abs() < 0.01, "{sampler:?}");
        // Twelve times there were enough: one in 32,768 is noted, and then one in half as many.
        assert_eq!((0..3_276_800).filter(|_| sampler.is_due()).count(), 100);
        sampler.turn(true);
        assert_eq!((0..1_638_400).filter(|_| sampler.is_due()).count(), 100);
        for run in 0..4000_u128 {
            sampler.note(&[(2, run)]);
        }
        assert!(sampler.hottest().unwrap() < 0.02, "{sampler:?}");
    }
}
