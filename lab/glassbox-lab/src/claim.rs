//! A claim of a paper as a number: the result here, and the bounds within which the claim is reproduced.
//!
//! The bounds are the paper's claim with a tolerance, so they contain the paper's own number, if it gives one. A result
//! outside of them is a claim that is not reproduced. That is an outcome, not an error, if the difference has a reason
//! and the result is within the bounds that this reason explains. [`Claim::faults`] checks the claim itself, whatever
//! its result.
//!
//! There are also checks of this project, which can fail, and goals, which are met or missed.

use std::fmt;

use crate::points::Points;
use crate::section::Table;

/// A claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// The figure or table that shows its number.
    pub figure: &'static str,
    /// The claim, as the name of a number.
    pub claim: &'static str,
    /// The paper, or a goal, that the result is compared with.
    pub source: Source,
    /// The result here.
    pub here: f64,
    /// The bounds within which it is reproduced.
    pub bounds: (f64, f64),
    /// The unit of result and bounds.
    pub unit: &'static str,
    /// Why the result is outside of the bounds, if it is.
    pub difference: Option<Difference>,
    /// The inputs of the experiment from which the result follows.
    pub inputs: &'static [&'static str],
    /// Whether the result is an input, or follows from inputs alone, so that it shows nothing but that they are used.
    pub by_construction: bool,
}

/// The origin of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The paper.
    Paper {
        /// The number, or the words.
        says: &'static str,
        /// The section, figure or table that says it.
        place: &'static str,
    },
    /// A check of this project, of which the paper says nothing.
    Own,
    /// A goal of this project.
    Goal(&'static str),
}

/// The difference of a result from the paper, with its reason.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The bounds of the results that the reason explains.
    pub bounds: (f64, f64),
    /// The reason.
    pub why: &'static str,
}

/// The verdict on a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The result is within the bounds, which contain the paper's number.
    Reproduced,
    /// The result is outside, and the reason explains it.
    NotReproduced,
    /// The number is an input, or follows from inputs.
    ByConstruction,
    /// A check of this project, within its bounds.
    Own,
    /// A goal that is reached.
    Met,
    /// A goal that is not reached.
    Missed,
    /// Outside of the bounds, and no reason explains it.
    Unexplained,
}

impl Outcome {
    /// All, in the order of reports.
    pub const ALL: [Self; 7] = [
        Self::Reproduced,
        Self::NotReproduced,
        Self::ByConstruction,
        Self::Own,
        Self::Met,
        Self::Missed,
        Self::Unexplained,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::NotReproduced => "NOT REPRODUCED",
            Self::ByConstruction => "by construction",
            Self::Own => "own check",
            Self::Met => "met",
            Self::Missed => "MISSED",
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
    let [reproduced, not, construction, own, met, missed, unexplained] = Outcome::ALL.map(count);
    let failed = self::unexplained(claims).filter(|claim| claim.source == Source::Own).count();
    let unexplained = unexplained - failed;
    let mut text = format!(
        "Of {} claims of the paper, {reproduced} are reproduced and {} are not.",
        reproduced + not + unexplained,
        not + unexplained,
    );
    if construction + own + failed > 0 {
        text += &format!(
            " {construction} numbers agree by construction, and {} checks are this project's own.",
            own + failed
        );
    }
    if failed > 0 {
        text += &format!(" {failed} of these fail.");
    }
    if met + missed > 0 {
        text += &format!(" Of {} goals, {met} are met and {missed} are missed.", met + missed);
    }
    if unexplained > 0 {
        text += &format!(" {unexplained} differ without a known reason.");
    }
    text
}

/// The same in a few words, for a table of contents; empty if there are none.
pub(crate) fn counted(claims: &[Claim]) -> String {
    let count = |outcome: Outcome| claims.iter().filter(|claim| claim.outcome() == outcome).count();
    let [reproduced, not, _, own, met, missed, unexplained] = Outcome::ALL.map(count);
    let failed = self::unexplained(claims).filter(|claim| claim.source == Source::Own).count();
    let unexplained = unexplained - failed;
    let mut text = String::new();
    if !claims.is_empty() && claims.iter().all(|claim| claim.source == Source::Own) {
        text = format!("{own} of {} checks hold", claims.len());
    } else if reproduced + not + unexplained > 0 {
        text = format!("{reproduced} claims reproduced, {} not", not + unexplained);
    }
    if met + missed > 0 {
        text += &format!("{}{met} of {} goals met", if text.is_empty() { "" } else { "; " }, met + missed);
    }
    text
}

/// Claims outside of their bounds that no reason explains: the run has found something new.
pub fn unexplained(claims: &[Claim]) -> impl Iterator<Item = &Claim> {
    claims.iter().filter(|claim| claim.outcome() == Outcome::Unexplained)
}

/// The claims as a table; none if there are none.
pub(crate) fn table(title: &str, claims: &[Claim]) -> Option<Table> {
    let header = [title, "verdict", "here", "the paper", "bounds"];
    (!claims.is_empty()).then(|| Table::new(&header, claims.iter().map(Claim::row).collect()))
}

impl Claim {
    /// Whether the result is within the bounds.
    pub fn holds(&self) -> bool {
        within(self.here, self.bounds)
    }

    /// The verdict.
    pub fn outcome(&self) -> Outcome {
        let is_explained = self.difference.is_some_and(|it| within(self.here, it.bounds));
        match (self.source, self.holds()) {
            (Source::Goal(_), true) => Outcome::Met,
            (Source::Goal(_), false) => Outcome::Missed,
            (_, true) if self.by_construction => Outcome::ByConstruction,
            (Source::Paper { .. }, true) => Outcome::Reproduced,
            (Source::Own, true) => Outcome::Own,
            (Source::Paper { .. }, false) if is_explained && !self.by_construction => Outcome::NotReproduced,
            (_, false) => Outcome::Unexplained,
        }
    }

    /// The number of the paper, the first one of its words, if there is any.
    pub fn paper_number(&self) -> Option<f64> {
        let Source::Paper { says, .. } = self.source else { return None };
        let number: String = says[says.find(|c: char| c.is_ascii_digit())?..]
            .chars()
            .take_while(|c| c.is_ascii_digit() || *c == '.')
            .collect();
        number.trim_end_matches('.').parse().ok()
    }

    /// Faults of the claim itself, whatever its result.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if let Some(number) = self.paper_number() {
            if !within(number, self.bounds) {
                faults.push(format!("its bounds leave out the paper's number, {number}"));
            }
            if let Source::Paper { place: "", .. } = self.source {
                faults.push(format!("it does not say where the paper has the number {number}"));
            }
        }
        if self.bounds.0 == f64::NEG_INFINITY && self.bounds.1 == f64::INFINITY {
            faults.push("its bounds contain every result".to_owned());
        }
        match self.difference {
            Some(Difference { bounds: (from, to), .. }) if !from.is_finite() || !to.is_finite() => {
                faults.push("its reason has no bounds: it would explain any result".to_owned());
            }
            Some(_) if self.source == Source::Own => faults.push("a check of this project needs no reason".to_owned()),
            Some(_) if self.by_construction => faults.push("what follows from inputs cannot differ".to_owned()),
            _ => {}
        }
        if self.by_construction && self.inputs.is_empty() {
            faults.push("it does not say from which inputs it follows".to_owned());
        }
        faults
    }

    /// Whether the result follows from an input: the input was multiplied by `factor`, and the result moved with it, or
    /// against it, by the same factor.
    pub fn follows(&self, moved: &Self, factor: f64) -> bool {
        let by = (moved.here / self.here).abs().ln() / factor.ln();
        (0.85..=1.15).contains(&by.abs())
    }

    /// The row in the table of claims.
    fn row(&self) -> Vec<String> {
        let source = match self.source {
            Source::Paper { says, place } if place == self.figure || place.is_empty() => says.to_owned(),
            Source::Paper { says, place } => format!("{says} ({place})"),
            Source::Own => "-".to_owned(),
            Source::Goal(goal) => format!("goal {goal}"),
        };
        let mut name = format!("{}: {}", self.figure, self.claim);
        if !self.inputs.is_empty() {
            let how = if self.by_construction { "from" } else { "rests on" };
            name += &format!(", {how} {}", self.inputs.join(", "));
        }
        vec![
            name,
            self.outcome().to_string(),
            format!("{} {}", number(self.here), self.unit),
            source,
            format!("{} to {}", number(self.bounds.0), number(self.bounds.1)),
        ]
    }

    /// The difference from the paper and its reason, if it is not reproduced.
    pub(crate) fn sentence(&self) -> Option<String> {
        let (Source::Paper { says, .. }, Outcome::NotReproduced) = (self.source, self.outcome()) else { return None };
        let &Self { figure, claim, here, unit, .. } = self;
        let here = number(here);
        self.difference.map(|it| format!("{figure}, {claim}: {here} {unit}; the paper says {says}. {}", it.why))
    }

    /// How the result is outside of the bounds, for the terminal.
    pub fn surprise(&self) -> String {
        let &Self { figure, claim, here, unit, bounds: (from, to), .. } = self;
        let explained = self.difference.map_or_else(String::new, |it| {
            format!(", and the known reason explains only {} to {}", number(it.bounds.0), number(it.bounds.1))
        });
        format!("{figure}, {claim}: {here:.2} {unit}, not within {from} to {to}{explained}")
    }

    /// The section, figure or table of the paper, if it is not the figure that shows the number.
    pub fn at(mut self, of_paper: &'static str) -> Self {
        if let Source::Paper { place, .. } = &mut self.source {
            *place = of_paper;
        }
        self
    }

    /// The claim is not reproduced: the bounds of the results that the reason explains, and the reason.
    pub fn not_reproduced(mut self, bounds: (f64, f64), why: &'static str) -> Self {
        self.difference = Some(Difference { bounds, why });
        self
    }

    /// The number is one of these inputs, or follows from them.
    pub fn by_construction(mut self, inputs: &'static [&'static str]) -> Self {
        (self.inputs, self.by_construction) = (inputs, true);
        self
    }

    /// The result rests on these inputs, but does not follow from them alone.
    pub fn resting_on(mut self, inputs: &'static [&'static str]) -> Self {
        self.inputs = inputs;
        self
    }
}

fn within(value: f64, (low, high): (f64, f64)) -> bool {
    (low..=high).contains(&value)
}

fn from(
    (figure, name): (&'static str, &'static str),
    source: Source,
    here: Option<f64>,
    bounds: (f64, f64),
    unit: &'static str,
) -> Option<Claim> {
    here.map(|here| Claim {
        figure,
        claim: name,
        source,
        here,
        bounds,
        unit,
        difference: None,
        inputs: &[],
        by_construction: false,
    })
}

/// A claim of the paper with its result, if there is one. Its place in the paper is the figure, if that is one of the
/// paper's.
pub(crate) fn claim(
    (figure, name): (&'static str, &'static str),
    says: &'static str,
    here: Option<f64>,
    bounds: (f64, f64),
    unit: &'static str,
) -> Option<Claim> {
    let is_of_paper = ["Figure ", "Figures ", "Table ", "Section "].iter().any(|kind| figure.starts_with(kind));
    let source = Source::Paper { says, place: if is_of_paper { figure } else { "" } };
    from((figure, name), source, here, bounds, unit)
}

/// A check of this project with its result, if there is one.
pub(crate) fn own_check(
    name: (&'static str, &'static str),
    here: Option<f64>,
    bounds: (f64, f64),
    unit: &'static str,
) -> Option<Claim> {
    from(name, Source::Own, here, bounds, unit)
}

/// A goal of this project with its result, if there is one; `bounds`: where it is met.
pub(crate) fn goal(
    name: (&'static str, &'static str),
    goal: &'static str,
    here: Option<f64>,
    bounds: (f64, f64),
    unit: &'static str,
) -> Option<Claim> {
    from(name, Source::Goal(goal), here, bounds, unit)
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

    const NAME: (&str, &str) = ("Figure 1", "number");
    const NONE: f64 = f64::INFINITY;

    fn of(says: &'static str, here: f64) -> Claim {
        claim(NAME, says, Some(here), (8.0, 12.0), "%").unwrap()
    }

    #[test]
    fn outcomes_are_what_the_bounds_and_the_reasons_say() {
        assert_eq!(of("≈ 10 %", 11.0).outcome(), Outcome::Reproduced);
        assert_eq!(of("≈ 10 %", 13.0).outcome(), Outcome::Unexplained);
        let known = of("≈ 10 %", 13.0).not_reproduced((12.5, 13.5), "so");
        assert_eq!(known.outcome(), Outcome::NotReproduced);
        let other = Claim { here: 14.0, ..known.clone() };
        assert_eq!(other.outcome(), Outcome::Unexplained, "something has changed");
        assert!(other.surprise().ends_with("explains only 12.5 to 13.5"));
        assert_eq!(of("≈ 10 %", 11.0).by_construction(&["x"]).outcome(), Outcome::ByConstruction);
        assert_eq!(of("≈ 10 %", 13.0).by_construction(&["x"]).outcome(), Outcome::Unexplained);
        let own = |here| own_check(NAME, Some(here), (8.0, 12.0), "%").unwrap();
        assert_eq!([own(11.0).outcome(), own(13.0).outcome()], [Outcome::Own, Outcome::Unexplained]);
        let met = |here| goal(NAME, "8", Some(here), (8.0, NONE), "%").unwrap();
        assert_eq!([met(11.0).outcome(), met(7.0).outcome()], [Outcome::Met, Outcome::Missed]);
        assert!(known.sentence().unwrap().ends_with("the paper says ≈ 10 %. so"));
        assert_eq!(Claim { here: 11.0, ..known.clone() }.sentence(), None);
        let all = [known, of("words", 9.0), own(9.0), met(7.0), of("10", 9.0).by_construction(&["x"])];
        let text = outcomes(&all);
        assert!(text.starts_with("Of 2 claims of the paper, 1 are reproduced and 1 are not. 1 numbers"), "{text}");
        assert!(text.ends_with("Of 1 goals, 0 are met and 1 are missed."), "{text}");
        assert_eq!(counted(&all), "1 claims reproduced, 1 not; 0 of 1 goals met");
        let own = own_check(("Check", "a number"), Some(1.0), (0.0, 2.0), "ms").unwrap();
        let wrong = Claim { here: 3.0, ..own.clone() };
        assert_eq!(counted(&[own.clone(), wrong.clone()]), "1 of 2 checks hold");
        // A check that fails is no claim of the paper.
        let of_paper = of("10", 9.0);
        assert_eq!(counted(&[of_paper.clone(), own, wrong.clone()]), "1 claims reproduced, 0 not");
        assert!(outcomes(&[of_paper, wrong]).ends_with(
            "0 are not. 0 numbers agree by construction, and 1 checks are \
                                                        this project's own. 1 of these fail."
        ));
    }

    #[test]
    fn planted_faults_are_found() {
        let has = |claim: Claim, fault: &str| {
            let faults = claim.faults();
            assert!(faults.len() == 1 && faults[0].contains(fault), "{faults:?}, and should be {fault}");
        };
        assert_eq!(of("≈ 10 %", 9.0).not_reproduced((12.0, 13.0), "so").faults(), Vec::<String>::new());
        assert_eq!(of("a little more", 9.0).faults(), Vec::<String>::new());
        has(of("up to 2.5 times", 9.0), "leave out the paper's number, 2.5");
        has(of("≈ 10 %", 13.0).not_reproduced((12.0, NONE), "so"), "no bounds");
        has(of("≈ 10 %", 13.0).at(""), "where the paper has the number 10");
        has(claim(("Delays", "number"), "10 %", Some(9.0), (8.0, 12.0), "%").unwrap(), "where the paper");
        has(of("10", 9.0).by_construction(&[]), "from which inputs");
        has(of("10", 9.0).by_construction(&["x"]).not_reproduced((1.0, 2.0), "so"), "cannot differ");
        has(own_check(NAME, Some(9.0), (-NONE, NONE), "%").unwrap(), "every result");
    }

    #[test]
    fn a_number_that_moves_with_an_input_follows_from_it() {
        let at = |here| of("10", here);
        assert!(at(10.0).follows(&at(12.0), 1.2), "by 20 %");
        assert!(at(10.0).follows(&at(8.3), 1.2), "against it");
        for other in [7.0, 9.0, 10.0, 11.0, 13.0] {
            assert!(!at(10.0).follows(&at(other), 1.2), "{other}");
        }
        assert!(!at(0.0).follows(&at(0.0), 1.2));
    }
}
