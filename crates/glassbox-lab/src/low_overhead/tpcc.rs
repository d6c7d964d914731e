//! What Figures 8 and 9 have in common: TPC-C on two partitions, and how much of it is run.

use glassbox_cluster::SchemeKind;
use glassbox_sim::cluster::{Settings, Tpcc};
use glassbox_workloads::tpcc::{Mix, Remote, Scale};

use super::lines::{BLOCKING, LOCKING, SPECULATION};
use super::{figure8, figure9};
use crate::points::Points;

/// How many of all transactions were on two partitions, in percent.
pub(crate) const SEVERAL: &str = "on_two_partitions";
/// How much of the time that a partition was at work locks took, in percent.
pub(super) const LOCKS: &str = "locks";

/// What is compared.
pub(crate) const SCHEMES: [(&str, SchemeKind); 3] =
    [(BLOCKING, SchemeKind::Blocking), (SPECULATION, SchemeKind::Speculation), (LOCKING, SchemeKind::Locking)];

/// How much of TPC-C is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TpccPlan {
    /// Figure 8: so many.
    pub warehouses: Vec<u16>,
    /// Figure 9: shares of orders on two partitions, in percent.
    pub shares: Vec<u64>,
    /// Items, customers and orders.
    pub scale: Scale,
}

impl TpccPlan {
    /// The paper's points, with a tenth of the specification's rows; or some of them, with a hundredth.
    pub fn new(quick: bool) -> Self {
        if quick {
            let (warehouses, shares) = (vec![2, 4, 20], vec![0, 10, 50, 100]);
            return Self { warehouses, shares, scale: Scale::small(1) };
        }
        let scale = Scale { warehouses: 1, items: 10_000, customers: 300, orders: 300 };
        let shares = vec![0, 2, 4, 6, 8, 10, 16, 20, 30, 40, 50, 60, 80, 100];
        Self { warehouses: (1..=10).map(|it| 2 * it).collect(), shares, scale }
    }

    fn load(&self, warehouses: u16, mix: Mix, remote: Remote) -> Tpcc {
        Tpcc { scale: Scale { warehouses, ..self.scale }, mix, remote }
    }

    /// Every point of both figures.
    pub(crate) fn cells(&self) -> Vec<Cell> {
        let figure8 = self
            .warehouses
            .iter()
            .map(|&count| (figure8::FIGURE, u64::from(count), self.load(count, Mix::Full, Remote::SPECIFICATION)));
        let figure9 = self.shares.iter().map(|&share| {
            let remote = figure9::remote(share as f64 / 100.0);
            (figure9::FIGURE, share, self.load(figure9::WAREHOUSES, Mix::NewOrderOnly, remote))
        });
        let of_scheme = |(figure, x, load)| {
            SCHEMES.map(|(row, scheme)| Cell {
                figure,
                row,
                x,
                settings: Settings::of_the_paper_s_tpcc(scheme, load, 1),
            })
        };
        figure8.chain(figure9).flat_map(of_scheme).collect()
    }
}

/// A scheme at a point of a figure.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    /// Which figure.
    pub figure: &'static str,
    /// The scheme's name.
    pub row: &'static str,
    /// Where on the horizontal axis.
    pub x: u64,
    /// With the paper's costs, and any seed.
    pub settings: Settings<Tpcc>,
}

/// The mean of a metric over all schemes at a point.
pub(super) fn mean(points: &Points, figure: &str, x: u64, metric: &str) -> Option<f64> {
    let of_schemes = SCHEMES.iter().filter_map(|(row, _)| points.at(figure, row, x as f64, metric));
    let values: Vec<f64> = of_schemes.map(|point| point.value).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
