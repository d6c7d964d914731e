//! The grid: share of transactions on several partitions, rounds, aborts, conflicts, and the round trip.

use glassbox_cluster::SchemeKind;
use glassbox_sim::cluster::{ALL, Link, Load, Settings};

use crate::claim::{Claim, own_check};
use crate::figures::{Colour, Curve, Curves, Stroke, curves};
use crate::low_overhead::series::{BLOCKING, LOCKING, PERCENT, SPECULATION, Series, rate};
use crate::points::Points;
use crate::section::{Figure, Table};

/// The row of the advisor.
pub(super) const AUTO: &str = "auto";
/// The interval of the advisor, in virtual time.
pub(super) const ADVICE_US: u64 = 100_000;
/// The scheme at the start.
pub(super) const FIRST: SchemeKind = SchemeKind::Blocking;
/// The schemes that it is compared with.
pub(super) const SCHEMES: [(&str, SchemeKind); 3] =
    [(BLOCKING, SchemeKind::Blocking), (SPECULATION, SchemeKind::Speculation), (LOCKING, SchemeKind::Locking)];
/// Its name in results.
pub(super) const FIGURE: &str = "Auto";

/// A row of the grid: everything but the share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct GridRow {
    round_trip_us: u64,
    two_rounds: bool,
    aborts: u64,
    conflicts: u64,
}

/// Round trips of the whole grid, and how they are drawn.
const ROUND_TRIPS: [(u64, Colour); 3] =
    [(40, Colour(0x8c, 0xb3, 0x3c)), (120, Colour(0x4e, 0x79, 0xa7)), (400, Colour(0xb0, 0x7a, 0xa1))];
/// The multiple of the measured time: with contention, two half seconds of one scheme may differ by 4 %, as much as the
/// difference between schemes that matters.
const LONGER: u64 = 4;
const SHARES: [u64; 6] = [0, 2, 10, 30, 60, 100];

fn grid_rows(whole: bool) -> Vec<GridRow> {
    let mut grid_rows = Vec::new();
    for (round_trip_us, _) in ROUND_TRIPS.into_iter().filter(|it| whole || it.0 == 120) {
        for two_rounds in [false, true] {
            for aborts in [0, 3, 10].into_iter().filter(|it| whole || *it != 3) {
                for conflicts in [0, 60] {
                    grid_rows.push(GridRow { round_trip_us, two_rounds, aborts, conflicts });
                }
            }
        }
    }
    grid_rows
}

impl GridRow {
    fn name(&self) -> String {
        let Self { round_trip_us, aborts, conflicts, .. } = self;
        let rounds = if self.two_rounds { "two rounds" } else { "one round" };
        format!("{round_trip_us} µs, {rounds}, {aborts} % aborts, {conflicts} % conflicts")
    }

    fn row(&self, of: &str) -> String {
        format!("{of}: {}", self.name())
    }

    /// The throughput under the advisor and under the best scheme, and its name.
    fn cell(&self, points: &Points, percent: u64) -> Option<(f64, f64, &'static str)> {
        let auto = rate(points, FIGURE, &self.row(AUTO), percent)?;
        let rates = SCHEMES.map(|(name, _)| rate(points, FIGURE, &self.row(name), percent).map(|rate| (rate, name)));
        let [Some(a), Some(b), Some(c)] = rates else { return None };
        let (best, name) = [a, b, c].into_iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some((auto, best, name))
    }
}

/// The simulated series.
pub(crate) fn series(whole: bool) -> Vec<Series> {
    let of_situation = |it: GridRow| {
        let load = Load {
            aborts: it.aborts * PERCENT,
            conflicts: it.conflicts * PERCENT,
            two_rounds: if it.two_rounds { ALL } else { 0 },
            ..Load::default()
        };
        let change = if it.two_rounds {
            |settings: &mut Settings| settings.costs = settings.costs.in_two_rounds()
        } else {
            |_: &mut Settings| {}
        };
        let line = move |name, scheme, advice_us| Series {
            change,
            link: Some(Link::of(it.round_trip_us * 1_000 / 2)),
            advice_us,
            longer: if whole { LONGER } else { 1 },
            shares: Some(SHARES.to_vec()),
            ..Series::new(FIGURE, it.row(name), scheme, load)
        };
        let fixed = SCHEMES.map(|(name, scheme)| line(name, scheme, 0));
        fixed.into_iter().chain([line(AUTO, FIRST, ADVICE_US)])
    };
    grid_rows(whole).into_iter().flat_map(of_situation).collect()
}

/// The rows that were simulated.
fn known(points: &Points) -> Vec<GridRow> {
    let has = |it: &GridRow| SHARES.iter().any(|&percent| it.cell(points, percent).is_some());
    grid_rows(true).into_iter().filter(has).collect()
}

/// Each cell: the share of the best scheme's throughput, and the initial of that scheme.
pub(crate) fn table(points: &Points) -> Option<Table> {
    let row = |it: GridRow| {
        let cell = |&percent: &u64| {
            let cell = it.cell(points, percent);
            cell.map_or_else(String::new, |(auto, best, name)| format!("{:.3} {}", auto / best, &name[..1]))
        };
        std::iter::once(it.name()).chain(SHARES.iter().map(cell)).collect()
    };
    let rows: Vec<_> = known(points).into_iter().map(row).collect();
    let shares = SHARES.iter().map(|percent| format!("{percent} %"));
    let header = std::iter::once("auto over the best scheme, simulated".to_owned()).chain(shares).collect();
    (!rows.is_empty()).then_some(Table { header, rows })
}

/// The minimum of a share's cells, for each round trip.
fn minimum(points: &Points, round_trip_us: u64) -> Vec<(f64, f64)> {
    let known = known(points);
    let of = |percent: u64| {
        let cells = known.iter().filter(|it| it.round_trip_us == round_trip_us);
        let ratios = cells.filter_map(|it| it.cell(points, percent)).map(|(auto, best, _)| auto / best);
        ratios.reduce(f64::min).map(|least| (percent as f64, least))
    };
    SHARES.iter().filter_map(|&percent| of(percent)).collect()
}

/// The figure, if it was simulated.
pub(crate) fn figure(points: &Points) -> Option<Figure> {
    let table = table(points)?;
    let curve = |(round_trip_us, colour): (u64, Colour)| Curve {
        name: format!("a round trip of {round_trip_us} µs"),
        colour,
        stroke: Stroke::Dotted,
        points: minimum(points, round_trip_us),
    };
    let drawn = ROUND_TRIPS.into_iter().map(curve).filter(|curve| !curve.points.is_empty()).collect();
    let svg = curves(&Curves {
        unit: "of the best scheme, the minimum of all cells (simulated)".to_owned(),
        x_unit: "% of transactions on two partitions".to_owned(),
        x_names: &[],
        curves: drawn,
    });
    let caption = "The throughput if the engine chooses the scheme, as a share of that of the best of blocking, \
                   speculation and locking. Letters: the best scheme.";
    let title = "Auto. The scheme is chosen by the engine (simulated)".to_owned();
    Some(Figure { title, svg, caption: caption.to_owned(), table: Some(table) })
}

/// The claims about it.
pub(crate) fn claims(points: &Points) -> Vec<Option<Claim>> {
    let known = known(points);
    let cells = known.iter().flat_map(|it| SHARES.iter().filter_map(|&percent| it.cell(points, percent)));
    let ratios: Vec<f64> = cells.map(|(auto, best, _)| auto / best).collect();
    let good = ratios.iter().filter(|ratio| **ratio >= GOAL).count() as f64 / ratios.len().max(1) as f64 * 100.0;
    let good = (!ratios.is_empty()).then_some(good);
    let least = ratios.into_iter().reduce(f64::min).map(|least| 100.0 * least);
    vec![
        own_check((FIGURE, "cells with at least 0.95 of the best scheme"), good, (90.0, 100.0), "%"),
        // All cells reach the goal if the whole grid is measured, for two seconds. In shorter windows, as in the quick
        // form, a single scheme varies by more with contention or many aborts.
        own_check((FIGURE, "of the best scheme, minimum of all cells"), least, (75.0, 120.0), "%"),
    ]
}

/// The goal for every cell.
const GOAL: f64 = 0.95;
