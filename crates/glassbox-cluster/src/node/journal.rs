//! Recovery of a replica from its journal, and the member's side of journaling.
//!
//! A journal is written like a backup: it receives the replication stream, and acknowledges an entry once it is forced.
//! So everything that waits for the acknowledgements of all backups waits for the disk as well. The log contains what a
//! backup applies, recovery produces a backup, and the backup is then promoted. So nothing that a partition sent is
//! lost: neither answers nor votes nor acknowledged decisions.
//!
//! A base has the rows without undecided changes; a primary writes one while no transaction is active.

use glassbox::research::shard::Shard;

use crate::deterministic::executor::Executor;
use crate::deterministic::hot_backup::HotBackup;
use crate::deterministic::sequencer::Sequencer;
use crate::node::agreed_log::{AgreedLog, BASE_PATIENCE};
use crate::node::member::Member;
use crate::node::recovered::{RecoveredReplica, RecoveredState, Returned};
use crate::node::role::{MakeShard, Role};
use crate::participant::backup::Backup;
use crate::participant::partition::Partition;
use crate::protocol::address::Address;
use crate::protocol::configuration::{Configuration, SchemeKind};
use crate::protocol::entry::{AgreedRecord, Entry, Record};
use crate::protocol::outbox::Outbox;

/// A replica that replays its journal.
#[derive(Debug)]
pub struct JournalReplay {
    me: Address,
    shard: Option<Shard>,
    configuration: Option<Configuration>,
    recovered: Option<(u64, RecoveredState)>,
    /// Whether the records are those of a base that was not completed: the state is the one before it.
    is_in_vain: bool,
}

impl JournalReplay {
    /// Begins with the rows of the base, if there is one.
    pub fn new(me: Address, rows: Option<Shard>) -> Self {
        Self { me, shard: rows, configuration: None, recovered: None, is_in_vain: false }
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
        match (record, self.recovered.as_mut().map(|(_, state)| state)) {
            (Record::Base { since, held, scheme }, None) => {
                let shard = self.shard.take().ok_or("the journal has a base without rows")?;
                let state = match self.me {
                    me @ Address::Coordinator(_) => {
                        RecoveredState::Sequencer(Box::new(HotBackup::new(me, held).with_journal(me)))
                    }
                    _ if scheme.is_deterministic() => RecoveredState::Executor(Box::new(shard), held, Vec::new()),
                    me => RecoveredState::Backup(Box::new(Backup::at(shard, me, held, scheme).with_journal(me))),
                };
                self.recovered = Some((since, state));
                Ok(())
            }
            (Record::Configuration(configuration), state) => {
                if let Some(state) = state
                    && let RecoveredState::Sequencer(log) = &*state
                    && configuration.agreement.is_some()
                {
                    *state = match self.is_in_vain {
                        false => RecoveredState::Agreed(Vec::new(), log.held),
                        // The cluster had begun to agree, and the first base of the agreement was not completed.
                        true => RecoveredState::Agreed(former_records(&configuration, log), 0),
                    };
                }
                self.configuration = Some(*configuration);
                Ok(())
            }
            (Record::Remembered(_), Some(_)) if self.is_in_vain => Ok(()),
            (Record::Remembered(entry), Some(state)) => match (state, entry) {
                (RecoveredState::Backup(backup), entry) => backup.apply(entry, &mut Outbox::default()),
                (RecoveredState::Sequencer(log), entry) => log.remember(entry),
                (RecoveredState::Agreed(records, _), Entry::Agreed(record)) => {
                    records.push(record);
                    Ok(())
                }
                (RecoveredState::Agreed(..), entry) => Err(format!("the agreement's base has {entry:?}")),
                (RecoveredState::Executor(_, _, sent), entry @ (Entry::Sent(..) | Entry::Purged(..))) => {
                    sent.push(entry);
                    Ok(())
                }
                (RecoveredState::Executor(..), entry) => Err(format!("an executor's base has {entry:?}")),
            },
            (Record::Entry { sequence, entry }, Some(state)) => match state {
                RecoveredState::Backup(backup) => backup.repeat(sequence, entry),
                RecoveredState::Sequencer(log) => log.append(sequence, entry),
                RecoveredState::Agreed(records, last) => match entry {
                    Entry::Agreed(record) => {
                        records.push(record);
                        *last = sequence;
                        Ok(())
                    }
                    entry => Err(format!("the agreement's journal has {entry:?}")),
                },
                RecoveredState::Executor(..) => Err("an executor's journal has an entry".to_owned()),
            },
            (Record::Base { .. }, Some(_)) => {
                self.is_in_vain = true;
                Ok(())
            }
            (_, None) => Err("the journal has no base".to_owned()),
        }
    }

    /// The result; `None`: the journal has no base.
    pub fn end(self) -> Option<RecoveredReplica> {
        let (configuration, (since, state)) = (self.configuration?, self.recovered?);
        Some(RecoveredReplica { configuration, since, state })
    }
}

/// The records of a member that agrees from now on, with the input log that it had as the sequencer.
fn former_records(first: &Configuration, log: &HotBackup) -> Vec<AgreedRecord> {
    let former = log.log.base(0, first.scheme).remembered.into_iter();
    let former = former.map(|entry| AgreedRecord::Former(Box::new(entry)));
    std::iter::once(AgreedRecord::First(Box::new(first.clone()))).chain(former).collect()
}

impl Member {
    /// The only member of a group that begins, with the input log that it had as the sequencer.
    ///
    /// # Errors
    /// When the configuration has no group that agrees, or what is recovered is no input log.
    pub fn agreeing(
        me: Address,
        first: Configuration,
        make: MakeShard,
        recovered: &RecoveredReplica,
    ) -> Result<Self, String> {
        let RecoveredState::Sequencer(log) = &recovered.state else {
            return Err(format!("the journal of {me} has no input log"));
        };
        let agreed = AgreedLog::restored(me, former_records(&first, log), 0)?;
        Ok(Self { agreed: Some(Box::new(agreed)), ..Self::new(me, first, make, Role::Follower) })
    }

    /// A primary or sequencer that continues from a journal.
    ///
    /// # Panics
    /// When the journal is of another kind of party than the configuration has: they were checked when it was opened.
    pub fn recovered(
        me: Address,
        configuration: Configuration,
        make: MakeShard,
        recovered: RecoveredReplica,
        out: &mut Outbox,
    ) -> Self {
        let role = Self::recovered_role(me, &configuration, recovered, out);
        Self { journals: true, ..Self::new(me, configuration, make, role) }
    }

    /// A member that continues from its journal without a decision of an operator. `life`: tells its lives apart.
    ///
    /// # Errors
    /// When the journal is of another kind of party, or damaged.
    pub fn returned(me: Address, make: MakeShard, recovered: RecoveredReplica, life: u64) -> Result<Self, String> {
        let configuration = recovered.configuration.clone();
        let (agreed, role) = match recovered.state {
            RecoveredState::Agreed(records, last) => {
                (Some(Box::new(AgreedLog::restored(me, records, last)?)), Role::Follower)
            }
            state => {
                let recovered = RecoveredReplica { state, ..recovered };
                (None, Role::Returned(Box::new(Returned::new(Some(recovered), life, 0))))
            }
        };
        Ok(Self { journals: true, agreed, ..Self::new(me, configuration, make, role) })
    }

    /// A member of a cluster that has begun, started again without what it had: a replica takes the rows of another
    /// one; a member of the group that agrees votes in another incarnation, once that has the place of the former one.
    /// `first`: the configuration with which the cluster began. `life`: tells its lives apart.
    ///
    /// # Errors
    /// When the configuration has no group that agrees.
    pub fn forgotten(me: Address, first: Configuration, make: MakeShard, life: u64) -> Result<Self, String> {
        let (agreed, role) = match me {
            Address::Coordinator(_) => (Some(Box::new(AgreedLog::forgotten(me, first.clone(), life)?)), Role::Follower),
            _ => (None, Role::Returned(Box::new(Returned::new(None, life, 0)))),
        };
        Ok(Self { agreed, ..Self::new(me, first, make, role) })
    }

    /// The role of a primary or sequencer that continues from a journal.
    pub(crate) fn recovered_role(
        me: Address,
        configuration: &Configuration,
        recovered: RecoveredReplica,
        out: &mut Outbox,
    ) -> Role {
        match (recovered.state, configuration.scheme) {
            (RecoveredState::Executor(shard, epoch, sent), SchemeKind::Deterministic(kind)) => {
                Role::Executor(Box::new(Executor::recovered(me, *shard, kind, configuration, (epoch, sent), out)))
            }
            (RecoveredState::Sequencer(log), _) => {
                Role::Sequencer(Box::new(Sequencer::succeeding(me, configuration, *log, out)))
            }
            (RecoveredState::Backup(backup), scheme) => {
                let mut partition = Partition::promoted(*backup, out);
                if partition.scheme() != scheme {
                    partition.switch(scheme, out);
                }
                Role::Primary(Box::new(partition))
            }
            (RecoveredState::Executor(..), scheme) => {
                unreachable!("a cluster never changes from an input log to {scheme}")
            }
            (RecoveredState::Agreed(..), _) => unreachable!("such a member needs no decision"),
        }
    }

    /// Begins a journal of the present state.
    pub fn begin_journal(&mut self, out: &mut Outbox) {
        self.journals = true;
        if let Some(agreed) = &mut self.agreed {
            return agreed.begin_journal(out);
        }
        match &mut self.role {
            Role::Primary(partition) => partition.begin_journal(self.me, out),
            Role::Executor(executor) => executor.begin_journal(out),
            Role::Sequencer(sequencer) => sequencer.begin_journal(self.me, out),
            Role::Backup(_) | Role::HotBackup(_) => {
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
            Role::HotBackup(backup) => Role::HotBackup(Box::new(backup.with_journal(self.me))),
            other => other,
        };
    }

    /// Begins another base of the journal once no transaction is active.
    pub fn renew_base(&mut self, out: &mut Outbox) {
        if let Some(agreed) = &mut self.agreed {
            return agreed.renew_base(out);
        }
        match &mut self.role {
            Role::Primary(partition) => partition.renew_base(out),
            Role::Backup(backup) => backup.base(out),
            Role::Executor(executor) => executor.renew_base(out),
            Role::Sequencer(sequencer) => sequencer.renew_base(out),
            Role::HotBackup(backup) => backup.base(self.configuration.scheme, out),
            _ => {}
        }
    }

    /// About how many bytes of the input log a base has.
    pub fn base_bytes(&self) -> u64 {
        match (&self.role, &self.agreed) {
            (_, Some(agreed)) => agreed.base_bytes(),
            (Role::Sequencer(sequencer), _) => sequencer.epochs.base_bytes(),
            (Role::HotBackup(backup), _) => backup.log.base_bytes(),
            _ => 0,
        }
    }

    /// How many times as much as a base of a long log has is written before it is made.
    pub fn base_patience(&self) -> u64 {
        self.agreed.as_ref().map_or(BASE_PATIENCE, |agreed| agreed.base_patience())
    }

    /// Whether an executor's journal needs another base, after so many inputs since the last one.
    pub fn is_base_due(&self, inputs: u32) -> bool {
        matches!(&self.role, Role::Executor(executor) if executor.is_base_due(inputs))
    }

    /// The base that was begun could not be written.
    pub fn base_failed(&mut self) {
        if let Role::Executor(executor) = &mut self.role {
            executor.base_failed();
        }
    }

    /// The last base that was begun is durable.
    pub fn based(&mut self, out: &mut Outbox) {
        if let Some(agreed) = &mut self.agreed {
            return agreed.based();
        }
        self.is_based = true;
        if let Role::Executor(executor) = &mut self.role {
            executor.based(out);
        }
    }
}

#[cfg(test)]
mod tests {
    use glassbox::research::shard::{Call, PartitionSet};
    use glassbox_workloads::micro::catalog;

    use super::*;
    use crate::node::agreed::Effect;
    use crate::protocol::configuration::{AgreementSettings, SchedulerKind};
    use crate::protocol::input::{Input, InputKeys};
    use crate::protocol::message::Message;
    use crate::protocol::outbox::Action;

    /// A crash while a base is being written leaves the former base, and the records of both.
    #[test]
    fn the_records_of_a_base_that_was_not_completed_are_passed_over() {
        let me = Address::Replica { partition: 0, replica: 0 };
        let configuration = Configuration::first(1, 1, SchemeKind::Blocking);
        let base = |held| Record::Base { since: 1, held, scheme: SchemeKind::Blocking };
        let entry = |sequence| Record::Entry { sequence, entry: Entry::NoOp };
        let configured = || Record::Configuration(Box::new(configuration.clone()));
        // Repeated, it would be an error.
        let txn = crate::protocol::address::TxnId { coordinator: Address::Coordinator(0), sequence: 1 };
        let remembered = || Record::Remembered(Entry::Decide { txn, commit: true, cascade: false });
        let mut replay = JournalReplay::new(me, Some(Shard::new(&catalog(), 0, 1, 1 << 20).unwrap()));
        let first = [base(0), configured(), entry(1), entry(2)];
        let in_vain = [base(2), configured(), remembered(), entry(3), base(3), configured(), remembered(), entry(4)];
        first.into_iter().chain(in_vain).for_each(|record| replay.take(record).unwrap());
        assert!(replay.take(entry(6)).is_err(), "entry 5 is missing");
        assert_eq!(replay.end().map(|it| (it.since, it.configuration)), Some((1, configuration)));
    }

    /// A sequencer begins to agree, and is killed while it writes its first base as a member of the group.
    #[test]
    fn an_input_log_outlives_a_crash_while_its_cluster_begins_to_agree() {
        let me = Address::Coordinator(0);
        let scheme = SchemeKind::Deterministic(SchedulerKind::Vll);
        let local = Configuration::first(1, 1, scheme);
        let first = Configuration { epoch: 2, ..local.clone().with_agreement(AgreementSettings::default()) };
        let base = |since| Record::Base { since, held: 0, scheme };
        let configured = |it: &Configuration| Record::Configuration(Box::new(it.clone()));
        let agreed = |record| Entry::Agreed(record);
        let mut replay = JournalReplay::new(me, Some(Shard::new(&catalog(), 0, 1, 1 << 20).unwrap()));
        let log = [base(1), configured(&local), Record::Entry { sequence: 1, entry: Entry::Inputs(7, Vec::new()) }];
        let raft = || AgreedRecord::Raft(vec![1]);
        let in_vain = [
            base(2),
            configured(&first),
            Record::Remembered(agreed(AgreedRecord::First(Box::new(first.clone())))),
            Record::Entry { sequence: 1, entry: agreed(raft()) },
        ];
        log.into_iter().chain(in_vain).for_each(|record| replay.take(record).unwrap());
        let recovered = replay.end().unwrap();
        assert_eq!(recovered.configuration, first);
        let RecoveredState::Agreed(records, 1) = recovered.state else { panic!("{:?}", recovered.state) };
        let former = AgreedRecord::Former(Box::new(Entry::Inputs(7, Vec::new())));
        assert_eq!(records, [AgreedRecord::First(Box::new(first)), former, raft()]);
    }

    /// The agreed log of a sequencer that begins to agree, once the group has decided its first configuration.
    fn begun(mut log: AgreedLog) -> AgreedLog {
        let mut out = Outbox::default();
        log.begin_journal(&mut out);
        for ms in 1..2_000 {
            log.poll(1_000 * ms, &mut out);
            for action in out.actions.drain(..) {
                if let Action::Send(_, Message::Replicate { sequence, .. }) = action {
                    log.forced(sequence);
                }
            }
            while let Some(effect) = log.apply_next() {
                if matches!(effect, Effect::Configured(..)) {
                    return log;
                }
            }
        }
        panic!("the group does not begin: {log:?}");
    }

    #[test]
    fn a_group_that_begins_has_the_input_log_of_the_sequencer() {
        let me = Address::Coordinator(0);
        let scheme = SchemeKind::Deterministic(SchedulerKind::Vll);
        let local = Configuration::first(1, 1, scheme);
        let first = Configuration { epoch: 2, ..local.with_agreement(AgreementSettings::default()) };
        let mut former = HotBackup::new(me, 0);
        let input = |index| {
            let call = Call { procedure: 0, arguments: vec![0; 100 << 10].into(), now: Default::default(), seed: 0 };
            let participants = PartitionSet::of(0);
            let client = Address::Client(1);
            let keys = InputKeys::Declared;
            Input { index, client, call_id: 1, attempt: 1, call, version: 1, participants, keys }
        };
        // More than one proposal has.
        (1..40).for_each(|epoch| former.append(epoch, Entry::Inputs(epoch, vec![input(0)])).unwrap());
        let replica = Address::Replica { partition: 0, replica: 0 };
        former.append(40, Entry::Checkpointed((replica, 1), 5)).unwrap();
        let log = AgreedLog::restored(me, former_records(&first, &former), 0).unwrap();
        let log = begun(log);
        let of = |log: &HotBackup| log.log.base(0, scheme);
        assert_eq!(of(&log.log()), of(&former));
        assert_eq!(log.log_end(), 39);
    }
}
