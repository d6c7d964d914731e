//! All claims of the paper, and the goals, with their verdicts.

use super::{fair, figure1, figure2, figure3, figure4, figure5, figure6, figure7, figure8, local_clocks, sensitivity};
use crate::claim::{self, Claim, Outcome};
use crate::points::Points;
use crate::section::Table;

/// Claims of the paper that were simulated.
fn of_paper(points: &Points) -> Vec<Claim> {
    let figures = [
        figure1::claims(points),
        figure2::claims(points),
        figure3::claims(points),
        figure4::claims(points),
        figure5::claims(points),
        figure6::claims(points),
        figure7::claims(points),
        figure8::claims(points),
        sensitivity::claims(points),
        local_clocks::claims(points),
    ];
    figures.into_iter().flatten().flatten().collect()
}

/// The goals of this project that were simulated.
fn goals(points: &Points) -> Vec<Claim> {
    fair::claims(points).into_iter().flatten().collect()
}

/// All claims and goals that were simulated.
pub fn claims(points: &Points) -> Vec<Claim> {
    of_paper(points).into_iter().chain(goals(points)).collect()
}

/// Adds claims and goals to the results.
pub fn put(points: &mut Points) {
    claim::put(&claims(points), points);
}

/// How many of the paper's claims are reproduced and how many are not.
pub(super) fn outcomes(points: &Points) -> String {
    claim::counted(&of_paper(points))
}

/// Claims that do not hold although no reason is known: the run has found something new.
pub fn unexplained(points: &Points) -> Vec<Claim> {
    claims(points).into_iter().filter(|claim| claim.outcome() == Outcome::Unexplained).collect()
}

/// A table of verdicts.
fn table(title: &str, rows: Vec<Vec<String>>) -> Option<Table> {
    let header = [title, "paper", "here", "asserted", ""].map(str::to_owned).to_vec();
    (!rows.is_empty()).then_some(Table { header, rows })
}

/// The paper's claims with their verdicts.
pub(super) fn paper_table(points: &Points) -> Option<Table> {
    table("the paper's claims, simulated", of_paper(points).iter().map(Claim::row).collect())
}

/// The goals with their verdicts.
pub(super) fn goals_table(points: &Points) -> Option<Table> {
    let row = |claim: &Claim| claim.row_with(("met", "NOT MET"));
    table("the goals, simulated", goals(points).iter().map(row).collect())
}

/// The reasons of claims that do not hold.
pub(super) fn sentences(points: &Points) -> Vec<String> {
    claims(points).iter().filter_map(Claim::sentence).collect()
}
