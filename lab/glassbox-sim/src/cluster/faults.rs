//! Failures, the operator's reactions, and the changes of scheme that a watcher proposes.

use glassbox_cluster::auto::{Advice, Advisor, Counted, Surroundings};
use glassbox_cluster::{
    Address, Configuration, Group, GroupChange, Message, Outbox, Packet, Replicas, Role, SchemeKind,
};

use super::disk::members_of;
use super::event::{Event, Fault};
use super::forgetting::may_forget;
use super::node::Machine;
use super::workload::{CallOf, Workload};
use super::world::World;
use glassbox_workloads::micro::Load;

impl<W: Workload> World<W> {
    /// Plans this many failures before `until_us`, and their repair.
    pub fn plan_incidents(&mut self, until_us: u64) {
        let are_kills = self.settings.scheme.is_deterministic() || self.settings.order.agreement.is_some();
        if are_kills {
            self.plan_kills(until_us);
        }
        let incidents = if are_kills { 0 } else { self.settings.incidents };
        for _ in 0..incidents {
            let at = self.now_ns / 1_000 + 1 + self.dice.below(until_us);
            let (noticed, back) = (at + self.dice.below(until_us / 8), until_us + self.dice.below(until_us));
            let partition = Group::Partition(self.dice.below(u64::from(self.settings.partitions)) as u8);
            let kinds = if self.settings.replicas > 1 { 6 } else { 3 };
            let (first, then) = match self.dice.below(kinds) {
                0 => {
                    let (from, to) = (self.any_member(), self.any_member());
                    (Fault::Cut(from, to, self.dice.below(until_us / 2)), Fault::Repair(partition))
                }
                1 => {
                    let slow = self.any_member();
                    (Fault::Slow(slow, 2 + self.dice.below(20)), Fault::Slow(slow, 1))
                }
                2 => {
                    let number = self.any_coordinator();
                    (Fault::KillCoordinator(number), Fault::RestartCoordinator(number))
                }
                3 => (Fault::KillBackup(partition), Fault::Repair(partition)),
                4 => (Fault::KillPrimary(partition), Fault::Repair(partition)),
                _ => (Fault::Replace(partition), Fault::Repair(partition)),
            };
            self.schedule_fault(at, first);
            self.schedule_fault(noticed.max(at + 1), then);
            let returns = if self.dice.one_in(2) { noticed + 1 + self.dice.below(until_us / 4) } else { back };
            self.schedule_fault(returns.max(at + 2), Fault::Return(partition));
        }
        for _ in 0..self.settings.switches {
            let at = self.now_ns / 1_000 + 1 + self.dice.below(until_us);
            let is_twin = matches!(self.settings.scheme, SchemeKind::TwoPhase(_));
            let schemes = if is_twin { &SchemeKind::ALL[..] } else { &SchemeKind::LOW_OVERHEAD };
            let scheme = *self.dice.pick(schemes).expect("there are some");
            self.schedule_fault(at, Fault::Switch(scheme));
        }
        self.plan_partings(until_us);
        self.plan_outages(until_us);
        // Everything that is still broken is repaired in the end.
        for group in self.configuration.groups() {
            self.schedule_fault(2 * until_us + 1, Fault::Repair(group));
            self.schedule_fault(2 * until_us + 2, Fault::Return(group));
        }
        if !are_kills {
            for number in 0..self.settings.coordinators {
                self.schedule_fault(2 * until_us + 1, Fault::RestartCoordinator(number));
            }
        }
    }

    /// Plans failures of single members of a deterministic cluster, or of one whose members agree: they continue from
    /// their disks, or are replaced.
    fn plan_kills(&mut self, until_us: u64) {
        let is_agreed = self.settings.order.agreement.is_some();
        let has_backup = self.configuration.sequencer.as_ref().is_some_and(|it| !it.backups.is_empty())
            || is_agreed && self.settings.coordinators > 1;
        for _ in 0..self.settings.incidents {
            let at = self.now_ns / 1_000 + 1 + self.dice.below(until_us);
            let back = at + 1 + self.dice.below(until_us / 4);
            if is_agreed && self.settings.order.members > 0 && self.dice.one_in(3) {
                let bits = 1 + self.dice.below((1 << self.settings.coordinators) - 1);
                let number = self.dice.below(self.settings.coordinators.into()) as u16;
                let change = [Fault::ChangeMembers(bits), Fault::Transfer(number)][self.dice.place(2)];
                self.schedule_fault(at, change);
                continue;
            }
            if self.settings.replicas > 1 && self.dice.one_in(3) {
                let set = self.dice.below(self.settings.replicas.into()) as u8;
                self.schedule_fault(at, Fault::KillSet(set));
                self.schedule_fault(back, Fault::Resume);
                continue;
            }
            match self.dice.below(if has_backup { 7 } else { 4 }) {
                4 if is_agreed => {
                    let us = self.dice.below(2 * until_us);
                    self.schedule_fault(at, Fault::Isolate(us));
                }
                5.. if is_agreed => {
                    self.schedule_fault(at, Fault::KillSequencer);
                    self.schedule_fault(back, Fault::Resume);
                }
                kind @ 4.. => {
                    let kinds = [Fault::KillPrimary, Fault::KillBackup, Fault::Replace];
                    self.schedule_fault(at, kinds[kind as usize - 4](Group::Sequencer));
                    self.schedule_fault(back, Fault::Repair(Group::Sequencer));
                    let returns = back + self.dice.below(until_us / 4);
                    self.schedule_fault(returns, Fault::Return(Group::Sequencer));
                }
                0 => {
                    let (from, to) = (self.any_member(), self.any_member());
                    let us = self.dice.below(until_us / 2);
                    self.schedule_fault(at, Fault::Cut(from, to, us));
                }
                1 => {
                    let (slow, times) = (self.any_member(), 2 + self.dice.below(20));
                    self.schedule_fault(at, Fault::Slow(slow, times));
                    self.schedule_fault(back, Fault::Slow(slow, 1));
                }
                _ if !self.settings.journals && !is_agreed => {}
                _ => {
                    let members = self.settings.members();
                    let member = *self.dice.pick(&members).expect("a cluster has members");
                    self.schedule_fault(at, Fault::Kill(member));
                    self.schedule_fault(back, Fault::Resume);
                }
            }
        }
        self.schedule_fault(2 * until_us + 3, Fault::Resume);
    }

    fn any_coordinator(&mut self) -> u16 {
        match self.settings.coordinators {
            1 => 0,
            count => self.dice.below(u64::from(count)) as u16,
        }
    }

    fn any_member(&mut self) -> Address {
        let members: Vec<_> = self.nodes.keys().copied().collect();
        members[self.dice.place(members.len())]
    }

    /// A member stops, and does not come back.
    pub fn kill(&mut self, member: Address) {
        self.stop(member);
    }

    /// Nothing gets through from one member to another for this many microseconds.
    pub fn cut(&mut self, from: Address, to: Address, us: u64) {
        self.happen(Fault::Cut(from, to, us));
    }

    /// All stopped members are started again.
    pub fn start_again(&mut self) {
        self.happen(Fault::Resume);
    }

    pub(super) fn happen(&mut self, fault: Fault) {
        match fault {
            Fault::KillBackup(group) => {
                // A replica with the rows must remain: no more may fail than there are replicas for.
                let backups = self.replicas(group).backups();
                if let Some(&backup) = self.dice.pick(&backups)
                    && self.survivors(group) > 1
                {
                    self.nodes.remove(&backup);
                }
            }
            Fault::KillPrimary(group) if self.successor(group).is_some() => {
                let primary = self.replicas(group).primary;
                self.nodes.remove(&primary);
            }
            Fault::KillPrimary(_) => {}
            Fault::KillSequencer => {
                let primary = self.replicas(Group::Sequencer).primary;
                self.happen(Fault::Kill(primary));
            }
            Fault::KillCoordinator(number) => {
                self.nodes.remove(&Address::Coordinator(number));
            }
            Fault::Repair(group) => self.repair(group),
            Fault::Replace(group) => {
                if let Some(next) = self.successor(group) {
                    self.configure(|configuration| configuration.promote(next));
                }
            }
            Fault::Return(group) => self.bring_back(group),
            Fault::Cut(from, to, us) => self.links.cut(from, to, self.now_ns + us * 1_000),
            Fault::Isolate(us) => {
                let (primary, until_ns) = (self.replicas(Group::Sequencer).primary, self.now_ns + us * 1_000);
                for other in self.settings.members().into_iter().filter(|it| *it != primary) {
                    self.links.cut(primary, other, until_ns);
                    self.links.cut(other, primary, until_ns);
                }
            }
            Fault::Slow(address, times) => {
                if let Some(node) = self.nodes.get_mut(&address) {
                    node.slow = times;
                }
            }
            Fault::Switch(scheme) => self.switch_to(scheme),
            Fault::KillClient(number) => self.kill_client(number),
            Fault::StartClient(number) => self.start_client(number),
            Fault::Break(number, member) => self.break_between(number, member),
            Fault::Mend(number, member) => self.mend_between(number, member),
            Fault::Kill(member) if !may_forget(self, member) => {}
            Fault::Kill(member) => self.stop(member),
            Fault::ChangeMembers(bits) => self.change_group(&GroupChange::Members(members_of(bits))),
            Fault::Transfer(number) => self.change_group(&GroupChange::Lead(number)),
            Fault::KillSet(set) => self.kill_set(set),
            Fault::Power => self.lose_power(),
            Fault::Resume => self.resume(),
            Fault::RestartCoordinator(number) => {
                let coordinator = Address::Coordinator(number);
                if !self.nodes.contains_key(&coordinator) {
                    self.configure(|configuration| configuration.with_new_coordinator(coordinator));
                    self.add_coordinator(coordinator);
                }
            }
        }
    }

    pub(super) fn stop(&mut self, member: Address) {
        self.nodes.remove(&member);
        self.stop_disk(member);
        self.end_connections(member);
    }

    fn kill_set(&mut self, set: u8) {
        let is_of_it = |it: &Address| matches!(it, Address::Replica { replica, .. } if *replica == set);
        let members = self.settings.members().into_iter().filter(is_of_it);
        members.for_each(|it| self.happen(Fault::Kill(it)));
    }

    /// Whether a replica can resume from its disk, if necessary.
    fn is_kept(&self, address: Address) -> bool {
        !self.settings.journals || self.disks.get(&address).is_some_and(|disk| disk.kept_since().is_some())
    }

    pub(super) fn replicas(&self, group: Group) -> &Replicas {
        self.configuration.group(group).expect("its groups are known")
    }

    /// Whether a member has in the newest configuration what its primary has.
    pub(super) fn has_rows(&self, address: Address) -> bool {
        let node = self.nodes.get(&address);
        node.is_some_and(|node| match &node.machine {
            Machine::Member(member) => match member.role() {
                Role::Backup(backup) => {
                    backup.lost().is_none() && member.epoch() >= self.since(address) && self.is_kept(address)
                }
                Role::HotBackup(backup) => {
                    backup.lost().is_none() && member.epoch() >= self.since(address) && self.is_kept(address)
                }
                Role::Primary(_) | Role::Sequencer(_) => member.epoch() >= self.since(address),
                Role::Executor(executor) => executor.broken().is_none(),
                _ => false,
            },
            Machine::Client(_) => false,
        })
    }

    /// The epoch since which a member has its role with the present primary.
    fn since(&self, address: Address) -> u64 {
        let Some(group) = address.group() else { return u64::MAX };
        self.configuration.since_of(address).unwrap_or(0).max(self.replicas(group).since)
    }

    /// A backup that can be promoted.
    fn successor(&self, group: Group) -> Option<Address> {
        let backups = self.replicas(group).backups();
        backups.into_iter().find(|&backup| self.has_rows(backup))
    }

    /// The number of members that have what the primary has.
    pub(super) fn survivors(&self, group: Group) -> usize {
        let replicas = self.replicas(group);
        replicas.backups().into_iter().chain([replicas.primary]).filter(|&it| self.has_rows(it)).count()
    }

    fn repair(&mut self, group: Group) {
        if self.settings.order.agreement.is_some() {
            return;
        }
        if !self.has_primary(group)
            && let Some(next) = self.successor(group)
        {
            self.configure(|configuration| configuration.promote(next));
        }
        if !self.has_primary(group) {
            return;
        }
        for backup in self.replicas(group).backups() {
            if !self.nodes.contains_key(&backup) {
                self.configure(|configuration| configuration.without(backup));
            }
        }
    }

    /// If not, a stopped backup may be the one whose disk has the rows: it keeps its role.
    fn has_primary(&self, group: Group) -> bool {
        self.nodes.contains_key(&self.replicas(group).primary)
    }

    fn bring_back(&mut self, group: Group) {
        if self.settings.order.agreement.is_some() || !self.has_primary(group) {
            return;
        }
        let members = self.settings.members().into_iter().filter(|it| it.group() == Some(group));
        for address in members.collect::<Vec<_>>() {
            let replicas = self.replicas(group);
            let is_there = self.nodes.contains_key(&address);
            if replicas.primary == address || is_there && replicas.backups().contains(&address) {
                continue;
            }
            self.configure(|configuration| configuration.with(address));
            if !is_there {
                self.add_member(address);
            }
        }
    }

    /// The operator changes the scheme.
    pub fn switch_to(&mut self, scheme: SchemeKind) {
        self.configure(|configuration| Ok(configuration.with_scheme(scheme)));
    }

    /// Decides the next configuration and sends it to all members.
    pub(super) fn configure(&mut self, next: impl FnOnce(&Configuration) -> Result<Configuration, String>) {
        self.configuration = next(&self.configuration).expect("only what can be asked for is");
        for to in self.nodes.keys().copied().collect::<Vec<_>>() {
            let message = Message::Configure(Box::new(self.configuration.clone()));
            self.send(Address::OPERATOR, to, self.now_ns, Some(Packet { epoch: self.configuration.epoch, message }));
        }
    }

    /// As [`finish`](Self::finish), and members that take the rows of others end that: one whose source has failed asks
    /// the next one after 2 s.
    ///
    /// # Errors
    /// When a call never ends.
    pub fn finish_with_joins(&mut self) -> Result<(), String> {
        self.finish()?;
        if !self.leftovers().is_empty() {
            self.run_us(5_000_000);
        }
        Ok(())
    }

    /// For a world that has [finished](Self::finish): each client makes one of these calls, and waits for its outcome.
    ///
    /// # Errors
    /// When a client is away, or a call never ends.
    pub fn call_after(&mut self, calls: Vec<CallOf<W>>) -> Result<(), String> {
        for (number, call) in (0..).zip(calls) {
            let client = Address::Client(number);
            let now_ns = self.now_ns;
            let mut out = Outbox::default();
            if self.is_away(client) {
                return Err(format!("{client} is away"));
            }
            self.client(number).make(call, now_ns, &mut out);
            self.carry_out(client, now_ns, out);
        }
        self.finish()
    }
}

// Clients that stop, and connections that break.
//
// The last messages on a connection that ends are lost, each way. A member notices the end after the messages that it
// still received; a successor with the same address can reach it only after that.

impl<W: Workload> World<W> {
    /// Plans this many stops of clients or of their connections before `until_us`.
    pub(super) fn plan_partings(&mut self, until_us: u64) {
        for _ in 0..self.settings.partings {
            let at = self.now_ns / 1_000 + 1 + self.dice.below(until_us);
            let number = self.dice.below(u64::from(self.settings.clients)) as u32;
            if self.dice.one_in(2) {
                let away_us = self.dice.below(until_us / 4);
                self.schedule_fault(at, Fault::KillClient(number));
                self.schedule_fault(at + away_us, Fault::StartClient(number));
            } else {
                let members = self.members();
                let member = *self.dice.pick(&members).expect("a cluster has members");
                let mended = at + self.dice.below(until_us / 4);
                self.schedule_fault(at, Fault::Break(number, member));
                self.schedule_fault(mended, Fault::Mend(number, member));
            }
        }
    }

    fn members(&self) -> Vec<Address> {
        self.nodes.keys().copied().filter(|it| !matches!(it, Address::Client(_))).collect()
    }

    pub(super) fn kill_client(&mut self, number: u32) {
        let (address, now_ns) = (Address::Client(number), self.now_ns);
        for member in self.members() {
            self.break_off(address, member);
            self.broken.remove(&(address, member));
        }
        // A successor is another party.
        let node = self.nodes.remove(&address).expect("clients are there or away");
        let Machine::Client(mut client) = node.machine else { unreachable!("it has a client's address") };
        client.stop(now_ns);
        self.add(address, Machine::Client(client));
    }

    /// Calls of all clients that were refused because a partition is late.
    pub fn refused(&mut self) -> u64 {
        (0..self.settings.clients).map(|number| self.client(number).refused).sum()
    }

    /// Clients restart transactions that exceed their timeout: they may be in a distributed deadlock.
    pub(super) fn lose_patience(&mut self) {
        for number in 0..self.settings.clients {
            let (mut out, now_ns, patience_us) = (Outbox::default(), self.now_ns, self.settings.patience_us);
            self.client(number).restart_timed_out(patience_us, now_ns, &mut out);
            self.carry_out(Address::Client(number), now_ns, out);
        }
        self.schedule_while_waiting(self.settings.patience_us / 4, Event::LosePatience);
    }

    pub(super) fn start_client(&mut self, number: u32) {
        if !self.is_away(Address::Client(number)) {
            return;
        }
        // It waits until each member has announced its configuration, on a new connection.
        let is_known = |(at, to): &(Address, Address)| at.is_member() && *to == Address::Client(number);
        if self.settings.scheme.is_deterministic() && self.broken.iter().any(is_known) {
            return self.schedule_fault(self.now_ns / 1_000 + 1, Fault::StartClient(number));
        }
        let (now_ns, mut out) = (self.now_ns, Default::default());
        let router = self.router(number);
        self.client(number).start(router, now_ns, &mut out);
        self.carry_out(Address::Client(number), now_ns, out);
    }

    pub(super) fn break_between(&mut self, number: u32, member: Address) {
        if self.nodes.contains_key(&member) && !self.is_away(Address::Client(number)) {
            self.break_off(Address::Client(number), member);
            self.break_off(member, Address::Client(number));
        }
    }

    /// The client notices that its connection was made again; messages that it sent since it noticed the break arrive
    /// first.
    pub(super) fn mend_between(&mut self, number: u32, member: Address) {
        // A deterministic scheme has no timeouts: a member answers on the connection that it knows.
        let is_known = self.broken.contains(&(member, Address::Client(number)));
        if self.settings.scheme.is_deterministic() && is_known {
            return self.schedule_fault(self.now_ns / 1_000 + 1, Fault::Mend(number, member));
        }
        let (now_ns, mut out) = (self.now_ns, Default::default());
        self.client(number).reconnects(member, now_ns, &mut out);
        self.carry_out(Address::Client(number), now_ns, out);
    }

    /// Loses the last messages one way, and lets the receiver notice.
    fn break_off(&mut self, from: Address, to: Address) {
        let sent = self.flying.iter().filter(|(_, it)| (it.from, it.to) == (from, to));
        let sent: Vec<u64> = sent.map(|(&number, _)| number).collect();
        let arrives = self.dice.place(sent.len() + 1);
        sent[arrives..].iter().for_each(|number| drop(self.flying.remove(number)));
        let arrival = self.links.arrival(from, to, self.now_ns, &mut self.dice);
        self.broken.insert((to, from));
        self.fly(from, to, (None, false), arrival);
    }

    /// Whether a client was stopped and has no successor yet.
    pub(super) fn is_away(&self, address: Address) -> bool {
        let machine = self.nodes.get(&address).map(|node| &node.machine);
        matches!(machine, Some(Machine::Client(client)) if client.away)
    }
}

// Advice: a watcher proposes schemes, and the operator follows.

impl<W: Workload> World<W> {
    /// Evaluates the counters so far, and has the operator follow a proposal.
    pub(super) fn advise(&mut self) {
        let Some(mut advisor) = self.advisor.take() else { return };
        advisor.switched(self.configuration.scheme);
        let (counted, around) = self.counted();
        if let Some(scheme) = advisor.observe(&counted, &around) {
            self.switches_made += 1;
            self.switch_to(scheme);
        }
        self.advisor = Some(advisor);
    }

    fn counted(&mut self) -> (Counted, Surroundings) {
        let (mut counted, mut hottest) = (Counted::default(), None);
        for (address, node) in &mut self.nodes {
            let Machine::Member(member) = &mut node.machine else { continue };
            member.sample();
            match (address, member.role()) {
                (Address::Coordinator(_), _) => counted.coordinator = counted.coordinator.and(node.tally),
                (_, Role::Primary(partition)) => {
                    counted.seen = counted.seen.and(partition.seen());
                    counted.partitions = counted.partitions.and(node.tally);
                    let of_it = partition.hottest();
                    hottest = if hottest > of_it { hottest } else { of_it };
                }
                _ => {}
            }
        }
        let link = &self.settings.link;
        let around = Surroundings {
            span_us: self.settings.advice_us as f64,
            partitions: u32::from(self.settings.partitions),
            coordinators: u32::from(self.settings.coordinators),
            clients: f64::from(self.settings.clients),
            round_trip_us: 2.0 * (link.base_ns + link.tail_ns) as f64 / 1e3,
            hottest,
        };
        (counted, around)
    }

    /// The latest advice, if there is a watcher.
    pub fn advice(&self) -> Option<&Advice> {
        self.advisor.as_ref().and_then(Advisor::advice)
    }

    /// The newest configuration.
    pub fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// The number of changes of the scheme by proposals.
    pub fn switches_made(&self) -> u64 {
        self.switches_made
    }
}

impl World<Load> {
    /// Changes the clients' load.
    pub fn shift_to(&mut self, load: Load) {
        for number in 0..self.settings.clients {
            self.client(number).shift_to(load);
        }
    }
}
