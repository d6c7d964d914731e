//! Histories with phantoms, in simulated clusters: strictly serializable under every scheme, also when parts fail and
//! some outcomes are unknown.

use std::collections::BTreeSet;

use glassbox::research::shard::Shard;
use glassbox::{Catalog, Error};
use glassbox_cluster::{Answered, DeadlockRule, Outbox, Router, SchedulerKind, SchemeKind};
use glassbox_sim::cluster::{Bug, Caller, Done, Link, Settings, Workload, World, checks};
use glassbox_testing::dice::{Dice, seed, times};
use glassbox_testing::serializability::executor::{Submission, UndeclaredWork, Work, catalog};
use glassbox_testing::serializability::history::{Form, List, Outcome, Seen, Step, Transaction};
use glassbox_testing::serializability::rows::{Membership, first_members};
use glassbox_testing::serializability::unknown::settle;
use glassbox_testing::serializability::workload::{Forms, HistorySettings, Planner};
use glassbox_testing::serializability::{History, check};

use super::{parted, planted, replica_sets};

/// Transactions of a client for which there are lists and clubs.
const TRANSACTIONS: u32 = 150;

/// Attempts to read all lists after a run.
const MAX_READINGS: u32 = 20;

/// The clients of a history; each numbers its transactions apart from the others.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Histories {
    clients: u32,
    forms: Forms,
}

/// A transaction with its number, and whether it declares its keys.
#[derive(Debug, Clone)]
struct Planned {
    number: u32,
    is_declared: bool,
    steps: Vec<Step>,
}

struct HistoryClient {
    planner: Planner<'static>,
    /// The number of its next transaction.
    next: u32,
    load: Histories,
}

impl Histories {
    /// Transactions that may write. Each names its values by its number.
    fn transactions(self) -> u32 {
        (TRANSACTIONS * self.clients).max(600)
    }

    fn settings(self, seed: u64) -> HistorySettings {
        let Self { clients, forms } = self;
        HistorySettings { seed, clients: clients as usize, transactions: self.transactions(), forms, abort_one_in: 12 }
    }
}

impl Workload for Histories {
    type Caller = HistoryClient;
    const TABLE_BYTES: usize = 1 << 24;

    fn catalog() -> Catalog {
        catalog()
    }

    fn fill(settings: &Settings<Self>, shard: &mut Shard) {
        for club in 0..settings.load.settings(settings.seed).clubs() {
            for (member, rank) in first_members(club) {
                let row = Membership { club, id: member.id, rank, version: 0, value: 0 };
                shard.load(&row).expect("the partition is empty");
            }
        }
    }

    fn caller(settings: &Settings<Self>, number: u32) -> HistoryClient {
        // A planner borrows its settings; a test has few of them.
        let history = Box::leak(Box::new(settings.load.settings(settings.seed)));
        HistoryClient { planner: Planner::new(history, number as usize), next: number + 1, load: settings.load }
    }
}

impl Caller for HistoryClient {
    type Call = Planned;
    type Output = Vec<Seen>;

    fn draw(&mut self) -> Planned {
        let number = self.next;
        let last = self.load.transactions();
        self.next += self.load.clients;
        let (way, steps) = self.planner.plan(number.min(last));
        // A value names its transaction: after the last one, there are no more writes.
        let is_over = number > last;
        let steps = if is_over { steps.into_iter().filter(is_read).collect() } else { steps };
        Planned { number, is_declared: way == Submission::Declared, steps }
    }

    fn send(call: &Planned, router: &mut Router, now_us: u64, out: &mut Outbox) -> u64 {
        let steps = call.steps.clone();
        let sent = if call.is_declared {
            router.call(Work { steps }, now_us, 0, out)
        } else {
            router.call(UndeclaredWork { steps }, now_us, 0, out)
        };
        sent.expect("the catalog has it")
    }

    fn output(call: &Planned, answered: Answered) -> Result<Vec<Seen>, Error> {
        if call.is_declared { answered.output::<Work>() } else { answered.output::<UndeclaredWork>() }
    }
}

fn is_read(step: &Step) -> bool {
    matches!(step, Step::Read(_) | Step::Look(_) | Step::Scan(_))
}

/// A history that cannot be judged: the members of clubs do not show how a transaction ended.
const UNKNOWN: &str = "an outcome is unknown";

/// A history, as far as it was judged.
struct Judged {
    /// The first anomaly: a half of a transaction, or answers that are not those of a serial order.
    anomaly: Option<String>,
    writes: u64,
    scans: u64,
    /// Transactions whose outcome their clients do not know.
    unknown: usize,
    /// Changes of the configuration meanwhile.
    changes: u64,
}

impl Judged {
    fn is_right(&self) -> bool {
        self.anomaly.is_none()
    }
}

/// Judges the answers of a run's clients.
fn judge(settings: Settings<Histories>) -> Result<Judged, String> {
    let us = if settings.incidents > 0 { 40_000 } else { 8_000 };
    let mut world = World::new(settings);
    world.plan_incidents(us);
    world.run_us(us);
    world.finish_with_joins()?;
    read_all(&mut world, settings)?;
    let mut history = history(&mut world, settings.load)?;
    let unknown: Vec<_> = history.transactions.iter().filter(|it| it.outcome == Outcome::Unknown).collect();
    if unknown.iter().any(|it| it.steps.iter().any(changes_members)) {
        return Err(UNKNOWN.to_owned());
    }
    let unknown = unknown.len();
    let changes = world.configuration().epoch - 1;
    let settled = settle(&mut history);
    let report = check(&history);
    let is_right = settled.is_ok() && report.is_strictly_serializable();
    if is_right {
        checks::replicas(&mut world)?;
    }
    let anomaly = (!is_right).then(|| settled.err().unwrap_or_else(|| report.to_string()));
    Ok(Judged { anomaly, writes: report.writes, scans: report.scans, unknown, changes })
}

/// Reads all lists after a run, so that they show how transactions of unknown outcome ended. Reading does no harm, so
/// it is repeated until there is an answer.
fn read_all(world: &mut World<Histories>, settings: Settings<Histories>) -> Result<(), String> {
    let lists = 0..settings.load.settings(settings.seed).lists();
    let read = |number| [Form::Rows, Form::Packed].map(|form| Step::Read(List { form, number }));
    let steps: Vec<_> = lists.flat_map(read).collect();
    let mut unread: Vec<_> = steps.chunks(steps.len().div_ceil(settings.clients as usize)).map(<[_]>::to_vec).collect();
    let mut last = world.history().iter().map(|it| it.call.number).max().unwrap_or_default();
    for _ in 0..MAX_READINGS {
        let call = |(number, steps): (u32, &Vec<_>)| Planned { number, is_declared: true, steps: steps.clone() };
        let calls: Vec<_> = (last + 1..).zip(&unread).map(call).collect();
        last += calls.len() as u32;
        world.call_after(calls.clone())?;
        let read = world.history().into_iter().filter(|it| matches!(it.end, Done::Committed(_)));
        let read: BTreeSet<_> = read.map(|it| it.call.number).collect();
        unread = calls.into_iter().filter(|it| !read.contains(&it.number)).map(|it| it.steps).collect();
        if unread.is_empty() {
            return Ok(());
        }
    }
    Err("lists cannot be read after the history".to_owned())
}

fn changes_members(step: &Step) -> bool {
    matches!(step, Step::Join(..) | Step::Rank(..) | Step::Leave(..))
}

/// All calls of the clients, with their answers.
fn history(world: &mut World<Histories>, load: Histories) -> Result<History, String> {
    let calls = world.history();
    let last = calls.iter().map(|it| it.call.number).max().unwrap_or_default();
    // A value names its transaction by number; some numbers were not used.
    let unused =
        |client| Transaction { client, invoked_ns: 0, completed_ns: 0, steps: Vec::new(), outcome: Outcome::Aborted };
    let mut transactions: Vec<_> = (0..last).map(unused).collect();
    for it in calls {
        let outcome = match it.end {
            Done::Committed(seen) => Outcome::Committed(seen),
            // A row that is there already, too.
            Done::Aborted(_) => Outcome::Aborted,
            Done::Unknown => Outcome::Unknown,
            Done::Failed(why) if why.contains("duplicate key") => Outcome::Aborted,
            Done::Failed(why) => return Err(why),
        };
        let (client, invoked_ns, completed_ns) = (it.client, it.began_ns, it.ended_ns);
        let transaction = Transaction { client, invoked_ns, completed_ns, steps: it.call.steps, outcome };
        transactions[it.call.number as usize - 1] = transaction;
    }
    Ok(History { transactions, initial: (0..load.settings(0).clubs()).flat_map(first_members).collect() })
}

fn any(scheme: SchemeKind, seed: u64) -> Settings<Histories> {
    let mut dice = Dice(seed);
    let clients = 3 + dice.below(6) as u32;
    Settings {
        partitions: 2 + dice.below(2) as u8,
        clients,
        link: Link { tail_ns: dice.below(50_000), ..Link::of(1_000 + dice.below(60_000)) },
        patience_us: 3_000,
        ..Settings::of_the_paper(scheme, Histories { clients, forms: Forms::Both }, seed)
    }
}

/// A random cluster in which parts fail: with backups and an operator, or with replica sets and an agreed log. Most
/// histories are of lists alone, which show unknown outcomes.
fn failing(scheme: SchemeKind, seed: u64) -> Settings<Histories> {
    let mut dice = Dice(seed ^ 5);
    let settings = any(scheme, seed);
    let incidents = 1 + dice.below(3) as u32;
    let forms = if dice.one_in(4) { Forms::Both } else { Forms::Lists };
    if !scheme.is_deterministic() {
        let load = Histories { forms, ..settings.load };
        return Settings { replicas: 2, incidents, load, ..settings };
    }
    let sets = replica_sets::any(seed);
    // With many clients VLL analyses contention.
    let clients = if dice.one_in(3) { 24 + dice.below(16) as u32 } else { settings.clients };
    let settings = Settings {
        replicas: sets.replicas,
        coordinators: sets.coordinators,
        order: sets.order,
        journals: true,
        clients,
        load: Histories { clients, forms },
        incidents: incidents + dice.below(3) as u32,
        outages: [0, 0, 1][dice.place(3)],
        ..settings
    };
    parted(&mut dice, settings)
}

fn every_scheme() -> impl Iterator<Item = SchemeKind> + Clone {
    SchemeKind::ALL.into_iter().chain(SchedulerKind::ALL.map(SchemeKind::Deterministic))
}

#[test]
fn histories_are_strictly_serializable_under_every_scheme() {
    let first = seed(1);
    let (mut writes, mut scans) = (0, 0);
    for (seed, scheme) in (first..first + times(130, 10_000)).zip(every_scheme().cycle()) {
        let settings = any(scheme, seed);
        let judged = judge(settings).unwrap_or_else(|why| panic!("seed {seed}, {settings:?}: {why}"));
        assert_eq!(judged.anomaly, None, "seed {seed}, {settings:?}");
        (writes, scans) = (writes + judged.writes, scans + judged.scans);
    }
    assert!(writes > 1_000 && scans > 1_000, "{writes} writes, {scans} scans");
}

/// Rows that a run had, and had not asked for, were kept by no replica of its set: after all of them were killed, it
/// waited for ever.
const FOUND_WHEN_A_SET_IS_KILLED: [u64; 2] = [12_559, 12_638];

/// A participant of one set ended by a refusal, and passed it on to the one of another set that would have refused, and
/// answered the client.
const FOUND_WHEN_A_REFUSAL_IS_PASSED_ON: [u64; 1] = [1_651];

/// Judges histories of these schemes, each with these seeds, or many more in the long form.
fn histories_with_failures_are_right(schemes: impl IntoIterator<Item = SchemeKind>, seeds: u64) {
    let first = seed(1);
    let seeds = times(seeds, 10_000);
    let mut unknown = 0;
    for scheme in schemes {
        let mut all = Vec::new();
        let found = FOUND_WHEN_A_SET_IS_KILLED.into_iter().chain(FOUND_WHEN_A_REFUSAL_IS_PASSED_ON);
        for seed in (first..first + seeds).chain(found) {
            let settings = failing(scheme, seed);
            match judge(settings) {
                Err(why) if why == UNKNOWN => {}
                Err(why) => panic!("seed {seed}, {settings:?}: {why}"),
                Ok(judged) => {
                    assert_eq!(judged.anomaly, None, "seed {seed}, {settings:?}");
                    all.push(judged);
                }
            }
        }
        let judged = all.len() as u64;
        let changes: u64 = all.iter().map(|it| it.changes).sum();
        let writes: u64 = all.iter().map(|it| it.writes).sum();
        unknown += all.iter().map(|it| it.unknown).sum::<usize>();
        assert!(judged * 2 >= seeds, "{scheme}: only {judged} of {seeds} histories could be judged");
        assert!(changes >= judged, "{scheme}: {changes} changes of the configuration in {judged} histories");
        assert!(writes > 20 * judged, "{scheme}: {writes} writes in {judged} histories");
    }
    assert!(unknown > 0, "no outcome was unknown");
}

#[test]
fn histories_with_failures_are_strictly_serializable_under_every_interactive_scheme() {
    histories_with_failures_are_right(SchemeKind::ALL, 12);
}

#[test]
fn histories_of_replica_sets_with_failures_are_strictly_serializable_under_every_scheduler() {
    histories_with_failures_are_right(SchedulerKind::ALL.map(SchemeKind::Deterministic), 20);
}

/// The canary of each scheduler: a fault of its own, among the same failures.
#[test]
fn a_fault_of_each_scheduler_is_noticed_in_histories_with_failures() {
    for (scheduler, make) in planted::FAULTS {
        let scheme = SchemeKind::Deterministic(scheduler);
        let of = |seed, scheduler| {
            let settings = failing(scheme, seed);
            let load = Histories { forms: Forms::Lists, ..settings.load };
            judge(Settings { scheduler, load, ..settings })
        };
        let found = (1..=20).find(|seed| of(*seed, Some(make)).is_ok_and(|it| !it.is_right()));
        let seed = found.unwrap_or_else(|| panic!("{scheme}: it goes unnoticed"));
        assert!(of(seed, None).is_ok_and(|it| it.is_right()), "{scheme}, seed {seed}: without the fault");
    }
}

/// The canary of each interactive scheme: a participant aborts a transaction that was committed.
#[test]
fn half_a_commit_is_noticed_under_every_interactive_scheme() {
    for scheme in SchemeKind::ALL {
        let of = |seed, bug| judge(Settings { bug, ..any(scheme, seed) });
        let is_noticed = |seed| of(seed, Some(Bug::HalfCommit)).is_ok_and(|it| !it.is_right());
        assert!((1..40).any(is_noticed), "{scheme}: it goes unnoticed");
        assert!((1..4).all(|seed| of(seed, None).is_ok_and(|it| it.is_right())), "{scheme}");
    }
}

/// The transactions that end in each of four times 8 ms, without a timeout.
fn ended(rule: DeadlockRule, bug: Option<Bug>, seed: u64) -> [u64; 4] {
    let mut world = World::new(Settings { patience_us: 400_000, bug, ..any(SchemeKind::TwoPhase(rule), seed) });
    [(); 4].map(|()| world.run_us(8_000).finished)
}

#[test]
fn distributed_deadlocks_end_without_timeouts() {
    for rule in DeadlockRule::ALL.into_iter().filter(|rule| *rule != DeadlockRule::Timeout) {
        for seed in 1..11 {
            let ended = ended(rule, None, seed);
            assert!(ended[3] * 12 > ended.iter().sum(), "{rule:?}, seed {seed}: {ended:?}");
        }
    }
    // Without the graph a deadlock lasts, and everything comes to wait for it.
    let stands_still = |rule, bug| (1..11).any(|seed| ended(rule, bug, seed)[3] == 0);
    assert!(stands_still(DeadlockRule::Timeout, None), "the load has no distributed deadlock");
    assert!(stands_still(DeadlockRule::Graph, Some(Bug::MissedDeadlock)), "a lost report of a deadlock goes unnoticed");
}

/// The canary of each deterministic scheme: inputs of an epoch in another order at one participant.
#[test]
fn an_executor_that_does_not_keep_the_order_of_the_log_is_noticed() {
    for scheduler in SchedulerKind::ALL {
        let scheme = SchemeKind::Deterministic(scheduler);
        let of = |seed, bug| judge(Settings { journals: true, bug, ..any(scheme, seed) });
        let is_noticed = |seed| of(seed, Some(Bug::InputsReordered)).is_ok_and(|it| !it.is_right());
        // Where participants wait for each other, nothing ends.
        let is_stuck = |seed| of(seed, Some(Bug::InputsReordered)).is_err_and(|why| why.starts_with("progress"));
        assert!((1..40).any(|seed| is_noticed(seed) || is_stuck(seed)), "{scheme}: it goes unnoticed");
        assert!((1..10).all(|seed| of(seed, None).is_ok_and(|it| it.is_right())), "{scheme}");
    }
}
