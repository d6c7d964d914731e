//! The role of a member.

use std::sync::Arc;

use glassbox::research::shard::{PartitionSet, Shard};

use crate::coordinator::commit::Coordinator;
use crate::deterministic::executor::Executor;
use crate::deterministic::hot_backup::HotBackup;
use crate::deterministic::sequencer::Sequencer;
use crate::node::recovered::Returned;
use crate::participant::backup::Backup;
use crate::participant::partition::Partition;
use crate::protocol::address::{Address, COORDINATOR, Session};
use crate::protocol::configuration::Configuration;
use crate::protocol::entry::Entry;
use crate::protocol::message::Message;
use crate::protocol::outbox::Outbox;

/// Makes a shard of a member's partition: an empty one, or one with the initial rows.
pub type MakeShard = Arc<dyn Fn() -> Result<Shard, String> + Send + Sync>;

/// The role of a member.
#[derive(Debug)]
pub enum Role {
    /// Runs transactions.
    Primary(Box<Partition>),
    /// Applies its primary's replication stream.
    Backup(Box<Backup>),
    /// Becomes a backup once its primary has sent it the rows.
    Joining {
        /// The sender of the rows.
        primary: Address,
        /// The epoch since which it is a backup.
        since: u64,
        /// The rows so far; `None`: it is to be a hot backup, which has none.
        shard: Option<Box<Shard>>,
        /// The state besides the rows so far.
        remembered: Vec<Entry>,
        /// The number of messages with rows and state so far.
        pieces: u64,
        /// In a replica set: when it asks another one for the rows if none arrive.
        next_source: Option<NextSource>,
    },
    /// Cannot be a backup, for this reason. The primary waits for it until the configuration excludes it.
    Unfit(String),
    /// Orders and decides distributed transactions.
    Coordinator(Box<Coordinator>),
    /// Runs transactions in the order of the input log.
    Executor(Box<Executor>),
    /// Orders all transactions.
    Sequencer(Box<Sequencer>),
    /// Has the same log as the sequencer, and can take over.
    HotBackup(Box<HotBackup>),
    /// Takes part in the agreement on the input log, and can become the sequencer.
    Follower,
    /// Restarted, with what its journal has; waits until the group that agrees on configurations gives it its place.
    Returned(Box<Returned>),
    /// The configuration gives it no role.
    Idle,
}

/// When a joining replica asks another one.
#[derive(Debug, Clone, Copy)]
pub struct NextSource {
    /// When, in microseconds.
    pub(crate) at_us: u64,
    /// How long it waits for the next rows, in microseconds.
    pub(crate) patience_us: u64,
    /// The number of messages with rows when it looked last.
    pub(crate) pieces: u64,
    /// Whether it has reported that another one has no rows either.
    pub(crate) has_reported: bool,
}

impl NextSource {
    /// How long it waits, in microseconds, before it asks another one than one that has no rows.
    const PAUSE_US: u64 = 10_000;

    /// The report that the other one has no rows, the first time.
    pub(crate) fn no_rows(&mut self, me: Address, other: Address) -> Option<String> {
        let line = format!(
            "{me} waits for the rows of its partition, and {other} has none either; if no replica has them in its \
             memory or directory, they are lost: begin another cluster"
        );
        (!std::mem::replace(&mut self.has_reported, true)).then_some(line)
    }

    /// The other one has no rows.
    pub(crate) fn soon(self, pieces: u64, now_us: u64) -> Self {
        Self { at_us: now_us + Self::PAUSE_US, patience_us: self.patience_us / 2, pieces, ..self }
    }
}

impl Role {
    /// The role of a member of a group that has no rows or log.
    pub(crate) fn joining(me: Address, configuration: &Configuration, make: &MakeShard, out: &mut Outbox) -> Self {
        let Some((primary, since)) = configuration.backup_since(me) else { return Self::Idle };
        let shard = match me {
            Address::Replica { .. } => make().map(|shard| Some(Box::new(shard))),
            _ => Ok(None),
        };
        match shard {
            Ok(shard) => {
                out.send(primary, Message::Join { since });
                let (remembered, pieces, next_source) = (Vec::new(), 0, None);
                Self::Joining { primary, since, shard, remembered, pieces, next_source }
            }
            Err(why) => Self::Unfit(why),
        }
    }

    /// The role of a coordinator; one with a predecessor first recovers the predecessor's transactions.
    pub(crate) fn coordinating(me: Address, configuration: &Configuration, out: &mut Outbox) -> Self {
        let since = configuration.coordinator_since(me).unwrap_or_default();
        let name = if configuration.elects_coordinator() { COORDINATOR } else { me };
        // Its sequence numbers are higher than its predecessor's.
        let session = Session::new(name, since.saturating_sub(1));
        let mut coordinator = Coordinator::new(session, configuration.primaries());
        coordinator.deadlocks.forget(configuration.scheme_since, PartitionSet::EMPTY);
        coordinator.set_active(!configuration.scheme.clients_coordinate(), out);
        coordinator.begin_order(configuration.coordinators.len());
        if since > 1 {
            coordinator.recover(out);
        }
        Self::Coordinator(Box::new(coordinator))
    }

    /// The role of a replica that takes the rows of another replica set, of the one after `before`. It waits for them
    /// for this many microseconds, before it asks another one.
    pub(crate) fn joining_set(
        me: Address,
        (before, patience_us, has_reported): (Option<Address>, u64, bool),
        (configuration, make): (&Configuration, &MakeShard),
        now_us: u64,
        out: &mut Outbox,
    ) -> Self {
        let all = me.group().and_then(|group| configuration.group(group)).into_iter().flat_map(|it| it.all());
        let mut others: Vec<_> = all.map(|(replica, _)| replica).filter(|it| *it != me).collect();
        others.sort_unstable();
        let next = others.iter().find(|it| before.is_none_or(|before| **it > before)).or(others.first());
        let Some(&primary) = next else { return Self::Unfit("no other replica set has the rows".to_owned()) };
        match make() {
            Ok(shard) => {
                // The number of the request.
                let since = now_us;
                out.send(primary, Message::Join { since });
                let next_source =
                    Some(NextSource { at_us: now_us + patience_us, patience_us, pieces: 0, has_reported });
                Self::Joining {
                    primary,
                    since,
                    shard: Some(Box::new(shard)),
                    remembered: Vec::new(),
                    pieces: 0,
                    next_source,
                }
            }
            Err(why) => Self::Unfit(why),
        }
    }

    /// How long a joining replica waits for the next rows, in microseconds. Each other one that it asks has twice as
    /// long: it may be writing a base, or copying its rows for another one.
    pub(crate) const FIRST_PATIENCE_US: u64 = 2_000_000;

    /// Whether there is work that ends by itself, unless it waits for a member that is gone.
    pub(crate) fn is_working(&self) -> bool {
        match self {
            Self::Primary(partition) => !partition.is_idle(),
            Self::Coordinator(coordinator) => coordinator.pending() > 0,
            Self::Executor(executor) => executor.broken().is_none() && !executor.is_idle(),
            Self::Sequencer(sequencer) => sequencer.broken().is_none() && sequencer.pending() > 0,
            _ => false,
        }
    }

    /// Unfinished work or a failure; `None`: neither.
    pub(crate) fn unfinished(&self) -> Option<String> {
        match self {
            Self::Primary(partition) => (!partition.is_idle()).then(|| "transactions are active".to_owned()),
            Self::Backup(backup) => backup.lost().map(|why| format!("replication has stopped: {why}")),
            Self::HotBackup(backup) => backup.lost().map(|why| format!("replication has stopped: {why}")),
            Self::Joining { .. } => Some("it waits for what its primary has".to_owned()),
            Self::Coordinator(coordinator) => {
                let pending = coordinator.pending();
                (pending > 0).then(|| format!("{pending} transactions are undecided"))
            }
            Self::Executor(executor) => match executor.broken() {
                Some(why) => Some(format!("it has stopped: {why}")),
                None => (!executor.is_idle()).then(|| "transactions are active".to_owned()),
            },
            Self::Sequencer(sequencer) => match (sequencer.broken(), sequencer.pending()) {
                (Some(why), _) => Some(format!("it has stopped: {why}")),
                (None, pending) => (pending > 0).then(|| format!("{pending} inputs are not durable")),
            },
            Self::Unfit(why) => Some(format!("it cannot be a backup: {why}")),
            Self::Returned(it) => Some(it.withheld.clone().unwrap_or_else(|| "it waits for its place".to_owned())),
            Self::Follower | Self::Idle => None,
        }
    }

    /// The epoch since which the member has this role.
    pub(crate) fn begun(&self, me: Address, configuration: &Configuration) -> u64 {
        match (self, me) {
            (Self::Primary(_) | Self::Executor(_), Address::Replica { .. }) => {
                configuration.since_of(me).unwrap_or_default()
            }
            (Self::Coordinator(_) | Self::Sequencer(_), _) => configuration.coordinator_since(me).unwrap_or_default(),
            _ => 0,
        }
    }
}
