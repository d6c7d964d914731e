//! The change of a member's role when a configuration arrives.

use crate::deterministic::sequencer::Sequencer;
use crate::node::member::{Member, answer};
use crate::node::role::Role;
use crate::participant::partition::Partition;
use crate::protocol::address::Address;
use crate::protocol::configuration::Configuration;
use crate::protocol::outbox::Outbox;

impl Member {
    /// Receives a configuration.
    pub(crate) fn configure(&mut self, next: Configuration, now_us: u64, out: &mut Outbox) {
        if !next.follows(&self.configuration) {
            return;
        }
        let before = std::mem::replace(&mut self.configuration, next);
        self.order_since = self.configuration.order_since();
        match self.me {
            Address::Replica { partition, .. } => self.take_role(usize::from(partition), &before, out),
            Address::Coordinator(_) if self.agreed.is_some() => self.take_agreed_role(&before, now_us, out),
            Address::Coordinator(_) if self.configuration.scheme.is_deterministic() => {
                self.take_sequencer_role(&before, now_us, out);
            }
            Address::Coordinator(_) => {
                let since = |configuration: &Configuration| configuration.coordinator_since(self.me);
                match &mut self.role {
                    // The coordinator was replaced.
                    role if since(&self.configuration) != since(&before) => *role = Role::Idle,
                    Role::Coordinator(it) => {
                        it.set_active(!self.configuration.scheme.clients_coordinate(), out);
                        let restarts_order = self.order_since != before.order_since();
                        if restarts_order {
                            it.begin_order(self.configuration.coordinators.len());
                        }
                        it.configure(
                            &self.configuration,
                            self.configuration.replaced(&before),
                            restarts_order,
                            now_us,
                            out,
                        );
                        answer(it.take_ended(), out);
                    }
                    _ => {}
                }
            }
            Address::Client(_) => {}
        }
        self.begun = self.role.begun(self.me, &self.configuration);
        let epoch = self.configuration.epoch;
        let due: Vec<_> = self.early.extract_if(.., |(_, packet)| packet.epoch <= epoch).collect();
        for (from, packet) in due {
            self.handle(from, packet, now_us, out);
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
                sequencer.configure(&self.configuration, before, journal, now_us, out);
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
                sequencer.configure(&self.configuration, before, Some(me), now_us, out);
                Role::Sequencer(sequencer)
            }
            _ if is_sequencer && !keeps_place => {
                Role::Sequencer(Box::new(Sequencer::succeeding(me, &self.configuration, agreed.log(), out)))
            }
            _ => Role::Follower,
        };
        self.set_order();
    }

    fn take_role(&mut self, partition: usize, before: &Configuration, out: &mut Outbox) {
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
            Role::Executor(mut executor) if now.primary == me && now.since == was.since => {
                executor.configure(&self.configuration, before, out);
                Role::Executor(executor)
            }
            Role::Backup(backup) if now.primary == me => {
                let mut partition = Partition::promoted(*backup, out);
                partition.sample(self.samples);
                if partition.scheme() != scheme {
                    partition.switch(scheme, out);
                }
                Role::Primary(Box::new(partition))
            }
            Role::Returned(returned) if now.primary == me => {
                Self::recovered_role(me, &self.configuration, returned.recovered, out)
            }
            role @ (Role::Backup(_) | Role::Joining { .. }) if follows => role,
            _ => Role::joining(me, &self.configuration, &self.make, out),
        };
    }
}
