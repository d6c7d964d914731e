//! The simulated series: each line of each figure is a scheme under a load, over the share of transactions on two
//! partitions.

use glassbox_cluster::SchemeKind;
use glassbox_sim::cluster::{ALL, Link, Load, Settings};

use crate::figures::Colour;
use crate::points::Points;

// Names of rows, and of the schemes in sentences.
pub(super) const BLOCKING: &str = "blocking";
pub(super) const SPECULATION: &str = "speculation";
pub(super) const LOCAL: &str = "local speculation";
pub(super) const LOCKING: &str = "locking";
pub(super) const FORCED: &str = "forced locking";

/// Transactions that ended, per second of virtual time.
pub(super) const THROUGHPUT: &str = "throughput";
/// The utilization of a coordinator, on average.
pub(super) const COORDINATOR_BUSY: &str = "coordinator_busy";
/// The utilization of a partition, on average.
pub(super) const PARTITION_BUSY: &str = "partition_busy";
/// Transactions that were restarted because of deadlocks, per second.
pub(super) const RETRIES: &str = "retries";

/// Shares of [`Load`], from percent.
pub(super) const PERCENT: u64 = ALL / 100;

/// A share of [`Load`], from percent.
pub(crate) const fn percent(share: u64) -> u64 {
    share * PERCENT
}

/// A series: one line of a figure.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    /// The figure that it belongs to.
    pub figure: &'static str,
    /// Its name there.
    pub row: String,
    /// The scheme of the partitions.
    pub scheme: SchemeKind,
    /// The load, except for the share on two partitions.
    pub load: Load,
    /// The difference from the paper's settings.
    pub change: fn(&mut Settings),
    /// The links, if they are not the paper's.
    pub link: Option<Link>,
    /// The interval of the advisor; 0: never.
    pub advice_us: u64,
    /// The multiple of the measured time of other series.
    pub longer: u64,
    /// The shares in percent, if they are not all.
    pub shares: Option<Vec<u64>>,
}

impl Series {
    /// A series over all shares, with the paper's settings.
    pub fn new(figure: &'static str, row: impl Into<String>, scheme: SchemeKind, load: Load) -> Self {
        let row = row.into();
        Self { figure, row, scheme, load, change: |_| {}, link: None, advice_us: 0, longer: 1, shares: None }
    }

    /// Its cluster at a share.
    pub fn settings(&self, percent: u64, seed: u64) -> Settings {
        let load = Load { several: percent * PERCENT, ..self.load };
        let mut settings = Settings { advice_us: self.advice_us, ..Settings::of_the_paper(self.scheme, load, seed) };
        settings.link = self.link.unwrap_or(settings.link);
        (self.change)(&mut settings);
        settings
    }
}

/// A scheme's colour in all figures.
pub(crate) fn colour(row: &str) -> Colour {
    match row {
        _ if row.starts_with(BLOCKING) => Colour(0x4e, 0x79, 0xa7),
        _ if row.starts_with(SPECULATION) => Colour(0x2f, 0x8f, 0x4e),
        _ if row.starts_with(LOCAL) => Colour(0x8c, 0xb3, 0x3c),
        _ if row.starts_with(FORCED) => Colour(0xb0, 0x7a, 0xa1),
        _ => Colour(0xe1, 0x57, 0x59),
    }
}

/// A number of a line at a share.
pub(super) fn value(points: &Points, figure: &str, row: &str, percent: u64, metric: &str) -> Option<f64> {
    points.at(figure, row, percent as f64, metric).map(|point| point.value)
}

/// Throughput at a share.
pub(super) fn rate(points: &Points, figure: &str, row: &str, percent: u64) -> Option<f64> {
    value(points, figure, row, percent, THROUGHPUT)
}

/// A line's throughput: shares in percent, ascending.
pub(super) fn curve(points: &Points, figure: &str, row: &str) -> Vec<(f64, f64)> {
    let of_line = points.0.iter().filter(|it| it.figure == figure && it.row == row && it.metric == THROUGHPUT);
    let mut curve: Vec<_> = of_line.map(|point| (point.x, point.value)).collect();
    curve.sort_by(|a, b| a.0.total_cmp(&b.0));
    curve
}

/// One line's throughput over another's, at the shares that both have.
pub(super) fn ratios(over: &[(f64, f64)], under: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let at = |x: f64| under.iter().find(|point| point.0 == x).map(|point| point.1);
    over.iter().filter_map(|&(x, y)| Some((x, y / at(x)?))).collect()
}

/// The share up to which the first is ahead of the second, by linear interpolation between two points. `None` if it is
/// never ahead, or ahead up to the end.
pub(super) fn ahead_until(first: &[(f64, f64)], second: &[(f64, f64)]) -> Option<f64> {
    let ratios = ratios(first, second);
    // At 0 % they may be equal, and are compared from the next share on.
    let from = ratios.iter().position(|point| point.1 > 1.0 + 1e-9)?;
    let end = from + ratios[from..].iter().position(|point| point.1 <= 1.0)?;
    let ((x0, y0), (x1, y1)) = (ratios[end - 1], ratios[end]);
    Some(x0 + (x1 - x0) * (y0 - 1.0) / (y0 - y1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_cross_between_their_points() {
        let first = [(0.0, 10.0), (2.0, 12.0), (4.0, 8.0)];
        let second = [(0.0, 10.0), (2.0, 10.0), (4.0, 10.0)];
        assert_eq!(ahead_until(&first, &second), Some(3.0));
        assert_eq!(ahead_until(&second, &first), None, "ahead to the end");
        assert_eq!(ratios(&first, &second[1..]), [(2.0, 1.2), (4.0, 0.8)]);
    }
}
