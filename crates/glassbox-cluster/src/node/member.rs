//! A member of a cluster: one address, the role that the configuration gives it, and a guard of its messages.
//!
//! The guard admits messages whose senders have the role to send them, keeps messages of later configurations until
//! these arrive, and sends the present configuration to senders that have an older one.

use std::sync::Arc;

use glassbox::research::shard::{Shard, Stamp};
use glassbox::{Error, Procedure};

use crate::coordinator::commit::Ended;
use crate::coordinator::tick::Tick;
use crate::deterministic::executor::Executor;
use crate::deterministic::hot_backup::HotBackup;
use crate::deterministic::sequencer::Sequencer;
use crate::deterministic::throttle::Throttle;
use crate::node::agreed_log::AgreedLog;
use crate::node::recovered::{RecoveredReplica, RecoveredState, Returned};
use crate::node::role::{MakeShard, Role};
use crate::participant::admission::Admission;
use crate::participant::backup::Backup;
use crate::participant::partition::Partition;
use crate::protocol::address::{Address, COORDINATOR};
use crate::protocol::configuration::{Configuration, SchemeKind};
use crate::protocol::entry::Base;
use crate::protocol::input::OrderSettings;
use crate::protocol::message::{MAX_EARLY_PACKETS, Message, Packet};
use crate::protocol::outbox::{Action, Outbox};
use crate::scheduler::MakeScheduler;

/// A member of a cluster.
pub struct Member {
    pub(crate) me: Address,
    pub(crate) configuration: Configuration,
    pub(crate) make: MakeShard,
    pub(crate) role: Role,
    /// Packets of later configurations.
    pub(crate) early: Vec<(Address, Packet)>,
    /// A copy from the configuration, which many messages need.
    pub(crate) order_since: Option<u64>,
    /// The epoch since which it has its role as a primary or coordinator: older messages were for a predecessor, which
    /// may have had the same address.
    pub(crate) begun: u64,
    /// Whether a primary samples runs.
    pub(crate) samples: bool,
    /// Whether it has a journal.
    pub(crate) journals: bool,
    /// How it orders inputs while it is the sequencer, and when it refuses calls.
    pub(crate) order: OrderSettings,
    /// In a test: what executors have in place of the configuration's scheduler.
    pub(crate) make_scheduler: Option<MakeScheduler>,
    pub(crate) admission: Admission,
    /// What it has for partitions while it is the coordinator.
    pub(crate) tick: Tick,
    /// Its part in the agreement on the input log, if there is one.
    pub(crate) agreed: Option<Box<AgreedLog>>,
    /// How often a sequencer has stopped it.
    pub(crate) stops: u32,
    /// The number of coordinators, of which those that agree are not always the same ones.
    pub(crate) coordinators: u16,
    /// Whether its journal has a base of what it is now.
    pub(crate) is_based: bool,
}

/// How long a replica that was stopped twice waits before it asks for its place, in microseconds. Each further time it
/// waits twice as long.
const FIRST_PAUSE_US: u64 = 50_000;
/// The longest time.
const MAX_PAUSE_US: u64 = 60_000_000;

impl Member {
    /// A replica at the beginning of a cluster, with the partition's initial rows.
    pub fn replica(me: Address, configuration: Configuration, shard: Shard, make: MakeShard) -> Self {
        let Address::Replica { partition, .. } = me else { panic!("{me} is no replica") };
        let (replicas, scheme) = (&configuration.partitions[usize::from(partition)], configuration.scheme);
        let role = if let SchemeKind::Deterministic(scheduler) = scheme {
            Role::Executor(Box::new(Executor::new(me, shard, scheduler, &configuration)))
        } else if replicas.primary == me {
            Role::Primary(Box::new(Partition::new(shard, scheme, &replicas.backups())))
        } else {
            Role::Backup(Box::new(Backup::new(shard, replicas.primary, scheme)))
        };
        Self::new(me, configuration, make, role)
    }

    pub(crate) fn new(me: Address, configuration: Configuration, make: MakeShard, role: Role) -> Self {
        let (order_since, begun) = (configuration.order_since(), role.begun(me, &configuration));
        let (early, order, samples, journals) = (Vec::new(), OrderSettings::default(), false, false);
        let (admission, agreed) = (Admission::default(), None);
        Self {
            me,
            configuration,
            make,
            role,
            early,
            order_since,
            begun,
            samples,
            journals,
            order,
            make_scheduler: None,
            admission,
            tick: Tick::default(),
            agreed,
            stops: 0,
            coordinators: 0,
            is_based: false,
        }
    }

    /// The epoch since which a member of a group has its role.
    pub fn since(&self) -> Option<u64> {
        self.configuration.since_of(self.me)
    }

    /// A restarted member without rows or log: a backup as soon as a configuration names it.
    pub fn returning(me: Address, configuration: Configuration, make: MakeShard, out: &mut Outbox) -> Self {
        let role = Role::joining(me, &configuration, &make, out);
        Self::new(me, configuration, make, role)
    }

    /// A coordinator; one with a predecessor first recovers the predecessor's transactions. Under a deterministic
    /// scheme, the sequencer or a hot backup at the beginning of a cluster.
    pub fn coordinator(me: Address, configuration: Configuration, out: &mut Outbox) -> Self {
        let make: MakeShard = Arc::new(|| unreachable!("a coordinator has no rows"));
        if configuration.agreement.is_some() {
            let agreed = AgreedLog::new(me, configuration.clone()).expect("it has a group that agrees");
            return Self { agreed: Some(Box::new(agreed)), ..Self::new(me, configuration, make, Role::Follower) };
        }
        if configuration.scheme.is_deterministic() {
            let role = match configuration.backup_since(me) {
                Some((sequencer, _)) => Role::HotBackup(Box::new(HotBackup::new(sequencer, 0))),
                None => Role::Sequencer(Box::new(Sequencer::new(me, &configuration))),
            };
            return Self::new(me, configuration, make, role);
        }
        let role = Role::coordinating(me, &configuration, out);
        Self::new(me, configuration, make, role)
    }

    /// Has a primary sample runs for the [advisor](crate::auto). To be repeated in each interval: the share of sampled
    /// runs falls as their number grows.
    pub fn sample(&mut self) {
        self.samples = true;
        if let Role::Primary(partition) = &mut self.role {
            partition.sample(true);
        }
    }

    /// The configuration, as far as it knows.
    pub fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// Whether it has work that ends by itself, unless it waits for a member that is gone.
    pub(crate) fn is_working(&self) -> bool {
        self.role.is_working()
    }

    /// Unfinished work or a failure; `None`: neither.
    pub fn unfinished(&self) -> Option<String> {
        match &self.role {
            Role::Follower => self.disagrees(),
            role => role.unfinished(),
        }
    }

    /// The last epoch of the input log that it has executed, or that its log has.
    pub fn progress(&self) -> Option<u64> {
        match (&self.role, &self.agreed) {
            (Role::Executor(executor), _) => Some(executor.executed()),
            (Role::Sequencer(sequencer), _) => Some(sequencer.epochs.last()),
            (Role::HotBackup(backup), _) => Some(backup.log.last()),
            (_, Some(agreed)) => Some(agreed.log_end()),
            _ => None,
        }
    }

    /// The member's epoch.
    pub fn epoch(&self) -> u64 {
        self.configuration.epoch
    }

    /// Its role.
    pub fn role(&self) -> &Role {
        &self.role
    }

    pub(crate) fn role_mut(&mut self) -> &mut Role {
        &mut self.role
    }

    /// Whether it has a journal.
    pub fn has_journal(&self) -> bool {
        self.journals
    }

    /// The rows, if it has any.
    pub fn shard(&mut self) -> Option<&mut Shard> {
        match &mut self.role {
            Role::Primary(partition) => Some(partition.shard()),
            Role::Backup(backup) => Some(backup.shard()),
            Role::Executor(executor) => Some(executor.shard()),
            _ => None,
        }
    }

    /// Receives a message.
    pub fn handle(&mut self, from: Address, packet: Packet, now_us: u64, out: &mut Outbox) {
        let Some(agreed) = &mut self.agreed else { return self.admit(from, packet, now_us, out) };
        match packet.message {
            Message::Agreement { from: sent_by, to, message } => agreed.receive(from, (sent_by, to), &message, now_us),
            Message::Ack { sequence } if from == self.me => agreed.forced(sequence),
            Message::Returned { life, kept } => agreed.returned(from, (life, kept), now_us, out),
            Message::Present(presence) => {
                agreed.watch().into_iter().for_each(|it| it.note(from, presence, packet.epoch, now_us));
            }
            // It was removed from the group, and is not sent the log any more.
            Message::Configure(next) if !next.members().contains(&self.me) => self.configure(*next, now_us, out),
            // Only what is decided counts.
            Message::Configure(_) => {}
            Message::Submit(_) | Message::ResumeAfter(_)
                if !matches!(self.role, Role::Sequencer(_) | Role::Coordinator(_)) =>
            {
                out.send(from, Message::Configure(Box::new(self.configuration.clone())));
            }
            _ => self.admit(from, packet, now_us, out),
        }
        self.agree(now_us, out);
    }

    /// Receives a message that is not of the agreement.
    fn admit(&mut self, from: Address, mut packet: Packet, now_us: u64, out: &mut Outbox) {
        match (packet.message, &mut self.role) {
            // Its place may be that of an earlier life.
            (Message::Configure(configuration), Role::Returned(returned)) => return returned.keep(configuration),
            (Message::Configure(configuration), _) => return self.configure(*configuration, now_us, out),
            (Message::Placed { life, joins, configuration }, Role::Returned(returned)) if returned.life == life => {
                if joins {
                    returned.recovered = None;
                }
                let newest = returned.newest.take();
                self.configure(*configuration, now_us, out);
                return newest.into_iter().for_each(|newest| self.configure(*newest, now_us, out));
            }
            (Message::Placed { .. }, _) => return,
            (Message::Withheld { life, why }, Role::Returned(returned)) if returned.life == life => {
                let line = returned.withhold(self.me, &why).map(Action::Report);
                return out.actions.extend(line);
            }
            (Message::Withheld { .. }, _) => return,
            (Message::Probe, _) => return self.say_presence(from, now_us, out),
            (message, _) => packet.message = message,
        }
        if packet.epoch > self.configuration.epoch {
            // A well-behaved cluster never sends more than this.
            if self.early.len() < MAX_EARLY_PACKETS {
                self.early.push((from, packet));
            }
            return;
        }
        if !self.configuration.admits(from, packet.epoch) || packet.epoch < self.begun && !begins(&packet.message) {
            return out.send(from, Message::Configure(Box::new(self.configuration.clone())));
        }
        let (first, elects) = (out.actions.len(), self.configuration.elects_coordinator());
        let is_elected = elects && matches!(from, Address::Coordinator(_));
        self.dispatch(if is_elected { COORDINATOR } else { from }, packet, now_us, out);
        self.redirect(first, out);
        self.hold(first, now_us, out);
    }

    /// Sends to the elected coordinator what was for the coordinator, from this action on.
    pub(crate) fn redirect(&self, first: usize, out: &mut Outbox) {
        if !self.configuration.elects_coordinator() || self.agreed.is_some() {
            return;
        }
        let elected = self.configuration.coordinator_of(self.me);
        for action in out.actions.iter_mut().skip(first) {
            if let Action::Send(to @ Address::Coordinator(_), _) = action {
                *to = elected;
            }
        }
    }

    /// Keeps what a coordinator has for partitions until its tick, from this action on.
    pub(crate) fn hold(&mut self, first: usize, now_us: u64, out: &mut Outbox) {
        if self.order.tick_us > 0 && matches!(self.role, Role::Coordinator(_)) {
            self.tick.hold(self.order.tick_us, first, now_us, out);
        }
    }

    /// The refusal of a call because this partition is late; only under two-phase locking.
    fn refusal(&mut self, message: &Message, now_us: u64) -> Option<Message> {
        let max_lag_us = self.order.max_lag_us;
        let is_primary = matches!(self.role, Role::Primary(_));
        if max_lag_us == 0 || !is_primary || !matches!(self.configuration.scheme, SchemeKind::TwoPhase(_)) {
            return None;
        }
        match message {
            Message::Fragment(fragment) if fragment.round == 0 => {
                self.admission.note_fragment(fragment.call.now.micros() as u64, now_us);
                None
            }
            &Message::Call { id, .. } if !self.admission.admits(max_lag_us, now_us) => {
                Some(Throttle::refusal(self.me.partition()?, id))
            }
            _ => None,
        }
    }

    fn dispatch(&mut self, from: Address, packet: Packet, now_us: u64, out: &mut Outbox) {
        if let Some(refusal) = self.refusal(&packet.message, now_us) {
            return out.send(from, refusal);
        }
        let Configuration { scheme, scheme_since, .. } = self.configuration;
        let is_old = self.order_since.is_some_and(|since| packet.epoch < since);
        // Clients coordinate under locking and OCC only.
        let is_other =
            packet.epoch < scheme_since || matches!(from, Address::Client(_)) && !scheme.clients_coordinate();
        match (&mut self.role, packet.message) {
            // It began under another scheme, and has not begun here.
            (Role::Primary(partition), Message::Fragment(fragment)) if is_other && fragment.round == 0 => {
                partition.refuse(from, *fragment, out);
            }
            // Its coordinator restarts it when it receives the configuration with the new order.
            (Role::Primary(_), Message::Fragment(fragment)) if is_old && fragment.place > 0 => {}
            (Role::Coordinator(_), Message::AskTurn { .. } | Message::Turn(_)) if is_old => {}
            (Role::Primary(partition), message) => partition.handle(from, message, out),
            // It takes the rows of another replica set.
            (Role::Executor(executor), Message::Stop { why, joins: true }) if executor.obeys(from, &why) => {
                let why = executor.reason(&why);
                let line = format!("{}: {why}; it stops, and takes the rows of another replica set", self.me);
                out.actions.push(Action::Report(line));
                self.role = Role::Returned(Box::new(Returned::new(None, now_us, now_us + self.pause_us())));
            }
            (Role::Executor(executor), message) => executor.handle(from, message, out),
            // Other sequencers are no backups.
            (Role::Sequencer(_), Message::Join { since })
                if self.configuration.backup_since(from).is_none_or(|(_, known)| known != since) => {}
            (Role::Sequencer(it), message) => it.handle(from, message, now_us, out),
            (Role::Backup(backup), message) => backup.handle(from, message, out),
            (Role::HotBackup(backup), message) => backup.handle(from, message, out),
            (Role::Coordinator(it), Message::Submit(submission)) => it.submit(from, *submission, now_us, out),
            (Role::Coordinator(it), Message::Recovered(found)) => it.recovered(from, &found, now_us, out),
            (Role::Coordinator(it), Message::DecisionAcks { received, .. }) => it.acked(from, received),
            (Role::Coordinator(it), Message::SessionOrphaned(session)) => it.inherit(session, out),
            (Role::Coordinator(it), Message::Waits(wait)) => {
                from.partition().into_iter().for_each(|partition| it.deadlocks.note_wait(partition, &wait, out));
            }
            (Role::Coordinator(it), Message::Withdrawn(txn)) => it.withdrawn(from, txn),
            (Role::Coordinator(it), Message::AskTurn { number }) => it.asked_for_turn(from, number, out),
            (Role::Coordinator(it), Message::Turn(turn)) => it.take_turn(*turn, out),
            (Role::Coordinator(it), Message::Result(result)) => answer(it.on_result(*result, now_us, out), out),
            (Role::Joining { .. } | Role::Returned(_) | Role::Unfit(_), Message::Join { since })
                if scheme.is_deterministic() =>
            {
                out.send(from, Message::NoRows { since });
            }
            (
                Role::Joining { primary, since, pieces, next_source: Some(next), .. },
                Message::NoRows { since: asked },
            ) if (from, asked) == (*primary, *since) => {
                out.actions.extend(next.no_rows(self.me, from).map(Action::Report));
                *next = next.soon(*pieces, now_us);
            }
            (Role::Joining { .. }, message) => self.take_state(from, message, out),
            _ => {}
        }
        if let Role::Coordinator(it) = &mut self.role {
            answer(it.take_ended(), out);
        }
    }

    /// Receives a part of the state of the member that it joins.
    fn take_state(&mut self, from: Address, message: Message, out: &mut Outbox) {
        match (&mut self.role, message) {
            // Rows and entries are accepted from the primary only.
            (Role::Joining { primary, .. }, _) if from != *primary => {}
            (Role::Joining { since, shard: Some(shard), pieces, .. }, Message::Rows { since: sent, table, rows })
                if sent == *since =>
            {
                *pieces += 1;
                out.send(from, Message::Arrived { since: sent, pieces: *pieces });
                if let Err(why) = shard.load_stored(table, &rows) {
                    self.role = Role::Unfit(why);
                }
            }
            (Role::Joining { since, remembered, pieces, .. }, Message::Remember { since: sent, entries })
                if sent == *since =>
            {
                *pieces += 1;
                out.send(from, Message::Arrived { since: sent, pieces: *pieces });
                remembered.extend(entries);
            }
            (Role::Joining { since, .. }, Message::State { since: sent, pieces, base }) if sent == *since => {
                self.joined(from, *base, pieces, out);
                if self.journals {
                    self.is_based = false;
                    out.actions.push(Action::Forget);
                    self.take_journal();
                }
                if self.journals || matches!(self.role, Role::Executor(_)) {
                    self.renew_base(out);
                }
            }
            _ => {}
        }
    }

    /// All rows and entries are here, if all messages arrived.
    fn joined(&mut self, from: Address, base: Base, sent: u64, out: &mut Outbox) {
        self.role = match std::mem::replace(&mut self.role, Role::Idle) {
            Role::Joining { shard: Some(shard), remembered, pieces, .. }
                if pieces == sent && base.scheme.is_deterministic() =>
            {
                let state = RecoveredState::Executor(shard, base.held, remembered);
                let recovered = RecoveredReplica { configuration: self.configuration.clone(), since: 0, state };
                Self::recovered_role(self.me, &self.configuration, recovered, out)
            }
            Role::Joining { shard, remembered, pieces, .. } if pieces == sent => {
                let base = Base { remembered, ..base };
                let role = match shard {
                    Some(shard) => Backup::following(*shard, from, base).map(|it| Role::Backup(Box::new(it))),
                    None => HotBackup::following(from, base, 1).map(|it| Role::HotBackup(Box::new(it))),
                };
                role.unwrap_or_else(Role::Unfit)
            }
            Role::Joining { pieces, .. } => Role::Unfit(format!("{pieces} of {sent} messages arrived")),
            other => other,
        };
        self.set_order();
    }

    /// [`Partition::run_here`] of a primary, for a client with this configuration or an older one.
    #[inline]
    pub(crate) fn run_here<P: Procedure>(
        &mut self,
        epoch: u64,
        procedure: &P,
        stamp: Stamp,
        output: &mut Option<P::Output>,
    ) -> Option<Result<(), Box<Error>>> {
        match &mut self.role {
            Role::Primary(partition) if epoch <= self.configuration.epoch => {
                partition.run_here(procedure, stamp, output)
            }
            _ => None,
        }
    }

    /// A client disconnected, or one of its connections broke: none of its messages is still to come.
    pub fn on_client_disconnected(&mut self, client: Address, out: &mut Outbox) {
        if let Role::Primary(partition) = &mut self.role {
            let first = out.actions.len();
            partition.on_client_disconnected(client, out);
            self.redirect(first, out);
        }
    }

    /// A member connected. Messages for it may have been dropped while it was not.
    pub(crate) fn on_connected(&mut self, peer: Address, out: &mut Outbox) {
        match (&self.role, peer) {
            // Also one that waits for more: its request, or the answer, may be lost.
            (Role::Sequencer(sequencer), Address::Replica { .. }) => {
                out.send(peer, Message::ResumeAfter(sequencer.epochs.last()));
            }
            (Role::Executor(executor), Address::Replica { .. }) if executor.exchanges_with(peer) => {
                out.send(peer, Message::SentUpTo(0));
            }
            // It may have been started again, and not know that the cluster has begun.
            (Role::Executor(_) | Role::Primary(_) | Role::Backup(_), Address::Coordinator(_))
                if self.configuration.agreement.is_some() =>
            {
                out.send(peer, Message::Configure(Box::new(self.configuration.clone())));
            }
            _ => {}
        }
    }

    /// The connection of a replica broke.
    pub fn on_replica_disconnected(&mut self, replica: Address, now_us: u64) {
        let watch = self.agreed.as_mut().and_then(|agreed| agreed.watch());
        watch.into_iter().for_each(|watch| watch.note_cut(replica, now_us));
        if let Role::Sequencer(sequencer) = &mut self.role {
            sequencer.note_cut(replica);
        }
    }

    /// This member of a cluster with so many coordinators, if another number than those that agree at first.
    #[must_use]
    pub fn with_coordinators(self, coordinators: u16) -> Self {
        Self { coordinators, ..self }
    }

    /// This member, which orders inputs so while it is the sequencer, and refuses calls so as a partition.
    #[must_use]
    pub fn with_order(mut self, order: OrderSettings) -> Self {
        self.order = order;
        self.set_order();
        self
    }

    /// This member, with another scheduler than the configuration's: one in which a test has planted a fault.
    #[must_use]
    pub fn with_scheduler(mut self, make: MakeScheduler) -> Self {
        self.make_scheduler = Some(make);
        self.set_order();
        self
    }

    /// Whether backups should receive its output before its next step.
    pub(crate) fn take_unsent(&mut self) -> bool {
        if let Role::Primary(partition) = &mut self.role { partition.take_unsent() } else { false }
    }

    pub(crate) fn set_order(&mut self) {
        match &mut self.role {
            Role::Sequencer(sequencer) => sequencer.set_order(self.order),
            Role::Executor(executor) => {
                executor.set_order(self.order);
                // Other replicas keep what it may need, and it says what it does not.
                let has_others = self.configuration.agreement.is_some() && self.configuration.sets() > 1;
                if has_others && !self.journals {
                    executor.keep_in_memory();
                }
                self.make_scheduler.into_iter().for_each(|make| executor.set_scheduler(make));
            }
            Role::Primary(partition) => partition.set_order(self.order),
            _ => {}
        }
    }

    /// How long a replica that has no rows any more waits before it asks for its place, in microseconds: one that is
    /// left out again and again would copy all rows each time.
    pub(crate) fn pause_us(&mut self) -> u64 {
        let pause_us = ((u64::from(self.stops > 0) * FIRST_PAUSE_US) << self.stops.min(10)).min(MAX_PAUSE_US);
        self.stops += 1;
        pause_us
    }

    /// When [`Self::tick`] is to be called, in microseconds.
    pub fn next_tick_us(&self) -> Option<u64> {
        let own = match &self.role {
            Role::Sequencer(sequencer) => sequencer.next_tick_us(),
            Role::Returned(returned) => Some(returned.ask_at_us),
            Role::Executor(executor) => executor.next_tick_us(),
            Role::Joining { next_source, .. } => next_source.map(|next| next.at_us),
            _ => None,
        };
        own.into_iter().chain(self.tick.next_us()).chain(self.agreed.as_ref().map(|it| it.next_tick_us())).min()
    }

    /// Does what is due at this time.
    pub fn tick(&mut self, now_us: u64, out: &mut Outbox) {
        self.tick.release(now_us, out);
        if let Some(agreed) = &mut self.agreed {
            agreed.ask(self.coordinators, now_us, out);
        }
        match &mut self.role {
            Role::Sequencer(sequencer) => sequencer.tick(now_us, out),
            Role::Returned(returned) => returned.ask(&self.configuration, self.coordinators, now_us, out),
            Role::Executor(executor) => executor.tick(now_us, out),
            Role::Joining { primary, pieces, next_source: Some(next), .. } if now_us >= next.at_us => {
                if *pieces == next.pieces {
                    let source = (Some(*primary), 2 * next.patience_us, next.has_reported);
                    self.role = Role::joining_set(self.me, source, (&self.configuration, &self.make), now_us, out);
                } else {
                    (next.at_us, next.pieces) = (now_us + next.patience_us, *pieces);
                }
            }
            _ => {}
        }
        self.agree(now_us, out);
    }

    /// Runs one waiting transaction that can proceed; whether there was one.
    pub fn proceed(&mut self, out: &mut Outbox) -> bool {
        let first = out.actions.len();
        let did = match &mut self.role {
            Role::Primary(partition) => partition.proceed(out),
            _ => false,
        };
        self.redirect(first, out);
        did
    }
}

/// Whether it is a client's call, which any holder of the role may handle.
fn begins(message: &Message) -> bool {
    matches!(message, Message::Call { .. } | Message::Submit(_) | Message::Reconnoitre(_))
}

pub(crate) fn answer(ended: Vec<Ended>, out: &mut Outbox) {
    for end in ended {
        out.send(end.client, Message::Answer { id: end.id, outcome: end.outcome });
    }
}
