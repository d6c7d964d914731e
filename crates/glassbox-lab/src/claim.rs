//! A claim of the paper as a number: the result here, and the bounds that are asserted.
//!
//! Where the paper's own number lies outside of the bounds, or the result differs from it, `why` says what the
//! simulator shows of the reason.

use crate::points::Points;

/// A claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// Its figure or table.
    pub figure: &'static str,
    /// The claim, as the name of a number.
    pub claim: &'static str,
    /// The paper's value.
    pub paper: &'static str,
    /// The result here.
    pub here: f64,
    /// The asserted bounds.
    pub bounds: (f64, f64),
    /// The unit of result and bounds.
    pub unit: &'static str,
    /// Why the result differs from the paper's value, if it does.
    pub why: Option<&'static str>,
}

impl Claim {
    /// Whether the result is within the bounds.
    pub fn holds(&self) -> bool {
        (self.bounds.0..=self.bounds.1).contains(&self.here)
    }

    /// Its row in the table of claims.
    pub(crate) fn row(&self) -> Vec<String> {
        vec![
            format!("{}: {}", self.figure, self.claim),
            self.paper.to_owned(),
            format!("{} {}", number(self.here), self.unit),
            format!("{} – {}", number(self.bounds.0), number(self.bounds.1)),
            if self.holds() { "holds" } else { "DOES NOT HOLD" }.to_owned(),
        ]
    }

    /// The difference from the paper and its reason, if there is one.
    pub(crate) fn sentence(&self) -> Option<String> {
        let &Self { figure, claim, paper, here, unit, why, .. } = self;
        let here = number(here);
        why.map(|why| format!("{figure}, {claim}: {here} {unit}; the paper says {paper}. {why}"))
    }

    /// Adds the reason for a difference from the paper.
    pub fn because(mut self, why: &'static str) -> Self {
        self.why = Some(why);
        self
    }
}

/// A claim with its result, if there is one.
pub(crate) fn claim(
    (figure, name): (&'static str, &'static str),
    paper: &'static str,
    here: Option<f64>,
    bounds: (f64, f64),
    unit: &'static str,
) -> Option<Claim> {
    here.map(|here| Claim { figure, claim: name, paper, here, bounds, unit, why: None })
}

/// In results, the figure of the claims.
pub const CHECKS: &str = "checks";

/// Adds claims to the results.
pub(crate) fn put(claims: &[Claim], points: &mut Points) {
    for claim in claims {
        let row = format!("{}: {}", claim.figure, claim.claim);
        points.put(CHECKS, &row, 0.0, "here", claim.here, claim.unit);
        points.put(CHECKS, &row, 0.0, "holds", f64::from(u8::from(claim.holds())), "0 or 1");
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
