//! Recovery of a replica from its journal, and the member's side of journaling.
//!
//! A journal is written like a backup: it receives the replication stream, and acknowledges an entry once it is forced.
//! So everything that waits for the acknowledgements of all backups waits for the disk as well. The log contains what a
//! backup applies, recovery produces a backup, and the backup is then promoted. So nothing that a partition sent is
//! lost: neither answers nor votes nor acknowledged decisions.
//!
//! A base has the rows without undecided changes; a primary writes one while no transaction is active.

use glassbox::research::shard::Shard;

use crate::node::member::Member;
use crate::node::role::{MakeShard, Role};
use crate::participant::backup::Backup;
use crate::participant::partition::Partition;
use crate::protocol::address::Address;
use crate::protocol::configuration::Configuration;
use crate::protocol::entry::Record;
use crate::protocol::outbox::Outbox;

/// A replica that replays its journal.
#[derive(Debug)]
pub struct JournalReplay {
    me: Address,
    shard: Option<Shard>,
    configuration: Option<Configuration>,
    backup: Option<(u64, Backup)>,
}

/// The result of a replay.
#[derive(Debug)]
pub struct RecoveredReplica {
    /// The last configuration in the journal.
    pub configuration: Configuration,
    /// The epoch since which the replica had its role when the base was written.
    pub since: u64,
    pub(crate) backup: Backup,
}

impl JournalReplay {
    /// Begins with the rows of the base, if there is one.
    pub fn new(me: Address, rows: Option<Shard>) -> Self {
        Self { me, shard: rows, configuration: None, backup: None }
    }

    /// Replays the next record.
    ///
    /// # Errors
    /// When the bytes are no record, or the record does not fit its predecessors.
    pub fn record(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.take(postcard::from_bytes(bytes).map_err(|error| format!("invalid journal record: {error}"))?)
    }

    /// Replays the next record, decoded.
    ///
    /// # Errors
    /// When it does not fit its predecessors.
    pub fn take(&mut self, record: Record) -> Result<(), String> {
        match (record, &mut self.backup) {
            (Record::Base { since, held, scheme }, None) => {
                let shard = self.shard.take().ok_or("the journal has a base without rows")?;
                let backup = Backup::at(shard, self.me, held, scheme).with_journal(self.me);
                self.backup = Some((since, backup));
                Ok(())
            }
            (Record::Configuration(configuration), _) => {
                self.configuration = Some(*configuration);
                Ok(())
            }
            (Record::Remembered(entry), Some((_, backup))) => backup.apply(entry, &mut Outbox::default()),
            (Record::Entry { sequence, entry }, Some((_, backup))) => backup.repeat(sequence, entry),
            (Record::Base { .. }, Some(_)) => Err("the journal has a second base".to_owned()),
            (_, None) => Err("the journal has no base".to_owned()),
        }
    }

    /// The result; `None`: the journal has no base.
    pub fn end(self) -> Option<RecoveredReplica> {
        let (configuration, (since, backup)) = (self.configuration?, self.backup?);
        Some(RecoveredReplica { configuration, since, backup })
    }
}

impl Member {
    /// A primary that continues from a journal.
    pub fn recovered(
        me: Address,
        configuration: Configuration,
        make: MakeShard,
        recovered: RecoveredReplica,
        out: &mut Outbox,
    ) -> Self {
        let mut partition = Partition::promoted(recovered.backup, out);
        if partition.scheme() != configuration.scheme {
            partition.switch(configuration.scheme, out);
        }
        Self { journals: true, ..Self::new(me, configuration, make, Role::Primary(Box::new(partition))) }
    }

    /// Begins a journal of the present state.
    pub fn begin_journal(&mut self, out: &mut Outbox) {
        self.journals = true;
        match &mut self.role {
            Role::Primary(partition) => partition.begin_journal(self.me, out),
            Role::Backup(_) => {
                self.take_journal();
                self.renew_base(out);
            }
            // It has no rows yet.
            _ => {}
        }
    }

    pub(crate) fn take_journal(&mut self) {
        self.role = match std::mem::replace(&mut self.role, Role::Idle) {
            Role::Backup(backup) => Role::Backup(Box::new(backup.with_journal(self.me))),
            other => other,
        };
    }

    /// Begins another base of the journal once no transaction is active.
    pub fn renew_base(&mut self, out: &mut Outbox) {
        match &mut self.role {
            Role::Primary(partition) => partition.renew_base(out),
            Role::Backup(backup) => backup.base(out),
            _ => {}
        }
    }
}
