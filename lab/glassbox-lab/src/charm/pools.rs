//! Pools by the share of New-Order executions that need the disk.

use glassbox_workloads::tpcc::Kind;

use super::run::{Bench, PAGES_PER_SESSION, RunLength, RunSettings};
use crate::measurement::Progress;

/// The paper's shares, for its pools of 512, 384, 256 and 128 MB (Table 4), in percent.
pub(super) const SHARES: [f64; 4] = [13.3, 22.0, 75.5, 99.8];

/// Sizes that are tried.
const SIZES: usize = 9;
/// Sessions while trying.
const SESSIONS: usize = 4;

/// Sizes of a pool, in pages, and the share for each, in percent.
#[derive(Debug, Clone, Default)]
pub(super) struct Pools(pub(super) Vec<(usize, f64)>);

impl Pools {
    /// Tries sizes up to that of the database.
    pub(super) fn measure(
        bench: &Bench<'_>,
        (warm_up, transactions): (u64, u64),
        watch: &dyn Progress,
    ) -> anyhow::Result<Self> {
        let (least, most) = (PAGES_PER_SESSION * SESSIONS, bench.pages()?);
        let step = (most as f64 / least as f64).powf(1.0 / (SIZES - 1) as f64);
        let mut tried = Vec::new();
        for at in 0..SIZES {
            if watch.interrupted() {
                break;
            }
            let pages = (least as f64 * step.powi(at as i32)) as usize;
            watch.step(at, SIZES, &format!("how often a New-Order needs the disk, with {pages} pages in memory"));
            let run = RunSettings::plain(pages, SESSIONS);
            let ran = bench.run(&run, warm_up, RunLength::Transactions(transactions))?;
            tried.push((pages, 100.0 * ran.of(Kind::NewOrder).two_stage_ratio));
        }
        Ok(Self(tried))
    }

    /// The size for which the share is nearest to this one, between the sizes that were tried.
    pub(super) fn size(&self, share: f64) -> usize {
        for pair in self.0.windows(2) {
            let ((small, more), (large, less)) = (pair[0], pair[1]);
            if more >= share && share >= less {
                let part = (more - share) / (more - less).max(f64::MIN_POSITIVE);
                let log = (small as f64).ln() + part * (large as f64 / small as f64).ln();
                return log.exp().round() as usize;
            }
        }
        let nearest = |it: &&(usize, f64)| ((it.1 - share).abs() * 1e3) as u64;
        self.0.iter().min_by_key(nearest).map_or(PAGES_PER_SESSION * SESSIONS, |it| it.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Pools;

    #[test]
    fn sizes_lie_between_those_that_were_tried() {
        let pools = Pools(vec![(100, 100.0), (200, 60.0), (400, 20.0), (800, 0.0)]);
        assert_eq!(pools.size(60.0), 200);
        assert_eq!(pools.size(40.0), 283, "in the middle of the logarithms");
        assert_eq!((pools.size(100.0), pools.size(0.0)), (100, 800));
        assert_eq!(Pools(vec![(100, 90.0), (200, 60.0)]).size(99.8), 100, "the nearest there is");
    }
}
