//! What a journal has of a party that was restarted.

use glassbox::research::shard::Shard;
use serde::{Deserialize, Serialize};

use crate::deterministic::hot_backup::HotBackup;
use crate::participant::backup::Backup;
use crate::protocol::address::Address;
use crate::protocol::configuration::Configuration;
use crate::protocol::entry::{AgreedRecord, Entry};
use crate::protocol::message::{Message, StopReason};
use crate::protocol::outbox::Outbox;

/// The state of a party, as its journal has it.
#[derive(Debug)]
pub(crate) enum RecoveredState {
    Backup(Box<Backup>),
    /// The rows of an executor, the epoch after which they were so, and what it had sent.
    Executor(Box<Shard>, u64, Vec<Entry>),
    /// The log of a sequencer or hot backup.
    Sequencer(Box<HotBackup>),
    /// The records of a member of the group that agrees on the log, and the number of the last one.
    Agreed(Vec<AgreedRecord>, u64),
}

/// The result of a replay.
#[derive(Debug)]
pub struct RecoveredReplica {
    /// The last configuration in the journal.
    pub configuration: Configuration,
    /// The epoch since which the replica had its role when the base was written.
    pub since: u64,
    pub(crate) state: RecoveredState,
}

/// A restarted replica that waits for its place.
#[derive(Debug)]
pub struct Returned {
    /// `None`: it has no rows.
    pub(crate) recovered: Option<RecoveredReplica>,
    /// Tells its lives apart.
    pub(crate) life: u64,
    /// When it asks again, in microseconds.
    pub(crate) ask_at_us: u64,
    /// The newest configuration that it was sent: the one that gives it a place may arrive later than the next one.
    pub(crate) newest: Option<Box<Configuration>>,
    /// Why the group gives it no place until an operator decides.
    pub(crate) withheld: Option<String>,
}

/// The place that a returned replica is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    pub(crate) replica: Address,
    pub(crate) life: u64,
    /// Whether it takes the rows of another replica.
    pub(crate) joins: bool,
}

impl Returned {
    /// A replica that asks for its place from now on.
    pub(crate) fn new(recovered: Option<RecoveredReplica>, life: u64, now_us: u64) -> Self {
        Self { recovered, life, ask_at_us: now_us, newest: None, withheld: None }
    }

    /// The group gives no place to this replica of a partition; a line for the operator, if that is news.
    pub(crate) fn withhold(&mut self, me: Address, why: &StopReason) -> Option<String> {
        let shard = self.recovered.as_ref().and_then(|it| match &it.state {
            RecoveredState::Executor(shard, ..) => Some(shard),
            _ => None,
        });
        let name = |call: &_| shard.and_then(|shard| shard.procedure_name(call).ok()).unwrap_or("?");
        let why = why.text(me.partition().unwrap_or_default().into(), name);
        let is_news = self.withheld.as_ref() != Some(&why);
        let line = is_news.then(|| format!("{me} has no place: {why}"));
        self.withheld = Some(why);
        line
    }

    /// Why the group gives it no place until an operator decides.
    pub(crate) fn withheld(&self) -> Option<&str> {
        self.withheld.as_deref()
    }

    /// Keeps a configuration until it has a place.
    pub(crate) fn keep(&mut self, configuration: Box<Configuration>) {
        if self.newest.as_ref().is_none_or(|newest| configuration.epoch > newest.epoch) {
            self.newest = Some(configuration);
        }
    }

    /// How often it asks for its place.
    const ASK_EVERY_US: u64 = 50_000;

    /// Asks for its place, if it is time: the members that agree as far as it knows, and all coordinators up to this
    /// number, which may have become members.
    pub(crate) fn ask(&mut self, configuration: &Configuration, coordinators: u16, now_us: u64, out: &mut Outbox) {
        if now_us < self.ask_at_us {
            return;
        }
        self.ask_at_us = now_us + Self::ASK_EVERY_US;
        let mut group = configuration.members();
        group.extend((0..coordinators).map(Address::Coordinator));
        let kept = self.recovered.as_ref().map(|recovered| recovered.since);
        group.into_iter().for_each(|member| out.send(member, Message::Returned { life: self.life, kept }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::configuration::{AgreementSettings, SchedulerKind, SchemeKind};
    use crate::protocol::outbox::Action;

    #[test]
    fn a_returned_replica_asks_the_whole_group_now_and_then() {
        let scheme = SchemeKind::Deterministic(SchedulerKind::Vll);
        let configuration = Configuration::first(1, 1, scheme).with_coordinators(3);
        let configuration = configuration.with_agreement(AgreementSettings::default());
        let state = RecoveredState::Agreed(Vec::new(), 0);
        let recovered = RecoveredReplica { configuration: configuration.clone(), since: 1, state };
        let mut returned = Returned::new(Some(recovered), 7, 0);
        let mut asked = |now_us| {
            let mut out = Outbox::default();
            returned.ask(&configuration, 4, now_us, &mut out);
            let is_it = |action: &Action| matches!(action, Action::Send(_, Message::Returned { life: 7, .. }));
            assert!(out.actions.iter().all(is_it));
            out.actions.len()
        };
        assert_eq!([asked(5), asked(6), asked(60_000)], [4, 0, 4]);
    }
}
