//! The systems that are scaled, and the forms in which they use several cores.

use std::fmt;
use std::str::FromStr;

use glassbox::{Durability, LogKind};

/// An engine with a durability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScaledSystem {
    /// The partitioned engine without a log.
    NoLog,
    /// The partitioned engine with a log of commands that is forced.
    Commands,
    /// The partitioned engine with a log of values that is forced.
    Values,
    /// The classic engine with a log that is written behind.
    ClassicBehind,
    /// The classic engine with a log that is forced.
    Classic,
}

impl ScaledSystem {
    /// All, in the order of the tables.
    pub const ALL: [Self; 5] = [Self::NoLog, Self::Commands, Self::Values, Self::ClassicBehind, Self::Classic];

    /// Its name in tables, results and arguments.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoLog => "no-log",
            Self::Commands => "commands",
            Self::Values => "values",
            Self::ClassicBehind => "classic-behind",
            Self::Classic => "classic",
        }
    }

    /// What it is, for titles.
    pub const fn title(self) -> &'static str {
        match self {
            Self::NoLog => "Partitioned, without a log",
            Self::Commands => "Partitioned, commands forced",
            Self::Values => "Partitioned, values forced",
            Self::ClassicBehind => "Classic, log written behind",
            Self::Classic => "Classic, log forced",
        }
    }

    /// Whether it is the classic engine.
    pub const fn is_classic(self) -> bool {
        matches!(self, Self::ClassicBehind | Self::Classic)
    }

    /// When it answers.
    pub const fn durability(self) -> Durability {
        match self {
            Self::NoLog => Durability::None,
            Self::ClassicBehind => Durability::Async,
            Self::Commands | Self::Values | Self::Classic => Durability::Sync,
        }
    }

    /// The contents of its log.
    pub const fn log(self) -> LogKind {
        if matches!(self, Self::Commands) { LogKind::Commands } else { LogKind::Values }
    }

    /// Whether its instructions are counted: the others' logs are forced by whichever thread waits.
    pub const fn is_counted(self) -> bool {
        matches!(self, Self::NoLog | Self::ClassicBehind)
    }
}

impl FromStr for ScaledSystem {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Self::ALL.into_iter().find(|system| system.name() == text);
        named.ok_or_else(|| format!("use one of {}", Self::ALL.map(Self::name).join(", ")))
    }
}

/// How several cores are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScaledForm {
    /// One database, whose clients call into any warehouse.
    Any,
    /// One database, each client in warehouses of its own partition.
    Own,
    /// A process with a database for each core.
    SideBySide,
}

impl ScaledForm {
    /// All, in the order of the tables.
    pub const ALL: [Self; 3] = [Self::Any, Self::Own, Self::SideBySide];

    /// Its name in tables and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Any => "any warehouse",
            Self::Own => "own warehouses",
            Self::SideBySide => "side by side",
        }
    }
}

/// A system whose instructions are counted, on so many cores. Its text is `no-log/2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountedRun {
    /// The system.
    pub system: ScaledSystem,
    /// Partitions, if it has them, and clients.
    pub cores: usize,
}

impl fmt::Display for CountedRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.system.name(), self.cores)
    }
}

impl FromStr for CountedRun {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (system, cores) = text.split_once('/').ok_or("use a system and a number of cores, as in no-log/2")?;
        let cores = cores.parse().ok().filter(|cores| (1..=64).contains(cores));
        Ok(Self { system: system.parse()?, cores: cores.ok_or("use a number of cores from 1 to 64")? })
    }
}
