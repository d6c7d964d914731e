//! The change of a member's role when a configuration arrives.

use std::collections::BTreeSet;

use crate::deterministic::sequencer::Sequencer;
use crate::node::agreed::Effect;
use crate::node::failover::silent_us;
use crate::node::member::{Member, answer};
use crate::node::recovered::{Place, Returned};
use crate::node::role::Role;
use crate::participant::partition::Partition;
use crate::protocol::address::Address;
use crate::protocol::configuration::Configuration;
use crate::protocol::message::{GroupChange, Message, Presence};
use crate::protocol::outbox::Outbox;

impl Member {
    /// Receives a configuration.
    pub(crate) fn configure(&mut self, next: Configuration, now_us: u64, out: &mut Outbox) {
        if !next.follows(&self.configuration) {
            return;
        }
        self.tick.end_epoch(self.configuration.epoch, out);
        let (before, first) = (std::mem::replace(&mut self.configuration, next), out.actions.len());
        self.order_since = self.configuration.order_since();
        match self.me {
            Address::Replica { partition, .. } => self.take_role(usize::from(partition), &before, now_us, out),
            Address::Coordinator(_) if self.configuration.elects_coordinator() => {
                self.take_elected_role(&before, now_us, out);
            }
            Address::Coordinator(_) if self.agreed.is_some() => self.take_agreed_role(&before, now_us, out),
            Address::Coordinator(_) if self.configuration.scheme.is_deterministic() => {
                self.take_sequencer_role(&before, now_us, out);
            }
            Address::Coordinator(_) => {
                let since = |configuration: &Configuration| configuration.coordinator_since(self.me);
                if since(&self.configuration) == since(&before) {
                    self.go_on_coordinating(&before, now_us, out);
                } else {
                    // The coordinator was replaced.
                    self.role = Role::Idle;
                }
            }
            Address::Client(_) => {}
        }
        self.set_order();
        self.begun = self.role.begun(self.me, &self.configuration);
        self.hold(first, now_us, out);
        let epoch = self.configuration.epoch;
        let due: Vec<_> = self.early.extract_if(.., |(_, packet)| packet.epoch <= epoch).collect();
        for (from, packet) in due {
            self.handle(from, packet, now_us, out);
        }
    }

    /// A coordinator keeps its place.
    fn go_on_coordinating(&mut self, before: &Configuration, now_us: u64, out: &mut Outbox) {
        let Role::Coordinator(it) = &mut self.role else { return };
        it.set_active(!self.configuration.scheme.clients_coordinate(), out);
        let restarts_order = self.order_since != before.order_since();
        if restarts_order {
            it.begin_order(self.configuration.coordinators.len());
        }
        it.configure(&self.configuration, self.configuration.replaced(before), restarts_order, now_us, out);
        answer(it.take_ended(), out);
    }

    /// The role of a member of the group that agrees on configurations, under a scheme without input log.
    fn take_elected_role(&mut self, before: &Configuration, now_us: u64, out: &mut Outbox) {
        let (me, Some(agreed)) = (self.me, &mut self.agreed) else { return };
        let since = self.configuration.coordinator_since(me);
        if since.is_none() {
            agreed.end_watch();
            self.role = Role::Follower;
        } else if since == before.coordinator_since(me) && matches!(self.role, Role::Coordinator(_)) {
            self.go_on_coordinating(before, now_us, out);
        } else if since > before.coordinator_since(me) && agreed.leads() {
            agreed.begin_watch(now_us);
            self.role = Role::coordinating(me, &self.configuration, out);
        }
    }

    /// The role of a member of the sequencer's group.
    fn take_sequencer_role(&mut self, before: &Configuration, now_us: u64, out: &mut Outbox) {
        let (me, journal) = (self.me, self.journals.then_some(self.me));
        let is_sequencer = self.configuration.coordinator_since(me).is_some();
        let keeps_place = self.configuration.coordinator_since(me) == before.coordinator_since(me);
        let since = |configuration: &Configuration| configuration.sequencer.as_ref().map(|it| it.since);
        let (backup, is_same) = (self.configuration.backup_since(me), since(&self.configuration) == since(before));
        self.role = match std::mem::replace(&mut self.role, Role::Idle) {
            Role::Sequencer(mut sequencer) if is_sequencer && keeps_place => {
                sequencer.configure(&self.configuration, journal, now_us, out);
                Role::Sequencer(sequencer)
            }
            Role::HotBackup(backup) if is_sequencer => {
                Role::Sequencer(Box::new(Sequencer::succeeding(me, &self.configuration, *backup, out)))
            }
            role @ (Role::HotBackup(_) | Role::Joining { .. })
                if is_same && backup.is_some() && backup == before.backup_since(me) =>
            {
                role
            }
            _ => Role::joining(me, &self.configuration, &self.make, out),
        };
        self.set_order();
    }

    /// The role of a member of the sequencer's group that agrees on configurations.
    fn take_agreed_role(&mut self, before: &Configuration, now_us: u64, out: &mut Outbox) {
        let (me, Some(agreed)) = (self.me, &self.agreed) else { return };
        let is_sequencer = self.configuration.coordinator_since(me).is_some();
        let keeps_place = self.configuration.coordinator_since(me) == before.coordinator_since(me);
        self.role = match std::mem::replace(&mut self.role, Role::Idle) {
            Role::Sequencer(mut sequencer) if is_sequencer && keeps_place => {
                sequencer.configure(&self.configuration, Some(me), now_us, out);
                Role::Sequencer(sequencer)
            }
            // Another life of it may have been elected, in a configuration that it is sent now.
            _ if is_sequencer && !keeps_place && agreed.leads() => {
                let mut sequencer = Sequencer::succeeding(me, &self.configuration, agreed.log(), out);
                sequencer.halted = agreed.undecided().clone();
                Role::Sequencer(Box::new(sequencer))
            }
            _ => Role::Follower,
        };
        self.set_order();
    }

    /// The role of a replica of a partition under a deterministic scheme.
    fn take_executor_role(&mut self, before: &Configuration, now_us: u64, out: &mut Outbox) {
        let (me, since) = (self.me, self.configuration.since_of(self.me));
        let keeps_place = since.is_some() && since == before.since_of(me);
        self.role = match std::mem::replace(&mut self.role, Role::Idle) {
            Role::Executor(mut executor) if keeps_place => {
                executor.configure(&self.configuration, before, out);
                Role::Executor(executor)
            }
            // It was given a place once more: it asked in an earlier life, and goes on. It was not left out in between.
            Role::Executor(mut executor)
                if since.is_some()
                    && self.configuration.agreement.is_some()
                    && self.configuration.epoch == before.epoch + 1 =>
            {
                executor.configure(&self.configuration, before, out);
                executor.begin_place(me, &self.configuration, out);
                Role::Executor(executor)
            }
            Role::Returned(mut returned) if since.is_some() => match returned.recovered.take() {
                Some(recovered) => Self::recovered_role(me, &self.configuration, recovered, out),
                None => {
                    let first = (None, Role::FIRST_PATIENCE_US, false);
                    Role::joining_set(me, first, (&self.configuration, &self.make), now_us, out)
                }
            },
            role @ Role::Joining { .. } if keeps_place => role,
            // It is asked for its place, or was left out.
            role @ Role::Returned(_) => role,
            _ if self.configuration.agreement.is_some() => {
                Role::Returned(Box::new(Returned::new(None, now_us, now_us + self.pause_us())))
            }
            _ => Role::Idle,
        };
        self.set_order();
    }

    fn take_role(&mut self, partition: usize, before: &Configuration, now_us: u64, out: &mut Outbox) {
        if self.configuration.scheme.is_deterministic() {
            return self.take_executor_role(before, now_us, out);
        }
        let first = out.actions.len();
        let scheme = self.configuration.scheme;
        let another_scheme = self.configuration.scheme_since != before.scheme_since;
        let (now, was) = (&self.configuration.partitions[partition], &before.partitions[partition]);
        let (me, since) = (self.me, self.configuration.backup_since(self.me));
        let follows = since.is_some() && since == before.backup_since(me) && now.since == was.since;
        let role = std::mem::replace(&mut self.role, Role::Idle);
        self.role = match role {
            Role::Primary(mut partition) if now.primary == me && now.since == was.since => {
                if self.order_since != before.order_since() {
                    partition.begin_order();
                }
                if another_scheme {
                    partition.switch(scheme, out);
                }
                let journal = self.journals.then_some(me);
                partition.keep_backups(&now.backups().into_iter().chain(journal).collect::<Vec<_>>(), out);
                Role::Primary(partition)
            }
            Role::Backup(backup) if now.primary == me && backup.lost().is_some() => {
                Role::Unfit(backup.lost().unwrap_or_default().to_owned())
            }
            Role::Backup(backup) if now.primary == me => {
                let mut partition = Partition::promoted(*backup, out);
                partition.sample(self.samples);
                if partition.scheme() != scheme {
                    partition.switch(scheme, out);
                }
                Role::Primary(Box::new(partition))
            }
            role @ (Role::Backup(_) | Role::Joining { .. }) if follows => role,
            Role::Returned(mut returned) if now.primary == me => match returned.recovered.take() {
                Some(recovered) => Self::recovered_role(me, &self.configuration, recovered, out),
                None => Role::Unfit("it has no rows".to_owned()),
            },
            _ => Role::joining(me, &self.configuration, &self.make, out),
        };
        self.redirect(first, out);
    }
}

// Of a member that agrees on configurations with others.
impl Member {
    /// Says how it is, to the elected coordinator.
    pub(crate) fn say_presence(&mut self, to: Address, now_us: u64, out: &mut Outbox) {
        let limit_us = self.configuration.agreement.map_or(u64::MAX >> 1, silent_us);
        let presence = match &mut self.role {
            Role::Primary(partition) => match partition.store.stream.unresponsive(self.me, limit_us, now_us) {
                Some((Address::Replica { replica: backup, .. }, all)) => Presence::Unacked { backup, all },
                _ => Presence::Serves,
            },
            Role::Backup(backup) if backup.lost().is_some() => Presence::Lost,
            Role::Backup(_) if self.journals && !self.is_based => Presence::Writes,
            Role::Backup(_) => Presence::Follows,
            Role::Joining { pieces, .. } => Presence::Joins(*pieces),
            Role::Unfit(_) => Presence::Lost,
            Role::Idle => Presence::Idle,
            // It asks for its place.
            _ => return,
        };
        out.send(to, Message::Present(presence));
    }

    /// Whether it waits for a place, which the group that agrees gives it: as a replica, or as one of its members.
    pub fn waits_for_place(&self) -> bool {
        matches!(self.role, Role::Returned(_)) || self.agreed.as_ref().is_some_and(|it| it.waits_for_place())
    }

    /// Whether it is one of the members that agree, as far as it knows.
    pub fn is_agreeing(&self) -> bool {
        self.agreed.as_ref().is_some_and(|it| it.is_member())
    }

    /// Why its part in the agreement has stopped, if it has.
    pub fn disagrees(&self) -> Option<String> {
        self.agreed.as_ref()?.broken()
    }

    /// Proposes a configuration to the group, for an operator.
    ///
    /// # Errors
    /// When it is not the elected coordinator, or the configuration does not follow the present one.
    pub fn propose(&mut self, next: Configuration, now_us: u64, out: &mut Outbox) -> Result<(), String> {
        let Some(agreed) = self.agreed.as_mut().filter(|_| self.configuration.elects_coordinator()) else {
            return Err(format!("{} agrees on its configurations with others", self.me));
        };
        agreed.propose_command(next)?;
        self.agree(now_us, out);
        Ok(())
    }

    /// Has these members agree, or another one lead, for an operator.
    ///
    /// # Errors
    /// When it does not lead the group.
    pub fn change_group(&mut self, change: &GroupChange, now_us: u64, out: &mut Outbox) -> Result<(), String> {
        let agreed = self.agreed.as_mut().ok_or_else(|| format!("{} takes no part in an agreement", self.me))?;
        match change {
            GroupChange::Members(members) => agreed.change_members(members)?,
            GroupChange::Lead(member) => agreed.transfer_to(*member)?,
        }
        self.agree(now_us, out);
        Ok(())
    }

    /// Has the group note that the rows of this replica are right, for an operator.
    ///
    /// # Errors
    /// When it does not lead the group, or there is nothing to settle.
    pub fn settle(&mut self, replica: Address, now_us: u64, out: &mut Outbox) -> Result<(), String> {
        let agreed = self.agreed.as_mut().ok_or_else(|| format!("{} takes no part in an agreement", self.me))?;
        agreed.settle(replica)?;
        self.agree(now_us, out);
        Ok(())
    }

    /// Carries out what the group decides, until there is nothing to do at this time.
    pub(crate) fn agree(&mut self, now_us: u64, out: &mut Outbox) {
        let Some(agreed) = self.agreed.as_mut().filter(|agreed| !agreed.is_busy) else { return };
        agreed.is_busy = true;
        loop {
            let since = self.begun;
            let Some(agreed) = &mut self.agreed else { return };
            agreed.take_proposals(since, out);
            agreed.look_after(now_us, out);
            // A replica is told why it stops before it is left out.
            if let Role::Sequencer(sequencer) = &mut self.role {
                std::mem::take(&mut sequencer.unfit).into_iter().for_each(|it| agreed.drop_replica(it));
                let undecided = std::mem::take(&mut sequencer.undecided).into_iter();
                undecided.for_each(|(partition, why)| agreed.note_undecided(partition, why));
            }
            agreed.poll(now_us, out);
            match agreed.apply_next() {
                Some(effect) => self.take_effect(effect, now_us, out),
                None if agreed.is_due() => {}
                None => {
                    agreed.is_busy = false;
                    agreed.forget_records();
                    return;
                }
            }
        }
    }

    fn take_effect(&mut self, effect: Effect, now_us: u64, out: &mut Outbox) {
        match effect {
            Effect::Configured(next, placed) => {
                let (is_new, next) = (next.epoch > self.configuration.epoch, *next);
                if let Role::Sequencer(sequencer) = &mut self.role {
                    placed.iter().filter(|it| it.joins).for_each(|it| sequencer.note_joining(it.replica));
                }
                self.configure(next, now_us, out);
                if is_new
                    && matches!(self.role, Role::Sequencer(_) | Role::Coordinator(_))
                    && let Some(agreed) = &self.agreed
                {
                    // The others of the group decide it themselves. One that a predecessor has left out may not know.
                    for replica in agreed.replicas().union(&self.configuration.replicas()) {
                        let configuration = Box::new(self.configuration.clone());
                        let message = match placed.iter().find(|placed| placed.replica == *replica) {
                            Some(&Place { life, joins, .. }) => Message::Placed { life, joins, configuration },
                            None => Message::Configure(configuration),
                        };
                        out.send(*replica, message);
                    }
                    let all: BTreeSet<_> = (0..self.coordinators).map(Address::Coordinator).collect();
                    for removed in all.difference(&self.configuration.members()) {
                        out.send(*removed, Message::Configure(Box::new(self.configuration.clone())));
                    }
                }
            }
            Effect::Undecided(partition, why) => {
                if let Role::Sequencer(sequencer) = &mut self.role {
                    sequencer.halt(partition, &why, out);
                }
            }
            Effect::Settled(partition, next) => {
                if let Role::Sequencer(sequencer) = &mut self.role {
                    sequencer.settle(partition);
                }
                self.take_effect(Effect::Configured(next, Vec::new()), now_us, out);
            }
            Effect::Held { since, position } => {
                if let Role::Sequencer(sequencer) = &mut self.role
                    && since == self.begun
                {
                    sequencer.handle(self.me, Message::Ack { sequence: position }, now_us, out);
                }
            }
        }
    }
}
