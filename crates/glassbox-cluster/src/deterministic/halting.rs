//! The end of a replica whose partition has no majority: its rows become a checkpoint, and then it stops.
//!
//! The replica sets of the partition have changed different rows, and an operator decides which are right. The rows
//! that clients have seen from a set are in the memory of its replica alone: after a restart from an older checkpoint
//! the replica would execute the inputs again, perhaps with a third result.
//!
//! The naive way is to stop at once, as a replica of a minority does. That one takes the rows of the majority; here all
//! rows would be lost but those of older checkpoints, and no set could be declared right. So a halting replica
//!
//! - answers no client, and takes no further input;
//! - ends the inputs that it has, and writes a checkpoint of the rows as they are then;
//! - stops when the checkpoint is durable, or could not be written, or [`MAX_HALT_US`] have passed: a participant that
//!   has stopped too may have the votes for which it waits.
//!
//! The owner of a halt is the executor, which does this; a halt only knows how far it is.
//!
//! The rows as of the last equal epoch are in no memory any more when the reports of two sets are compared: a replica
//! executes the log without waiting for the comparison. A checkpoint of them would also lose every later commit.

/// How long a replica ends inputs and writes the checkpoint, in microseconds.
const MAX_HALT_US: u64 = 5_000_000;

/// A halt in progress.
#[derive(Debug)]
pub(super) struct Halt {
    why: String,
    /// When it stops in any case, in microseconds; `None`: it has not looked at the clock.
    until_us: Option<u64>,
    /// Whether the checkpoint of the halt has begun: one that had begun before has older rows.
    has_base: bool,
}

impl Halt {
    /// A halt for this reason.
    pub(super) fn new(why: String) -> Self {
        Self { why, until_us: None, has_base: false }
    }

    /// A checkpoint begins.
    pub(super) fn begin_base(&mut self) {
        self.has_base = true;
    }

    /// A checkpoint is durable, or could not be written: the reason of the stop, if it was that of the halt.
    pub(super) fn end_base(&self) -> Option<String> {
        self.has_base.then(|| self.why.clone())
    }

    /// The reason of the stop, if the time is up.
    pub(super) fn overdue(&mut self, now_us: u64) -> Option<String> {
        let until_us = *self.until_us.get_or_insert(now_us + MAX_HALT_US);
        (now_us >= until_us).then(|| self.why.clone())
    }

    /// When it looks at the clock, in microseconds.
    pub(super) fn next_tick_us(&self) -> u64 {
        self.until_us.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_halt_ends_with_its_own_checkpoint_or_when_its_time_is_up() {
        let mut halt = Halt::new("why".to_owned());
        assert_eq!(halt.end_base(), None, "an older checkpoint");
        halt.begin_base();
        assert_eq!(halt.end_base().as_deref(), Some("why"));
        assert_eq!((halt.next_tick_us(), halt.overdue(7)), (0, None));
        assert_eq!(halt.next_tick_us(), 7 + MAX_HALT_US);
        assert_eq!(halt.overdue(7 + MAX_HALT_US).as_deref(), Some("why"));
    }
}
