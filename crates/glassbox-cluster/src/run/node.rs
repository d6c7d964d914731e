//! A member in a process of its own, which has no place until the operator gives it one.
//!
//! A restarted process looks like its predecessor to all other parties. If it took the role that the configuration
//! still gives to its address, it would do so without rows, or with the initial ones. So a process has no place until
//! it receives [`Question::Begin`] from the operator, which knows that it was restarted; what other members send to its
//! address is not meant for it.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use glassbox::research::shard::{Shard, Stamp};
use glassbox::{Error, Procedure};

use super::journal_writer::JournalWriter;
use super::shape::Shape;
use super::timing::now_us;
use crate::auto::{Counters, Tally};
use crate::node::member::Member;
use crate::node::recovered::RecoveredReplica;
use crate::node::role::{MakeShard, Role};
use crate::protocol::address::Address;
use crate::protocol::configuration::{Configuration, MAX_EPOCH};
use crate::protocol::message::{MAX_EARLY_PACKETS, Message, Packet};
use crate::protocol::outbox::{Action, Outbox, Work};
use crate::wire::{Answer, Counts, Question, Standing};

/// Bytes of rows in one answer.
const ROWS_BYTES: usize = 1 << 20;

/// One process's part of a cluster.
pub struct Node {
    pub(super) me: Address,
    shape: Shape,
    first: MakeShard,
    empty: MakeShard,
    pub(super) member: Option<Member>,
    /// Requests for the turn before this one has a place: coordinators send them once.
    asked: Vec<(Address, Packet)>,
    /// Other packets before this one has a place, of the newest epoch among them.
    early: Vec<(Address, Packet)>,
    /// The durations of its work, once they were asked for.
    tally: Option<Tally>,
    /// Steps since the last timed one.
    untimed: u32,
    /// Its journal.
    pub(super) journal: Option<JournalWriter>,
    /// A sequencer's journal has bases without rows: their source.
    no_rows: Option<Shard>,
    /// Whether a member has sent it something as of a later configuration than the first one.
    has_begun: bool,
    /// When it was found without a place in a cluster that may have begun, in microseconds.
    unplaced_since_us: Option<u64>,
    /// Whether it has reported that it never has a place again.
    is_lost: bool,
    /// Tells this process apart from others of the member, if it has forgotten what they had.
    incarnation: u64,
}

/// How long a process without what it had waits for the beginning of its cluster, in microseconds, before it asks for a
/// place in one that has begun.
const BEGINS_WITHIN_US: u64 = 500_000;

/// Inputs of an executor after which its journal begins another base.
const INPUTS_OF_BASE: u32 = 1 << 18;

/// One step in so many is timed: reading the clock costs as much as some steps.
const TIMED: u32 = 13;

impl Node {
    /// A process without a place. `first` makes a replica's initial rows, `empty` a shard without rows.
    pub fn new(me: Address, shape: Shape, first: MakeShard, empty: MakeShard) -> Self {
        Self {
            me,
            shape,
            first,
            empty,
            member: None,
            asked: Vec::new(),
            early: Vec::new(),
            tally: None,
            untimed: 0,
            journal: None,
            no_rows: None,
            has_begun: false,
            unplaced_since_us: None,
            is_lost: false,
            incarnation: RandomState::new().build_hasher().finish(),
        }
    }

    /// A process that has its place from the start.
    pub(super) fn begun(me: Address, shape: Shape, member: Member) -> Self {
        let first: MakeShard = Arc::new(|| Err("it has begun".to_owned()));
        let empty: MakeShard = Arc::new(|| unreachable!("a process with a place makes no shard"));
        Self { member: Some(member), ..Self::new(me, shape, first, empty) }
    }

    /// Takes its place in a cluster of this configuration.
    ///
    /// # Errors
    /// When it has one, the configuration is of another cluster, or the rows cannot be made.
    pub fn begin(&mut self, configuration: Configuration, now_us: u64, out: &mut Outbox) -> Result<(), String> {
        if self.member.as_ref().is_some_and(|it| it.waits_for_place() && configuration.epoch == 1) {
            // The others have begun before it received this, and the group gives it its place.
            return Ok(());
        }
        if let Some(member) = &self.member {
            return Err(format!("{} has begun already: it is in configuration {}", self.me, member.epoch()));
        }
        self.check(&configuration)?;
        let agrees = configuration.agreement.is_some() && configuration.epoch > 1;
        if agrees && self.me.partition().is_none() && !configuration.members().contains(&self.me) {
            // It was a hot backup before the group began, and has nothing more that a partition has received. What it
            // had is no journal of the group, not even until the first base is complete.
            self.journal.as_mut().and_then(JournalWriter::take);
            out.actions.push(Action::Forget);
            (self.early, self.asked) = Default::default();
            return self.begin_forgotten(configuration, out);
        }
        let member = match self.me {
            Address::Replica { partition, .. } => self.replica(usize::from(partition), configuration, out)?,
            _ => self.coordinator(configuration, out)?,
        };
        let mut member = self.shape.known(member);
        if self.journal.is_some() && !member.has_journal() {
            member.begin_journal(out);
        }
        let (epoch, member) = (member.epoch(), self.member.insert(member));
        let early = self.early.drain(..).filter(|(_, packet)| packet.epoch >= epoch);
        self.asked.drain(..).chain(early).for_each(|(from, packet)| member.handle(from, packet, now_us, out));
        Ok(())
    }

    /// A coordinator; or a sequencer, which continues the log in its journal; or a hot backup.
    fn coordinator(&mut self, configuration: Configuration, out: &mut Outbox) -> Result<Member, String> {
        let (me, empty) = (self.me, Arc::clone(&self.empty));
        let has_log = configuration.scheme.is_deterministic() && configuration.epoch > 1;
        let is_returning = has_log && configuration.coordinator_since(me).is_none();
        let Some(journal) = &mut self.journal else {
            if is_returning {
                return Ok(Member::returning(me, configuration, empty, out));
            }
            if has_log {
                return Err("the input log was in memory and is lost; begin another cluster, with --dir".to_owned());
            }
            return Ok(Member::coordinator(me, configuration, out));
        };
        self.no_rows = Some((self.empty)()?);
        match journal.take() {
            Some(_) if configuration.epoch == 1 => {
                Err(format!("journal of {me} has a log; resume the cluster, or use an empty directory"))
            }
            _ if is_returning => Ok(Member::returning(me, configuration, empty, out)),
            // The group begins, with the configuration that a cluster without an agreement ended with.
            Some(recovered) if configuration.agreement.is_some() => {
                Member::agreeing(me, configuration, empty, &recovered)
            }
            Some(recovered) => Ok(Member::recovered(me, configuration, empty, recovered, out)),
            None if configuration.epoch > 1 && (configuration.agreement.is_none() || has_log) => {
                Err(format!("journal of {me} has no log; resume with the directory that has it"))
            }
            None => Ok(Member::coordinator(me, configuration, out)),
        }
    }

    fn replica(&mut self, partition: usize, configuration: Configuration, out: &mut Outbox) -> Result<Member, String> {
        let (me, empty) = (self.me, Arc::clone(&self.empty));
        let has_rows = self.journal.as_ref().is_some_and(|journal| journal.recovered().is_some());
        if configuration.epoch == 1 {
            if has_rows {
                return Err(format!("journal of {me} has rows; resume the cluster, or use an empty directory"));
            }
            return Ok(Member::replica(me, configuration, (self.first)()?, empty));
        }
        let recovered = self.journal.as_mut().and_then(JournalWriter::take);
        if configuration.agreement.is_some() {
            // The group that agrees gives it its place.
            return match recovered {
                Some(recovered) => {
                    Member::returned(me, empty, RecoveredReplica { configuration, ..recovered }, self.incarnation)
                }
                None => Member::forgotten(me, configuration, empty, self.incarnation),
            };
        }
        if configuration.partitions[partition].primary != me {
            return Ok(Member::returning(me, configuration, empty, out));
        }
        let recovered = recovered.ok_or_else(|| format!("{me} cannot become the primary: it has no rows"))?;
        Ok(Member::recovered(me, configuration, empty, recovered, out))
    }

    fn check(&self, configuration: &Configuration) -> Result<(), String> {
        if self.shape.admits(configuration) {
            return Ok(());
        }
        let Shape { partitions, coordinators, .. } = self.shape;
        let of = format!("{partitions} partitions and {coordinators} coordinators");
        Err(format!("invalid configuration for {of}: {configuration:?}"))
    }

    /// The member, if it has a place.
    pub fn member(&mut self) -> Option<&mut Member> {
        self.member.as_mut()
    }

    /// The member's epoch; 0 without a place.
    pub fn epoch(&self) -> u64 {
        self.member.as_ref().map_or(0, Member::epoch)
    }

    /// The configuration, for other parties. One that waits for its place does not announce the one before: calls that
    /// are sent under it would have an unknown outcome.
    pub(super) fn configuration(&self) -> Option<&Configuration> {
        self.member.as_ref().filter(|it| !it.waits_for_place()).map(Member::configuration)
    }

    /// Receives a message.
    pub(super) fn handle(&mut self, from: Address, packet: Packet, now_us: u64, out: &mut Outbox) {
        // It can promise nothing, so its group goes on without it.
        if matches!(packet.message, Message::Probe) && self.journal.as_mut().is_some_and(|it| it.hangs(now_us)) {
            return;
        }
        self.has_begun |= packet.epoch > 1 && from.is_member();
        match &mut self.member {
            Some(member) => member.handle(from, packet, now_us, out),
            None if matches!(packet.message, Message::AskTurn { .. }) => {
                // The newest request of each coordinator suffices.
                self.asked.retain(|(other, _)| *other != from);
                let is_one = matches!(from, Address::Coordinator(it) if it < u16::from(self.shape.coordinators));
                self.asked.extend(is_one.then_some((from, packet)));
            }
            // What may be lost is not kept.
            None if packet.message.may_be_lost() => {}
            None => self.keep_early(from, packet),
        }
    }

    /// [`Member::run_here`], unless the node's work is timed.
    #[inline]
    pub(super) fn run_here<P: Procedure>(
        &mut self,
        epoch: u64,
        procedure: &P,
        stamp: Stamp,
        output: &mut Option<P::Output>,
    ) -> Option<Result<(), Box<Error>>> {
        if self.tally.is_some() {
            return None;
        }
        self.member.as_mut()?.run_here(epoch, procedure, stamp, output)
    }

    /// Other parties may know of its place before it does, and send messages only once.
    fn keep_early(&mut self, from: Address, packet: Packet) {
        let epoch = self.early.first().map_or(0, |(_, first)| first.epoch);
        if (epoch + 1..MAX_EPOCH).contains(&packet.epoch) {
            self.early.clear();
        }
        if (epoch..MAX_EPOCH).contains(&packet.epoch) && self.early.len() < MAX_EARLY_PACKETS {
            self.early.push((from, packet));
        }
    }

    /// Whether a message need not wait for a member that is not connected: when it is, it learns that it lacks
    /// something.
    pub(super) fn may_drop(&self, message: &Message) -> bool {
        self.may_return() && matches!(message, Message::Inputs(_) | Message::Exchange(_))
    }

    /// Whether restarted processes continue by themselves or from journals, so that others send again what is missing.
    fn may_return(&self) -> bool {
        self.journal.is_some() || self.shape.order.agreement.is_some()
    }

    /// A party connected.
    pub(super) fn on_connected(&mut self, peer: Address, out: &mut Outbox) {
        let may_return = self.may_return();
        if let Some(member) = self.member.as_mut().filter(|_| may_return) {
            member.on_connected(peer, out);
        }
    }

    /// A party disconnected. The operator, or the group that agrees, decides about failed members.
    pub(super) fn on_disconnected(&mut self, peer: Address, out: &mut Outbox) {
        match (peer, &mut self.member) {
            (Address::Client(_), Some(member)) => member.on_client_disconnected(peer, out),
            (Address::Replica { .. }, Some(member)) => member.on_replica_disconnected(peer, now_us()),
            _ => {}
        }
    }

    /// How long it may sleep.
    pub(super) fn idle_time(&self) -> Option<Duration> {
        let next_us = self.member.as_ref()?.next_tick_us()?;
        Some(Duration::from_micros(next_us.saturating_sub(now_us())))
    }

    /// Runs one piece of waiting work; whether there was one.
    pub(super) fn proceed(&mut self, out: &mut Outbox) -> bool {
        let Some(member) = &mut self.member else {
            self.return_forgotten(now_us(), out);
            return false;
        };
        let mut did = false;
        if member.next_tick_us().is_some() {
            let now_us = now_us();
            member.tick(now_us, out);
            did = !out.actions.is_empty();
            let asks = |action: &Action| matches!(action, Action::Send(_, Message::Returned { .. }));
            if out.actions.iter().any(asks) && self.journal.as_mut().is_some_and(|it| it.hangs(now_us)) {
                out.actions.retain(|it| !asks(it));
            }
        }
        if let Some(journal) = &mut self.journal {
            if let Some(sequence) = journal.held() {
                let packet = Packet { epoch: member.epoch(), message: Message::Ack { sequence } };
                member.handle(self.me, packet, now_us(), out);
                did = true;
            }
            // A replica that loses its role loses its rows, and does not complete the base.
            let rows = member.shard().or(self.no_rows.as_mut().filter(|_| self.me.partition().is_none()));
            did |= rows.is_some_and(|rows| journal.copy(rows));
            match journal.take_based() {
                Some(true) => member.based(out),
                Some(false) => member.base_failed(),
                None => {}
            }
        }
        member.proceed(out) || did
    }

    /// Whether the next step is timed.
    pub(super) fn is_timed(&mut self) -> bool {
        if self.tally.is_none() {
            return false;
        }
        self.untimed = (self.untimed + 1) % TIMED;
        self.untimed == 0
    }

    /// Charges the duration of a timed step to the work that it did and the messages that it sent.
    pub(super) fn took(&mut self, time: Duration, works: &[Work], sent: u32) {
        let (Some(tally), ns) = (&mut self.tally, time.as_nanos() as u64) else { return };
        if let Address::Coordinator(_) = self.me {
            // One message was received.
            (0..=sent).for_each(|_| tally.message(ns / u64::from(sent + 1)));
        }
        tally.did_all(works.iter().copied(), ns);
    }

    /// Its counters; from the first call on it counts.
    fn counts(&mut self) -> Counts {
        let tally = *self.tally.get_or_insert_default();
        let mut counts =
            Counts { standing: self.standing(), seen: Counters::default(), tally, hottest: None, clients: 0 };
        if let Some(member) = &mut self.member {
            if let Role::Primary(partition) = member.role() {
                (counts.seen, counts.hottest) = (partition.seen(), partition.hottest());
            }
            member.sample();
        }
        counts
    }

    /// Whether its output should leave before its next step.
    pub(super) fn take_unsent(&mut self) -> bool {
        self.member.as_mut().is_some_and(Member::take_unsent)
    }

    /// Answers a question.
    pub(super) fn answer(&mut self, question: Question, now_us: u64, out: &mut Outbox) -> Answer {
        let shard = self.member.as_mut().and_then(Member::shard);
        match question {
            Question::State => {
                let digest = shard.map(|shard| shard.verify().map(|()| shard.digest()));
                Answer::State { unfinished: self.member.as_ref().and_then(Member::unfinished), digest }
            }
            Question::Rows { table, from } => {
                let rows = shard.and_then(|shard| shard.stored(table, from, ROWS_BYTES));
                rows.map_or(Answer::Nothing, |(replicated, rows, next)| Answer::Rows { replicated, rows, next })
            }
            Question::Standing => Answer::Standing(self.standing()),
            Question::Progress => {
                let written = self.journal.as_ref().map_or(0, JournalWriter::written);
                Answer::Progress(self.member.as_ref().and_then(Member::progress), written)
            }
            Question::Counts => Answer::Counts(Box::new(self.counts())),
            Question::ChangeGroup(change) => {
                let changed = match &mut self.member {
                    Some(member) => member.change_group(&change, now_us, out),
                    None => Err(format!("{} has not begun", self.me)),
                };
                changed.map_or_else(Answer::Refused, |()| Answer::Standing(self.standing()))
            }
            Question::Settle(replica) => {
                let settled = match &mut self.member {
                    Some(member) => member.settle(replica, now_us, out),
                    None => Err(format!("{} has not begun", self.me)),
                };
                settled.map_or_else(Answer::Refused, |()| Answer::Standing(self.standing()))
            }
            Question::Begin(configuration) => match self.begin(configuration, now_us, out) {
                Ok(()) => Answer::Standing(self.standing()),
                Err(why) => Answer::Refused(why),
            },
            Question::Configure(configuration) => match (self.check(&configuration), &mut self.member) {
                (Err(why), _) => Answer::Refused(why),
                (_, None) => Answer::Refused(format!("{} has not begun", self.me)),
                (_, Some(member)) if member.configuration().agreement.is_some() => {
                    let proposed = member.propose(configuration, now_us, out);
                    proposed.map_or_else(Answer::Refused, |()| Answer::Standing(self.standing()))
                }
                (_, Some(member)) => {
                    member.configure(configuration, now_us, out);
                    Answer::Standing(self.standing())
                }
            },
        }
    }

    fn standing(&self) -> Standing {
        let Some(member) = &self.member else {
            let recovered = self.journal.as_ref().and_then(JournalWriter::recovered);
            return recovered.map_or(Standing::None, |it| Standing::Kept(it.configuration.clone(), it.since));
        };
        let configuration = member.configuration().clone();
        match member.role() {
            Role::Executor(executor) if executor.lacks_inputs() => Standing::CatchesUp(configuration),
            Role::Primary(_) | Role::Executor(_) | Role::Sequencer(_) => Standing::Primary(configuration),
            Role::Backup(backup) => self.backup_standing(configuration, backup.lost()),
            Role::HotBackup(backup) => self.backup_standing(configuration, backup.lost()),
            Role::Joining { .. } => Standing::Joining(configuration),
            Role::Unfit(why) => Standing::Lost(configuration, why.clone()),
            Role::Coordinator(_) => Standing::Coordinator(configuration),
            Role::Follower if member.waits_for_place() && configuration.members().contains(&self.me) => {
                Standing::Idle(configuration)
            }
            Role::Follower => Standing::Backup(configuration),
            Role::Returned(it) if let Some(why) = it.withheld() => Standing::Lost(configuration, why.to_owned()),
            Role::Idle | Role::Returned(_) => Standing::Idle(configuration),
        }
    }

    fn backup_standing(&self, configuration: Configuration, lost: Option<&str>) -> Standing {
        match (lost, &self.journal) {
            (Some(why), _) => Standing::Lost(configuration, why.to_owned()),
            // Without a base it could not be resumed as a primary; the present primary can.
            (None, Some(journal)) if !journal.is_based() => Standing::Joining(configuration),
            (None, _) => Standing::Backup(configuration),
        }
    }
}

impl Node {
    /// This node, with a journal.
    #[must_use]
    pub fn with_journal(mut self, journal: JournalWriter) -> Self {
        self.journal = Some(journal);
        self
    }

    /// This node, which under an agreement takes its place again by itself, if its journal says that it had one.
    ///
    /// # Errors
    /// When the journal is damaged.
    pub fn back_by_itself(mut self) -> Result<Self, String> {
        let is_agreed = |it: &RecoveredReplica| it.configuration.agreement.is_some();
        if let Some(journal) = self.journal.as_mut().filter(|it| it.recovered().is_some_and(is_agreed))
            && let Some(recovered) = journal.take()
        {
            self.no_rows = Some((self.empty)()?);
            let member = Member::returned(self.me, Arc::clone(&self.empty), recovered, now_us())?;
            self.member = Some(self.shape.known(member));
        }
        Ok(self)
    }

    /// A process without what it had asks for a place, if its cluster has begun: a replica when another one may have
    /// the rows, and a member of the group that agrees in another incarnation.
    fn return_forgotten(&mut self, now_us: u64, out: &mut Outbox) {
        let is_kept = self.journal.as_ref().is_some_and(|journal| journal.recovered().is_some());
        if is_kept || !self.has_begun || self.is_lost || self.shape.order.agreement.is_none() {
            return;
        }
        let since_us = *self.unplaced_since_us.get_or_insert(now_us);
        if now_us <= since_us.saturating_add(BEGINS_WITHIN_US) {
            return;
        }
        let what = if self.journal.is_some() { "its directory is empty" } else { "its process was started again" };
        if self.me.partition().is_some() && self.shape.replicas == 1 {
            self.is_lost = true;
            return eprintln!(
                "{}: {what}, and no other replica has the rows of the partition: they are lost. Stop all processes and \
                 begin another cluster; rows outlive processes with --dir, or with several replicas",
                self.me
            );
        }
        match self.me {
            Address::Coordinator(_) => eprintln!("{}: {what}; it takes part in the agreement as a new member", self.me),
            _ => eprintln!("{}: {what}; it takes the rows of another replica", self.me),
        }
        self.early.clear();
        if let Err(why) = self.begin_forgotten(self.shape.configuration(), out) {
            self.is_lost = true;
            eprintln!("{}: {why}", self.me);
        }
    }

    /// Begins without what it had, in a cluster that began with this configuration.
    fn begin_forgotten(&mut self, first: Configuration, out: &mut Outbox) -> Result<(), String> {
        let empty = Arc::clone(&self.empty);
        let mut member = self.shape.known(Member::forgotten(self.me, first, empty, self.incarnation)?);
        if self.journal.is_some() {
            self.no_rows = Some((self.empty)()?);
            member.begin_journal(out);
        }
        self.member = Some(member);
        Ok(())
    }

    /// Carries out an action on the journal; other actions are returned.
    #[inline]
    pub(super) fn keep(&mut self, action: Action) -> Option<Action> {
        let (Some(journal), Some(member)) = (&mut self.journal, &mut self.member) else { return Some(action) };
        match action {
            Action::Send(to, Message::Replicate { sequence, entry }) if to == self.me => {
                journal.entry(sequence, *entry);
            }
            Action::Forget => journal.forget(),
            Action::Base(base) => {
                journal.base(*base, member.since().unwrap_or_default(), member.configuration());
                if !journal.makes_base() {
                    member.shard().into_iter().for_each(Shard::unfix);
                }
            }
            other => return Some(other),
        }
        None
    }

    /// Requests a force of what was journaled.
    pub(super) fn force(&mut self, out: &mut Outbox) {
        let Some(member) = &mut self.member else { return };
        let Some(journal) = &mut self.journal else {
            if member.is_base_due(INPUTS_OF_BASE) {
                member.renew_base(out);
            }
            return;
        };
        journal.force(member.configuration());
        let is_due = journal.is_base_due(member.base_bytes(), || member.base_patience());
        if is_due || journal.may_begin_base() && member.is_base_due(INPUTS_OF_BASE) {
            member.renew_base(out);
        }
        // It may be the only replica with the rows.
        match member.role_mut() {
            Role::Primary(partition) => journal.secure(partition.shard()),
            Role::Executor(executor) => journal.secure(executor.shard()),
            Role::Sequencer(_) | Role::Follower | Role::Coordinator(_) => {
                self.no_rows.iter_mut().for_each(|rows| journal.secure(rows));
            }
            _ => {}
        }
    }

    /// Why it has stopped.
    pub fn failed(&self) -> Option<String> {
        if let Some(why) = self.member.as_ref().and_then(Member::disagrees) {
            return Some(why);
        }
        let member = match self.member.as_ref().map(Member::role) {
            Some(Role::Executor(executor)) => executor.broken(),
            Some(Role::Sequencer(sequencer)) => sequencer.broken(),
            _ => None,
        };
        let journal = self.journal.as_ref().and_then(JournalWriter::failed);
        member.map(str::to_owned).or_else(|| journal.map(|why| format!("its journal failed: {why}")))
    }

    /// Closes its journal, if it has one.
    pub fn close(&mut self) {
        self.journal.iter_mut().for_each(JournalWriter::close);
    }
}

#[cfg(test)]
mod tests;
