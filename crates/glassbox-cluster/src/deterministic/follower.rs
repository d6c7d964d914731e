//! The sequencer's view of the replicas that execute the log.

use std::collections::VecDeque;

use crate::protocol::address::Address;
use crate::protocol::configuration::Configuration;
use crate::protocol::entry::Entry;

/// The sequencer's view of a replica, which executes the log.
#[derive(Debug)]
pub(super) struct Follower {
    pub(super) replica: Address,
    pub(super) partition: usize,
    /// The configuration since which it has its place.
    pub(super) since: u64,
    /// The last epoch with inputs for it that it was sent; `None`: it has not said yet what it has.
    pub(super) sent: Option<u64>,
    /// Whether its connection broke since it asked for inputs last.
    pub(super) is_cut: bool,
    /// When it may be sent more of what it lacks.
    pub(super) again: Again,
    /// The checkpoint that was noted last, since it has this place.
    pub(super) noted_checkpoint: Option<u64>,
    /// The last epoch that it has executed, as far as is known.
    pub(super) executed: u64,
    /// Epochs of which it has not executed the inputs that are on it alone: the entry of the stream that each waits
    /// for, and when it was sent. (Others may wait for a partition that is late.)
    pub(super) unexecuted: VecDeque<(u64, u64, Option<u64>)>,
}

impl Follower {
    /// All replicas of a configuration.
    pub(super) fn all(configuration: &Configuration, sent: Option<u64>) -> Vec<Self> {
        let partitions = configuration.partitions.iter().enumerate();
        let all = partitions.flat_map(|(partition, it)| {
            it.all().map(move |(replica, since)| Self {
                replica,
                partition,
                since,
                sent,
                is_cut: false,
                again: Again::default(),
                noted_checkpoint: None,
                executed: 0,
                unexecuted: VecDeque::new(),
            })
        });
        all.collect()
    }

    /// How long it has had inputs on it alone that it has not executed, in microseconds.
    pub(super) fn lag_us(&self, now_us: u64) -> u64 {
        let sent = self.unexecuted.iter().find_map(|(.., sent)| *sent);
        sent.map_or(0, |sent| now_us.saturating_sub(sent))
    }
}

/// When a replica may be sent more of what it lacks: it catches up at a limited rate, and at least a third faster than
/// the log grows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Again {
    /// From this time on, in microseconds.
    pub(super) at_us: u64,
    /// Or when this many bytes were sealed.
    pub(super) at_bytes: u64,
    /// Inputs that were sealed when it was sent some of what it lacks last.
    pub(super) sealed: Option<u64>,
    /// It has asked for what follows this epoch, and waits.
    pub(super) after: Option<u64>,
}

/// Whether a note is about this replica.
pub(super) fn is_of(note: &Entry, replica: Address) -> bool {
    matches!(note, Entry::Digests(_, (of, _), _) | Entry::Checkpointed((of, _), _) if *of == replica)
}

/// Whether a partition has other replicas than this one.
pub(super) fn has_others(followers: &[Follower], replica: Address) -> bool {
    followers.iter().any(|it| it.replica != replica && it.replica.partition() == replica.partition())
}
