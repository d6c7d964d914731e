//! What a coordinator has told a partition, and what of it the partition has heard.

use std::collections::VecDeque;

/// Decisions told to a partition.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// Those that it may not have heard, in the order in which they were told.
    unheard: VecDeque<(u64, bool)>,
    /// How many it has heard.
    heard: u64,
}

impl Told {
    pub(crate) fn tell(&mut self, sequence: u64, commit: bool) {
        self.unheard.push_back((sequence, commit));
    }

    /// The partition says what it has heard.
    pub(crate) fn heard(&mut self, heard: u64) {
        while self.heard < heard && self.unheard.pop_front().is_some() {
            self.heard += 1;
        }
    }

    /// Whether it has yet to hear that a transaction before this one is aborted: it then runs again what came after.
    pub(crate) fn will_run_again(&self, sequence: u64) -> bool {
        self.unheard.iter().any(|&(aborted, commit)| !commit && aborted < sequence)
    }

    /// The lowest transaction whose end it may not have heard.
    pub(crate) fn first_unheard(&self) -> Option<u64> {
        self.unheard.iter().map(|&(sequence, _)| sequence).min()
    }

    /// Whether it has heard the end of a transaction that it was told.
    pub(crate) fn has_heard(&self, sequence: u64) -> bool {
        self.unheard.iter().all(|&(unheard, _)| unheard != sequence)
    }

    /// Another primary is told again what the one before may not have heard, and counts anew.
    pub(crate) fn again(&mut self) -> impl Iterator<Item = (u64, bool)> + use<> {
        self.heard = 0;
        self.unheard.clone().into_iter()
    }
}
