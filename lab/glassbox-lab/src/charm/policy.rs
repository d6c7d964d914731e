//! The policies, by the paper's names.

use std::fmt;
use std::str::FromStr;

use glassbox::config::{ClassRule, ExecutionPolicy, HybridPolicy};

/// A policy of the paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Policy {
    TwoPhaseLocking,
    TwoStage,
    Optimistic,
    /// In the paper's cells, with the classes that it says that it used (§4.1); here, with those that cost least.
    Hybrid,
    /// The same, with classes that follow from the formula for the cost.
    ByCost,
    /// The same, with classes that follow from the paper's rule.
    ByRatios,
}

impl Policy {
    pub(super) const ALL: [Self; 4] = [Self::TwoPhaseLocking, Self::TwoStage, Self::Optimistic, Self::Hybrid];
    /// Those that are compared here.
    pub(super) const HERE: [Self; 6] =
        [Self::TwoPhaseLocking, Self::TwoStage, Self::Optimistic, Self::Hybrid, Self::ByCost, Self::ByRatios];

    /// The paper's name, which is the row of its numbers.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::TwoPhaseLocking => "2PL",
            Self::TwoStage => "TSTE",
            Self::Optimistic => "OTSTE",
            Self::Hybrid => "HTSTE",
            Self::ByCost => "HTSTE by cost",
            Self::ByRatios => "HTSTE by ratios",
        }
    }

    pub(super) const fn policy(self) -> ExecutionPolicy {
        match self {
            Self::TwoPhaseLocking => ExecutionPolicy::Conventional,
            Self::TwoStage => ExecutionPolicy::TwoStage,
            Self::Optimistic => ExecutionPolicy::Optimistic,
            Self::Hybrid => ExecutionPolicy::Hybrid(HybridPolicy::DEFAULT),
            Self::ByCost => by_rule(ClassRule::Cost),
            Self::ByRatios => by_rule(ClassRule::Ratios),
        }
    }
}

const fn by_rule(rule: ClassRule) -> ExecutionPolicy {
    ExecutionPolicy::Hybrid(HybridPolicy { rule, ..HybridPolicy::DEFAULT })
}

/// A policy whose instructions are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountedPolicy(pub(super) Policy);

impl CountedPolicy {
    /// All.
    pub const ALL: [Self; 4] =
        [Self(Policy::TwoPhaseLocking), Self(Policy::TwoStage), Self(Policy::Optimistic), Self(Policy::Hybrid)];
}

impl fmt::Display for CountedPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

impl FromStr for CountedPolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Self::ALL.into_iter().find(|policy| policy.0.name() == text);
        named.ok_or_else(|| format!("use one of {}", Policy::ALL.map(Policy::name).join(", ")))
    }
}
