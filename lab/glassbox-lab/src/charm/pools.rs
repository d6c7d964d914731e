//! Pools by the share of New-Order executions that need the disk, or by the pages that a transaction reads.

use glassbox_workloads::tpcc::Kind;

use super::run::{Bench, PAGES_PER_SESSION, RunLength, RunSettings, WarmUp};
use crate::measurement::Progress;

/// The paper's shares, for its pools of 512, 384, 256 and 128 MB (Table 4), in percent.
pub(super) const SHARES: [f64; 4] = [13.3, 22.0, 75.5, 99.8];

/// Sizes that are tried, each in the same ratio to the one before.
const SIZES: usize = 9;
/// Sessions while trying.
const SESSIONS: usize = 4;
/// Transactions for which the share is measured.
const TRANSACTIONS: u64 = 10_000;

/// The number by which the size of a pool is chosen.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub(super) enum PoolTarget {
    /// The New-Order executions that need the disk, in percent.
    Share(f64),
    /// The pages that a transaction reads.
    Reads(f64),
}

/// A size that was tried.
#[derive(Debug, Clone, Copy)]
pub(super) struct TriedSize {
    pub pages: usize,
    /// New-Order executions that need the disk, in percent.
    pub share: f64,
    /// Pages that a transaction reads.
    pub reads: f64,
}

/// The sizes of a pool that were tried, ascending.
#[derive(Debug, Clone, Default)]
pub(super) struct Pools(pub(super) Vec<TriedSize>);

impl PoolTarget {
    fn wanted(self) -> f64 {
        match self {
            Self::Share(wanted) | Self::Reads(wanted) => wanted,
        }
    }

    fn of(self, tried: &TriedSize) -> f64 {
        match self {
            Self::Share(_) => tried.share,
            Self::Reads(_) => tried.reads,
        }
    }

    /// Whether a size is as good as another try would be.
    fn is_close(self, tried: &TriedSize) -> bool {
        let close = match self {
            Self::Share(_) => 1.0,
            Self::Reads(_) => 0.02,
        };
        (self.of(tried) - self.wanted()).abs() < close
    }
}

impl Pools {
    /// Tries sizes up to that of the database; then, a number of times for each target, the size that seems right.
    pub(super) fn measure(
        bench: &Bench<'_>,
        warm_up: WarmUp,
        (targets, refinements): (&[PoolTarget], usize),
        watch: &dyn Progress,
    ) -> anyhow::Result<Self> {
        let (least, most) = (PAGES_PER_SESSION * SESSIONS, bench.pages()?);
        let step = (most as f64 / least as f64).powf(1.0 / (SIZES - 1) as f64);
        let all = SIZES + targets.len() * refinements;
        let mut pools = Self::default();
        for at in 0..SIZES {
            let pages = (least as f64 * step.powi(at as i32)) as usize;
            pools.try_size(bench, warm_up, pages, (at, all), watch)?;
        }
        for (at, target) in targets.iter().flat_map(|it| (0..refinements).map(move |_| it)).enumerate() {
            let pages = pools.size(*target);
            if !pools.0.iter().any(|tried| tried.pages == pages || target.is_close(tried)) {
                pools.try_size(bench, warm_up, pages, (SIZES + at, all), watch)?;
            }
        }
        Ok(pools)
    }

    /// Measures a size, unless it is interrupted.
    fn try_size(
        &mut self,
        bench: &Bench<'_>,
        warm_up: WarmUp,
        pages: usize,
        (at, all): (usize, usize),
        watch: &dyn Progress,
    ) -> anyhow::Result<()> {
        if watch.interrupted() {
            return Ok(());
        }
        watch.step(at, all, &format!("how often the disk is needed, with {pages} pages in memory"));
        let run = RunSettings::plain(pages, SESSIONS);
        let ran = bench.run(&run, warm_up, RunLength::Transactions(TRANSACTIONS))?;
        let share = 100.0 * ran.of(Kind::NewOrder).two_stage_ratio;
        let reads = ran.mean(|it| it.fetch_reads + it.operate_reads);
        let place = self.0.partition_point(|tried| tried.pages < pages);
        self.0.insert(place, TriedSize { pages, share, reads });
        Ok(())
    }

    /// The size that is nearest to a target, between the sizes that were tried.
    pub(super) fn size(&self, target: PoolTarget) -> usize {
        let wanted = target.wanted();
        for pair in self.0.windows(2) {
            let ([small, large], [more, less]) = ([pair[0], pair[1]], [&pair[0], &pair[1]].map(|it| target.of(it)));
            if more >= wanted && wanted >= less {
                let part = (more - wanted) / (more - less).max(f64::MIN_POSITIVE);
                let log = (small.pages as f64).ln() + part * (large.pages as f64 / small.pages as f64).ln();
                return log.exp().round() as usize;
            }
        }
        let nearest = |it: &&TriedSize| ((target.of(it) - wanted).abs() * 1e3) as u64;
        self.0.iter().min_by_key(nearest).map_or(PAGES_PER_SESSION * SESSIONS, |it| it.pages)
    }
}

#[cfg(test)]
mod tests {
    use super::{PoolTarget, Pools, TriedSize};

    #[test]
    fn sizes_lie_between_those_that_were_tried() {
        let tried = |(pages, share): (usize, f64)| TriedSize { pages, share, reads: share / 50.0 };
        let pools = Pools([(100, 100.0), (200, 60.0), (400, 20.0), (800, 0.0)].map(tried).to_vec());
        let of_share = |share| pools.size(PoolTarget::Share(share));
        assert_eq!(of_share(60.0), 200);
        assert_eq!(of_share(40.0), 283, "in the middle of the logarithms");
        assert_eq!((of_share(100.0), of_share(0.0)), (100, 800));
        assert_eq!((pools.size(PoolTarget::Reads(0.8)), pools.size(PoolTarget::Reads(9.0))), (283, 100));
        let few = Pools([(100, 90.0), (200, 60.0)].map(tried).to_vec());
        assert_eq!(few.size(PoolTarget::Share(99.8)), 100, "the nearest there is");
    }
}
