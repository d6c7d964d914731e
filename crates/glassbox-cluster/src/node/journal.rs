//! What a replica writes to its journal, and what it is again when it has read it.
//!
//! A journal follows its replica's stream as a backup does, and holds an entry when it is on disk: so whatever waits
//! until all backups hold something waits for the disk as well. What is logged is therefore what a backup repeats, and
//! recovery makes a backup, which then becomes primary as after a promotion. So nothing that a partition has told
//! anybody is missing: neither answers nor votes, nor decisions that it said it had heard.
//!
//! A base is of the rows as far as they are decided: on a primary, of a moment at which nothing is under way.

use glassbox::shard::Shard;

use crate::node::member::Member;
use crate::node::role::{MakeShard, Role};
use crate::participant::backup::Backup;
use crate::participant::partition::Partition;
use crate::protocol::address::Address;
use crate::protocol::configuration::Configuration;
use crate::protocol::entry::Record;
use crate::protocol::outbox::Outbox;

/// A replica that reads its journal.
#[derive(Debug)]
pub struct Reading {
    me: Address,
    shard: Option<Shard>,
    configuration: Option<Configuration>,
    backup: Option<(u64, Backup)>,
}

/// What a replica has of a journal that it has read.
#[derive(Debug)]
pub struct Recovered {
    /// Who was who when it was written last.
    pub configuration: Configuration,
    /// Since which epoch the replica had its role when the base was made.
    pub since: u64,
    pub(crate) backup: Backup,
}

impl Reading {
    /// Begins with the rows of the base, if there is one.
    pub fn new(me: Address, rows: Option<Shard>) -> Self {
        Self { me, shard: rows, configuration: None, backup: None }
    }

    /// The next record.
    ///
    /// # Errors
    /// When it is none, or does not fit what was before.
    pub fn record(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.take(postcard::from_bytes(bytes).map_err(|error| format!("it is no record of a replica: {error}"))?)
    }

    /// The same, of one that was read already.
    ///
    /// # Errors
    /// When it does not fit what was before.
    pub fn take(&mut self, record: Record) -> Result<(), String> {
        match (record, &mut self.backup) {
            (Record::Base { since, held, scheme }, None) => {
                let shard = self.shard.take().ok_or("a base without rows")?;
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
            (Record::Base { .. }, Some(_)) => Err("there is a base already".to_owned()),
            (_, None) => Err("the base is missing".to_owned()),
        }
    }

    /// What came of it; `None`: there was no base.
    pub fn end(self) -> Option<Recovered> {
        let (configuration, (since, backup)) = (self.configuration?, self.backup?);
        Some(Recovered { configuration, since, backup })
    }
}

impl Member {
    /// A primary that has what a journal had, which goes on.
    pub fn recovered(
        me: Address,
        configuration: Configuration,
        make: MakeShard,
        recovered: Recovered,
        out: &mut Outbox,
    ) -> Self {
        let mut partition = Partition::promoted(recovered.backup, out);
        if partition.scheme() != configuration.scheme {
            partition.switch(configuration.scheme, out);
        }
        Self { journals: true, ..Self::new(me, configuration, make, Role::Primary(Box::new(partition))) }
    }

    /// From now on it has a journal, which is to have what it has.
    pub fn begin_journal(&mut self, out: &mut Outbox) {
        self.journals = true;
        match &mut self.role {
            Role::Primary(partition) => partition.begin_journal(self.me, out),
            Role::Backup(_) => {
                self.take_journal();
                self.renew_base(out);
            }
            // It has nothing yet.
            _ => {}
        }
    }

    pub(crate) fn take_journal(&mut self) {
        self.role = match std::mem::replace(&mut self.role, Role::Idle) {
            Role::Backup(backup) => Role::Backup(Box::new(backup.with_journal(self.me))),
            other => other,
        };
    }

    /// Has the journal begin with another base, as soon as nothing is under way.
    pub fn renew_base(&mut self, out: &mut Outbox) {
        match &mut self.role {
            Role::Primary(partition) => partition.renew_base(out),
            Role::Backup(backup) => backup.base(out),
            _ => {}
        }
    }
}
