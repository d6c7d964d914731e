//! A claim of a paper as a number: the result here, and the bounds within which the claim is reproduced.
//!
//! The bounds are the paper's claim with a tolerance, so they contain the paper's own number, if it gives one. A result
//! outside of them is a claim that is not reproduced. That is an outcome, not an error, if a reason is known; where the
//! result repeats exactly, it also has to be within the bounds in which it came out before.

use std::fmt;

use crate::points::Points;

/// A claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// Its figure or table.
    pub figure: &'static str,
    /// The claim, as the name of a number.
    pub claim: &'static str,
    /// The paper's words; those of a check that is no claim of the paper begin with "not in", "not built" or "none".
    pub paper: &'static str,
    /// The result here.
    pub here: f64,
    /// The bounds within which it is reproduced.
    pub bounds: (f64, f64),
    /// The unit of result and bounds.
    pub unit: &'static str,
    /// Why the result differs from the paper's value, if it does.
    pub why: Option<&'static str>,
    /// If it is not reproduced, the bounds in which the result came out.
    pub came_out: Option<(f64, f64)>,
    /// Whether the result is an input of the experiment, so that it shows nothing but that the inputs are used.
    pub by_construction: bool,
}

/// What became of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The result is within the bounds, which contain the paper's number.
    Reproduced,
    /// It is outside, and it is known why.
    NotReproduced,
    /// The number is an input.
    ByConstruction,
    /// No claim of the paper, but a check of this project, and within its bounds.
    Own,
    /// Outside of the bounds, and no reason is known.
    Unexplained,
}

impl Outcome {
    /// All, in the order of reports.
    pub const ALL: [Self; 5] =
        [Self::Reproduced, Self::NotReproduced, Self::ByConstruction, Self::Own, Self::Unexplained];

    const fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::NotReproduced => "NOT REPRODUCED",
            Self::ByConstruction => "by construction",
            Self::Own => "own check",
            Self::Unexplained => "UNEXPLAINED",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How many claims of each outcome there are, as a sentence.
pub fn outcomes(claims: &[Claim]) -> String {
    let count = |outcome: Outcome| claims.iter().filter(|claim| claim.outcome() == outcome).count();
    let [reproduced, not, construction, own, unexplained] = Outcome::ALL.map(count);
    let mut text = format!(
        "Of {} claims of the paper, {reproduced} are reproduced and {} are not.",
        reproduced + not + unexplained,
        not + unexplained,
    );
    if construction + own > 0 {
        text += &format!(" {construction} numbers agree by construction, and {own} checks are this project's own.");
    }
    if unexplained > 0 {
        text += &format!(" {unexplained} differ without a known reason.");
    }
    text
}

/// The same in a few words, for a table of contents; empty if there are none.
pub(crate) fn counted(claims: &[Claim]) -> String {
    let count = |outcome: Outcome| claims.iter().filter(|claim| claim.outcome() == outcome).count();
    let [reproduced, not, _, _, unexplained] = Outcome::ALL.map(count);
    if reproduced + not + unexplained == 0 {
        return String::new();
    }
    format!("{reproduced} claims reproduced, {} not", not + unexplained)
}

impl Claim {
    /// Whether the result is within the bounds.
    pub fn holds(&self) -> bool {
        within(self.here, self.bounds)
    }

    /// What became of it.
    pub fn outcome(&self) -> Outcome {
        let is_known = || self.why.is_some() && self.came_out.is_none_or(|bounds| within(self.here, bounds));
        match (self.holds(), self.by_construction) {
            (true, true) => Outcome::ByConstruction,
            (true, false) if self.is_of_paper() => Outcome::Reproduced,
            (true, false) => Outcome::Own,
            (false, false) if is_known() => Outcome::NotReproduced,
            (false, _) => Outcome::Unexplained,
        }
    }

    /// Whether the paper says something about it.
    fn is_of_paper(&self) -> bool {
        !["none", "not in", "not built"].iter().any(|start| self.paper.starts_with(start))
    }

    /// The number of the paper, the first one of its words, if there is any.
    pub fn paper_number(&self) -> Option<f64> {
        let starts = self.paper.find(|c: char| c.is_ascii_digit()).filter(|_| self.is_of_paper())?;
        let number: String = self.paper[starts..].chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        number.trim_end_matches('.').parse().ok()
    }

    /// Whether the bounds contain the paper's number; true if it gives none.
    pub fn contains_the_papers(&self) -> bool {
        self.paper_number().is_none_or(|number| within(number, self.bounds))
    }

    /// Its row in the table of claims.
    pub(crate) fn row(&self) -> Vec<String> {
        vec![
            format!("{}: {}", self.figure, self.claim),
            self.paper.to_owned(),
            format!("{} {}", number(self.here), self.unit),
            format!("{} – {}", number(self.bounds.0), number(self.bounds.1)),
            self.outcome().to_string(),
        ]
    }

    /// The same with one of two verdicts, by whether the result is within the bounds.
    pub(crate) fn row_with(&self, (within, outside): (&str, &str)) -> Vec<String> {
        let mut row = self.row();
        if let Some(verdict) = row.last_mut() {
            *verdict = if self.holds() { within } else { outside }.to_owned();
        }
        row
    }

    /// The difference from the paper and its reason, if it is not reproduced.
    pub(crate) fn sentence(&self) -> Option<String> {
        self.difference().filter(|_| self.outcome() == Outcome::NotReproduced)
    }

    /// The result, the paper's and the reason of the difference, if there is one.
    pub(crate) fn difference(&self) -> Option<String> {
        let &Self { figure, claim, paper, here, unit, why, .. } = self;
        let here = number(here);
        why.map(|why| format!("{figure}, {claim}: {here} {unit}; the paper says {paper}. {why}"))
    }

    /// Adds the reason for a difference from the paper.
    pub fn because(mut self, why: &'static str) -> Self {
        self.why = Some(why);
        self
    }

    /// It is not reproduced: the bounds of the result here, and the reason.
    pub fn not_reproduced(mut self, bounds: (f64, f64), why: &'static str) -> Self {
        (self.came_out, self.why) = (Some(bounds), Some(why));
        self
    }

    /// The number is an input.
    pub fn by_construction(mut self) -> Self {
        self.by_construction = true;
        self
    }
}

fn within(value: f64, (low, high): (f64, f64)) -> bool {
    (low..=high).contains(&value)
}

/// A claim with its result, if there is one.
pub(crate) fn claim(
    (figure, name): (&'static str, &'static str),
    paper: &'static str,
    here: Option<f64>,
    bounds: (f64, f64),
    unit: &'static str,
) -> Option<Claim> {
    here.map(|here| Claim {
        figure,
        claim: name,
        paper,
        here,
        bounds,
        unit,
        why: None,
        came_out: None,
        by_construction: false,
    })
}

/// In results, the figure of the claims.
pub const CHECKS: &str = "checks";

/// Adds claims to the results.
pub(crate) fn put(claims: &[Claim], points: &mut Points) {
    for claim in claims {
        let row = format!("{}: {}", claim.figure, claim.claim);
        points.put(CHECKS, &row, 0.0, "here", claim.here, claim.unit);
        let mut is =
            |metric: &str, value: bool| points.put(CHECKS, &row, 0.0, metric, f64::from(u8::from(value)), "0 or 1");
        is("holds", claim.holds());
        is("unexplained", claim.outcome() == Outcome::Unexplained);
    }
}

fn number(value: f64) -> String {
    if value.is_infinite() {
        return "∞".to_owned();
    }
    // One digit after the point, or two of small numbers, unless they are zero.
    let digits = if value.abs() < 2.0 { 2 } else { 1 };
    let text = format!("{:.digits$}", value + 0.0);
    text.trim_end_matches('0').trim_end_matches('.').replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(paper: &'static str, here: f64) -> Claim {
        claim(("Figure 1", "number"), paper, Some(here), (8.0, 12.0), "%").unwrap()
    }

    #[test]
    fn outcomes_are_what_the_bounds_and_the_reasons_say() {
        assert_eq!(of("≈ 10 %", 11.0).outcome(), Outcome::Reproduced);
        assert_eq!(of("≈ 10 %", 13.0).outcome(), Outcome::Unexplained);
        assert_eq!(of("≈ 10 %", 13.0).because("so").outcome(), Outcome::NotReproduced);
        let known = of("≈ 10 %", 13.0).not_reproduced((12.5, 13.5), "so");
        assert_eq!(known.outcome(), Outcome::NotReproduced);
        assert_eq!(Claim { here: 14.0, ..known.clone() }.outcome(), Outcome::Unexplained, "something has changed");
        assert_eq!(of("≈ 10 %", 11.0).by_construction().outcome(), Outcome::ByConstruction);
        assert_eq!(of("≈ 10 %", 13.0).by_construction().because("so").outcome(), Outcome::Unexplained);
        assert_eq!(of("not in the paper", 11.0).outcome(), Outcome::Own);
        assert!(known.sentence().unwrap().ends_with("the paper says ≈ 10 %. so"));
        assert_eq!(of("≈ 10 %", 11.0).because("so").sentence(), None);
        let all = [known, of("words", 9.0), of("none; goal 3", 9.0), of("10", 9.0).by_construction()];
        assert!(outcomes(&all).starts_with("Of 2 claims of the paper, 1 are reproduced and 1 are not. 1 numbers"));
    }

    #[test]
    fn bounds_have_to_contain_the_papers_number() {
        assert_eq!(of("up to 2.5 times", 9.0).paper_number(), Some(2.5));
        assert!(!of("up to 2.5 times", 9.0).contains_the_papers());
        assert!(of("≈ 10 %", 9.0).contains_the_papers() && of("a little more", 9.0).contains_the_papers());
        assert_eq!(of("none; goal 0.95", 9.0).paper_number(), None);
    }
}
