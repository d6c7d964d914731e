//! Replicas' disks: the contents of their journals, the time of forces, and what a power failure leaves.
//!
//! A journal is simulated by its meaning: a list of records with a forced prefix, and the rows of a base. The bytes of
//! a journal have crash tests of their own.

use std::collections::BTreeSet;

use glassbox::research::shard::Shard;
use glassbox_cluster::journal::{Base, JournalReplay, Record, RecoveredReplica};
use glassbox_cluster::{Address, Group, GroupChange, Member, Message, Outbox, Packet, Role};

use super::event::{Event, Fault};
use super::node::Machine;
use super::settings::Bug;
use super::workload::Workload;
use super::world::World;

/// The minimum duration of a force.
const FORCE_NS: u64 = 40_000;
/// The maximum duration of writing a base.
const MAX_BASE_NS: u64 = 400_000;
/// The number of records after which the journal begins another base.
const BASE_AFTER: usize = 150;

/// The rows of a base by table, and the position of its records.
#[derive(Debug, Clone)]
struct DiskBase {
    rows: Vec<(u16, Vec<u8>)>,
    at: usize,
    /// The number of its records.
    count: usize,
}

/// A replica's disk; it outlives its process.
#[derive(Debug, Default)]
pub(super) struct Disk {
    base: Option<DiskBase>,
    /// A base that is being written and not valid yet.
    making: Option<DiskBase>,
    records: Vec<Record>,
    /// The number of forced records.
    forced: usize,
    forcing: bool,
    /// The epoch of the last journaled configuration.
    epoch: u64,
}

impl Disk {
    /// The epoch since which its replica had its role when its rows were kept.
    pub(super) fn kept_since(&self) -> Option<u64> {
        match self.base.as_ref().map(|base| &self.records[base.at]) {
            Some(Record::Base { since, .. }) => Some(*since),
            _ => None,
        }
    }

    fn begin_base(&mut self, rows: Vec<(u16, Vec<u8>)>, records: impl Iterator<Item = Record>) {
        let at = self.records.len();
        self.records.extend(records);
        self.making = Some(DiskBase { rows, at, count: self.records.len() - at });
    }

    /// Makes the base that is being written valid: everything so far was forced for it.
    fn end_base(&mut self) {
        if let Some(made) = self.making.take() {
            (self.base, self.forced) = (Some(made), self.records.len());
        }
    }

    /// The last entry of the stream that is forced.
    fn held(&self) -> Option<u64> {
        self.records[..self.forced].iter().rev().find_map(|record| match record {
            Record::Entry { sequence, .. } => Some(*sequence),
            _ => None,
        })
    }
}

impl<W: Workload> World<W> {
    /// Whether an action was for the journal, which has it then.
    pub(super) fn journal(&mut self, me: Address, at_ns: u64, action: &glassbox_cluster::Action) -> bool {
        use glassbox_cluster::Action;
        match action {
            Action::Send(to, Message::Replicate { sequence, entry }) if *to == me => {
                let record = Record::Entry { sequence: *sequence, entry: (**entry).clone() };
                self.disks.entry(me).or_default().records.push(record);
                self.force(me, at_ns);
                if self.settings.bug == Some(Bug::UnforcedAck) {
                    self.hold(me, *sequence);
                }
            }
            Action::Forget => {
                self.joined += 1;
                let disk = self.disks.entry(me).or_default();
                (disk.base, disk.making) = (None, None);
            }
            Action::Base(base) => self.begin_base(me, at_ns, (**base).clone()),
            Action::Report(line) => self.reports.push(line.clone()),
            _ => return false,
        }
        true
    }

    /// Begins another base of an executor after enough inputs.
    pub(super) fn begin_due_base(&mut self, me: Address) {
        let Some(Machine::Member(member)) = self.nodes.get_mut(&me).map(|node| &mut node.machine) else { return };
        if member.is_base_due(BASE_AFTER as u32) {
            let mut out = Outbox::default();
            member.renew_base(&mut out);
            self.carry_out(me, self.now_ns, out);
        }
    }

    /// Acknowledges entries to the replica on behalf of its journal.
    fn hold(&mut self, me: Address, sequence: u64) {
        let Some(node) = self.nodes.get_mut(&me) else { return };
        let Machine::Member(member) = &node.machine else { return };
        let packet = Packet { epoch: member.epoch(), message: Message::Ack { sequence } };
        node.receive(me, (Some(packet), false), false);
    }

    fn begin_base(&mut self, me: Address, at_ns: u64, base: Base) {
        let Some(Machine::Member(member)) = self.nodes.get_mut(&me).map(|node| &mut node.machine) else { return };
        let (since, configuration) = (member.since().unwrap_or_default(), member.configuration().clone());
        let (mut rows, mut piece) = (Vec::new(), Vec::new());
        // A sequencer has none.
        if let Some(shard) = member.shard() {
            while let Some((table, _)) = shard.fixed(1 << 12, &mut piece) {
                rows.push((table, std::mem::take(&mut piece)));
            }
        }
        let is_primary =
            matches!(member.role(), Role::Primary(_) | Role::Executor(_)) || matches!(me, Address::Coordinator(_));
        let life = self.nodes[&me].life;
        let disk = self.disks.entry(me).or_default();
        disk.epoch = configuration.epoch;
        disk.begin_base(rows, base.records(since, &configuration));
        if is_primary && disk.base.is_none() {
            // It may be the only replica with the rows.
            disk.end_base();
            self.schedule(at_ns, Event::Based { at: me, life });
        } else {
            let ends_ns = at_ns + self.dice.below(MAX_BASE_NS);
            self.schedule(ends_ns, Event::Based { at: me, life });
        }
        self.force(me, at_ns);
    }

    /// After a member's action: journals a new configuration.
    pub(super) fn journal_configuration(&mut self, me: Address, at_ns: u64) {
        let Some(Machine::Member(member)) = self.nodes.get(&me).map(|node| &node.machine) else { return };
        if !member.has_journal() {
            return;
        }
        let (configuration, disk) = (member.configuration(), self.disks.entry(me).or_default());
        if disk.epoch != configuration.epoch {
            disk.epoch = configuration.epoch;
            disk.records.push(Record::Configuration(Box::new(configuration.clone())));
            self.force(me, at_ns);
        }
    }

    fn force(&mut self, me: Address, at_ns: u64) {
        let disk = self.disks.entry(me).or_default();
        if !std::mem::replace(&mut disk.forcing, true) {
            let (life, upto) = (self.nodes[&me].life, disk.records.len());
            let ends_ns = at_ns + FORCE_NS + self.dice.below(FORCE_NS);
            self.schedule(ends_ns, Event::Forced { at: me, life, upto });
        }
    }

    pub(super) fn forced(&mut self, me: Address, life: u64, upto: usize) {
        if self.nodes.get(&me).is_none_or(|node| node.life != life) {
            return;
        }
        let disk = self.disks.entry(me).or_default();
        disk.forcing = false;
        // The rest is not forced yet, and may have been discarded meanwhile.
        disk.forced = disk.forced.max(upto);
        let (held, is_long, is_behind) = (disk.held(), disk.is_long(), disk.forced < disk.records.len());
        held.into_iter().for_each(|sequence| self.hold(me, sequence));
        if is_behind {
            self.force(me, self.now_ns);
        }
        if is_long && let Some(Machine::Member(member)) = self.nodes.get_mut(&me).map(|node| &mut node.machine) {
            let mut out = Outbox::default();
            member.renew_base(&mut out);
            self.carry_out(me, self.now_ns, out);
        }
        self.work(me);
    }

    pub(super) fn based(&mut self, me: Address, life: u64) {
        if let Some(node) = self.nodes.get_mut(&me).filter(|node| node.life == life) {
            self.disks.entry(me).or_default().end_base();
            let mut out = Outbox::default();
            if let Machine::Member(member) = &mut node.machine {
                member.based(&mut out);
            }
            self.carry_out(me, self.now_ns, out);
        }
    }

    /// Stops all members; a part of the unforced records got to the disks.
    pub(super) fn lose_power(&mut self) {
        for me in self.nodes.keys().copied().collect::<BTreeSet<_>>() {
            if me.is_member() {
                self.nodes.remove(&me);
            }
        }
        self.disks.keys().copied().collect::<Vec<_>>().into_iter().for_each(|me| self.stop_disk(me));
        // A member that has lost its vote can never take part again.
        if self.settings.order.agreement.is_none() {
            self.configuration.groups().for_each(|group| self.lose_disk(group));
        }
    }

    /// A primary may lose its disk for good, if a backup's has the same.
    fn lose_disk(&mut self, group: Group) {
        let primary = self.replicas(group).primary;
        let kept = |it: Address| self.kept_since(it).filter(|_| it != primary);
        if self.replicas(group).heir(kept).is_some() && self.dice.one_in(2) {
            self.disks.remove(&primary);
        }
    }

    /// The replica's process has stopped.
    pub(super) fn stop_disk(&mut self, me: Address) {
        let Some(disk) = self.disks.get_mut(&me) else { return };
        let left = disk.forced + self.dice.place(disk.records.len() - disk.forced + 1);
        disk.records.truncate(left);
        (disk.forced, disk.forcing, disk.making) = (left, false, None);
    }

    fn kept_since(&self, replica: Address) -> Option<u64> {
        let since = self.disks.get(&replica).and_then(Disk::kept_since)?;
        match self.configuration.backup_since(replica) {
            Some((_, wanted)) if self.settings.bug == Some(Bug::OldHeir) => Some(wanted),
            _ => Some(since),
        }
    }

    /// The operator restarts all stopped members, and resumes groups without a primary from their journals.
    pub(super) fn resume(&mut self) {
        let all = self.settings.members();
        let gone: Vec<_> = all.into_iter().filter(|it| !self.nodes.contains_key(it)).collect();
        if gone.is_empty() {
            return;
        }
        gone.iter().for_each(|it| self.stop_disk(*it));
        if self.settings.order.agreement.is_some() {
            return self.restart(&gone);
        }
        let mut primaries = Vec::new();
        for group in self.configuration.groups() {
            let replicas = self.replicas(group);
            if !gone.contains(&replicas.primary) {
                continue;
            }
            let kept = |it: Address| self.kept_since(it).filter(|_| gone.contains(&it));
            match replicas.heir(kept) {
                Some(heir) if self.survivors(group) == 0 => primaries.push(heir),
                // A backup can be promoted.
                _ => return,
            }
        }
        let others: Vec<_> = gone.into_iter().filter(|it| !primaries.contains(it)).collect();
        self.configure(|configuration| Ok(configuration.resume(&primaries, &others, &[])));
        for me in primaries {
            self.add_recovered(me);
        }
        others.into_iter().for_each(|me| self.add_member(me));
    }

    /// Under an agreement, starts all stopped members.
    fn restart(&mut self, gone: &[Address]) {
        for &me in gone {
            let (make, life) = (self.empty_shard(me), self.lives);
            let is_kept = self.disks.get(&me).is_some_and(|disk| disk.base.is_some());
            let mut out = Outbox::default();
            let first = self.settings.configuration();
            let member = match (is_kept, me) {
                (true, _) => Member::returned(me, make, self.replay(me), life),
                (false, Address::Coordinator(_)) if self.settings.bug == Some(Bug::OldIncarnation) => {
                    Ok(Member::coordinator(me, first, &mut out))
                }
                (false, _) => Member::forgotten(me, first, make, life),
            };
            let mut member = self.set_up(member.unwrap_or_else(|why| panic!("{me}: {why}")));
            if self.settings.journals && !is_kept {
                member.begin_journal(&mut out);
            }
            self.add(me, Machine::Member(Box::new(member)));
            if !out.actions.is_empty() {
                self.carry_out(me, self.now_ns, out);
            }
        }
    }

    /// Adds a restarted member that begins with nothing.
    pub(super) fn add_member(&mut self, me: Address) {
        match me {
            Address::Replica { .. } => self.add_replica(me, false),
            _ => self.add_coordinator(me),
        }
    }

    /// Adds a coordinator, or a member of the sequencer's group.
    pub(super) fn add_coordinator(&mut self, me: Address) {
        self.stop_disk(me);
        let (configuration, mut out) = (self.configuration.clone(), Outbox::default());
        let is_ordered = self.settings.scheme.is_deterministic();
        let is_restarted = is_ordered && configuration.epoch > 1 && configuration.agreement.is_none();
        if is_restarted && configuration.coordinator_since(me).is_some() {
            return self.add_recovered(me);
        }
        let member = if is_restarted {
            Member::returning(me, configuration, self.empty_shard(me), &mut out)
        } else {
            Member::coordinator(me, configuration, &mut out)
        };
        let mut member = self.set_up(member);
        if (is_ordered || self.settings.order.agreement.is_some()) && self.settings.journals {
            member.begin_journal(&mut out);
        }
        self.add(me, Machine::Member(Box::new(member)));
        self.carry_out(me, self.now_ns, out);
    }

    /// Adds a member that continues from its disk.
    pub(super) fn add_recovered(&mut self, me: Address) {
        let (make, mut out, recovered) = (self.empty_shard(me), Outbox::default(), self.replay(me));
        let member = self.set_up(Member::recovered(me, self.configuration.clone(), make, recovered, &mut out));
        self.add(me, Machine::Member(Box::new(member)));
        self.carry_out(me, self.now_ns, out);
    }

    /// What a member's disk has.
    fn replay(&self, me: Address) -> RecoveredReplica {
        let make = self.empty_shard(me);
        let mut shard = make().expect("a small shard");
        let disk = &self.disks[&me];
        let base = disk.base.as_ref().expect("it is an heir");
        fill(&mut shard, base);
        let mut reading = JournalReplay::new(me, Some(shard));
        let read = disk.records[base.at..].iter().try_for_each(|record| reading.take(record.clone()));
        read.unwrap_or_else(|why| panic!("the journal of {me}: {why}"));
        reading.end().expect("there is a base")
    }

    /// Plans this many power failures before `until_us`.
    pub(super) fn plan_outages(&mut self, until_us: u64) {
        for _ in 0..self.settings.outages {
            let at = self.now_ns / 1_000 + 1 + self.dice.below(until_us);
            self.schedule_fault(at, Fault::Power);
            let back = at + 1 + self.dice.below(until_us / 8);
            self.schedule_fault(back, Fault::Resume);
        }
        if self.settings.outages > 0 {
            self.schedule_fault(2 * until_us + 3, Fault::Resume);
        }
    }
}

// The group that agrees: its operator, and its word to clients and of replicas that ended.

/// The coordinators of these bits.
pub(super) fn members_of(bits: u64) -> BTreeSet<u16> {
    (0..16).filter(|it| bits >> it & 1 == 1).collect()
}

impl<W: Workload> World<W> {
    /// The member of the group that agrees which was elected last.
    pub fn elected(&self) -> Address {
        self.replicas(Group::Sequencer).primary
    }

    /// The group that agrees notices that a replica's connections ended; or it does not, and waits for its answers.
    pub(super) fn end_connections(&mut self, member: Address) {
        let is_noticed = self.settings.order.agreement.is_some() && member.partition().is_some();
        if !is_noticed || self.settings.scheme.is_deterministic() || self.dice.one_in(4) {
            return;
        }
        for coordinator in (0..self.settings.coordinators).map(Address::Coordinator) {
            let arrival = self.links.arrival(member, coordinator, self.now_ns, &mut self.dice);
            self.fly(member, coordinator, (None, false), arrival);
        }
    }

    /// The operator has the group change, if its leader can.
    pub(super) fn change_group(&mut self, change: &GroupChange) {
        let (elected, now_ns, mut out) = (self.elected(), self.now_ns, Outbox::default());
        let Some(node) = self.nodes.get_mut(&elected) else { return };
        if let Machine::Member(member) = &mut node.machine {
            // It may lead no more.
            let _ = member.change_group(change, now_ns / 1_000 + node.fast_us, &mut out);
        }
        self.carry_out(elected, now_ns, out);
    }

    /// Ends the processes of executors that have stopped, as a process ends itself; how many.
    pub fn end_stopped(&mut self) -> usize {
        let has_stopped = |node: &super::node::Node<W>| match &node.machine {
            Machine::Member(member) => matches!(member.role(), Role::Executor(it) if it.broken().is_some()),
            Machine::Client(_) => false,
        };
        let stopped: Vec<_> = self.nodes.iter().filter(|(_, it)| has_stopped(it)).map(|(me, _)| *me).collect();
        stopped.iter().for_each(|it| self.kill(*it));
        stopped.len()
    }

    /// The operator settles which replica of a partition has the right rows.
    ///
    /// # Errors
    /// As of the member that leads.
    pub fn settle(&mut self, replica: Address) -> Result<(), String> {
        let (elected, now_ns, mut out) = (self.elected(), self.now_ns, Outbox::default());
        let node = self.nodes.get_mut(&elected).ok_or("the elected member does not run")?;
        let Machine::Member(member) = &mut node.machine else { return Err("it is a client".to_owned()) };
        let settled = member.settle(replica, now_ns / 1_000 + node.fast_us, &mut out);
        self.carry_out(elected, now_ns, out);
        settled
    }

    /// Injects no bug any more.
    pub fn mend(&mut self) {
        self.settings.bug = None;
    }

    /// Under an agreement, a member tells all clients of a new configuration, as it does on their connections.
    pub(super) fn tell_clients(&mut self, from: Address, at_ns: u64) {
        let Some(node) = self.nodes.get_mut(&from) else { return };
        let Machine::Member(member) = &node.machine else { return };
        let waits = member.waits_for_place();
        if self.settings.order.agreement.is_none() || node.told == member.epoch() || waits {
            return;
        }
        node.told = member.epoch();
        let configuration = member.configuration().clone();
        if configuration.epoch > self.configuration.epoch {
            self.configuration = configuration.clone();
        }
        for number in 0..self.settings.clients {
            let message = Message::Configure(Box::new(configuration.clone()));
            let packet = Packet { epoch: configuration.epoch, message };
            self.send(from, Address::Client(number), at_ns, Some(packet));
        }
    }
}

impl Disk {
    fn is_long(&self) -> bool {
        self.making.is_none()
            && self.base.as_ref().is_none_or(|base| self.records.len() - base.at - base.count > BASE_AFTER)
    }
}

fn fill(shard: &mut Shard, base: &DiskBase) {
    for (table, rows) in &base.rows {
        shard.load_stored(*table, rows).expect("they were stored a moment ago");
    }
}
