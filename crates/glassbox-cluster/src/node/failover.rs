//! Failover without an operator: the elected coordinator's knowledge of the replicas, and the configuration that
//! follows from it.
//!
//! The elected member of the group that agrees on configurations asks each replica again and again how it is. From the
//! answers it derives the next configuration, which the group decides: a backup with the rows succeeds a primary that
//! is gone; a backup that is gone is left out, so that its primary no longer waits for it; and one that is back joins
//! again. A replica is gone if its process was restarted, if its connection has been down for [`Limits::gone_us`], or
//! if it has been silent for [`Limits::silent_us`]. Nothing is lost if that is a mistake: a primary that was replaced
//! needs acknowledgements that it no longer gets.
//!
//! A primary and a backup that are cut from each other are not silent, and the primary waits for the backup. So the
//! primary says which backup owes it acknowledgements for [`Limits::silent_us`]. That backup is left out; if all of
//! several backups owe them, the primary is cut off, and a backup succeeds it.

use std::collections::{BTreeMap, BTreeSet};

use crate::node::recovered::Place;
use crate::protocol::address::{Address, Group};
use crate::protocol::configuration::{AgreementSettings, Configuration, Replicas};
use crate::protocol::message::{Message, Presence};
use crate::protocol::outbox::{Action, Outbox};

/// The decision that follows from what was heard.
#[derive(Debug)]
pub(crate) struct Decision {
    pub(crate) configuration: Configuration,
    /// The places of replicas whose processes were restarted.
    pub(crate) places: Vec<Place>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Watch {
    times: Limits,
    replicas: BTreeMap<Address, Heard>,
    probe_at_us: u64,
    /// The configuration when it looked last.
    seen: Option<Configuration>,
    /// The epoch that was proposed last, and when it is proposed once more.
    proposed: (u64, u64),
    /// Partitions whose rows are lost, as was reported.
    lost: BTreeSet<u8>,
}

/// The longest time before a replica that could not follow is made a backup again, in microseconds.
const MAX_PAUSE_US: u64 = 60_000_000;

/// How long a replica may be silent, or a backup owe acknowledgements, in microseconds.
pub(crate) fn silent_us(settings: AgreementSettings) -> u64 {
    20_000 * u64::from(settings.election_ms)
}

/// All in microseconds.
#[derive(Debug, Clone, Copy)]
struct Limits {
    probe_us: u64,
    gone_us: u64,
    silent_us: u64,
    /// For a primary that copies its rows for a joining backup; and how long that one waits for the next rows.
    copying_us: u64,
}

/// The last word of a replica.
#[derive(Debug, Clone, Copy)]
struct Heard {
    at_us: u64,
    /// Whether its connection broke since.
    is_cut: bool,
    state: HeardState,
    /// When a joining one received rows.
    progress_us: u64,
    /// How often it was made a backup without following its primary for long, and when it may be made one again.
    joins: (u32, u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeardState {
    Unknown,
    /// In the configuration with this epoch.
    Present(Presence, u64),
    /// Restarted, in this life; the epoch since which it had its role according to its journal.
    Returned(u64, Option<u64>),
}

impl Limits {
    fn of(settings: AgreementSettings) -> Self {
        let election_us = u64::from(settings.election_ms) * 1_000;
        let probe_us = u64::from(settings.heartbeat_ms) * 1_000;
        Self { probe_us, gone_us: 2 * election_us, silent_us: silent_us(settings), copying_us: 200 * election_us }
    }
}

impl Watch {
    /// Watches the replicas of a cluster that began with this configuration, from now on.
    pub(crate) fn new(first: &Configuration, settings: AgreementSettings, now_us: u64) -> Self {
        let state = HeardState::Unknown;
        let heard = || Heard { at_us: now_us, is_cut: false, state, progress_us: now_us, joins: (0, 0) };
        let all = first.partitions.iter().flat_map(|it| it.all().map(|(replica, _)| replica).collect::<Vec<_>>());
        let replicas = all.map(|replica| (replica, heard())).collect();
        Self {
            times: Limits::of(settings),
            replicas,
            probe_at_us: now_us,
            seen: None,
            proposed: (0, 0),
            lost: BTreeSet::new(),
        }
    }

    /// A replica says how it is, in the configuration with this epoch.
    pub(crate) fn note(&mut self, replica: Address, presence: Presence, epoch: u64, now_us: u64) {
        self.heard(replica, HeardState::Present(presence, epoch), now_us);
    }

    /// The process of a replica was restarted.
    pub(crate) fn note_returned(&mut self, replica: Address, life: u64, kept: Option<u64>, now_us: u64) {
        self.heard(replica, HeardState::Returned(life, kept), now_us);
    }

    /// Replicas were given their places, and have not said yet that they know.
    pub(crate) fn note_placed(&mut self, places: &[Place], now_us: u64) {
        for place in places {
            self.heard(place.replica, HeardState::Unknown, now_us);
        }
    }

    fn heard(&mut self, replica: Address, state: HeardState, now_us: u64) {
        let Some(heard) = self.replicas.get_mut(&replica) else { return };
        if heard.state != state {
            heard.progress_us = now_us;
        } else if matches!(state, HeardState::Present(Presence::Follows, _))
            && now_us > heard.progress_us + self.times.silent_us
        {
            heard.joins = (0, 0);
        }
        (heard.at_us, heard.is_cut, heard.state) = (now_us, false, state);
    }

    /// A replica's connection broke.
    pub(crate) fn note_cut(&mut self, replica: Address, now_us: u64) {
        if let Some(heard) = self.replicas.get_mut(&replica) {
            (heard.at_us, heard.is_cut) = (now_us, true);
        }
    }

    /// Asks the replicas, if it is time; the decision that is to be proposed, if there is one. `left_out`: by an
    /// operator.
    pub(crate) fn tick(
        &mut self,
        (now, left_out): (&Configuration, &BTreeSet<Address>),
        now_us: u64,
        out: &mut Outbox,
    ) -> Option<Decision> {
        if now_us < self.probe_at_us {
            return None;
        }
        let is_late = now_us > self.probe_at_us + self.times.gone_us;
        self.probe_at_us = now_us + self.times.probe_us;
        self.note_decided(now, now_us, out);
        self.note_lost(out);
        for (replica, heard) in &mut self.replicas {
            out.send(*replica, Message::Probe);
            // It does not know what was decided.
            if matches!(heard.state, HeardState::Present(_, epoch) if epoch < now.epoch) {
                out.send(*replica, Message::Configure(Box::new(now.clone())));
            }
            if is_late {
                // It was not asked.
                (heard.at_us, heard.progress_us) = (now_us, now_us);
            }
        }
        if is_late || self.proposed.0 == now.epoch + 1 && now_us < self.proposed.1 {
            return None;
        }
        let decision = self.decide((now, left_out), now_us)?;
        self.proposed = (now.epoch + 1, now_us + self.times.gone_us);
        Some(decision)
    }

    /// Reports partitions no replica of which has rows any more: all were started again without directories.
    fn note_lost(&mut self, out: &mut Outbox) {
        let partitions: BTreeSet<_> = self.replicas.keys().filter_map(|it| it.partition()).collect();
        for partition in partitions {
            let mut of_it = self.replicas.iter().filter(|(it, _)| it.partition() == Some(partition));
            let are_lost = of_it.all(|(_, heard)| matches!(heard.state, HeardState::Returned(_, None)));
            if are_lost && self.lost.insert(partition) {
                out.actions.push(Action::Report(format!(
                    "no replica of partition {partition} has its rows any more; start one with the directory that it \
                     had, or begin another cluster"
                )));
            }
        }
    }

    /// Reports what was decided since it looked last, and counts joins.
    fn note_decided(&mut self, now: &Configuration, now_us: u64, out: &mut Outbox) {
        let Some(before) = self.seen.replace(now.clone()).filter(|before| before.epoch < now.epoch) else { return };
        out.actions.extend(changes(&before, now).into_iter().map(Action::Report));
        let unacked: Vec<_> = before.partitions.iter().map(|it| (it.primary, self.unacked(it))).collect();
        for (replica, heard) in &mut self.replicas {
            if now.backup_since(*replica).is_some_and(|(_, since)| since > before.epoch) {
                // One that cannot follow would copy all rows again and again.
                let pause_us = if heard.joins.0 < 3 { 0 } else { self.times.gone_us << heard.joins.0.min(12) };
                heard.joins = (heard.joins.0 + 1, now_us + pause_us.min(MAX_PAUSE_US));
            }
            // Its connection may still be cut in one direction: it would join, and owe acknowledgements again.
            let was_cut = |partition: usize| match unacked.get(partition) {
                Some((primary, Some((backup, all)))) => backup == replica || *all && primary == replica,
                _ => false,
            };
            if now.since_of(*replica).is_none() && replica.partition().is_some_and(|it| was_cut(it.into())) {
                heard.joins.1 = heard.joins.1.max(now_us + self.times.silent_us);
            }
        }
    }

    /// The next configuration, if the present one is not the best.
    fn decide(&self, (now, left_out): (&Configuration, &BTreeSet<Address>), now_us: u64) -> Option<Decision> {
        let mut next = Configuration { epoch: now.epoch + 1, ..now.clone() };
        let mut places = Vec::new();
        for (partition, replicas) in (0..).zip(&mut next.partitions) {
            self.succeed(replicas, now.epoch, &mut places, now_us);
            // Backups of a primary that is gone keep their roles: one of them may have all rows.
            if self.serves(replicas) && !self.is_gone(replicas.primary, replicas, now_us) {
                self.complete((Group::Partition(partition), replicas), (now.epoch, left_out), &mut places, now_us);
            }
        }
        (next.partitions != now.partitions).then_some(Decision { configuration: next, places })
    }

    /// Gives the group another primary, if the present one is gone and another replica has what it had.
    fn succeed(&self, replicas: &mut Replicas, epoch: u64, places: &mut Vec<Place>, now_us: u64) {
        let (is_gone, unacked) = (self.is_gone(replicas.primary, replicas, now_us), self.unacked(replicas));
        if !is_gone && !unacked.is_some_and(|(_, all)| all) {
            return;
        }
        let has_rows = |&(backup, since): &(Address, u64)| {
            let since = since.max(replicas.since);
            // One that failed together with the primary may not come back.
            let is_recent = |it: &Heard| !it.is_cut && now_us <= it.at_us + self.times.gone_us;
            matches!(self.state(backup), HeardState::Present(Presence::Follows, known) if known >= since)
                && self.replicas.get(&backup).is_some_and(is_recent)
        };
        if let Some(&(backup, _)) = replicas.backups.iter().find(|it| has_rows(it)) {
            (replicas.primary, replicas.since) = (backup, epoch + 1);
            replicas.backups.retain(|(other, _)| *other != backup);
            // They join it.
            replicas.backups.iter_mut().for_each(|(_, since)| *since = epoch + 1);
            return;
        }
        if !is_gone {
            return;
        }
        let returned = |replica: Address| match self.state(replica) {
            HeardState::Returned(life, kept) if !self.is_silent(replica, replicas, now_us) => Some((life, kept?)),
            _ => None,
        };
        let heir = replicas.heir(|replica| returned(replica).map(|(_, kept)| kept));
        if let Some((heir, (life, _))) = heir.and_then(|heir| Some((heir, returned(heir)?))) {
            (replicas.primary, replicas.since) = (heir, epoch + 1);
            replicas.backups.clear();
            places.push(Place { replica: heir, life, joins: false });
        }
    }

    /// Leaves backups out that are gone, and adds those that are back.
    fn complete(
        &self,
        (group, replicas): (Group, &mut Replicas),
        (epoch, left_out): (u64, &BTreeSet<Address>),
        places: &mut Vec<Place>,
        now_us: u64,
    ) {
        let before = replicas.clone();
        replicas.backups.retain(|&(backup, since)| {
            let is_lost = matches!(self.state(backup), HeardState::Present(Presence::Lost, known) if known >= since);
            !is_lost && !self.is_cut_off(backup, since, &before, now_us) && !self.is_gone(backup, &before, now_us)
        });
        for (&replica, heard) in self.replicas.iter().filter(|(it, _)| it.group() == Some(group)) {
            let is_member = replicas.primary == replica || replicas.backups.iter().any(|(it, _)| *it == replica);
            if is_member
                || left_out.contains(&replica)
                || now_us < heard.joins.1
                || self.is_silent(replica, &before, now_us)
            {
                continue;
            }
            match heard.state {
                HeardState::Returned(life, _) => places.push(Place { replica, life, joins: true }),
                HeardState::Present(Presence::Idle | Presence::Lost, known) if known >= epoch => {}
                _ => continue,
            }
            replicas.backups.push((replica, epoch + 1));
        }
    }

    /// Whether the primary runs as such.
    fn serves(&self, replicas: &Replicas) -> bool {
        let state = self.state(replicas.primary);
        let is_one = |presence| matches!(presence, Presence::Serves | Presence::Unacked { .. });
        matches!(state, HeardState::Present(presence, known) if is_one(presence) && known >= replicas.since)
    }

    /// The backup that owes the primary acknowledgements, and whether all of several do.
    fn unacked(&self, replicas: &Replicas) -> Option<(Address, bool)> {
        match (self.state(replicas.primary), replicas.primary) {
            (
                HeardState::Present(Presence::Unacked { backup: replica, all }, known),
                Address::Replica { partition, .. },
            ) if known >= replicas.since => Some((Address::Replica { partition, replica }, all)),
            _ => None,
        }
    }

    /// Whether the primary waits for this backup, which it does not reach.
    fn is_cut_off(&self, backup: Address, since: u64, group: &Replicas, now_us: u64) -> bool {
        let is_awaited = self.unacked(group).is_some_and(|(it, _)| it == backup);
        // A report about the backup's former role does not count.
        let known = match self.state(group.primary) {
            HeardState::Present(_, known) => known,
            _ => 0,
        };
        let receives_rows = |it: &Heard| {
            matches!(it.state, HeardState::Present(Presence::Joins(_), _))
                && now_us <= it.progress_us + self.times.silent_us
        };
        is_awaited && known >= since && !self.replicas.get(&backup).is_some_and(receives_rows)
    }

    fn state(&self, replica: Address) -> HeardState {
        self.replicas.get(&replica).map_or(HeardState::Unknown, |heard| heard.state)
    }

    /// Whether a member of a group cannot play its role.
    fn is_gone(&self, replica: Address, group: &Replicas, now_us: u64) -> bool {
        let Some(heard) = self.replicas.get(&replica) else { return true };
        let is_stuck = match heard.state {
            HeardState::Returned(..) => true,
            HeardState::Present(Presence::Joins(_), _) => now_us > heard.progress_us + self.times.copying_us,
            HeardState::Present(Presence::Lost | Presence::Idle, known) => {
                replica == group.primary && known >= group.since
            }
            _ => false,
        };
        is_stuck || self.is_silent(replica, group, now_us)
    }

    fn is_silent(&self, replica: Address, group: &Replicas, now_us: u64) -> bool {
        let Some(heard) = self.replicas.get(&replica) else { return true };
        let joins =
            |(other, _): (Address, u64)| matches!(self.state(other), HeardState::Present(Presence::Joins(_), _));
        let patience_us = match heard.is_cut {
            true => self.times.gone_us,
            false if group.primary == replica && group.all().any(joins) => self.times.copying_us,
            false => self.times.silent_us,
        };
        now_us > heard.at_us + patience_us
    }
}

/// What a decision changes, for the operator.
fn changes(before: &Configuration, next: &Configuration) -> Vec<String> {
    let mut lines = Vec::new();
    for (was, now) in before.partitions.iter().zip(&next.partitions) {
        if now.primary != was.primary {
            lines.push(format!("{} is gone: {} is the primary now", was.primary, now.primary));
        } else if now.since != was.since {
            lines.push(format!("{} goes on as the primary, with the rows of its directory", now.primary));
        }
        let has = |replicas: &Replicas, it: &Address| replicas.all().any(|(known, _)| known == *it);
        let is_gone = |it: &Address| *it != was.primary && !has(now, it);
        lines.extend(was.backups().iter().filter(|it| is_gone(it)).map(|it| format!("{it} is gone: it is left out")));
        lines.extend(now.backups().iter().filter(|it| !has(was, it)).map(|it| format!("{it} is back: it joins")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::configuration::SchemeKind;

    const A: Address = Address::Replica { partition: 0, replica: 0 };
    const B: Address = Address::Replica { partition: 0, replica: 1 };
    const C: Address = Address::Replica { partition: 0, replica: 2 };
    const GONE_US: u64 = 300_000;

    fn configuration() -> Configuration {
        let first = Configuration::first(1, 3, SchemeKind::Speculation).with_coordinators(3);
        first.with_agreement(AgreementSettings::default())
    }

    /// A watch of replicas that play their roles.
    fn watch() -> Watch {
        let settings = configuration().agreement.unwrap();
        let mut watch = Watch::new(&configuration(), settings, 0);
        watch.note(A, Presence::Serves, 1, 0);
        [B, C].into_iter().for_each(|it| watch.note(it, Presence::Follows, 1, 0));
        watch
    }

    /// The replicas after the next decision, the primary first; and the places given.
    fn decided(
        watch: &mut Watch,
        now: &Configuration,
        now_us: u64,
    ) -> Option<(Configuration, Vec<Address>, Vec<Place>)> {
        let decision = watch.tick((now, &BTreeSet::new()), now_us, &mut Outbox::default())?;
        let all = decision.configuration.partitions[0].all().map(|(replica, _)| replica).collect();
        Some((decision.configuration, all, decision.places))
    }

    #[test]
    fn a_backup_with_the_rows_succeeds_and_the_others_join_it() {
        let mut watch = watch();
        assert!(decided(&mut watch, &configuration(), 1).is_none(), "all is well");
        watch.note_cut(A, 1_000);
        watch.note(B, Presence::Writes, 1, 1_000);
        assert!(decided(&mut watch, &configuration(), GONE_US / 2).is_none(), "it may connect again");
        watch.note(C, Presence::Follows, 1, GONE_US);
        let (next, all, _) = decided(&mut watch, &configuration(), 2_000 + GONE_US).unwrap();
        assert_eq!(all, [C, B], "the journal of replica 1 has no base yet");
        assert_eq!((next.epoch, &next.partitions[0].backups[..]), (2, &[(B, 2)][..]));
        assert!(decided(&mut watch, &configuration(), 40_000 + GONE_US).is_none(), "it is proposed once");
        watch.note(C, Presence::Follows, 1, 2 * GONE_US);
        assert!(decided(&mut watch, &configuration(), 40_000 + 2 * GONE_US).is_some(), "unless it was lost");
    }

    /// The only directory with all rows may be one of them.
    #[test]
    fn nothing_changes_while_a_primary_and_its_backups_are_gone() {
        let (mut watch, now) = (watch(), configuration());
        assert!(decided(&mut watch, &now, 1).is_none());
        [A, B, C].into_iter().for_each(|it| watch.note_cut(it, 1_000));
        for ms in (30..4_000).step_by(30) {
            assert!(decided(&mut watch, &now, 1_000 * ms).is_none(), "after {ms} ms");
        }
    }

    #[test]
    fn a_watch_that_was_late_asks_before_it_decides() {
        let (mut watch, now) = (watch(), configuration());
        assert!(decided(&mut watch, &now, 1).is_none());
        assert!(decided(&mut watch, &now, 10_000_000).is_none());
        watch.note(A, Presence::Serves, 1, 10_010_000);
        watch.note(B, Presence::Follows, 1, 10_010_000);
        assert!(decided(&mut watch, &now, 10_040_000).is_none());
        for ms in (10_070..13_000).step_by(30) {
            watch.note(A, Presence::Serves, 1, 1_000 * ms);
            watch.note(B, Presence::Follows, 1, 1_000 * ms);
            assert!(decided(&mut watch, &now, 1_000 * ms).is_none(), "after {ms} ms");
        }
        let all = (13_000..13_200).step_by(30).find_map(|ms| {
            watch.note(A, Presence::Serves, 1, 1_000 * ms);
            watch.note(B, Presence::Follows, 1, 1_000 * ms);
            decided(&mut watch, &now, 1_000 * ms)
        });
        assert_eq!(all.unwrap().1, [A, B], "one has said nothing for 3 s");
    }

    #[test]
    fn a_backup_that_is_gone_is_left_out_and_joins_when_it_is_back() {
        let (mut watch, now) = (watch(), configuration());
        watch.note_returned(B, 7, Some(1), 1_000);
        let (next, all, places) = decided(&mut watch, &now, 2_000).unwrap();
        assert_eq!((all, places), (vec![A, C, B], vec![Place { replica: B, life: 7, joins: true }]), "at once");
        watch.note_placed(&[Place { replica: B, life: 7, joins: true }], 3_000);
        watch.note(A, Presence::Serves, 2, 3_000);
        watch.note_cut(C, 3_000);
        watch.note(B, Presence::Joins(1), 2, 300_000);
        watch.note(A, Presence::Serves, 2, 300_000);
        let (_, all, _) = decided(&mut watch, &next, 4_000 + GONE_US).unwrap();
        assert_eq!(all, [A, B]);
    }

    /// Case 35: all replicas answer, and the primary waits for one that does not acknowledge.
    #[test]
    fn a_backup_that_owes_acknowledgements_is_left_out_and_a_primary_cut_from_all_is_succeeded() {
        let now = configuration();
        let decides = |all, state_of_b| {
            let mut watch = watch();
            watch.note(B, state_of_b, 1, 1_000);
            watch.note(A, Presence::Unacked { backup: 1, all }, 1, 1_000);
            let replicas = decided(&mut watch, &now, 2_000).map(|(_, all, _)| all);
            (replicas, watch)
        };
        let (left, mut watch) = decides(false, Presence::Follows);
        assert_eq!(left, Some(vec![A, C]));
        // Its connection may still be cut, so it is not added at once.
        let next = now.without(B).unwrap();
        watch.probe_at_us = 3_000;
        assert!(
            decided(&mut watch, &next, 3_000).is_none(),
            "the decision arrives before the primary takes part in it"
        );
        for (ms, is_back) in [(100, false), (3_000, false), (3_200, true)] {
            watch.note(A, Presence::Serves, 2, 1_000 * ms - 10);
            watch.note(C, Presence::Follows, 2, 1_000 * ms - 10);
            watch.note(B, Presence::Idle, 2, 1_000 * ms - 10);
            watch.probe_at_us = 1_000 * ms;
            let replicas = decided(&mut watch, &next, 1_000 * ms).map(|(_, all, _)| all);
            assert_eq!(replicas, is_back.then(|| vec![A, C, B]), "after {ms} ms");
        }
        let (succeeded, mut watch) = decides(true, Presence::Follows);
        assert_eq!(succeeded, Some(vec![B, C]), "it is the primary that is cut off");
        // Nor is a primary that was cut off added at once.
        let mut next = Configuration { epoch: 2, ..now.clone() };
        next.partitions[0] = Replicas { primary: B, since: 2, backups: vec![(C, 2)] };
        for (ms, is_back) in [(3, false), (100, false), (3_000, false), (3_200, true)] {
            watch.note(B, Presence::Serves, 2, 1_000 * ms - 10);
            watch.note(C, Presence::Follows, 2, 1_000 * ms - 10);
            if ms > 3 {
                watch.note(A, Presence::Idle, 2, 1_000 * ms - 10);
            }
            watch.probe_at_us = 1_000 * ms;
            let replicas = decided(&mut watch, &next, 1_000 * ms).map(|(_, all, _)| all);
            assert_eq!(replicas, is_back.then(|| vec![B, C, A]), "the former primary, after {ms} ms");
        }
        assert_eq!(decides(false, Presence::Joins(7)).0, None, "it receives rows");
    }

    #[test]
    fn when_all_were_restarted_the_former_primary_goes_on_or_a_backup_of_its_time() {
        let (mut watch, now) = (watch(), configuration());
        watch.note_returned(B, 8, Some(1), 1_000);
        watch.note_returned(C, 9, None, 1_000);
        watch.note_returned(A, 7, Some(1), 1_000);
        let (_, all, places) = decided(&mut watch, &now, 2_000).unwrap();
        assert_eq!((all, places), (vec![A], vec![Place { replica: A, life: 7, joins: false }]));
        // Its directory is lost.
        let mut watch = self::watch();
        watch.note_returned(A, 10, None, 1_000);
        watch.note_returned(C, 11, None, 1_000);
        watch.note_returned(B, 8, Some(1), 1_000);
        let (_, all, places) = decided(&mut watch, &now, 2_000).unwrap();
        assert_eq!((all, places), (vec![B], vec![Place { replica: B, life: 8, joins: false }]));
    }

    #[test]
    fn a_partition_whose_replicas_have_all_forgotten_their_rows_is_reported_once() {
        let mut watch = watch();
        let now = configuration();
        let mut out = Outbox::default();
        for (ms, replica) in (0..).zip([A, B, C, C]) {
            watch.note_returned(replica, 7, None, 40_000 * ms);
            assert!(
                watch.tick((&now, &BTreeSet::new()), 40_000 * ms, &mut out).is_none() || ms < 2,
                "nothing to decide"
            );
        }
        let lines = out.actions.iter().filter_map(|it| if let Action::Report(line) = it { Some(line) } else { None });
        assert_eq!(lines.filter(|it| it.contains("no replica of partition 0 has its rows any more")).count(), 1);
    }

    #[test]
    fn a_replica_that_cannot_follow_is_added_after_longer_and_longer_pauses() {
        let (mut watch, mut now, mut added) = (watch(), configuration(), 0);
        for ms in 0..200_000 {
            let now_us = ms * 1_000;
            watch.note(A, Presence::Serves, now.epoch, now_us);
            watch.note(B, Presence::Follows, now.epoch, now_us);
            let presence = if now.since_of(C).is_some() { Presence::Lost } else { Presence::Idle };
            watch.note(C, presence, now.epoch, now_us);
            if let Some((next, all, _)) = decided(&mut watch, &now, now_us) {
                added += u32::from(all.contains(&C));
                now = next;
            }
        }
        assert!((6..12).contains(&added), "{added} times");
    }
}
