//! The paths that are compared, and the benchmarks that they run.

use std::fmt;
use std::str::FromStr;

/// A path from a call to its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallPath {
    /// The embedded database: the caller takes the token.
    Token,
    /// A client that runs its calls on an idle machine; so many are submitted before it waits for the first.
    Machines(usize),
    /// Client, queues and partition; so many calls are submitted together.
    Messages(usize),
}

impl CallPath {
    /// All paths; the others are compared with the first.
    pub const ALL: [Self; 5] =
        [Self::Token, Self::Machines(1), Self::Machines(16), Self::Messages(1), Self::Messages(16)];

    /// The goal: the maximum multiple of the token path's instructions.
    pub const fn goal(self) -> Option<f64> {
        match self {
            Self::Token | Self::Messages(_) => None,
            Self::Machines(1) => Some(1.3),
            Self::Machines(_) => Some(1.1),
        }
    }
}

impl fmt::Display for CallPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Token => f.pad("token"),
            Self::Machines(together) => f.pad(&format!("machines-{together}")),
            Self::Messages(together) => f.pad(&format!("messages-{together}")),
        }
    }
}

impl FromStr for CallPath {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|system| system.to_string() == text);
        known.ok_or_else(|| format!("unknown path; use one of {}", Self::ALL.map(|it| it.to_string()).join(", ")))
    }
}

/// A benchmark, whose transactions are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Benchmark {
    /// Half New-Order, half Payment, within the home warehouse: the mix of *Looking Glass*.
    Tpcc,
    /// The microbenchmark's transaction of twelve rows: a small transaction, so that messages have a large share.
    Micro,
}

impl Benchmark {
    /// All, in the order of counting.
    pub const ALL: [Self; 2] = [Self::Tpcc, Self::Micro];

    /// Its name in tables and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tpcc => "TPC-C",
            Self::Micro => "microbenchmark",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_is_found_by_its_name() {
        for system in CallPath::ALL {
            assert_eq!(system.to_string().parse(), Ok(system));
        }
        assert!(CallPath::from_str("tokens").unwrap_err().contains("machines-16"));
    }
}
