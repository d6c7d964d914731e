//! The systems that are compared: the stacks, and the kernel.

use std::fmt;
use std::str::FromStr;

use glassbox::research::stacks::StackName;

use super::ladder::{FORCED, GROUPED};
use super::taxes;

/// Transactions in flight of one client, where they are forced in groups.
pub const IN_FLIGHT: usize = 64;

/// A system that is compared. Its text names it in tables, JSON and arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LadderSystem {
    /// The full stack, each answer waiting until the log is forced: Shore "out of the box".
    Forced,
    /// The same with 64 transactions in flight: they are forced in groups.
    Grouped,
    /// A stack; its log, if it has one, is written asynchronously.
    Stack(StackName),
    /// The hand-written kernel with B+-trees, without prefetching: the paper's "optimal".
    Kernel,
}

impl LadderSystem {
    /// In the paper's order: the full stack forced, forced in groups, and not forced; without one component after the
    /// other; the kernel.
    pub fn ladder() -> Vec<Self> {
        let stacks = StackName::ladder().iter().copied().map(Self::Stack);
        [Self::Forced, Self::Grouped].into_iter().chain(stacks).chain([Self::Kernel]).collect()
    }

    /// The full stack, with one component or another left out, with other pages, and without locks and latches in
    /// either order.
    pub fn one_left_out() -> Vec<Self> {
        taxes::stacks().into_iter().map(Self::Stack).collect()
    }

    /// All, each once.
    pub fn all() -> Vec<Self> {
        let mut all = Self::ladder();
        let beside: Vec<_> = Self::one_left_out().into_iter().filter(|system| !all.contains(system)).collect();
        all.extend(beside);
        all
    }

    /// Whether its instructions are counted. Systems that wait for the disk execute those of the full stack.
    pub fn is_counted(self) -> bool {
        !matches!(self, Self::Forced | Self::Grouped)
    }
}

impl fmt::Display for LadderSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forced => f.pad(FORCED),
            Self::Grouped => f.pad(GROUPED),
            Self::Stack(stack) => f.pad(stack.name()),
            Self::Kernel => f.pad("kernel"),
        }
    }
}

impl FromStr for LadderSystem {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = Self::all();
        all.iter().copied().find(|system| system.to_string() == text).ok_or_else(|| {
            let names: Vec<_> = all.iter().map(Self::to_string).collect();
            format!("unknown stack; use one of {}", names.join(", "))
        })
    }
}
