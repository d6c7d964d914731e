//! The watcher: observes a cluster, and proposes the scheme that suits its load.
//!
//! It only asks questions: a proposal takes effect when the [`Operator`](super::Operator) makes it the next
//! configuration.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use super::link::{Link, ask, ask_all};
use crate::auto::{Advice, Advisor, Counted, Counters, Surroundings, Tally};
use crate::protocol::address::Address;
use crate::protocol::configuration::{Configuration, SchemeKind};
use crate::wire::{Answer, Counts, Question, Standing};

/// How long all processes together may take to answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(1);
/// Measurements of the round trip: at first, and in each interval.
const ROUND_TRIPS: (usize, usize) = (64, 4);
/// Looks without a proposal after which the interval doubles, and how often it doubles at most.
const CALM: (u32, u32) = (8, 2);
/// The number of intervals among which the shortest round trip counts: longer ones measure busy processes.
const REMEMBERED: usize = 64;

/// Observes a cluster.
pub struct Watcher<L> {
    link: L,
    machines: Vec<Address>,
    calls: Option<u32>,
    advisor: Advisor,
    /// The last counters of each process.
    known: BTreeMap<Address, (Counters, Tally)>,
    counted: Counted,
    looked: Instant,
    /// The epoch in which all members were last seen in place.
    in_place: Option<u64>,
    round_trips_us: VecDeque<f64>,
    /// Looks since the last proposal or failure.
    calm: u32,
}

impl<L: Link> Watcher<L> {
    /// A watcher of these processes, with [`Address::WATCHER`] on its link. `calls`: the number of calls in flight;
    /// without it, one for each connected client.
    pub fn new(link: L, machines: Vec<Address>, calls: Option<u32>) -> Self {
        let (known, counted) = (BTreeMap::new(), Counted::default());
        let (advisor, round_trips_us) = (Advisor::new(SchemeKind::Speculation), VecDeque::new());
        let (looked, in_place) = (Instant::now(), None);
        Self { link, machines, calls, advisor, known, counted, looked, in_place, round_trips_us, calm: 0 }
    }

    /// The pause before the next look, for intervals of `time` while the scheme changes. It grows while nothing
    /// changes, because looking costs the observed processes time.
    pub fn pause(&self, time: Duration) -> Duration {
        let (looks, most) = CALM;
        time * (1 << (self.calm / looks).min(most))
    }

    /// The latest advice.
    pub fn advice(&self) -> Option<&Advice> {
        self.advisor.advice()
    }

    /// Ends an interval: the scheme to change to, if there is one. An interval in which a member failed or changed its
    /// role has no consequence: the scheme is not the cause.
    ///
    /// # Errors
    /// While a primary or a coordinator is missing or has an older configuration.
    pub fn look(&mut self) -> Result<Option<SchemeKind>, String> {
        let calm = std::mem::take(&mut self.calm);
        let proposed = self.look_at_all()?;
        if proposed.is_none() {
            self.calm = calm.saturating_add(1);
        }
        Ok(proposed)
    }

    fn look_at_all(&mut self) -> Result<Option<SchemeKind>, String> {
        let in_place = self.in_place.take();
        self.link.find_reachable(Instant::now() + ANSWERS_WITHIN);
        let round_trip_us = self.round_trip_us()?;
        let questions: Vec<_> = self.machines.iter().map(|&machine| (machine, Question::Counts)).collect();
        let answers = ask_all(&mut self.link, questions, Instant::now() + ANSWERS_WITHIN);
        let counts = answers.into_iter().filter_map(|(machine, answer)| match answer {
            Ok(Answer::Counts(counts)) => Some((machine, *counts)),
            _ => None,
        });
        let counts: BTreeMap<_, _> = counts.collect();
        let configurations = counts.values().filter_map(|it| it.standing.configuration());
        let now = configurations.max_by_key(|it| it.epoch).ok_or("no process that answers has a place")?.clone();
        let working = working(&now, &counts).ok_or("a primary or a coordinator is missing")?;
        self.advisor.switched(now.scheme);
        self.in_place = are_in_place(&now, &counts).then_some(now.epoch);
        if self.in_place.is_none() || self.in_place != in_place {
            self.advisor.disturbed();
        }
        let around = Surroundings {
            span_us: self.looked.elapsed().as_nanos() as f64 / 1e3,
            partitions: now.partitions.len() as u32,
            coordinators: now.coordinators.len() as u32,
            clients: f64::from(self.calls.unwrap_or_else(|| connected(&counts))),
            round_trip_us,
            hottest: working.iter().map(|(_, it)| it.hottest).fold(None, |a, b| if a > b { a } else { b }),
        };
        self.looked = Instant::now();
        for (machine, Counts { seen, tally, .. }) in &counts {
            let (old_seen, old_tally) = self.known.insert(*machine, (*seen, *tally)).unwrap_or_default();
            // Work of a backup does not count after its promotion.
            if !working.iter().any(|(it, _)| *it == machine) {
                continue;
            }
            self.counted.seen = self.counted.seen.and(seen.since(old_seen));
            let sum = match machine {
                Address::Coordinator(_) => &mut self.counted.coordinator,
                _ => &mut self.counted.partitions,
            };
            *sum = sum.and(tally.since(old_tally));
        }
        Ok(self.advisor.observe(&self.counted, &around))
    }

    /// The shortest round trip of the recent intervals.
    fn round_trip_us(&mut self) -> Result<f64, String> {
        let coordinator = self.machines.iter().find(|it| matches!(it, Address::Coordinator(_)));
        let coordinator = *coordinator.ok_or("there is no coordinator")?;
        let mut shortest = f64::MAX;
        let (first, later) = ROUND_TRIPS;
        for _ in 0..if self.round_trips_us.is_empty() { first } else { later } {
            let began = Instant::now();
            ask(&mut self.link, coordinator, Question::Standing, began + ANSWERS_WITHIN)?;
            shortest = shortest.min(began.elapsed().as_nanos() as f64 / 1e3);
        }
        self.round_trips_us.push_front(shortest);
        self.round_trips_us.truncate(REMEMBERED);
        Ok(self.round_trips_us.iter().copied().fold(f64::MAX, f64::min))
    }
}

/// The highest number of connected clients that a process reports, at least one.
fn connected(counts: &BTreeMap<Address, Counts>) -> u32 {
    counts.values().map(|it| it.clients).max().unwrap_or(0).max(1)
}

/// Whether all backups of a configuration run and have the rows.
fn are_in_place(now: &Configuration, counts: &BTreeMap<Address, Counts>) -> bool {
    let follows = |backup: &Address| match counts.get(backup).map(|it| &it.standing) {
        Some(Standing::Backup(known)) => known.epoch == now.epoch,
        _ => false,
    };
    now.partitions.iter().flat_map(|replicas| replicas.backups()).all(|backup| follows(&backup))
}

/// The primaries and coordinators of a configuration, if all are in place.
fn working<'a>(now: &Configuration, counts: &'a BTreeMap<Address, Counts>) -> Option<Vec<(&'a Address, &'a Counts)>> {
    let is_working = |(_, it): &(&Address, &Counts)| match &it.standing {
        Standing::Primary(known) | Standing::Coordinator(known) => known.epoch == now.epoch,
        _ => false,
    };
    let working: Vec<_> = counts.iter().filter(is_working).collect();
    let is_there = |it: &Address| working.iter().any(|(working, _)| *working == it);
    let coordinators = (0..now.coordinators.len() as u16).map(Address::Coordinator);
    now.primaries().into_iter().chain(coordinators).all(|it| is_there(&it)).then_some(working)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::message::Packet;
    use crate::run::LinkEvent;

    /// Two partitions with a backup each, and a coordinator, which answer at once.
    struct Script {
        configuration: Configuration,
        /// Single-partition transactions so far, at each primary.
        singles: u64,
        /// Whether a backup is joining.
        joins: bool,
        answers: VecDeque<LinkEvent>,
    }

    impl Link for Script {
        fn send(&mut self, _: Address, _: Packet) {}

        fn question(&mut self, to: Address, question: Question) {
            let configuration = self.configuration.clone();
            let standing = match to {
                Address::Replica { replica: 0, .. } => Standing::Primary(configuration),
                Address::Replica { partition: 1, .. } if self.joins => Standing::Joining(configuration),
                Address::Replica { .. } => Standing::Backup(configuration),
                _ => Standing::Coordinator(configuration),
            };
            let (several, hottest) = (self.singles / 4, Some(0.01));
            let (rounds, participants) = (several, 2 * several);
            let seen =
                Counters { singles: self.singles, committed: several, rounds, participants, ..Counters::default() };
            let counts = Counts { standing: standing.clone(), seen, tally: Tally::default(), hottest, clients: 1 };
            let answer = match question {
                Question::Counts => Answer::Counts(Box::new(counts)),
                _ => Answer::Standing(standing),
            };
            self.answers.push_back(LinkEvent::Answer(to, answer));
        }

        fn connected(&self) -> Vec<Address> {
            machines()
        }

        fn flush(&mut self) {}

        fn receive(&mut self, _: Duration) -> Option<LinkEvent> {
            self.answers.pop_front()
        }
    }

    fn machines() -> Vec<Address> {
        let replica = |at| Address::Replica { partition: at / 2, replica: at % 2 };
        (0..4_u8).map(replica).chain([Address::Coordinator(0)]).collect()
    }

    /// The proposal after good throughput has collapsed.
    fn proposed(joins: bool) -> Option<SchemeKind> {
        let configuration = Configuration::first(2, 2, SchemeKind::Speculation);
        let script = Script { configuration, singles: 0, joins: false, answers: VecDeque::new() };
        let mut watcher = Watcher::new(script, machines(), Some(40));
        for _ in 0..6 {
            watcher.link.singles += 1_000;
            std::thread::sleep(Duration::from_millis(5));
            watcher.look().unwrap();
        }
        watcher.link.joins = joins;
        let mut looks = (0..6).map(|_| {
            watcher.link.singles += 4;
            std::thread::sleep(Duration::from_millis(5));
            watcher.look().unwrap()
        });
        looks.find_map(|proposed| proposed)
    }

    #[test]
    fn a_failure_does_not_count_against_a_scheme() {
        // A busy machine may stretch a look, which hides the collapse.
        let proposes = (0..10).any(|_| proposed(false).is_some());
        assert!(proposes, "its throughput collapsed, and other schemes promise more");
        assert_eq!(proposed(true), None);
    }
    #[test]
    fn without_proposals_the_watcher_looks_less_often() {
        let configuration = Configuration::first(2, 2, SchemeKind::Speculation);
        let script = Script { configuration, singles: 0, joins: false, answers: VecDeque::new() };
        let mut watcher = Watcher::new(script, machines(), Some(40));
        let second = Duration::from_secs(1);
        let mut pauses = Vec::new();
        for _ in 0..3 * CALM.0 {
            pauses.push(watcher.pause(second));
            assert_eq!(watcher.look(), Ok(None));
        }
        let expected: Vec<_> = [1, 2, 4].into_iter().flat_map(|times| vec![second * times; CALM.0 as usize]).collect();
        assert_eq!(pauses, expected);
        assert_eq!(watcher.pause(second), second * 4);
        watcher.link.configuration = Configuration::first(3, 2, SchemeKind::Speculation);
        assert!(watcher.look().is_err(), "a primary is missing");
        assert_eq!(watcher.pause(second), second);
    }
}
