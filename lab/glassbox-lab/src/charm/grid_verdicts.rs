//! The table of the grid, with a verdict on each cell, and what all cells together come to.
//!
//! Hybrid execution is right in a cell if it reaches nine tenths of the best policy, or if its spread does and it
//! reaches eight tenths. Cells whose pool has no frame for two stages have no verdict.

use std::fmt;

use glassbox_workloads::format;
use glassbox_workloads::tpcc::Kind;

use super::grid::{GRID, NO_FRAMES, OF_BEST, class_of};
use super::policy::Policy;
use crate::claim::{Claim, goal};
use crate::points::Points;
use crate::section::Table;

/// The share of the best policy's throughput that hybrid execution reaches, or its spread does.
const REACHED: f64 = 0.9;
/// The share that it always reaches.
const ALWAYS_REACHED: f64 = 0.8;

/// The verdict on a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CellVerdict {
    /// Hybrid execution reaches the share.
    Reached,
    /// Hybrid execution reaches the share within its spread.
    WithinSpread,
    /// Not even the spread reaches the share.
    Under,
    /// Hybrid execution does not reach what is always to be reached.
    FarUnder,
    /// The pool has no frame for two stages.
    NoFrames,
}

impl CellVerdict {
    fn of(median: f64, high: f64) -> Self {
        match median {
            median if median >= REACHED => Self::Reached,
            median if median < ALWAYS_REACHED => Self::FarUnder,
            _ if high >= REACHED => Self::WithinSpread,
            _ => Self::Under,
        }
    }

    const fn is_right(self) -> bool {
        matches!(self, Self::Reached | Self::WithinSpread)
    }
}

impl fmt::Display for CellVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Reached => "reached",
            Self::WithinSpread => "within the spread",
            Self::Under => "UNDER 0.9",
            Self::FarUnder => "UNDER 0.8",
            Self::NoFrames => "no frames for two stages",
        })
    }
}

/// The cells that were measured or left out, in their order, with their verdicts.
pub(super) fn cells(points: &Points) -> Vec<(&str, CellVerdict)> {
    let mut cells = Vec::new();
    for point in points.0.iter().filter(|point| point.figure == GRID) {
        let value = |metric: &str| points.value(GRID, &point.row, metric);
        if point.metric == NO_FRAMES {
            cells.push((&*point.row, CellVerdict::NoFrames));
        } else if point.metric == OF_BEST[0]
            && let Some(high) = value(OF_BEST[2])
        {
            cells.push((&*point.row, CellVerdict::of(point.value, high)));
        }
    }
    cells
}

/// The table; `None` if no cell was measured.
pub(super) fn table(points: &Points) -> Option<Table> {
    let row = |(cell, verdict): (&str, CellVerdict)| {
        let value = |metric: &str| points.value(GRID, cell, metric);
        let rate = |policy: &Policy| value(policy.name()).map_or_else(String::new, format::number);
        let ratio = |value: f64| format!("{value:.2}");
        let [median, low, high] = OF_BEST.map(|metric| value(metric).map_or_else(String::new, ratio));
        let spread = if low.is_empty() { String::new() } else { format!("{low} to {high}") };
        let class = |kind: Kind| value(&class_of(kind)).map_or_else(String::new, |class| format!("{class}"));
        let classes = Kind::ALL.map(class).concat();
        let rates = Policy::ALL.iter().map(rate);
        let begins = [cell.to_owned(), verdict.to_string(), median, spread];
        begins.into_iter().chain(rates).chain([classes]).collect()
    };
    let cells = cells(points);
    let policies = Policy::ALL.iter().map(|policy| policy.name());
    let begins = ["cell", "verdict", "HTSTE / best", "middle half"];
    let header: Vec<&str> = begins.into_iter().chain(policies).chain(["classes"]).collect();
    (!cells.is_empty()).then(|| Table::new(&header, cells.into_iter().map(row).collect()))
}

/// Whether hybrid execution is right in every cell that has a verdict, and there is one.
pub fn is_grid_right(points: &Points) -> bool {
    let cells = cells(points);
    let mut judged = cells.iter().filter(|(_, verdict)| *verdict != CellVerdict::NoFrames).peekable();
    judged.peek().is_some() && judged.all(|(_, verdict)| verdict.is_right())
}

/// All cells in a sentence; `None` if none has a verdict.
pub fn grid_sentence(points: &Points) -> Option<String> {
    let least = least(points)?;
    let cells = cells(points);
    let count = |is: fn(CellVerdict) -> bool| cells.iter().filter(|(_, verdict)| is(*verdict)).count();
    let judged = count(|verdict| verdict != CellVerdict::NoFrames);
    let reached = count(|verdict| verdict == CellVerdict::Reached);
    let right = count(CellVerdict::is_right);
    let mut text = format!(
        "HTSTE reaches {REACHED} of the best policy in {reached} of {judged} cells, in {} more its spread does, and in \
         {} it does not. The least is {least:.2}.",
        right - reached,
        judged - right,
    );
    let without = cells.len() - judged;
    if without > 0 {
        text += &format!(" In {without} the pool has no frames for two stages.");
    }
    Some(text)
}

/// The least ratio of a cell.
fn least(points: &Points) -> Option<f64> {
    let ratios = points.0.iter().filter(|point| point.figure == GRID && point.metric == OF_BEST[0]);
    ratios.map(|point| point.value).reduce(f64::min)
}

/// The goals of the grid.
pub(super) fn goals(points: &Points) -> Vec<Option<Claim>> {
    let is_under = |verdict: CellVerdict| matches!(verdict, CellVerdict::Under | CellVerdict::FarUnder);
    let under = cells(points).iter().filter(|(_, verdict)| is_under(*verdict)).count() as f64;
    let least = least(points);
    vec![
        goal(
            ("Grid", "cells in which neither HTSTE nor its spread reaches 0.9 of the best policy"),
            "0",
            least.map(|_| under),
            (0.0, 0.0),
            "cells",
        ),
        goal(
            ("Grid", "HTSTE / the best policy, the least of all cells"),
            "0.8",
            least,
            (ALWAYS_REACHED, f64::INFINITY),
            "×",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::{CellVerdict, cells, goals, grid_sentence, is_grid_right, table};
    use crate::charm::grid::{GRID, NO_FRAMES, OF_BEST};
    use crate::claim::Outcome;
    use crate::points::Points;

    fn points(of: &[(&str, f64, f64)]) -> Points {
        let mut points = Points::default();
        for (cell, median, high) in of {
            let values = [*median, median - 0.05, *high];
            OF_BEST.iter().zip(values).for_each(|(metric, value)| points.put(GRID, cell, 0.0, metric, value, "ratio"));
        }
        points
    }

    #[test]
    fn a_cell_is_right_at_nine_tenths_or_if_its_spread_reaches_them() {
        let mut points = points(&[("a", 0.95, 0.97), ("b", 0.85, 0.91)]);
        points.put(GRID, "c", 0.0, NO_FRAMES, 640.0, "pages");
        let expected = [("a", CellVerdict::Reached), ("b", CellVerdict::WithinSpread), ("c", CellVerdict::NoFrames)];
        assert_eq!(cells(&points), expected);
        assert!(is_grid_right(&points));
        let text = grid_sentence(&points).unwrap();
        assert!(
            text.contains("in 1 of 2 cells, in 1 more") && text.ends_with("has no frames for two stages."),
            "{text}"
        );
        let met = |points: &Points| goals(points).into_iter().flatten().all(|goal| goal.outcome() == Outcome::Met);
        assert!(met(&points));
        let rows = table(&points).unwrap().rows;
        assert_eq!(
            rows.iter().map(|row| &*row[1]).collect::<Vec<_>>(),
            ["reached", "within the spread", "no frames for two stages",]
        );
    }

    #[test]
    fn a_cell_far_under_the_best_is_wrong_whatever_its_spread() {
        for (median, high, verdict) in [(0.85, 0.89, CellVerdict::Under), (0.79, 0.95, CellVerdict::FarUnder)] {
            let points = points(&[("a", 1.0, 1.0), ("b", median, high)]);
            assert_eq!(cells(&points)[1].1, verdict);
            assert!(!is_grid_right(&points));
            assert!(goals(&points).into_iter().flatten().any(|goal| goal.outcome() == Outcome::Missed));
        }
    }

    #[test]
    fn nothing_is_said_of_no_cells() {
        let points = Points::default();
        assert!(table(&points).is_none() && grid_sentence(&points).is_none());
        assert!(goals(&points).into_iter().flatten().next().is_none());
    }
}
