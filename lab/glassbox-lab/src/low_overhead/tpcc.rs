//! TPC-C on two partitions, for Figures 8 and 9, and its extent.

use glassbox_cluster::SchemeKind;
use glassbox_sim::cluster::{Settings, Tpcc};
use glassbox_workloads::tpcc::{Mix, Remote, Scale};

use super::plan::TpccPlan;
use super::series::{BLOCKING, LOCKING, SPECULATION};
use crate::points::Points;

/// In results, TPC-C by warehouses.
pub(crate) const FIGURE_8: &str = "Figure 8";
/// In results, New-Order alone.
pub(crate) const FIGURE_9: &str = "Figure 9";
/// In results, the share of transactions on two partitions, in percent.
pub(crate) const SEVERAL: &str = "on_two_partitions";
/// In results, the share of a partition's work that is spent on locks, in percent.
pub(super) const LOCKS: &str = "locks";

/// The schemes that are compared.
pub(crate) const SCHEMES: [(&str, SchemeKind); 3] =
    [(BLOCKING, SchemeKind::Blocking), (SPECULATION, SchemeKind::Speculation), (LOCKING, SchemeKind::Locking)];

fn load(plan: &TpccPlan, warehouses: u16, mix: Mix, remote: Remote) -> Tpcc {
    Tpcc { scale: Scale { warehouses, ..plan.scale }, mix, remote }
}

/// Every point of both figures.
pub(crate) fn points(plan: &TpccPlan) -> Vec<TpccPoint> {
    let figure8 = plan
        .warehouses
        .iter()
        .map(|&count| (FIGURE_8, u64::from(count), load(plan, count, Mix::Full, Remote::SPECIFICATION)));
    let figure9 = plan.shares.iter().map(|&share| {
        let remote = remote(share as f64 / 100.0);
        (FIGURE_9, share, load(plan, WAREHOUSES, Mix::NewOrderOnly, remote))
    });
    let of_scheme = |(figure, x, load)| {
        SCHEMES.map(|(row, scheme)| TpccPoint {
            figure,
            row,
            x,
            settings: Settings::of_the_paper_s_tpcc(scheme, load, 1),
        })
    };
    figure8.chain(figure9).flat_map(of_scheme).collect()
}

/// A scheme at a point of a figure.
#[derive(Debug, Clone)]
pub(crate) struct TpccPoint {
    /// The figure.
    pub figure: &'static str,
    /// The scheme's name.
    pub row: &'static str,
    /// The position on the horizontal axis.
    pub x: u64,
    /// The cluster, with the paper's costs and any seed.
    pub settings: Settings<Tpcc>,
}

/// The mean of a metric over all schemes at a point.
pub(super) fn mean(points: &Points, figure: &str, x: u64, metric: &str) -> Option<f64> {
    let of_schemes = SCHEMES.iter().filter_map(|(row, _)| points.at(figure, row, x as f64, metric));
    let values: Vec<f64> = of_schemes.map(|point| point.value).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// As in the paper.
pub(crate) const WAREHOUSES: u16 = 6;
/// The share of the other warehouses that are on the other partition.
const ON_THE_OTHER: f64 = 3.0 / 5.0;

/// The share of orders on two partitions where this share of lines is supplied by another warehouse: an order has 5 to
/// 15 lines.
fn share_of(lines: f64) -> f64 {
    1.0 - (5..=15).map(|count| (1.0 - lines * ON_THE_OTHER).powi(count)).sum::<f64>() / 11.0
}

/// The share of lines from another warehouse that results in a share of orders on two partitions.
pub(crate) fn remote(share: f64) -> Remote {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if share_of(middle) < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    Remote { order_lines: 100.0 * low, payments: 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_remote_lines_results_in_the_share_of_orders() {
        assert_eq!(remote(0.0).order_lines, 0.0);
        for share in [0.1, 0.5, 0.9] {
            assert!((share_of(remote(share).order_lines / 100.0) - share).abs() < 1e-9);
        }
        // If all others were on the other partition: the paper's 9.5 % of 1 %.
        assert!((share_of(0.01 / ON_THE_OTHER) - 0.095).abs() < 0.001);
    }
}
