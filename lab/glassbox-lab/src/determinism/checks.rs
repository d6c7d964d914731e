//! All claims of the paper, and the goals, with their verdicts.

use super::inputs::{INPUTS, Input};
use super::{
    fair, figure1, figure2, figure3, figure4, figure5, figure6, figure7, figure8, in_flight, local_clocks, sensitivity,
};
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
        in_flight::claims(points),
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
    claim::counted(&claims(points))
}

/// How many claims of each outcome there are, as a sentence; nothing if none was simulated.
pub(super) fn outcomes_in_words(points: &Points) -> Option<String> {
    let claims = claims(points);
    (!claims.is_empty()).then(|| claim::outcomes(&claims))
}

/// The paper's claims with their verdicts.
pub(super) fn paper_table(points: &Points) -> Option<Table> {
    claim::table("the paper's claims, simulated", &of_paper(points))
}

/// The goals with their verdicts.
pub(super) fn goals_table(points: &Points) -> Option<Table> {
    claim::table("the goals, simulated", &goals(points))
}

/// The reasons of claims that do not hold.
pub(super) fn sentences(points: &Points) -> Vec<String> {
    claims(points).iter().filter_map(Claim::sentence).collect()
}

/// The table of inputs, each with the numbers that follow from it, and the claims that rest on it.
pub(super) fn inputs_table(points: &Points) -> Option<Table> {
    let claims = claims(points);
    let row = |input: &Input| {
        let (follow, rest): (Vec<&Claim>, _) =
            claims.iter().filter(|claim| claim.inputs.contains(&input.name)).partition(|claim| claim.by_construction);
        let counts = [follow.len(), rest.len()].map(|count| count.to_string());
        [input.name, input.value, input.origin].map(str::to_owned).into_iter().chain(counts).collect()
    };
    let header = ["input", "value", "origin", "numbers that follow from it", "claims that rest on it"];
    (!claims.is_empty()).then(|| Table::new(&header, INPUTS.iter().map(row).collect()))
}

/// Claims that count as reproduced although they follow from an input; `moved`: the same claims after the input was
/// multiplied by `factor`.
pub fn followers<'c>(claims: &'c [Claim], moved: &[Claim], factor: f64) -> Vec<&'c Claim> {
    let is_same = |claim: &Claim, other: &Claim| (claim.figure, claim.claim) == (other.figure, other.claim);
    let follows = |claim: &&Claim| moved.iter().any(|other| is_same(claim, other) && claim.follows(other, factor));
    claims.iter().filter(|claim| claim.outcome() == Outcome::Reproduced).filter(follows).collect()
}
