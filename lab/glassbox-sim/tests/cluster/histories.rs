//! Histories with phantoms, in simulated clusters: strictly serializable under every scheme.

use glassbox::research::shard::Shard;
use glassbox::{Catalog, Error};
use glassbox_cluster::{Answered, DeadlockRule, Outbox, Router, SchedulerKind, SchemeKind};
use glassbox_sim::cluster::{Bug, Caller, Done, Link, Settings, Workload, World};
use glassbox_testing::dice::{Dice, long, seed};
use glassbox_testing::serializability::executor::{Submission, UndeclaredWork, Work, catalog};
use glassbox_testing::serializability::history::{Outcome, Seen, Step, Transaction};
use glassbox_testing::serializability::rows::{Membership, first_members};
use glassbox_testing::serializability::workload::{Forms, HistorySettings, Planner};
use glassbox_testing::serializability::{History, Report, check};

/// Transactions of all clients for which there are lists and clubs.
const TRANSACTIONS: u32 = 600;

/// The clients of a history; each numbers its transactions apart from the others.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Histories {
    clients: u32,
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
    clients: u32,
}

fn settings_of(seed: u64, clients: u32) -> HistorySettings {
    let clients = clients as usize;
    HistorySettings { seed, clients, transactions: TRANSACTIONS, forms: Forms::Both, abort_one_in: 12 }
}

impl Workload for Histories {
    type Caller = HistoryClient;
    const TABLE_BYTES: usize = 1 << 24;

    fn catalog() -> Catalog {
        catalog()
    }

    fn fill(settings: &Settings<Self>, shard: &mut Shard) {
        for club in 0..settings_of(settings.seed, settings.load.clients).clubs() {
            for (member, rank) in first_members(club) {
                let row = Membership { club, id: member.id, rank, version: 0, value: 0 };
                shard.load(&row).expect("the partition is empty");
            }
        }
    }

    fn caller(settings: &Settings<Self>, number: u32) -> HistoryClient {
        let clients = settings.load.clients;
        // A planner borrows its settings; a test has few of them.
        let history = Box::leak(Box::new(settings_of(settings.seed, clients)));
        HistoryClient { planner: Planner::new(history, number as usize), next: number + 1, clients }
    }
}

impl Caller for HistoryClient {
    type Call = Planned;
    type Output = Vec<Seen>;

    fn draw(&mut self) -> Planned {
        let number = self.next;
        self.next += self.clients;
        let (way, steps) = self.planner.plan(number.min(TRANSACTIONS));
        // A value names its transaction: after the last one, there are no more writes.
        let is_over = number > TRANSACTIONS;
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

/// A history that cannot be judged: the checker has no transactions that may have ended either way.
const UNKNOWN: &str = "an outcome is unknown";

/// What the clients of a run were answered, judged.
fn judge(settings: Settings<Histories>) -> Result<Report, String> {
    let mut world = World::new(settings);
    world.run_us(8_000);
    world.finish()?;
    let history = world.history();
    let last = history.iter().map(|it| it.call.number).max().unwrap_or_default();
    // A value names its transaction by number; some numbers were not used.
    let unused =
        |client| Transaction { client, invoked_ns: 0, completed_ns: 0, steps: Vec::new(), outcome: Outcome::Aborted };
    let mut transactions: Vec<_> = (0..last).map(unused).collect();
    for it in history {
        let outcome = match it.end {
            Done::Committed(seen) => Outcome::Committed(seen),
            // A row that is there already, too.
            Done::Aborted(_) => Outcome::Aborted,
            Done::Unknown => return Err(UNKNOWN.to_owned()),
            Done::Failed(why) if why.contains("duplicate key") => Outcome::Aborted,
            Done::Failed(why) => return Err(why),
        };
        let (client, invoked_ns, completed_ns) = (it.client, it.began_ns, it.ended_ns);
        let transaction = Transaction { client, invoked_ns, completed_ns, steps: it.call.steps, outcome };
        transactions[it.call.number as usize - 1] = transaction;
    }
    let clubs = settings_of(settings.seed, settings.load.clients).clubs();
    Ok(check(&History { transactions, initial: (0..clubs).flat_map(first_members).collect() }))
}

fn any(scheme: SchemeKind, seed: u64) -> Settings<Histories> {
    let mut dice = Dice(seed);
    let clients = 3 + dice.below(6) as u32;
    Settings {
        partitions: 2 + dice.below(2) as u8,
        clients,
        link: Link { tail_ns: dice.below(50_000), ..Link::of(1_000 + dice.below(60_000)) },
        patience_us: 3_000,
        ..Settings::of_the_paper(scheme, Histories { clients }, seed)
    }
}

fn every_scheme() -> impl Iterator<Item = SchemeKind> + Clone {
    SchemeKind::ALL.into_iter().chain(SchedulerKind::ALL.map(SchemeKind::Deterministic))
}

#[test]
fn histories_are_strictly_serializable_under_every_scheme() {
    let first = seed(1);
    let (mut writes, mut scans) = (0, 0);
    for (seed, scheme) in (first..first + if long() { 10_000 } else { 130 }).zip(every_scheme().cycle()) {
        let settings = any(scheme, seed);
        let report = judge(settings).unwrap_or_else(|why| panic!("seed {seed}, {settings:?}: {why}"));
        assert!(report.is_strictly_serializable(), "seed {seed}, {settings:?}: {report}");
        (writes, scans) = (writes + report.writes, scans + report.scans);
    }
    assert!(writes > 1_000 && scans > 1_000, "{writes} writes, {scans} scans");
}

#[test]
fn histories_with_failures_are_strictly_serializable_under_every_interactive_scheme() {
    let first = seed(1);
    for scheme in SchemeKind::ALL {
        let (mut judged, seeds) = (0, if long() { 1_000 } else { 12 });
        for seed in first..first + seeds {
            let incidents = 1 + Dice(seed ^ 5).below(3) as u32;
            let settings = Settings { replicas: 2, incidents, ..any(scheme, seed) };
            match judge(settings) {
                Err(why) if why == UNKNOWN => {}
                Err(why) => panic!("seed {seed}, {settings:?}: {why}"),
                Ok(report) => {
                    assert!(report.is_strictly_serializable(), "seed {seed}, {settings:?}: {report}");
                    judged += 1;
                }
            }
        }
        assert!(judged * 4 >= seeds, "{scheme}: only {judged} of {seeds} histories could be judged");
    }
}

/// The canary of each interactive scheme: a participant aborts a transaction that was committed.
#[test]
fn half_a_commit_is_noticed_under_every_interactive_scheme() {
    for scheme in SchemeKind::ALL {
        let of = |seed, bug| judge(Settings { bug, ..any(scheme, seed) });
        let is_noticed = |seed| of(seed, Some(Bug::HalfCommit)).is_ok_and(|it| !it.is_strictly_serializable());
        assert!((1..40).any(is_noticed), "{scheme}: it goes unnoticed");
        assert!((1..4).all(|seed| of(seed, None).is_ok_and(|it| it.is_strictly_serializable())), "{scheme}");
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
        let is_noticed = |seed| of(seed, Some(Bug::InputsReordered)).is_ok_and(|it| !it.is_strictly_serializable());
        // Where participants wait for each other, nothing ends.
        let is_stuck = |seed| of(seed, Some(Bug::InputsReordered)).is_err_and(|why| why.starts_with("progress"));
        assert!((1..40).any(|seed| is_noticed(seed) || is_stuck(seed)), "{scheme}: it goes unnoticed");
        assert!((1..10).all(|seed| of(seed, None).is_ok_and(|it| it.is_strictly_serializable())), "{scheme}");
    }
}
