//! What is measured of each kind of work, and what is told of it.

/// What one round came to; in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    /// A transaction on one partition.
    pub single: f64,
    /// The same, with what it overwrites kept.
    pub speculative: f64,
    /// A fragment of a transaction on two partitions.
    pub fragment: f64,
    /// That transaction's end.
    pub decision: f64,
    /// What locks add to a transaction on one partition.
    pub locks: f64,
    /// What locks add to a fragment, with its decision.
    pub fragment_locks: f64,
    /// A run that aborts.
    pub stopped: f64,
    /// Taking a run back.
    pub undo: f64,
    /// Each of the eight messages that a coordinator handles for a transaction on two partitions.
    pub coordinator_message: f64,
    /// A client's part of a transaction on one partition.
    pub client: f64,
    /// A message from one to another, through a queue.
    pub message: f64,
    /// What those of a transaction on two partitions take beyond that.
    pub several_message: f64,
}

/// A name, a unit, and how it is taken from a round.
type Metric = (&'static str, &'static str, fn(&Round) -> f64);

/// What is told: the table of costs. A message's way through a queue is half the sender's and half the receiver's: a
/// partition receives and sends one for a transaction and for a fragment, and receives one for a decision. Those of a
/// transaction on several partitions have more to carry.
pub(super) const METRICS: [Metric; 12] = [
    ("t_sp", "ns", |round| round.single + round.message),
    ("t_spS", "ns", |round| round.speculative + round.message),
    ("fragment", "ns", |round| round.fragment + round.message + round.several_message),
    ("decision", "ns", |round| round.decision + (round.message + round.several_message) / 2.0),
    ("l", "thousandths", |round| 1e3 * round.locks / (round.speculative + round.message)),
    ("l of a fragment", "thousandths", |round| {
        1e3 * round.fragment_locks / (round.fragment + round.message + round.several_message)
    }),
    ("stopped", "ns", |round| round.stopped + round.message),
    ("undo", "ns", |round| round.undo),
    ("coordinator's message", "ns", |round| round.coordinator_message + (round.message + round.several_message) / 2.0),
    ("client", "ns", |round| round.client + round.message),
    ("a message through a queue", "ns", |round| round.message),
    ("more for one of several", "ns", |round| round.several_message),
];
