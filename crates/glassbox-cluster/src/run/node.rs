//! A member in a process of its own: nothing, until whoever looks after the cluster gives it a place.
//!
//! A process that was killed and started again looks like the one before to everybody but itself. Were it to take the
//! place that the configuration still gives to its address, it would do so without the rows, or with the first ones.
//! So a process has no place until it is told [`Question::Begin`], directly, by who knows that it has begun anew; what
//! other members say of its address is not for it.

use std::sync::Arc;
use std::time::Duration;

use glassbox::shard::{Shard, Stamp};
use glassbox::{Error, Procedure};

use super::keeper::Keeper;
use super::shape::Shape;
use crate::auto::{Seen, Tally};
use crate::node::member::Member;
use crate::node::role::{MakeShard, Role};
use crate::protocol::address::Address;
use crate::protocol::configuration::{Configuration, LARGEST_EPOCH};
use crate::protocol::message::{MOST_EARLY, Message, Packet};
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
    /// What other coordinators have asked one that has no place yet: they ask once.
    asked: Vec<(Address, Packet)>,
    /// What one that has no place yet was sent otherwise, of the newest configuration that it was sent something of.
    early: Vec<(Address, Packet)>,
    /// How long its work takes, once somebody has asked.
    tally: Option<Tally>,
    /// Things done since one was timed.
    untimed: u32,
    /// Its journal, if what it has is to be on a disk.
    pub(super) keeper: Option<Keeper>,
}

/// One thing in so many is timed: to look at the clock takes as long as some of them.
const TIMED: u32 = 13;

impl Node {
    /// One without a place. `first` makes a replica's rows as the cluster begins, `empty` a shard without rows.
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
            keeper: None,
        }
    }

    /// One that has its place already and never begins anew.
    pub(super) fn begun(me: Address, shape: Shape, member: Member) -> Self {
        let first: MakeShard = Arc::new(|| Err("it has begun".to_owned()));
        let empty: MakeShard = Arc::new(|| unreachable!("only who begins needs one"));
        Self { member: Some(member), ..Self::new(me, shape, first, empty) }
    }

    /// Takes its place in a cluster of this configuration.
    ///
    /// # Errors
    /// When it has one, the configuration is of another cluster, or the rows cannot be made.
    pub fn begin(&mut self, configuration: Configuration, now_us: u64, out: &mut Outbox) -> Result<(), String> {
        if let Some(member) = &self.member {
            return Err(format!("{} has begun already, and is in configuration {}", self.me, member.epoch()));
        }
        self.check(&configuration)?;
        let mut member = match self.me {
            Address::Replica { partition, .. } => self.replica(usize::from(partition), configuration, out)?,
            _ => Member::coordinator(self.me, configuration, out),
        };
        if self.keeper.is_some() && !member.has_journal() {
            member.begin_journal(out);
        }
        let (epoch, member) = (member.epoch(), self.member.insert(member));
        let early = self.early.drain(..).filter(|(_, packet)| packet.epoch >= epoch);
        self.asked.drain(..).chain(early).for_each(|(from, packet)| member.handle(from, packet, now_us, out));
        Ok(())
    }

    fn replica(&mut self, partition: usize, configuration: Configuration, out: &mut Outbox) -> Result<Member, String> {
        let (me, empty) = (self.me, Arc::clone(&self.empty));
        let has_rows = self.keeper.as_ref().is_some_and(|keeper| keeper.recovered().is_some());
        if configuration.epoch == 1 {
            if has_rows {
                return Err(format!("the journal of {me} has rows: resume the cluster, or give it an empty directory"));
            }
            return Ok(Member::replica(me, configuration, (self.first)()?, empty));
        }
        let recovered = self.keeper.as_mut().and_then(Keeper::take);
        if configuration.partitions[partition].primary != me {
            return Ok(Member::returning(me, configuration, empty, out));
        }
        let recovered = recovered.ok_or_else(|| format!("{me} cannot be the primary: it has no rows"))?;
        Ok(Member::recovered(me, configuration, empty, recovered, out))
    }

    fn check(&self, configuration: &Configuration) -> Result<(), String> {
        if self.shape.admits(configuration) {
            return Ok(());
        }
        let Shape { partitions, coordinators, .. } = self.shape;
        let of = format!("{partitions} partitions and {coordinators} coordinators");
        Err(format!("this is no configuration of {of}: {configuration:?}"))
    }

    /// The member, if it has a place.
    pub fn member(&mut self) -> Option<&mut Member> {
        self.member.as_mut()
    }

    /// The epoch of what it sends; 0 while it has no place.
    pub fn epoch(&self) -> u64 {
        self.member.as_ref().map_or(0, Member::epoch)
    }

    /// Who is who, to be told to others.
    pub(super) fn configuration(&self) -> Option<&Configuration> {
        self.member.as_ref().map(Member::configuration)
    }

    /// A message arrives.
    pub(super) fn handle(&mut self, from: Address, packet: Packet, now_us: u64, out: &mut Outbox) {
        match &mut self.member {
            Some(member) => member.handle(from, packet, now_us, out),
            None if matches!(packet.message, Message::AskTurn { .. }) => {
                // The newest of each says all.
                self.asked.retain(|(other, _)| *other != from);
                let is_one = matches!(from, Address::Coordinator(it) if it < u16::from(self.shape.coordinators));
                self.asked.extend(is_one.then_some((from, packet)));
            }
            None => self.keep_early(from, packet),
        }
    }

    /// Its member's [`Member::run_here`], if what it does is not timed.
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

    /// Others may know before it does that it has a place: what they send is not said again.
    fn keep_early(&mut self, from: Address, packet: Packet) {
        let epoch = self.early.first().map_or(0, |(_, first)| first.epoch);
        if (epoch + 1..LARGEST_EPOCH).contains(&packet.epoch) {
            self.early.clear();
        }
        if (epoch..LARGEST_EPOCH).contains(&packet.epoch) && self.early.len() < MOST_EARLY {
            self.early.push((from, packet));
        }
    }

    /// Somebody says no more. What follows from a member's end is for others to decide.
    pub(super) fn gone(&mut self, peer: Address, out: &mut Outbox) {
        if let (Address::Client(_), Some(member)) = (peer, &mut self.member) {
            member.gone(peer, out);
        }
    }

    /// Does one thing that waited and can be done now; whether there was one.
    pub(super) fn proceed(&mut self, out: &mut Outbox) -> bool {
        let Some(member) = &mut self.member else { return false };
        let mut did = false;
        if let Some(keeper) = &mut self.keeper {
            if let Some(sequence) = keeper.held() {
                let packet = Packet { epoch: member.epoch(), message: Message::Held { sequence } };
                member.handle(self.me, packet, 0, out);
                did = true;
            }
            did |= member.shard().is_some_and(|shard| keeper.copy(shard));
        }
        member.proceed(out) || did
    }

    /// Whether the next thing is to be timed.
    pub(super) fn is_timed(&mut self) -> bool {
        if self.tally.is_none() {
            return false;
        }
        self.untimed = (self.untimed + 1) % TIMED;
        self.untimed == 0
    }

    /// What was timed took so long: this work, and so many messages were sent.
    pub(super) fn took(&mut self, time: Duration, works: &[Work], sent: u32) {
        let (Some(tally), ns) = (&mut self.tally, time.as_nanos() as u64) else { return };
        if let Address::Coordinator(_) = self.me {
            // And one was received.
            (0..=sent).for_each(|_| tally.message(ns / u64::from(sent + 1)));
        }
        tally.did_all(works.iter().copied(), ns);
    }

    /// What it has counted; it counts from now on.
    fn counts(&mut self) -> Counts {
        let tally = *self.tally.get_or_insert_default();
        let mut counts = Counts { standing: self.standing(), seen: Seen::default(), tally, hottest: None, clients: 0 };
        if let Some(member) = &mut self.member {
            if let Role::Primary(partition) = member.role() {
                (counts.seen, counts.hottest) = (partition.seen(), partition.hottest());
            }
            member.sample();
        }
        counts
    }

    /// Answers who looks after the cluster.
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
            Question::Counts => Answer::Counts(Box::new(self.counts())),
            Question::Begin(configuration) => match self.begin(configuration, now_us, out) {
                Ok(()) => Answer::Standing(self.standing()),
                Err(why) => Answer::Refused(why),
            },
            Question::Configure(configuration) => match (self.check(&configuration), &mut self.member) {
                (Err(why), _) => Answer::Refused(why),
                (_, None) => Answer::Refused(format!("{} has not begun", self.me)),
                (_, Some(member)) => {
                    member.configure(configuration, now_us, out);
                    Answer::Standing(self.standing())
                }
            },
        }
    }

    fn standing(&self) -> Standing {
        let Some(member) = &self.member else {
            let recovered = self.keeper.as_ref().and_then(Keeper::recovered);
            return recovered.map_or(Standing::None, |it| Standing::Kept(it.configuration.clone(), it.since));
        };
        let configuration = member.configuration().clone();
        match member.role() {
            Role::Primary(_) => Standing::Primary(configuration),
            Role::Backup(backup) => match (backup.lost(), &self.keeper) {
                (Some(why), _) => Standing::Lost(configuration, why.to_owned()),
                // As a primary it could not be resumed: the one that it has now can.
                (None, Some(keeper)) if !keeper.is_based() => Standing::Joining(configuration),
                (None, _) => Standing::Backup(configuration),
            },
            Role::Joining { .. } => Standing::Joining(configuration),
            Role::Unfit(why) => Standing::Lost(configuration, why.clone()),
            Role::Coordinator(_) => Standing::Coordinator(configuration),
            Role::Idle => Standing::Idle(configuration),
        }
    }
}

impl Node {
    /// The same, of a replica with a journal.
    #[must_use]
    pub fn with_journal(mut self, keeper: Keeper) -> Self {
        self.keeper = Some(keeper);
        self
    }

    /// Does with its journal what the member wants; what else it wants is given back.
    #[inline]
    pub(super) fn keep(&mut self, action: Action) -> Option<Action> {
        let (Some(keeper), Some(member)) = (&mut self.keeper, &mut self.member) else { return Some(action) };
        match action {
            Action::Send(to, Message::Replicate { sequence, entry }) if to == self.me => {
                keeper.entry(sequence, *entry);
            }
            Action::Forget => keeper.forget(),
            Action::Base(base) => {
                keeper.base(*base, member.since().unwrap_or_default(), member.configuration());
                if !keeper.makes_base() {
                    member.shard().into_iter().for_each(Shard::unfix);
                }
            }
            other => return Some(other),
        }
        None
    }

    /// Has what was kept get to the disk.
    pub(super) fn force(&mut self, out: &mut Outbox) {
        let (Some(keeper), Some(member)) = (&mut self.keeper, &mut self.member) else { return };
        keeper.force(member.configuration());
        if keeper.is_base_due() {
            member.renew_base(out);
        }
        // Nobody else may have the rows.
        if let Role::Primary(partition) = member.role_mut() {
            keeper.secure(partition.shard());
        }
    }

    /// Why it cannot go on.
    pub fn failed(&self) -> Option<&str> {
        self.keeper.as_ref().and_then(Keeper::failed)
    }

    /// Ends its journal for certain, if it has one.
    pub fn close(&mut self) {
        self.keeper.iter_mut().for_each(Keeper::close);
    }
}

#[cfg(test)]
mod tests;
