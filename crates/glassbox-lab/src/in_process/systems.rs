//! What is compared, and on which transactions.

use std::fmt;
use std::str::FromStr;

/// A way to a procedure's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// The embedded database: the caller takes the token.
    Token,
    /// A client that has its calls run by the machine where that has nothing to do; so many are begun before any is
    /// waited for.
    Machines(usize),
    /// Client, queues and partition; so many calls are handed over together.
    Messages(usize),
}

impl System {
    /// All of them; the others are divided by the first.
    pub const ALL: [Self; 5] =
        [Self::Token, Self::Machines(1), Self::Machines(16), Self::Messages(1), Self::Messages(16)];

    /// How many times the token path's instructions it may take.
    pub const fn goal(self) -> Option<f64> {
        match self {
            Self::Token | Self::Messages(_) => None,
            Self::Machines(1) => Some(1.3),
            Self::Machines(_) => Some(1.1),
        }
    }
}

impl fmt::Display for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Token => f.pad("token"),
            Self::Machines(together) => f.pad(&format!("machines-{together}")),
            Self::Messages(together) => f.pad(&format!("messages-{together}")),
        }
    }
}

impl FromStr for System {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|system| system.to_string() == text);
        known.ok_or_else(|| {
            format!("there is no such path; there are {}", Self::ALL.map(|it| it.to_string()).join(", "))
        })
    }
}

/// What is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// Half New-Order, half Payment, within the home warehouse: the mix of *Looking Glass*.
    Tpcc,
    /// The microbenchmark's transaction of twelve rows: the smallest there is, of which a message is the most.
    Micro,
}

impl Workload {
    /// In the order in which they are counted.
    pub const ALL: [Self; 2] = [Self::Tpcc, Self::Micro];

    /// In tables and results.
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
        for system in System::ALL {
            assert_eq!(system.to_string().parse(), Ok(system));
        }
        assert!(System::from_str("tokens").unwrap_err().contains("machines-16"));
    }
}
