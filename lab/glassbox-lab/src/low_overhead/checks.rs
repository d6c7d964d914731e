//! All claims of the paper, checked, for the terminal, the page and the results.

use super::{
    auto, coordinators, figure4, figure5, figure6, figure7, figure8, figure9, figure10, overlap, table1, table2, ticks,
};
use crate::claim::{self, Claim};
use crate::points::Points;
use crate::section::Table;

/// All claims that were simulated.
pub fn claims(points: &Points) -> Vec<Claim> {
    let of_figures = [
        figure4::claims(points),
        figure5::claims(points),
        figure6::claims(points),
        figure7::claims(points),
        figure8::claims(points),
        figure9::claims(points),
        figure10::claims(points),
        coordinators::claims(points),
        ticks::claims(points),
        overlap::claims(points),
        table1::claims(points),
        table2::claims(points),
        auto::grid_claims(points),
        auto::shifting_claims(points),
    ];
    of_figures.into_iter().flatten().flatten().collect()
}

/// How many claims of each outcome there are; nothing if none was simulated.
pub fn outcomes(points: &Points) -> Option<String> {
    let claims = claims(points);
    (!claims.is_empty()).then(|| claim::outcomes(&claims))
}

/// Adds the claims to the results.
pub fn put(points: &mut Points) {
    claim::put(&claims(points), points);
}

/// The claims, for the terminal and the page.
pub fn table(points: &Points) -> Option<Table> {
    claim::table("the paper's claims, simulated", &claims(points))
}

/// The differences from the paper, with their reasons: a sentence for each.
pub fn sentences(points: &Points) -> Vec<String> {
    claims(points).iter().filter_map(Claim::sentence).collect()
}
