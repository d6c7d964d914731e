//! The paper's claims as numbers, what came out here, and between which bounds it has to be.
//!
//! The bounds are what is asserted. Where the paper's own number lies outside of them, or what came out differs from
//! it, `why` says what the simulator shows of the reason.

use crate::points::Points;
use crate::report::Table;

use super::{auto, coordinators, figure4, figure5, figure6, figure7, figure8, figure9, figure10, table1, table2};

/// In results, the figure of the claims.
pub const CHECKS: &str = "checks";

/// A claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// Of which figure or table.
    pub figure: &'static str,
    /// What is claimed, as the name of a number.
    pub claim: &'static str,
    /// What the paper says.
    pub paper: &'static str,
    /// What came out.
    pub here: f64,
    /// Where it has to be.
    pub bounds: (f64, f64),
    /// Of both.
    pub unit: &'static str,
    /// Why it is not what the paper says, when it is not.
    pub why: Option<&'static str>,
}

impl Check {
    /// Whether it is where it has to be.
    pub fn holds(&self) -> bool {
        (self.bounds.0..=self.bounds.1).contains(&self.here)
    }

    /// Adds why it differs from the paper.
    pub fn because(mut self, why: &'static str) -> Self {
        self.why = Some(why);
        self
    }
}

/// Makes a claim's check of a number that there may be.
pub(super) fn check(
    (figure, claim): (&'static str, &'static str),
    paper: &'static str,
    here: Option<f64>,
    bounds: (f64, f64),
    unit: &'static str,
) -> Option<Check> {
    here.map(|here| Check { figure, claim, paper, here, bounds, unit, why: None })
}

/// All claims whose numbers there are.
pub fn checks(points: &Points) -> Vec<Check> {
    let of_figures = [
        figure4::checks(points),
        figure5::checks(points),
        figure6::checks(points),
        figure7::checks(points),
        figure8::checks(points),
        figure9::checks(points),
        figure10::checks(points),
        coordinators::checks(points),
        table1::checks(points),
        table2::checks(points),
        auto::grid_checks(points),
        auto::shifting_checks(points),
    ];
    of_figures.into_iter().flatten().flatten().collect()
}

/// Adds the claims to the results.
pub fn put(points: &mut Points) {
    for check in checks(points) {
        let row = format!("{}: {}", check.figure, check.claim);
        points.put(CHECKS, &row, 0.0, "here", check.here, check.unit);
        points.put(CHECKS, &row, 0.0, "holds", f64::from(u8::from(check.holds())), "0 or 1");
    }
}

fn number(value: f64) -> String {
    // To one digit, and none if there is nothing behind the point.
    let text = format!("{:.1}", value + 0.0);
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned).replace('-', "−")
}

/// The claims, for the terminal and the page.
pub fn table(points: &Points) -> Table {
    let row = |check: Check| {
        let bounds = format!("{} – {}", number(check.bounds.0), number(check.bounds.1));
        vec![
            format!("{}: {}", check.figure, check.claim),
            check.paper.to_owned(),
            format!("{} {}", number(check.here), check.unit),
            bounds,
            if check.holds() { "holds" } else { "DOES NOT HOLD" }.to_owned(),
        ]
    };
    let header = ["the paper's claims, simulated", "paper", "here", "asserted", ""].map(str::to_owned).to_vec();
    Table { header, rows: checks(points).into_iter().map(row).collect() }
}

/// What differs from the paper, and why: a sentence for each.
pub fn sentences(points: &Points) -> Vec<String> {
    let differing = checks(points).into_iter().filter_map(|check| {
        let why = check.why?;
        let (figure, claim, paper, here, unit) =
            (check.figure, check.claim, check.paper, number(check.here), check.unit);
        Some(format!("{figure}, {claim}: {here} {unit}; the paper says {paper}. {why}"))
    });
    differing.collect()
}
