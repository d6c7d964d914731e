//! A member of a cluster: one address, the role that the configuration gives it, and a guard at its door.
//!
//! The guard passes on what comes from who has the role to send it, keeps for later what comes from a configuration
//! that has not arrived here yet, and tells the others which one it is now.

use glassbox::shard::Shard;
use serde::{Deserialize, Serialize};

use crate::address::Address;
use crate::backup::Backup;
use crate::configuration::Configuration;
use crate::coordinator::{Coordinator, Ended};
use crate::message::{Fragment, Message};
use crate::outbox::Outbox;
use crate::partition::Partition;

/// A message with the epoch in which it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packet {
    /// The sender's.
    pub epoch: u64,
    /// The message.
    pub message: Message,
}

/// Makes an empty shard of a member's partition.
pub type MakeShard = Box<dyn Fn() -> Shard + Send>;

/// A member of a cluster.
pub struct Member {
    me: Address,
    configuration: Configuration,
    make: MakeShard,
    role: Role,
    /// Messages from configurations that are not here yet.
    early: Vec<(Address, Packet)>,
}

/// What a member does.
#[derive(Debug)]
pub enum Role {
    /// Runs transactions.
    Primary(Box<Partition>),
    /// Repeats what its primary decided.
    Backup(Box<Backup>),
    /// Will be a backup when its primary has sent it the rows.
    Joining,
    /// Orders and decides transactions of several partitions.
    Coordinator(Box<Coordinator>),
    /// The configuration has nothing for it to do.
    Idle,
}

impl Member {
    /// A replica at the cluster's beginning, with the partition's first rows.
    pub fn replica(me: Address, configuration: Configuration, shard: Shard, make: MakeShard) -> Self {
        let Address::Replica { partition, .. } = me else { panic!("{me} is no replica") };
        let (replicas, scheme) = (&configuration.partitions[usize::from(partition)], configuration.scheme);
        let role = if replicas.primary == me {
            Role::Primary(Box::new(Partition::new(shard, scheme, &replicas.backups())))
        } else {
            Role::Backup(Box::new(Backup::new(shard, replicas.primary, scheme)))
        };
        Self { me, configuration, make, role, early: Vec::new() }
    }

    /// A replica that comes back with nothing: it does nothing until a configuration names it.
    pub fn returning(me: Address, configuration: Configuration, make: MakeShard) -> Self {
        Self { me, configuration, make, role: Role::Idle, early: Vec::new() }
    }

    /// A coordinator; one that is not the cluster's first finds out what the one before left undecided.
    pub fn coordinator(me: Address, configuration: Configuration, out: &mut Outbox) -> Self {
        let mut coordinator = Coordinator::new(me, configuration.primaries(), configuration.coordinator_since);
        coordinator.let_begin(!configuration.scheme.is_locking());
        if configuration.coordinator_since > 1 {
            coordinator.recover(out);
        }
        let make: MakeShard = Box::new(|| unreachable!("a coordinator has no rows"));
        let role = Role::Coordinator(Box::new(coordinator));
        Self { me, configuration, make, role, early: Vec::new() }
    }

    /// The epoch of what it sends.
    pub fn epoch(&self) -> u64 {
        self.configuration.epoch
    }

    /// What it does.
    pub fn role(&self) -> &Role {
        &self.role
    }

    /// The rows, if it has any.
    pub fn shard(&mut self) -> Option<&mut Shard> {
        match &mut self.role {
            Role::Primary(partition) => Some(partition.shard()),
            Role::Backup(backup) => Some(backup.shard()),
            _ => None,
        }
    }

    /// A message arrives.
    pub fn handle(&mut self, from: Address, packet: Packet, now_us: u64, out: &mut Outbox) {
        if let Message::Configure(configuration) = packet.message {
            return self.configure(configuration, now_us, out);
        }
        if packet.epoch > self.configuration.epoch {
            return self.early.push((from, packet));
        }
        if !self.configuration.admits(from, packet.epoch) {
            return out.send(from, Message::Configure(self.configuration.clone()));
        }
        self.dispatch(from, packet, now_us, out);
    }

    fn dispatch(&mut self, from: Address, packet: Packet, now_us: u64, out: &mut Outbox) {
        let is_old = packet.epoch < self.configuration.scheme_since;
        match (&mut self.role, packet.message) {
            // It began under another scheme, and has not begun here.
            (Role::Primary(partition), Message::Fragment(fragment @ Fragment { round: 0, .. })) if is_old => {
                partition.refuse(from, fragment, out);
            }
            (Role::Primary(partition), message) => partition.handle(from, message, out),
            (Role::Backup(backup), message) => backup.handle(from, message, out),
            (Role::Coordinator(it), Message::Submit(submission)) => it.submit(from, submission, now_us, out),
            (Role::Coordinator(it), Message::Recovered(found)) => it.recovered(from, &found, now_us, out),
            (Role::Coordinator(it), Message::HeardSoFar(heard)) => it.heard(from, heard),
            (Role::Coordinator(it), Message::Result(result)) => answer(it.hears(result, now_us, out), out),
            (Role::Joining, Message::State { sequence, tables }) => self.joined(from, sequence, &tables),
            _ => {}
        }
        if let Role::Coordinator(it) = &mut self.role {
            answer(it.take_ended(), out);
        }
    }

    /// The rows arrive.
    fn joined(&mut self, from: Address, sequence: u64, tables: &[Vec<u8>]) {
        let Address::Replica { partition, .. } = self.me else { return };
        if self.configuration.partitions[usize::from(partition)].primary != from {
            return;
        }
        let mut shard = (self.make)();
        if shard.fill(tables).is_ok() {
            self.role = Role::Backup(Box::new(Backup::following(shard, from, sequence, self.configuration.scheme)));
        }
    }

    /// Runs one thing that waited and can be run now; whether there was one.
    pub fn proceed(&mut self, out: &mut Outbox) -> bool {
        match &mut self.role {
            Role::Primary(partition) => partition.proceed(out),
            _ => false,
        }
    }

    /// A configuration arrives.
    fn configure(&mut self, next: Configuration, now_us: u64, out: &mut Outbox) {
        if next.epoch <= self.configuration.epoch || next.partitions.len() != self.configuration.partitions.len() {
            return;
        }
        let before = std::mem::replace(&mut self.configuration, next);
        match self.me {
            Address::Replica { partition, .. } => self.take_role(usize::from(partition), &before, out),
            Address::Coordinator(_) => {
                let since = self.configuration.coordinator_since;
                match &mut self.role {
                    // Another has its place.
                    role if since != before.coordinator_since => *role = Role::Idle,
                    Role::Coordinator(it) => {
                        it.let_begin(!self.configuration.scheme.is_locking());
                        it.configure(&self.configuration.primaries(), now_us, out);
                        answer(it.take_ended(), out);
                    }
                    _ => {}
                }
            }
            Address::Client(_) => {}
        }
        let epoch = self.configuration.epoch;
        let due: Vec<_> = self.early.extract_if(.., |(_, packet)| packet.epoch <= epoch).collect();
        for (from, packet) in due {
            self.handle(from, packet, now_us, out);
        }
    }

    fn take_role(&mut self, partition: usize, before: &Configuration, out: &mut Outbox) {
        let scheme = self.configuration.scheme;
        let another_scheme = self.configuration.scheme_since != before.scheme_since;
        let (now, before) = (&self.configuration.partitions[partition], &before.partitions[partition]);
        let (me, backups) = (self.me, now.backups());
        let since = |replicas: &crate::configuration::Replicas| {
            replicas.backups.iter().find(|(backup, _)| *backup == me).map(|&(_, since)| since)
        };
        let follows = since(now).is_some() && since(now) == since(before) && now.since == before.since;
        let role = std::mem::replace(&mut self.role, Role::Idle);
        self.role = match role {
            Role::Primary(mut partition) if now.primary == me && now.since == before.since => {
                if another_scheme {
                    partition.switch(scheme, out);
                }
                partition.keep_backups(&backups, out);
                Role::Primary(partition)
            }
            Role::Backup(backup) if now.primary == me => {
                let mut partition = Partition::promoted(*backup, out);
                if partition.scheme() != scheme {
                    partition.switch(scheme, out);
                }
                Role::Primary(Box::new(partition))
            }
            role @ (Role::Backup(_) | Role::Joining) if follows => role,
            _ if since(now).is_some() => {
                out.send(now.primary, Message::Join);
                Role::Joining
            }
            _ => Role::Idle,
        };
    }
}

fn answer(ended: Vec<Ended>, out: &mut Outbox) {
    for end in ended {
        out.send(end.client, Message::Answer { id: end.id, outcome: end.outcome });
    }
}
