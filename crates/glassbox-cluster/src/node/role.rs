//! What a member does, and how it begins to be a backup.

use std::sync::Arc;

use glassbox::shard::Shard;

use crate::coordinator::commit::Coordinator;
use crate::participant::backup::Backup;
use crate::participant::partition::Partition;
use crate::protocol::address::Address;
use crate::protocol::configuration::Configuration;
use crate::protocol::entry::Entry;
use crate::protocol::message::Message;
use crate::protocol::outbox::Outbox;

/// Makes a shard of a member's partition: an empty one, or one with the rows that it begins with.
pub type MakeShard = Arc<dyn Fn() -> Result<Shard, String> + Send + Sync>;

/// What a member does.
#[derive(Debug)]
pub enum Role {
    /// Runs transactions.
    Primary(Box<Partition>),
    /// Repeats what its primary decided.
    Backup(Box<Backup>),
    /// Will be a backup when its primary has sent it the rows.
    Joining {
        /// Who sends them.
        primary: Address,
        /// Since which epoch the configuration has it as a backup.
        since: u64,
        /// The rows that have come so far.
        shard: Box<Shard>,
        /// What goes with them, so far.
        remembered: Vec<Entry>,
        /// In how many messages all that came.
        pieces: u64,
    },
    /// Cannot be a backup, and why: its primary waits for it until the configuration does not name it any more.
    Unfit(String),
    /// Orders and decides transactions of several partitions.
    Coordinator(Box<Coordinator>),
    /// The configuration has nothing for it to do.
    Idle,
}

impl Role {
    /// That of a replica without rows.
    pub(crate) fn joining(me: Address, configuration: &Configuration, make: &MakeShard, out: &mut Outbox) -> Self {
        match configuration.backup_since(me) {
            Some((primary, since)) => match make() {
                Ok(shard) => {
                    out.send(primary, Message::Join { since });
                    Self::Joining { primary, since, shard: Box::new(shard), remembered: Vec::new(), pieces: 0 }
                }
                Err(why) => Self::Unfit(why),
            },
            None => Self::Idle,
        }
    }

    /// Since which epoch the member has this role.
    pub(crate) fn begun(&self, me: Address, configuration: &Configuration) -> u64 {
        match (self, me) {
            (Self::Primary(_), Address::Replica { partition, .. }) => {
                configuration.partitions[usize::from(partition)].since
            }
            (Self::Coordinator(_), _) => configuration.coordinator_since(me).unwrap_or_default(),
            _ => 0,
        }
    }
}
