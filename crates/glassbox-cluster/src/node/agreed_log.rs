//! A member's part in the group that agrees on the input log and on the configurations.
//!
//! A member that was elected asks in the agreed log ([`Agreement`]) to be the sequencer or coordinator; from there on
//! the stream of a sequencer's epochs is in the log; and restarted replicas are given places. What an entry changes is
//! decided when it is applied, by its place in the log alone, so all members have the same configurations.
//!
//! To the sequencer the agreement is its journal: an entry of its stream that is decided is acknowledged. A proposal
//! may be lost, and later ones be decided. So an entry counts only if it is the next one of the present sequencer's
//! stream; a sequencer of which a proposal was lost asks again to be the sequencer, and goes on from what is decided.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use glassbox_consensus::{Agreement, Decided, Output};

use crate::deterministic::hot_backup::HotBackup;
use crate::node::agreed::{Agreed, Effect, Proposal};
use crate::node::failover::{Decision, Watch};
use crate::node::incarnations::{self, Incarnations, number_of};
use crate::protocol::address::Address;
use crate::protocol::configuration::Configuration;
use crate::protocol::entry::{AgreedRecord, Base, Entry};
use crate::protocol::message::{Message, StopReason};
use crate::protocol::outbox::{Action, Outbox};

/// Bytes after which entries of the sequencer's stream are another entry of the log: each is one frame, and one record.
const ENTRY_BYTES: usize = 1 << 20;

/// Positions of the stream that are one member's turn to make a base of a long log, before the next one's.
const TURN: u64 = 1 << 18;
/// The first of them, in which it may begin: it is ready before the next turn.
const TURN_BEGINS: u64 = TURN / 4;
/// How many times as much as a base of a long log has is written before the base is made.
pub(crate) const BASE_PATIENCE: u64 = 4;
/// Without a journal, how many times as many records as are kept are made before a state replaces them.
const RECORDS_OF_BASE: u64 = 16;
/// The patience of a member that leads, or whose turn it is not.
const MAX_BASE_PATIENCE: u64 = 16;

/// See the module.
pub(crate) struct AgreedLog {
    pub(super) me: Address,
    pub(super) agreement: Agreement,
    pub(super) incarnations: Incarnations,
    /// Whether its journal had what the incarnation had voted, or was sent.
    pub(super) were_votes_kept: bool,
    /// The configuration with which the cluster began.
    first: Configuration,
    /// The input log that the cluster had before it agreed, until the group has decided it.
    former: Vec<Entry>,
    /// The time of the first poll, and of the last one.
    times_us: Option<(u64, u64)>,
    /// Whether the agreement has something to do before the next time.
    pub(super) is_due: bool,
    pub(super) agreed: Agreed,
    decided: std::collections::VecDeque<Decided>,
    /// The term in which it asked last to be the sequencer, and the number of proposals that were lost by then; and
    /// when it was.
    asked: Option<((u64, u64), u64)>,
    /// Replicas that wait for a place, with their lives.
    returned: BTreeMap<Address, u64>,
    /// When it may propose another time that the configuration names the members, in microseconds.
    pub(super) members_at_us: u64,
    /// Of the elected member, under a scheme without input log.
    watch: Option<Watch>,
    has_journal: bool,
    /// The number of the last record of earlier lives: those of this one count on.
    recorded: u64,
    /// The number of the last record.
    written: u64,
    /// Without a journal: records and their bytes since the last state that stands for them, and whether the present
    /// state is to replace them.
    unbased: (u64, u64),
    is_based: bool,
    /// Whether its decisions are being carried out.
    pub(crate) is_busy: bool,
    pub(super) broken: Option<String>,
}

impl std::fmt::Debug for AgreedLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgreedLog").field("me", &self.me).field("agreement", &self.agreement).finish_non_exhaustive()
    }
}

impl AgreedLog {
    /// The agreed log of a member, with the records of its journal, which are numbered up to `last`.
    ///
    /// # Errors
    /// When a record is damaged, or the journal is none of such a group.
    pub(crate) fn restored(me: Address, records: Vec<AgreedRecord>, last: u64) -> Result<Self, String> {
        let (mut first, mut incarnation) = (None, 0);
        let mut of_raft = Vec::new();
        let mut former = Vec::new();
        for record in records {
            match record {
                AgreedRecord::First(configuration) => first = Some(*configuration),
                AgreedRecord::Raft(record) => of_raft.push(record),
                AgreedRecord::Incarnation(own) => incarnation = own,
                AgreedRecord::Former(entry) => former.push(*entry),
            }
        }
        let first = first
            .ok_or_else(|| format!("the journal of {me} has not the configuration that the cluster began with"))?;
        let members = first.members();
        let agreed = Self::with_records(me, first, (&of_raft, last), (incarnation, true))?;
        let mut agreed = Self { has_journal: true, former, ..agreed };
        if of_raft.is_empty() && incarnation == 0 {
            // It has not voted yet.
            agreed.begin(&members);
        }
        Ok(agreed)
    }

    /// The agreed log of a member at the beginning of a cluster.
    ///
    /// # Errors
    /// When the configuration has no such group.
    pub(crate) fn new(me: Address, first: Configuration) -> Result<Self, String> {
        let members = first.members();
        let mut agreed = Self::with_records(me, first, (&[], 0), (0, false))?;
        agreed.begin(&members);
        Ok(agreed)
    }

    /// Begins the agreement among these members. Others are sent the log when they become members.
    fn begin(&mut self, members: &BTreeSet<Address>) {
        if members.contains(&self.me) {
            self.agreement.begin(&members.iter().copied().filter_map(coordinator).collect::<Vec<_>>());
        }
    }

    /// The agreed log of a member that has forgotten what it had voted: another incarnation, which takes part when the
    /// group has replaced the former one by it. `drawn`: differs from that of each earlier process of the member.
    ///
    /// # Errors
    /// When the configuration has no such group.
    pub(crate) fn forgotten(me: Address, first: Configuration, drawn: u64) -> Result<Self, String> {
        Self::with_records(me, first, (&[], 0), (incarnations::incarnation(drawn), true))
    }

    /// The agreed log of a member with records of the agreement; its incarnation, and whether its process was started
    /// again.
    fn with_records(
        me: Address,
        first: Configuration,
        (records, recorded): (&[Vec<u8>], u64),
        (incarnation, was_restarted): (u64, bool),
    ) -> Result<Self, String> {
        let settings = first.agreement.ok_or("its configurations are the operator's")?;
        let number = coordinator(me).ok_or_else(|| format!("{me} takes no part in the agreement"))?;
        let incarnations = Incarnations::new(number, incarnation, was_restarted, settings);
        let seed = (number + 1) << 32 | recorded ^ incarnation;
        let of_raft = records.iter().map(Vec::as_slice);
        let agreement = Agreement::new(incarnations.identity(), settings, seed, recorded + 1, of_raft)?;
        Ok(Self {
            me,
            agreement,
            incarnations,
            former: Vec::new(),
            were_votes_kept: !records.is_empty(),
            times_us: None,
            is_due: true,
            agreed: Agreed::new(first.clone()),
            first,
            decided: Default::default(),
            asked: None,
            returned: BTreeMap::new(),
            members_at_us: 0,
            watch: None,
            has_journal: false,
            recorded,
            written: recorded,
            unbased: (0, 0),
            is_based: false,
            is_busy: false,
            broken: None,
        })
    }

    /// Why it has stopped.
    pub(crate) fn broken(&self) -> Option<String> {
        self.broken.clone().or_else(|| self.agreement.failed())
    }

    /// All replicas that may have a place.
    pub(crate) fn replicas(&self) -> BTreeSet<Address> {
        self.first.replicas()
    }

    /// The input log as far as it is decided, for a sequencer, whose journal is the agreement.
    pub(crate) fn log(&self) -> HotBackup {
        self.agreed.log.clone().with_journal(self.me)
    }

    /// About how many bytes of the input log a base has.
    pub(crate) fn base_bytes(&self) -> u64 {
        self.agreed.log.log.base_bytes()
    }

    /// A base of a long log is written in one step, in which the member answers no other. So it waits until the journal
    /// has grown by this many times the log: fewer times for the member whose turn it is than for others, and for the
    /// leader.
    pub(crate) fn base_patience(&self) -> u64 {
        let (me, members) = (self.incarnations.identity(), self.agreement.members());
        let leads = self.agreement.leadership().leader == Some(me);
        let is_turn = !leads && is_turn(me, &members, self.agreed.log.held);
        if is_turn || members.len() == 1 { BASE_PATIENCE } else { MAX_BASE_PATIENCE }
    }

    /// The last epoch that is decided.
    pub(crate) fn log_end(&self) -> u64 {
        self.agreed.log.log.last()
    }

    /// Begins the journal.
    pub(crate) fn begin_journal(&mut self, out: &mut Outbox) {
        self.has_journal = true;
        let records = self.agreement.records();
        self.base(records, out);
    }

    /// Begins another base of the journal: what is decided instead of the records.
    pub(crate) fn renew_base(&mut self, out: &mut Outbox) {
        // What was decided and not applied yet would be after a state that does not have it.
        if self.is_busy || !self.decided.is_empty() || self.times_us.is_none() || !self.agreed.has_first {
            return;
        }
        if let Some(records) = self.agreement.begin_base(self.agreed.state()) {
            self.is_due = true;
            self.base(records, out);
        }
    }

    fn base(&self, records: Vec<Vec<u8>>, out: &mut Outbox) {
        let first = AgreedRecord::First(Box::new(self.first.clone()));
        let own = Some(self.incarnations.own()).filter(|own| *own > 0).map(AgreedRecord::Incarnation);
        let former = self.former.iter().map(|entry| AgreedRecord::Former(Box::new(entry.clone())));
        let records = own.into_iter().chain(former).chain(records.into_iter().map(AgreedRecord::Raft));
        let remembered = [first].into_iter().chain(records).map(Entry::Agreed).collect();
        let base = Base { held: self.written, scheme: self.agreed.configuration.scheme, remembered };
        out.actions.push(Action::Base(Box::new(base)));
    }

    /// Without a journal: has the present state stand for the records before it, once they are many.
    pub(crate) fn forget_records(&mut self) {
        let kept = u64::from(self.first.agreement.map_or(0, |it| it.kept_entries));
        let are_many = self.unbased.0 >= RECORDS_OF_BASE * kept && self.unbased.1 >= BASE_PATIENCE * self.base_bytes();
        let may_forget = self.agreed.has_first && self.decided.is_empty() && self.times_us.is_some();
        if self.has_journal || !are_many || !may_forget {
            return;
        }
        if self.agreement.begin_base(self.agreed.state()).is_some() {
            (self.unbased, self.is_based, self.is_due) = ((0, 0), true, true);
        }
    }

    /// The base that was begun is durable.
    pub(crate) fn based(&mut self) {
        self.agreement.base_is_durable();
        self.is_due = true;
    }

    /// The journal has forced everything up to this record.
    pub(crate) fn forced(&mut self, number: u64) {
        self.agreement.forced(number.saturating_sub(self.recorded));
        self.is_due = true;
    }

    /// A restarted replica waits for a place.
    pub(crate) fn returned(
        &mut self,
        replica: Address,
        (life, kept): (u64, Option<u64>),
        now_us: u64,
        out: &mut Outbox,
    ) {
        if let Some(number) = coordinator(replica) {
            return self.member_returned(number, (life, kept.is_some()), now_us);
        }
        if let Some(why) = replica.partition().and_then(|it| self.agreed.undecided.get(&it)) {
            return out.send(replica, Message::Withheld { life, why: Box::new(why.clone()) });
        }
        if self.agreed.has_place(replica, life) {
            let joins = self.agreed.owes_join(replica);
            // It has one, and did not receive the configuration.
            let configuration = Box::new(self.agreed.configuration.clone());
            return out.send(replica, Message::Placed { life, joins, configuration });
        }
        if let Some(watch) = &mut self.watch {
            return watch.note_returned(replica, life, kept, now_us);
        }
        if !self.first.scheme.is_deterministic() {
            return;
        }
        let is_known = replica.partition().is_some() && self.first.since_of(replica).is_some();
        if is_known && self.agreement.leadership().is_ready && self.returned.insert(replica, life) != Some(life) {
            self.propose(&Proposal::Return(replica, life, kept.is_some()));
        }
    }

    /// Whether it was elected in this life: what it decided as a coordinator in an earlier one is not in the log.
    pub(crate) fn leads(&self) -> bool {
        self.agreed.elected == (self.me, self.life())
    }

    /// Tells its lives apart.
    fn life(&self) -> u64 {
        self.incarnations.own().wrapping_add(self.recorded)
    }

    /// It leads: watches the replicas, under a scheme without input log.
    pub(crate) fn begin_watch(&mut self, now_us: u64) {
        self.watch = self.first.agreement.map(|settings| Watch::new(&self.first, settings, now_us));
    }

    /// It does not lead any more.
    pub(crate) fn end_watch(&mut self) {
        self.watch = None;
    }

    /// The watch over the replicas, if it leads.
    pub(crate) fn watch(&mut self) -> Option<&mut Watch> {
        self.watch.as_mut()
    }

    /// Looks after the replicas, and proposes what they need.
    pub(crate) fn look_after(&mut self, now_us: u64, out: &mut Outbox) {
        let Some(watch) = &mut self.watch else { return };
        if let Some(decision) = watch.tick((&self.agreed.configuration, &self.agreed.left_out), now_us, out) {
            let Decision { configuration, places } = decision;
            self.propose(&Proposal::Decide { next: Box::new(configuration), places, is_command: false });
        }
    }

    /// Proposes a configuration that an operator's command asks for.
    ///
    /// # Errors
    /// When it is not elected, or the configuration does not follow the present one.
    pub(crate) fn propose_command(&mut self, next: Configuration) -> Result<(), String> {
        let now = &self.agreed.configuration;
        if self.watch.is_none() {
            return Err(format!("{} is not the elected coordinator any more; repeat the command", self.me));
        }
        if next.epoch != now.epoch + 1 || !next.follows(now) || next.sequencer != now.sequencer {
            return Err(format!("the cluster is in configuration {} already; repeat the command", now.epoch));
        }
        self.propose(&Proposal::Decide { next: Box::new(next), places: Vec::new(), is_command: true });
        Ok(())
    }

    /// A replica is to be left out.
    pub(crate) fn drop_replica(&mut self, replica: Address) {
        self.propose(&Proposal::Drop(replica));
    }

    /// Partitions of which no majority says which rows are right.
    pub(crate) fn undecided(&self) -> &BTreeMap<u8, StopReason> {
        &self.agreed.undecided
    }

    /// No majority says which rows of a partition are right.
    pub(crate) fn note_undecided(&mut self, partition: u8, why: StopReason) {
        self.propose(&Proposal::Undecided(partition, why));
    }

    /// The rows of this replica are to be right, for an operator.
    ///
    /// # Errors
    /// When it does not lead, or there is nothing to settle.
    pub(crate) fn settle(&mut self, replica: Address) -> Result<(), String> {
        if !self.agreement.leadership().is_ready {
            return Err(format!("{} does not lead the group; repeat the command", self.me));
        }
        if self.first.since_of(replica).is_none() || replica.partition().is_none() {
            return Err(format!("{replica} is unknown; give the number of a partition and of a replica set"));
        }
        if !self.agreed.may_settle(replica) {
            return Err(format!(
                "nothing is to be settled: no difference between the replica sets of partition {} is undecided; see \
                 the status",
                replica.partition().unwrap_or_default()
            ));
        }
        self.propose(&Proposal::Settle(replica));
        Ok(())
    }

    /// When it is to be polled, in microseconds.
    pub(crate) fn next_tick_us(&self) -> u64 {
        self.times_us.map_or(0, |(_, last)| last + self.poll_every_us())
    }

    pub(super) fn poll_every_us(&self) -> u64 {
        self.agreement.poll_every().as_micros() as u64
    }

    pub(super) fn propose(&mut self, proposal: &Proposal) {
        let bytes = postcard::to_allocvec(proposal).expect("proposals can be written");
        self.agreement.propose(bytes.into());
        self.is_due = true;
    }

    /// Proposes the entries of the stream that the sequencer sends to its journal, which is the agreement.
    pub(crate) fn take_proposals(&mut self, since: u64, out: &mut Outbox) {
        let me = self.me;
        let is_entry = |action: &mut Action| match action {
            Action::Send(to, Message::Replicate { entry, .. }) if *to == me => !matches!(**entry, Entry::Agreed(_)),
            _ => false,
        };
        // An epoch, and what is noted with it, are one entry of the log.
        let (mut first, mut entries, mut bytes) = (0, Vec::new(), 0);
        for action in out.actions.extract_if(.., is_entry) {
            if let Action::Send(_, Message::Replicate { sequence, entry }) = action {
                let more = entry.log_bytes();
                if !entries.is_empty() && bytes + more > ENTRY_BYTES {
                    self.propose(&Proposal::Entries { since, first, entries: std::mem::take(&mut entries) });
                }
                (first, bytes) = if entries.is_empty() { (sequence, more) } else { (first, bytes + more) };
                entries.push(*entry);
            }
        }
        if !entries.is_empty() {
            self.propose(&Proposal::Entries { since, first, entries });
        }
    }

    /// Proposes the configuration with which the group begins, after the rest of the input log that the cluster had
    /// before.
    fn propose_first(&mut self) {
        let mut after = self.agreed.former;
        let mut entries = Vec::new();
        let mut bytes = 0;
        let mut proposals = Vec::new();
        for entry in self.former.iter().skip(after as usize) {
            if !entries.is_empty() && bytes + entry.log_bytes() > ENTRY_BYTES {
                let count = entries.len() as u64;
                proposals.push(Proposal::Former { after, entries: std::mem::take(&mut entries) });
                (after, bytes) = (after + count, 0);
            }
            bytes += entry.log_bytes();
            entries.push(entry.clone());
        }
        if !entries.is_empty() {
            proposals.push(Proposal::Former { after, entries });
        }
        proposals.push(Proposal::First(Box::new(self.first.clone()), self.former.len() as u64));
        proposals.iter().for_each(|proposal| self.propose(proposal));
    }

    /// Does what is due at this time.
    pub(crate) fn poll(&mut self, now_us: u64, out: &mut Outbox) {
        let (began, last) = *self.times_us.get_or_insert((now_us, now_us));
        let now_us = now_us.max(last);
        if !std::mem::take(&mut self.is_due) && now_us < self.next_tick_us() {
            return;
        }
        self.times_us = Some((began, now_us));
        let mut output = Output::default();
        self.agreement.poll(Duration::from_micros(now_us - began), &mut output);
        if std::mem::take(&mut self.is_based) {
            self.based();
        }
        if let (false, Some(last)) = (self.has_journal, output.writes.last().map(|it| it.number)) {
            // Its memory has them.
            self.forced(self.recorded + last);
            for write in output.writes.drain(..) {
                self.unbased = (self.unbased.0 + 1, self.unbased.1 + write.record.len() as u64);
            }
        }
        for write in output.writes {
            self.written = self.recorded + write.number;
            let entry = Box::new(Entry::Agreed(AgreedRecord::Raft(write.record)));
            out.send(self.me, Message::Replicate { sequence: self.recorded + write.number, entry });
        }
        for (to, message) in output.messages {
            let from = self.incarnations.own();
            let message = Message::Agreement { from, to: incarnations::incarnation_of(to), message };
            out.send(Address::Coordinator(number_of(to) as u16), message);
        }
        self.decided.extend(output.decided);
        if self.broken().is_some() {
            return;
        }
        let leadership = self.agreement.leadership();
        self.note_members(leadership.is_ready, now_us);
        let asks = (leadership.term, self.agreement.lost());
        // A leader that is cut off is refused, and asks again later.
        let may_ask = self.asked.is_none_or(|(asked, at_us)| {
            asked != asks && (asked.0 != asks.0 || now_us >= at_us + self.poll_every_us())
        });
        if leadership.is_ready && may_ask {
            self.asked = Some((asks, now_us));
            self.returned.clear();
            match self.agreed.has_first {
                true => self.propose(&Proposal::Lead(self.me, self.life())),
                false => self.propose_first(),
            }
        }
    }

    /// Whether it has to be polled now.
    pub(crate) fn is_due(&self) -> bool {
        self.is_due && self.broken().is_none()
    }

    /// Applies the next decision that has an effect.
    pub(crate) fn apply_next(&mut self) -> Option<Effect> {
        while self.broken.is_none() {
            let effect = match self.decided.pop_front()? {
                Decided::State(state) => Agreed::of(&state, self.first.sets()).map(|agreed| {
                    self.agreed = agreed;
                    self.agreed.configured(Vec::new())
                }),
                Decided::Data(_, bytes) => match postcard::from_bytes(&bytes) {
                    Ok(proposal) => {
                        if matches!(proposal, Proposal::First(..)) {
                            (self.asked, self.is_due) = (None, true);
                        }
                        let applied = self.agreed.apply(proposal);
                        if self.agreed.has_first {
                            self.former = Vec::new();
                        }
                        applied
                    }
                    Err(error) => Err(format!("an entry of the agreed log is damaged: {error}")),
                },
            };
            match effect {
                Ok(Some(effect)) => {
                    if let Effect::Configured(_, places) = &effect {
                        // One that still waits for a place asks again.
                        self.returned.clear();
                        let now_us = self.times_us.map_or(0, |(_, last)| last);
                        self.watch.iter_mut().for_each(|watch| watch.note_placed(places, now_us));
                    }
                    return Some(effect);
                }
                Ok(None) => {}
                Err(why) => self.broken = Some(why),
            }
        }
        None
    }
}

/// Whether a member may begin a base of a long log at this position of the stream.
fn is_turn(me: u64, members: &[u64], position: u64) -> bool {
    let turn = (position / TURN) as usize % members.len().max(1);
    members.get(turn) == Some(&me) && position % TURN < TURN_BEGINS
}

/// The number of a coordinator.
pub(super) fn coordinator(member: Address) -> Option<u64> {
    match member {
        Address::Coordinator(number) => Some(number.into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_make_bases_of_long_logs_in_turn() {
        let members = [0, 2, 5];
        let at = |position| members.into_iter().filter(|me| is_turn(*me, &members, position)).collect::<Vec<_>>();
        assert_eq!([at(0), at(TURN_BEGINS - 1), at(TURN_BEGINS), at(TURN - 1)], [vec![0], vec![0], vec![], vec![]]);
        assert_eq!([at(TURN), at(2 * TURN), at(3 * TURN)], [vec![2], vec![5], vec![0]]);
        assert!(!is_turn(1, &members, TURN) && !is_turn(1, &[], 0));
    }
}
