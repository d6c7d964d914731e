//! The identities of the members that agree.
//!
//! A member that has forgotten what it had voted must not vote again: a majority could then decide twice. So the
//! agreement knows a member by its number and by an *incarnation*. A process that has what its predecessor had voted,
//! in its directory, continues that incarnation; any other process of the member draws another one, and takes part
//! only when the group has replaced the former incarnation by it. Messages name both incarnations, and a process
//! ignores what is for another one, so a forgotten vote is never repeated or contradicted.
//!
//! Another incarnation, or a member that nothing is sent to, asks for its place until the group has made it a member.
//! If a majority of the members asks in other incarnations than those that agree, and without what these had voted,
//! the log is lost: its majority can never decide again. A process that continues an incarnation says that it has the
//! votes: an observer that was restarted may not know yet that this incarnation is a member.

use std::collections::BTreeMap;

use glassbox_consensus::Settings;

/// Bits of a member's number in its identity.
const NUMBER_BITS: u32 = 16;
/// Elections without a message of the group after which a member asks for its place; and after which another one has
/// its place, if it has not asked again.
const SILENT_ELECTIONS: u64 = 4;
/// Elections for which a majority has to ask before the log counts as lost, and a member before it reports that it
/// waits.
const LOST_ELECTIONS: u64 = 20;

/// The number of a member with this identity in the agreement.
pub(super) const fn number_of(identity: u64) -> u64 {
    identity & ((1 << NUMBER_BITS) - 1)
}

/// The incarnation of a member with this identity.
pub(super) const fn incarnation_of(identity: u64) -> u64 {
    identity >> NUMBER_BITS
}

/// The identity of an incarnation of the member with this number.
pub(super) const fn identity(number: u64, incarnation: u64) -> u64 {
    incarnation << NUMBER_BITS | number
}

/// An incarnation, made of a number that is drawn at random or counted.
pub(super) const fn incarnation(drawn: u64) -> u64 {
    let fitting = drawn & ((1 << (u64::BITS - NUMBER_BITS)) - 1);
    if fitting == 0 { 1 } else { fitting }
}

/// A member that asks for its place.
#[derive(Debug, Clone, Copy)]
struct Asking {
    incarnation: u64,
    /// Whether it has what this incarnation had voted, or seen.
    has_votes: bool,
    /// When it asked last, in microseconds.
    at_us: u64,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Incarnations {
    number: u64,
    own: u64,
    /// Whether the process was started again: one of the beginning has its place.
    was_restarted: bool,
    election_us: u64,
    /// When a member of the group has sent it something last, in microseconds.
    addressed_at_us: Option<u64>,
    ask_at_us: u64,
    /// Members that ask for their places.
    asking: BTreeMap<u64, Asking>,
    /// Since when it asks, and since when a majority does, in microseconds.
    asks_since_us: Option<u64>,
    lost_since_us: Option<u64>,
    has_reported: bool,
}

impl Incarnations {
    pub(super) fn new(number: u64, own: u64, was_restarted: bool, settings: Settings) -> Self {
        Self {
            number,
            own,
            was_restarted,
            election_us: 1_000 * u64::from(settings.election_ms),
            addressed_at_us: None,
            ask_at_us: 0,
            asking: BTreeMap::new(),
            asks_since_us: None,
            lost_since_us: None,
            has_reported: false,
        }
    }

    /// The incarnation of this process.
    pub(super) const fn own(&self) -> u64 {
        self.own
    }

    /// The identity of this process in the agreement.
    pub(super) const fn identity(&self) -> u64 {
        identity(self.number, self.own)
    }

    /// A message for this incarnation has arrived.
    pub(super) fn note_addressed(&mut self, now_us: u64) {
        self.addressed_at_us = Some(now_us);
    }

    /// Another member asks for its place.
    pub(super) fn note_asking(&mut self, number: u64, (incarnation, has_votes): (u64, bool), at_us: u64) {
        self.asking.insert(number, Asking { incarnation, has_votes, at_us });
    }

    /// The members, of which one is replaced by another incarnation of itself; `None`: it is a member, or its number is
    /// none's.
    pub(super) fn replacing(members: &[u64], number: u64, incarnation: u64) -> Option<Vec<u64>> {
        let next = identity(number, incarnation);
        let is_replaced = members.iter().any(|it| number_of(*it) == number) && !members.contains(&next);
        let others = members.iter().copied().filter(|it| number_of(*it) != number);
        is_replaced.then(|| others.chain([next]).collect())
    }

    /// The members that have asked lately. A change that makes one a member must not take from another one what it got
    /// of the log: they would prevent each other for ever.
    pub(super) fn asking(&self, now_us: u64) -> Vec<u64> {
        let lately = |number: &u64| Some(identity(*number, self.asks_since(*number, now_us)?.incarnation));
        self.asking.keys().filter_map(lately).collect()
    }

    /// A member that has asked lately.
    fn asks_since(&self, number: u64, now_us: u64) -> Option<&Asking> {
        let since_us = now_us.saturating_sub(SILENT_ELECTIONS * self.election_us);
        self.asking.get(&number).filter(|asking| asking.at_us >= since_us)
    }

    /// The identity of the member with this number: the one that is known, or as it has asked.
    pub(super) fn of(&self, members: &[u64], number: u64) -> u64 {
        let known = members.iter().copied().find(|it| number_of(*it) == number);
        let asked = || self.asking.get(&number).map_or(0, |asking| asking.incarnation);
        known.unwrap_or_else(|| if number == self.number { self.identity() } else { identity(number, asked()) })
    }

    /// Whether it asks for its place now. `is_member`: whether it is one, as of the last decision that it knows.
    pub(super) fn asks(&mut self, is_member: bool, now_us: u64) -> bool {
        let silent_us = SILENT_ELECTIONS * self.election_us;
        // A leader that is to decide that it is a member sends it the log before.
        let is_known = is_member && self.addressed_at_us.is_some_and(|at_us| now_us <= at_us + silent_us);
        if !self.was_restarted || is_known {
            self.asks_since_us = None;
            return false;
        }
        // What its directory has may be what the group waits for.
        let first_us = if self.own == 0 { now_us + silent_us } else { now_us };
        if self.asks_since_us.is_none() {
            (self.asks_since_us, self.ask_at_us) = (Some(now_us), first_us);
        }
        if now_us < self.ask_at_us {
            return false;
        }
        self.ask_at_us = now_us + self.election_us;
        true
    }

    /// Whether it has asked in vain for long, which is reported once.
    pub(super) fn waits_for_long(&mut self, now_us: u64) -> bool {
        let is_long = self.asks_since_us.is_some_and(|at_us| now_us > at_us + LOST_ELECTIONS * self.election_us);
        is_long && self.own > 0 && !std::mem::replace(&mut self.has_reported, true)
    }

    /// Whether the log is lost for good: of one of these sets of members, a majority of which has to agree, no majority
    /// has what it had voted. `all`: all members that there may be, for one that knows of no members.
    pub(super) fn is_lost(&mut self, sets: &[Vec<u64>], all: u64, now_us: u64) -> bool {
        let has_forgotten = |number: u64, incarnation: u64| {
            self.asks_since(number, now_us).is_some_and(|it| it.incarnation != incarnation && !it.has_votes)
        };
        let is_minority = |set: &Vec<u64>| {
            let left = set.iter().filter(|it| !has_forgotten(number_of(**it), incarnation_of(**it))).count();
            left <= set.len() / 2
        };
        let is_lost = match sets.iter().all(Vec::is_empty) {
            // It has forgotten, too.
            true => self.own > 0 && (0..all).all(|it| it == self.number || has_forgotten(it, 0)),
            false => sets.iter().any(is_minority),
        };
        if !is_lost {
            self.lost_since_us = None;
        }
        is_lost && now_us > *self.lost_since_us.get_or_insert(now_us) + LOST_ELECTIONS * self.election_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(number: u64, own: u64, was_restarted: bool) -> Incarnations {
        Incarnations::new(number, own, was_restarted, Settings { election_ms: 10, ..Settings::default() })
    }

    #[test]
    fn an_incarnation_replaces_the_former_one_of_its_member_and_no_other() {
        let members = [identity(0, 0), identity(1, 7), identity(2, 0)];
        assert_eq!(Incarnations::replacing(&members, 1, 7), None, "it is a member");
        assert_eq!(Incarnations::replacing(&members, 3, 9), None, "a spare one");
        let next = Incarnations::replacing(&members, 1, 8).unwrap();
        assert_eq!(next, [identity(0, 0), identity(2, 0), identity(1, 8)]);
        assert_eq!((number_of(next[2]), incarnation_of(next[2])), (1, 8));
        let mut known = of(0, 0, false);
        known.note_asking(3, (9, false), 1);
        known.note_asking(2, (5, false), 30_000);
        assert_eq!(known.asking(30_000), [identity(2, 5), identity(3, 9)]);
        assert_eq!(known.asking(50_000), [identity(2, 5)], "one is silent");
        assert_eq!([1, 3, 4].map(|it| known.of(&members, it)), [identity(1, 7), identity(3, 9), identity(4, 0)]);
        assert!(incarnation(1 << 48) > 0 && identity(2, incarnation(u64::MAX)) != identity(2, incarnation(0)));
    }

    #[test]
    fn a_member_asks_until_it_is_one_and_the_group_sends_it_something() {
        assert!(!of(0, 0, false).asks(false, 1), "one of the beginning has its place");
        let mut forgetful = of(0, 5, true);
        assert!(forgetful.asks(false, 1) && !forgetful.asks(false, 2) && forgetful.asks(false, 10_001));
        forgetful.note_addressed(11_000);
        assert!(forgetful.asks(false, 25_000), "it is sent the log before it is a member");
        assert!(!forgetful.asks(true, 50_000) && forgetful.asks(true, 60_000), "it was replaced");
        let mut recovered = of(0, 0, true);
        let mut asks = |at_us| recovered.asks(true, at_us);
        assert!(!asks(1) && !asks(40_000) && asks(40_001), "it has what it had voted");
        assert!(!forgetful.waits_for_long(200_000) && forgetful.waits_for_long(300_000));
        assert!(!forgetful.waits_for_long(300_001), "once");
    }

    #[test]
    fn the_log_is_lost_when_a_majority_has_forgotten_for_long() {
        let three: Vec<_> = (0..3).map(|it| identity(it, 0)).collect();
        let mut left = of(0, 0, false);
        let mut is_lost = |asking: &[u64], at_us: u64| {
            asking.iter().for_each(|it| left.note_asking(*it, (5, false), at_us));
            left.is_lost(std::slice::from_ref(&three), 3, at_us)
        };
        assert!((0..50).all(|ms| !is_lost(&[1], 10_000 * ms)), "two have what they voted");
        assert!((50..70).all(|ms| !is_lost(&[1, 2], 10_000 * ms)), "not at once");
        assert!(!is_lost(&[1], 750_000), "one has its place");
        assert!((80..101).all(|ms| !is_lost(&[1, 2], 10_000 * ms)) && is_lost(&[1, 2], 1_010_000));
        // All have forgotten.
        let mut alone = of(0, 6, true);
        assert!(!alone.is_lost(&[], 2, 0) && !alone.is_lost(&[], 2, 300_000), "the other one may have what it voted");
        for ms in 30..51 {
            alone.note_asking(1, (5, false), 10_000 * ms);
            assert!(!alone.is_lost(&[], 2, 10_000 * ms), "after {ms} intervals");
        }
        alone.note_asking(1, (5, true), 505_000);
        assert!(!alone.is_lost(&[], 2, 505_000), "it has what it voted in its directory");
        alone.note_asking(1, (5, false), 510_000);
        assert!(!alone.is_lost(&[], 2, 510_000), "from then on");
        for ms in 51..72 {
            alone.note_asking(1, (5, false), 10_000 * ms);
        }
        assert!(alone.is_lost(&[], 2, 711_000));
    }
}
