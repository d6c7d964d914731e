//! A stopped cluster whose configurations were an operator's decisions becomes one that agrees on them.
//!
//! The last decision of the operator is the first configuration of the group: the coordinator or sequencer, alone,
//! which has the roles of all replicas as they were. Replicas continue from their journals, as after a failure of
//! everything: the elected coordinator gives the former primary, or a backup of its time, its place. Other coordinators
//! become members by a command while the cluster runs. A sequencer proposes the input log of its journal to the group,
//! before the first configuration: so members that are added get it, and until the group has decided it the journal
//! keeps it. Its hot backups have nothing more that a partition has received; they drop their logs, and can become
//! members.

use std::net::SocketAddr;
use std::path::Path;

use glassbox::Catalog;

use super::commands::Decisions;
use super::processes::Processes;
use crate::protocol::address::{Address, Group};
use crate::protocol::configuration::{AgreementSettings, Configuration, Replicas};
use crate::protocol::input::OrderSettings;

impl Processes {
    /// Has this cluster, all processes of which are stopped, agree on its configurations from the next resume on, with
    /// other coordinators at these addresses; the cluster as it is then. The decision is recorded in the file
    /// `decided`.
    /// A second call with the same arguments, after a failure of the first one, completes it.
    ///
    /// # Errors
    /// When the cluster cannot agree, has not begun, or a process runs.
    pub fn agree(&self, catalog: &Catalog, decided: &Path, others: &[SocketAddr]) -> Result<Self, String> {
        let next = self.agreeing(others)?;
        let (mut decisions, newest) = match Decisions::open(decided, &self.shape()) {
            Ok(opened) => opened,
            // The decision was recorded, and the cluster's file was not written.
            Err(why) => Decisions::open(decided, &next.shape()).map_err(|_| why)?,
        };
        let newest = newest.ok_or("the cluster has not begun; begin it with --log raft")?;
        if newest.agreement.is_none() {
            let mut probe = self.operator(catalog, None, Box::new(|_| Err("it only asks".to_owned())))?;
            if let Some((member, _)) = probe.standings().into_iter().find(|(_, standing)| standing.is_ok()) {
                return Err(format!("{member} runs; stop all processes of the cluster, and repeat the command"));
            }
            decisions.record(&self.first_agreed(&newest)?)?;
        }
        Ok(next)
    }

    /// The first configuration of the group, after this one.
    fn first_agreed(&self, newest: &Configuration) -> Result<Configuration, String> {
        let is_left_out = |it: &Address| it.partition().is_some() && newest.since_of(*it).is_none();
        if let Some(replica) = self.shape().machines().into_iter().find(is_left_out) {
            return Err(format!("{replica} has no role; start the cluster, bring it back, and stop the cluster again"));
        }
        let primary = match &newest.sequencer {
            Some(sequencer) => sequencer.primary,
            None => Group::Sequencer.member(0),
        };
        // It agrees from now on, at first alone. Replicas keep their roles, which restarted processes are given by the
        // group.
        let epoch = newest.epoch + 1;
        let elected = Replicas { primary, since: epoch, backups: Vec::new() };
        let agreement = Some(AgreementSettings::default());
        let coordinators = Vec::new();
        Ok(Configuration { epoch, coordinators, sequencer: Some(elected), agreement, ..newest.clone() })
    }

    fn agreeing(&self, others: &[SocketAddr]) -> Result<Self, String> {
        if self.order.agreement.is_some() {
            return Err("the cluster agrees already; `members` changes which coordinators do".to_owned());
        }
        let has_sequencer = self.scheme.is_deterministic() && !self.order.by_clocks;
        if self.coordinators != 1 && !has_sequencer {
            let what = if self.scheme.is_deterministic() { "an input log" } else { "transactions" };
            return Err(format!(
                "the cluster has {} coordinators, each with {what} of its own, and an elected one goes on with \
                 those of one; only a cluster with one coordinator, or with one sequencer and its hot backups, can \
                 begin to agree",
                self.coordinators
            ));
        }
        let first_replica = usize::from(self.coordinators).min(self.nodes.len());
        let (own, replicas) = self.nodes.split_at(first_replica);
        let nodes = own.iter().chain(others).chain(replicas).copied().collect();
        let added = u8::try_from(others.len()).ok().and_then(|added| self.coordinators.checked_add(added));
        let coordinators = added.ok_or("give at most 63 addresses")?;
        let order = OrderSettings { agreement: Some(AgreementSettings::default()), members: 1, ..self.order };
        let next = Self { coordinators, order, nodes, ..self.clone() };
        next.check()?;
        Ok(next)
    }
}
