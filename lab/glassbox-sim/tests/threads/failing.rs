//! Clusters of threads whose members fail while clients work, under every scheme: each thread serves one member over
//! sockets of its own. Histories with phantoms are strictly serializable, unknown outcomes included.
//!
//! With primaries and backups a killed member forgets everything, and an operator decides. With replica sets and an
//! agreed log a member has a directory, links are cut too, and what fails comes back by itself.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use glassbox::Error;
use glassbox::procedure::Procedure;
use glassbox_cluster::run::{Client, Operator, Processes, Sockets};
use glassbox_cluster::wire::Standing;
use glassbox_cluster::{Address, AgreementSettings, Group, OrderSettings, SchedulerKind, SchemeKind};
use glassbox_testing::dice::{long, seed};
use glassbox_testing::serializability::broken::{Broken, SeededBug};
use glassbox_testing::serializability::executor::{Executor, Submission, UndeclaredWork, Work, catalog};
use glassbox_testing::serializability::history::{Outcome, Seen, Step};
use glassbox_testing::serializability::unknown::settle;
use glassbox_testing::serializability::workload::{Forms, HistorySettings};
use glassbox_testing::serializability::{Report, check, runner};
use tempfile::TempDir;

use super::links::Links;

const PATIENCE: Duration = Duration::from_secs(30);
const CLIENTS: usize = 4;
/// Calls that clients make between two failures, and while a failure lasts.
const CALLS_BETWEEN: u32 = 40;
/// How long an impatient client waits for an outcome: shorter than an election.
const IMPATIENCE: Duration = Duration::from_millis(60);

/// A member's thread, and what ends it.
type Running = (Arc<AtomicBool>, JoinHandle<Result<(), String>>);

/// Two partitions with two replicas each, and coordinators.
struct Members {
    cluster: Processes,
    /// Under an agreement: the directory of all members, and their links.
    agreed: Option<(TempDir, Links)>,
    running: Mutex<BTreeMap<Address, Running>>,
}

impl Members {
    fn start(scheme: SchemeKind) -> Self {
        let coordinators = if scheme.is_deterministic() { 3 } else { 2 };
        let listeners: Vec<_> = (0..4 + coordinators).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let nodes = listeners.iter().map(|listener| listener.local_addr().unwrap()).collect();
        // Each option for some of the schemes.
        let tick_us = if scheme == SchemeKind::Speculation { 200 } else { 0 };
        let overlap = matches!(scheme, SchemeKind::Blocking | SchemeKind::Locking | SchemeKind::LimitedSpeculation);
        let agreement = scheme.is_deterministic().then(AgreementSettings::default);
        let order = OrderSettings { tick_us, overlap, agreement, ..OrderSettings::new() };
        let cluster = Processes { replicas: 2, coordinators, order, ..Processes::new(seed(1), scheme, 2, nodes) };
        let agreed = agreement.map(|_| (tempfile::tempdir().unwrap(), Links::new(&cluster)));
        let members = Self { cluster, agreed, running: Mutex::default() };
        for (member, listener) in members.cluster.shape().machines().into_iter().zip(listeners) {
            members.serve(member, listener);
        }
        members.operator().begin(members.cluster.shape().configuration(), PATIENCE).unwrap();
        members
    }

    fn serve(&self, member: Address, listener: TcpListener) {
        let ends = Arc::new(AtomicBool::new(false));
        let (dir, cluster) = match &self.agreed {
            Some((dir, links)) => (Some(dir.path().to_owned()), links.as_known_to(member, &self.cluster)),
            None => (None, self.cluster.clone()),
        };
        let is_over = Arc::clone(&ends);
        let work = move || {
            let ends = || is_over.load(Ordering::Relaxed);
            cluster.serve(listener, dir.as_deref(), catalog(), |_| Ok(()), ends)
        };
        self.running.lock().unwrap().insert(member, (ends, std::thread::spawn(work)));
    }

    /// Ends a member, which forgets everything but its directory.
    fn kill(&self, member: Address) {
        let (ends, thread) = self.running.lock().unwrap().remove(&member).unwrap();
        ends.store(true, Ordering::Relaxed);
        thread.join().unwrap().unwrap();
    }

    fn restart(&self, member: Address) {
        let at: SocketAddr = self.cluster.at(member).unwrap();
        let began = Instant::now();
        let listener = loop {
            match TcpListener::bind(at) {
                Ok(listener) => break listener,
                Err(error) => assert!(began.elapsed() < PATIENCE, "{member}: {error}"),
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        self.serve(member, listener);
    }

    fn operator(&self) -> Operator<Sockets> {
        let mut operator = self.cluster.operator(&catalog(), None, Box::new(|_| Ok(()))).unwrap();
        let up = self.running.lock().unwrap().keys().copied().collect::<Vec<_>>();
        assert!(up.into_iter().all(|member| operator.wait_for(member, PATIENCE)), "a member cannot be reached");
        operator
    }

    fn primary(&self, partition: u8) -> Address {
        let mut operator = self.operator();
        operator.standings();
        operator.newest().unwrap().partitions[usize::from(partition)].primary
    }

    /// A replica is started again, and gets the rows.
    fn bring_back(&self, replica: Address) {
        self.restart(replica);
        let (mut operator, began) = (self.operator(), Instant::now());
        operator.bring_back(replica).unwrap();
        loop {
            let standings = operator.standings();
            if matches!(standings.get(&replica), Some(Ok(Standing::Backup(_)))) {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "{replica} does not get the rows: {standings:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn lose_backup(&self, partition: u8) {
        let primary = self.primary(partition);
        let is_backup = |it: &Address| it.partition() == Some(partition) && *it != primary;
        let backup = self.cluster.shape().machines().into_iter().find(is_backup).unwrap();
        self.kill(backup);
        self.operator().leave_out(backup).unwrap();
        self.bring_back(backup);
    }

    fn lose_primary(&self, partition: u8) {
        let primary = self.primary(partition);
        self.kill(primary);
        self.operator().promote(Group::Partition(partition)).unwrap();
        self.bring_back(primary);
    }

    fn lose_coordinator(&self, number: u16) {
        let coordinator = Address::Coordinator(number);
        self.kill(coordinator);
        self.restart(coordinator);
        self.operator().begin_coordinator(coordinator).unwrap();
    }

    /// Failures until the clients have made so many calls; their number.
    fn fail(&self, executor: &ClusterExecutor<'_>, calls: u32) -> u32 {
        let work = || executor.wait_for_calls(CALLS_BETWEEN, calls);
        let mut rounds = 0;
        while work() {
            let partition = (rounds / 3 % 2) as u8;
            match (&self.agreed, rounds % 3) {
                (Some((_, links)), _) => self.lose_for_a_while(rounds, links, work),
                (None, 0) => self.lose_primary(partition),
                (None, 1) => self.lose_coordinator(partition.into()),
                (None, _) => self.lose_backup(partition),
            }
            rounds += 1;
        }
        rounds
    }

    /// Under an agreement: members are killed or cut off while clients work, and come back.
    fn lose_for_a_while(&self, round: u32, links: &Links, work: impl Fn() -> bool) {
        let replica = |partition| Address::Replica { partition, replica: (round / 4 % 2) as u8 };
        let elected = self.elected();
        match round % 4 {
            0 => self.kill_for_a_while(&[replica(0), replica(1)], work),
            1 => self.kill_for_a_while(&[elected], work),
            2 => self.cut_for_a_while(links, |one, _| one == elected, work),
            _ => self.cut_for_a_while(links, |one, other| one == replica(0) && other == replica(1), work),
        }
        let mut operator = self.operator();
        let began = Instant::now();
        loop {
            let standings = operator.standings();
            if standings.values().all(|it| matches!(it, Ok(Standing::Primary(_) | Standing::Backup(_)))) {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "not all come back: {standings:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn kill_for_a_while(&self, members: &[Address], work: impl Fn() -> bool) {
        members.iter().for_each(|it| self.kill(*it));
        work();
        members.iter().for_each(|it| self.restart(*it));
    }

    fn cut_for_a_while(&self, links: &Links, is_cut: impl Fn(Address, Address) -> bool, work: impl Fn() -> bool) {
        links.cut(is_cut);
        work();
        links.cut(|_, _| false);
    }

    fn elected(&self) -> Address {
        let mut operator = self.operator();
        operator.standings();
        operator.newest().unwrap().sequencer.as_ref().unwrap().primary
    }

    fn stop(&self) {
        let members: Vec<_> = self.running.lock().unwrap().keys().copied().collect();
        members.into_iter().for_each(|member| self.kill(member));
    }
}

/// A cluster, and clients that are not in use.
struct ClusterExecutor<'a> {
    cluster: &'a Processes,
    clients: Mutex<Vec<Client<Sockets>>>,
    begun: AtomicU32,
    calls: AtomicU32,
    /// The deadline of one client, if it is impatient: others wait until what failed is replaced.
    deadline: Option<Duration>,
    /// Whether the thread that repairs members has ended because of a failure.
    is_over: AtomicBool,
}

impl<'a> ClusterExecutor<'a> {
    fn of(members: &'a Members) -> Self {
        let (begun, calls, is_over) = (AtomicU32::new(0), AtomicU32::new(0), AtomicBool::new(false));
        Self { cluster: &members.cluster, clients: Mutex::default(), begun, calls, deadline: None, is_over }
    }

    /// Waits until clients have made this many more calls; `false`: they have made all.
    fn wait_for_calls(&self, more: u32, all: u32) -> bool {
        let made = || self.calls.load(Ordering::Relaxed);
        let until = made() + more;
        while made() < until.min(all) {
            std::thread::sleep(Duration::from_millis(1));
        }
        made() < all
    }

    fn call<P: Procedure<Output = Vec<Seen>>>(&self, procedure: P) -> Result<Outcome, String> {
        let idle = self.clients.lock().unwrap().pop();
        let connect = || {
            let number = self.begun.fetch_add(1, Ordering::Relaxed);
            let client = self.cluster.connect(number, catalog(), PATIENCE)?;
            Ok::<_, String>(match self.deadline {
                Some(deadline) if number == 1 => client.with_deadline(deadline),
                _ => client,
            })
        };
        let mut client = idle.map_or_else(connect, Ok)?;
        if self.is_over.load(Ordering::Relaxed) {
            return Err("the members are not repaired any more".to_owned());
        }
        let outcome = match client.call(procedure) {
            Ok(seen) => Ok(Outcome::Committed(seen)),
            Err(Error::OutcomeUnknown { .. } | Error::Stopped { .. }) => Ok(Outcome::Unknown),
            Err(error) => error.abort_reason().map(|_| Outcome::Aborted).map_err(|error| error.to_string()),
        };
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.clients.lock().unwrap().push(client);
        outcome
    }
}

impl Executor for ClusterExecutor<'_> {
    fn execute(&self, way: Submission, steps: &[Step]) -> Result<Outcome, String> {
        match way {
            Submission::Declared => self.call(Work { steps: steps.to_vec() }),
            Submission::Undeclared | Submission::Closure => self.call(UndeclaredWork { steps: steps.to_vec() }),
        }
    }
}

/// A history of a cluster, the number of failures while it was made, and the number of unknown outcomes.
fn run(scheme: SchemeKind, transactions: u32) -> (Report, u32, usize) {
    let (members, settings) = (Members::start(scheme), settings_of(transactions));
    let deadline = members.agreed.as_ref().map(|_| IMPATIENCE);
    let executor = ClusterExecutor { deadline, ..ClusterExecutor::of(&members) };
    let (history, failures) = std::thread::scope(|scope| {
        let failing = scope.spawn(|| {
            let fail = || members.fail(&executor, transactions);
            catch_unwind(AssertUnwindSafe(fail)).unwrap_or_else(|panic| {
                executor.is_over.store(true, Ordering::Relaxed);
                resume_unwind(panic)
            })
        });
        let history = runner::run(&executor, &settings);
        executor.calls.fetch_max(transactions, Ordering::Relaxed);
        (history, failing.join().unwrap())
    });
    let mut history = history.unwrap_or_else(|why| panic!("{scheme}: {why}"));
    let unknown = history.transactions.iter().filter(|it| it.outcome == Outcome::Unknown).count();
    settle(&mut history).unwrap_or_else(|why| panic!("{scheme}: {why}"));
    drop(executor);
    members.stop();
    (check(&history), failures, unknown)
}

fn settings_of(transactions: u32) -> HistorySettings {
    HistorySettings { seed: seed(1), clients: CLIENTS, transactions, forms: Forms::Lists, abort_one_in: 12 }
}

fn are_strictly_serializable(schemes: impl IntoIterator<Item = SchemeKind>, transactions: u32) {
    let mut all = 0;
    for scheme in schemes {
        let (report, failures, unknown) = run(scheme, if long() { 30_000 } else { transactions });
        eprintln!("{scheme}: {failures} failures, {unknown} unknown outcomes, {report}");
        assert!(report.is_strictly_serializable(), "{scheme}: {report}");
        assert!(failures >= 4, "{scheme}: only {failures} failures");
        all += unknown;
    }
    assert!(all > 0, "no call was active when a member failed");
}

#[test]
fn histories_with_failures_are_strictly_serializable() {
    are_strictly_serializable(SchemeKind::ALL, 1_200);
}

#[test]
fn histories_of_replica_sets_with_failures_are_strictly_serializable() {
    are_strictly_serializable(SchedulerKind::ALL.map(SchemeKind::Deterministic), 600);
}

/// The canary of each scheme, without failures, which would be noticed too.
#[test]
fn steps_apart_are_noticed_under_every_scheme() {
    for scheme in SchemeKind::ALL.into_iter().chain(SchedulerKind::ALL.map(SchemeKind::Deterministic)) {
        let members = Members::start(scheme);
        let broken = Broken { inner: ClusterExecutor::of(&members), fault: SeededBug::StepsApart };
        let history = runner::run(&broken, &settings_of(800)).unwrap_or_else(|why| panic!("{scheme}: {why}"));
        assert!(!check(&history).is_strictly_serializable(), "{scheme}: it goes unnoticed");
        drop(broken);
        members.stop();
    }
}
