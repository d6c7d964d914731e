//! What the group has agreed on: the configuration, the lives of the replicas, the input log, and the partitions whose
//! replica sets differ without a majority.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::deterministic::hot_backup::HotBackup;
use crate::node::recovered::Place;
use crate::protocol::address::{Address, Group};
use crate::protocol::configuration::Configuration;
use crate::protocol::entry::{Base, Entry};
use crate::protocol::message::StopReason;

/// An entry of the agreed log. Journals have these numbers of the variants: new ones come last.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Proposal {
    /// This member was elected, in this life.
    Lead(Address, u64),
    /// The group has these members now.
    Members(BTreeSet<Address>),
    /// A replica was restarted; the number tells its lives apart; and whether it has rows.
    Return(Address, u64, bool),
    /// A replica cannot go on: it is left out until it returns and takes the rows of another set.
    Drop(Address),
    /// Under a scheme without input log: the next configuration, with these places.
    Decide {
        next: Box<Configuration>,
        places: Vec<Place>,
        /// Whether an operator's command asks for it.
        is_command: bool,
    },
    /// The replica sets of a partition differ, and no majority says which are right.
    Undecided(u8, StopReason),
    /// The rows of this replica are right, says an operator: the others of its partition take them.
    Settle(Address),
    /// The next entries of the stream of the sequencer that has its role since this configuration, from this position
    /// on.
    Entries { since: u64, first: u64, entries: Vec<Entry> },
    /// The configuration with which the group began, if the cluster had others before; and how many entries its input
    /// log had before.
    First(Box<Configuration>, u64),
    /// Entries of the input log that the cluster had before the group began, after this number of them.
    Former { after: u64, entries: Vec<Entry> },
}

/// What the decided entries have made.
#[derive(Debug)]
pub(super) struct Agreed {
    pub(super) configuration: Configuration,
    /// Whether every member has the configuration with which the group began, or gets it from the log.
    pub(super) has_first: bool,
    /// How many entries it has of the input log that the cluster had before the group began.
    pub(super) former: u64,
    /// The last life of each replica that was given a place, and whether it joins with the rows of another set.
    pub(super) lives: BTreeMap<Address, (u64, bool)>,
    /// The elected member, and its life.
    pub(super) elected: (Address, u64),
    /// Replicas that an operator has left out: they join again when the operator brings them back.
    pub(super) left_out: BTreeSet<Address>,
    /// The input log.
    pub(super) log: HotBackup,
    /// Partitions whose replicas have no place until an operator settles which rows are right.
    pub(super) undecided: BTreeMap<u8, StopReason>,
}

/// An [`Agreed`] as it is written.
#[derive(Serialize, Deserialize)]
struct AgreedState {
    configuration: Configuration,
    lives: BTreeMap<Address, (u64, bool)>,
    left_out: BTreeSet<Address>,
    undecided: BTreeMap<u8, StopReason>,
    base: Base,
}

/// What a decision means for the member.
#[derive(Debug)]
pub(crate) enum Effect {
    /// This configuration is in force; it gives these replicas their places again.
    Configured(Box<Configuration>, Vec<Place>),
    /// No replica of this partition goes on.
    Undecided(u8, StopReason),
    /// One replica of this partition goes on, in this configuration.
    Settled(u8, Box<Configuration>),
    /// The sequencer's stream is decided up to this position, which the sequencer since this configuration proposed.
    Held { since: u64, position: u64 },
}

impl Agreed {
    pub(super) fn new(configuration: Configuration) -> Self {
        let sequencer = configuration.sequencer.as_ref().map_or(Address::Coordinator(0), |it| it.primary);
        let log = HotBackup::of_sets(sequencer, configuration.sets());
        let (lives, left_out) = (BTreeMap::new(), BTreeSet::new());
        let has_first = configuration.epoch == 1;
        let undecided = BTreeMap::new();
        let elected = (sequencer, u64::MAX);
        Self { configuration, has_first, former: 0, lives, elected, left_out, log, undecided }
    }

    /// The configuration since which the present sequencer has its role.
    pub(super) fn since(&self) -> u64 {
        self.configuration.sequencer.as_ref().map_or(0, |it| it.since)
    }

    pub(super) fn state(&self) -> Arc<[u8]> {
        let (configuration, lives, left_out) = (self.configuration.clone(), self.lives.clone(), self.left_out.clone());
        let base = self.log.log.base(self.log.held, self.configuration.scheme);
        let undecided = self.undecided.clone();
        let state = AgreedState { configuration, lives, left_out, undecided, base };
        postcard::to_allocvec(&state).expect("states can be written").into()
    }

    pub(super) fn of(state: &[u8], sets: u8) -> Result<Self, String> {
        let AgreedState { configuration, lives, left_out, undecided, base } =
            postcard::from_bytes(state).map_err(|error| format!("the state of the agreed log: {error}"))?;
        let primary = configuration.sequencer.as_ref().map(|it| it.primary);
        let primary = primary.ok_or("the state of the agreed log is of another cluster")?;
        let log = HotBackup::following(primary, base, sets)?;
        let elected = (primary, u64::MAX);
        Ok(Self { configuration, has_first: true, former: 0, lives, elected, left_out, log, undecided })
    }

    pub(super) fn configured(&self, placed: Vec<Place>) -> Option<Effect> {
        Some(Effect::Configured(Box::new(self.configuration.clone()), placed))
    }

    /// Whether a replica has its place in this life.
    pub(super) fn has_place(&self, replica: Address, life: u64) -> bool {
        self.lives.get(&replica).is_some_and(|it| it.0 == life) && self.configuration.since_of(replica).is_some()
    }

    /// Whether a replica has to take the rows of another set, and may not have done so.
    pub(super) fn owes_join(&self, replica: Address) -> bool {
        self.lives.get(&replica).is_some_and(|(_, joins)| *joins)
    }

    /// The other replicas of its partition.
    pub(super) fn others(&self, replica: Address) -> impl Iterator<Item = Address> {
        let of_it = replica.group().and_then(|group| self.configuration.group(group));
        of_it.into_iter().flat_map(|it| it.all()).map(|(other, _)| other).filter(move |other| *other != replica)
    }

    /// A restarted replica of a replica set has its place again.
    pub(super) fn give_place(&mut self, replica: Address, life: u64, has_rows: bool) -> Option<Effect> {
        // One that has not made a checkpoint since it joined may still have its former rows. If they are the
        // only ones, they are the best.
        let is_doubtful = self.configuration.since_of(replica).is_none() || self.owes_join(replica);
        let joins = !has_rows || is_doubtful && self.others(replica).any(|other| !self.owes_join(other));
        self.lives.insert(replica, (life, joins));
        self.configuration = self.configuration.returned(replica);
        self.log.log.note_returned(replica);
        if joins {
            self.log.log.forget_digests(replica, 0);
        }
        self.configured(vec![Place { replica, life, joins }])
    }

    /// Whether an operator may settle the rows of a replica's partition: no majority has, or there is no other replica.
    pub(super) fn may_settle(&self, replica: Address) -> bool {
        let sets = self.log.log.sets();
        let is_undecided = replica.partition().is_some_and(|it| self.undecided.contains_key(&it));
        is_undecided || sets == 1 && self.configuration.since_of(replica).is_some()
    }

    /// The rows of a replica are right. The others of its partition are left out until they have taken them, and the
    /// digests of earlier executions are void.
    fn settle(&mut self, replica: Address) -> Option<Effect> {
        let partition = replica.partition().filter(|_| self.may_settle(replica))?;
        self.undecided.remove(&partition);
        for set in 0..self.log.log.sets() {
            let other = Address::Replica { partition, replica: set };
            self.log.log.forget_digests(other, 0);
            if other == replica {
                self.lives.entry(other).and_modify(|it| it.1 = false);
                self.log.log.note_returned(other);
            } else {
                self.lives.entry(other).or_default().1 = true;
                self.log.log.note_dropped(other);
            }
        }
        self.configuration = self.configuration.settled(replica);
        Some(Effect::Settled(partition, Box::new(self.configuration.clone())))
    }

    pub(super) fn apply(&mut self, proposal: Proposal) -> Result<Option<Effect>, String> {
        match proposal {
            // Before one is elected.
            Proposal::Former { after, entries } if self.elected.1 == u64::MAX && after == self.former => {
                self.former += entries.len() as u64;
                entries.into_iter().try_for_each(|entry| self.log.remember(entry)).map(|()| None)
            }
            Proposal::First(first, former)
                if !self.has_first && former == self.former || first.epoch > self.configuration.epoch =>
            {
                (self.configuration, self.has_first) = (*first, true);
                Ok(self.configured(Vec::new()))
            }
            Proposal::Lead(member, life) if member.group() == Some(Group::Sequencer) => {
                if self.configuration.since_of(member).is_none() {
                    // It became a member a moment ago.
                    self.configuration = self.configuration.with(member)?;
                }
                self.configuration = self.configuration.resume(&[member], &[], &[]);
                self.elected = (member, life);
                Ok(self.configured(Vec::new()))
            }
            Proposal::Members(members) if members != self.configuration.members() => {
                Ok(self.configuration.agreeing(&members).and_then(|next| {
                    self.configuration = next;
                    self.configured(Vec::new())
                }))
            }
            Proposal::Decide { next, places, is_command } => {
                if next.epoch != self.configuration.epoch + 1 || !next.follows(&self.configuration) {
                    return Ok(None);
                }
                self.lives.extend(places.iter().map(|place| (place.replica, (place.life, false))));
                if is_command {
                    let (now, before) = (next.replicas(), self.configuration.replicas());
                    // A primary that another one succeeds joins that one.
                    let is_backup = |it: &&Address| self.configuration.backup_since(**it).is_some();
                    self.left_out.extend(before.difference(&now).filter(is_backup));
                    self.left_out.retain(|it| !now.contains(it));
                }
                self.configuration = *next;
                Ok(self.configured(places))
            }
            Proposal::Return(replica, ..) if replica.partition().is_some_and(|it| self.undecided.contains_key(&it)) => {
                Ok(None)
            }
            Proposal::Return(replica, life, has_rows) if !self.has_place(replica, life) => {
                Ok(self.give_place(replica, life, has_rows))
            }
            Proposal::Undecided(partition, why) => {
                // The replicas have stopped for the first reason, which an operator settles.
                let first = self.undecided.entry(partition).or_insert(why).clone();
                Ok(Some(Effect::Undecided(partition, first)))
            }
            Proposal::Settle(replica) => Ok(self.settle(replica)),
            // Another one has to have the rows.
            Proposal::Drop(replica) if !self.others(replica).any(|other| !self.owes_join(other)) => Ok(None),
            Proposal::Drop(replica) => Ok(self.configuration.dropped(replica).and_then(|next| {
                self.configuration = next;
                self.log.log.note_dropped(replica);
                self.configured(Vec::new())
            })),
            Proposal::Entries { since, first, entries } if since == self.since() && first == self.log.held + 1 => {
                entries.into_iter().try_for_each(|entry| self.append(entry))?;
                Ok(Some(Effect::Held { since, position: self.log.held }))
            }
            _ => Ok(None),
        }
    }

    /// Appends the next entry of the sequencer's stream.
    pub(super) fn append(&mut self, entry: Entry) -> Result<(), String> {
        let entry = match entry {
            // Of an earlier place of the replica.
            Entry::Digests(_, of, _) | Entry::Checkpointed(of, _)
                if self.configuration.since_of(of.0) != Some(of.1) =>
            {
                Entry::NoOp
            }
            entry => entry,
        };
        if let Entry::Checkpointed((replica, _), _) = &entry
            && let Some((_, joins)) = self.lives.get_mut(replica)
        {
            *joins = false;
        }
        self.log.append(self.log.held + 1, entry)
    }
}
