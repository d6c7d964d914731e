//! What each kind of work costs, in nanoseconds of virtual time.

use glassbox_cluster::Work;
use serde::{Deserialize, Serialize};

/// The cost of each kind of work. A partition's messages are part of what they are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Costs {
    /// A transaction on one partition, nothing kept: the paper's *t_sp*.
    pub single_ns: u64,
    /// The same, with what it overwrites kept: *t_spS*.
    pub single_undo_ns: u64,
    /// A fragment of a transaction of several partitions; with `decide_ns`, the paper's *t_mpC*.
    pub fragment_ns: u64,
    /// Carrying out a decision.
    pub decide_ns: u64,
    /// What taking locks adds, in thousandths of what is locked: the paper's *l*.
    pub locking_thousandths: u64,
    /// A run that stopped early.
    pub stopped_ns: u64,
    /// Taking a run back.
    pub undo_ns: u64,
    /// A coordinator's cost of each message that it receives, and of each that it sends.
    pub coordinator_message_ns: u64,
    /// A client's cost of an answer and of the next call.
    pub client_ns: u64,
}

impl Costs {
    /// *Low Overhead Concurrency Control*, Table 2: 64, 73 and 55 µs, 13.2 %.
    ///
    /// The table does not say what a coordinator costs. It is saturated from half of all transactions on (section 5.1),
    /// so one of them costs it about 91 µs; it handles eight messages for each. What an abort and taking back cost
    /// is not said either: an abort happens "at the beginning of execution".
    pub fn of_the_paper() -> Self {
        Self {
            single_ns: 64_000,
            single_undo_ns: 73_000,
            fragment_ns: 45_000,
            decide_ns: 10_000,
            locking_thousandths: 132,
            stopped_ns: 20_000,
            undo_ns: 9_000,
            coordinator_message_ns: 11_400,
            client_ns: 0,
        }
    }

    /// The same, where all transactions of several partitions take two rounds, which first read and then write.
    ///
    /// "The same amount of work", in twice as many messages (section 5.4), so a fragment of two is not as much as the
    /// only one. How much a message costs follows from the table: a transaction on one partition is a message and
    /// twelve keys, 64 µs; one on two is on each a message, half of the keys and half of the 9 µs for undo, and 10 µs
    /// for the decision, 55 µs. So a message costs 17 µs, and the two fragments 17 more than the only one.
    pub fn in_two_rounds(self) -> Self {
        let undo_ns = self.single_undo_ns - self.single_ns;
        let message_ns = (2 * self.fragment_ns).saturating_sub(self.single_ns + undo_ns);
        Self { fragment_ns: (self.fragment_ns + message_ns) / 2, ..self }
    }

    /// The cost of a piece of work.
    pub fn of(&self, work: Work) -> u64 {
        let locked = |ns: u64, watched: bool| if watched { ns + ns * self.locking_thousandths / 1_000 } else { ns };
        match work {
            Work::Single { undo: false, watched } => locked(self.single_ns, watched),
            Work::Single { undo: true, watched } => locked(self.single_undo_ns, watched),
            Work::Fragment { watched } => locked(self.fragment_ns, watched),
            Work::Stopped => self.stopped_ns,
            Work::Undo => self.undo_ns,
            Work::Decide => self.decide_ns,
        }
    }
}
