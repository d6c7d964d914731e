//! Clusters of threads whose members fail while clients work, under every scheme with primaries and backups: each
//! thread serves one member over sockets of its own, and ends with all that it knows. Histories with phantoms are
//! strictly serializable, unknown outcomes included.

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
use glassbox_cluster::{Address, Group, OrderSettings, SchemeKind};
use glassbox_testing::dice::{long, seed};
use glassbox_testing::serializability::broken::{Broken, SeededBug};
use glassbox_testing::serializability::executor::{Executor, Submission, UndeclaredWork, Work, catalog};
use glassbox_testing::serializability::history::{Outcome, Seen, Step};
use glassbox_testing::serializability::unknown::settle;
use glassbox_testing::serializability::workload::{Forms, HistorySettings};
use glassbox_testing::serializability::{Report, check, runner};

const PATIENCE: Duration = Duration::from_secs(30);
const CLIENTS: usize = 4;

/// A member's thread, and what ends it.
type Running = (Arc<AtomicBool>, JoinHandle<Result<(), String>>);

/// Two partitions with a backup each, and two coordinators.
struct Members {
    cluster: Processes,
    running: Mutex<BTreeMap<Address, Running>>,
}

impl Members {
    fn start(scheme: SchemeKind) -> Self {
        let listeners: Vec<_> = (0..6).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let nodes = listeners.iter().map(|listener| listener.local_addr().unwrap()).collect();
        // Each option for some of the schemes.
        let tick_us = if scheme == SchemeKind::Speculation { 200 } else { 0 };
        let overlap = matches!(scheme, SchemeKind::Blocking | SchemeKind::Locking | SchemeKind::LimitedSpeculation);
        let order = OrderSettings { tick_us, overlap, ..OrderSettings::new() };
        let cluster = Processes { replicas: 2, coordinators: 2, order, ..Processes::new(seed(1), scheme, 2, nodes) };
        let members = Self { cluster, running: Mutex::default() };
        for (member, listener) in members.cluster.shape().machines().into_iter().zip(listeners) {
            members.serve(member, listener);
        }
        members.operator().begin(members.cluster.shape().configuration(), PATIENCE).unwrap();
        members
    }

    fn serve(&self, member: Address, listener: TcpListener) {
        let (cluster, ends) = (self.cluster.clone(), Arc::new(AtomicBool::new(false)));
        let is_over = Arc::clone(&ends);
        let work = move || cluster.serve(listener, None, catalog(), |_| Ok(()), || is_over.load(Ordering::Relaxed));
        self.running.lock().unwrap().insert(member, (ends, std::thread::spawn(work)));
    }

    /// Ends a member, which forgets everything.
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
        for round in 0.. {
            let before = executor.calls.load(Ordering::Relaxed);
            // Clients have worked in between.
            while executor.calls.load(Ordering::Relaxed) < before + 40 {
                if executor.calls.load(Ordering::Relaxed) >= calls {
                    return round;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            let partition = (round / 3 % 2) as u8;
            match round % 3 {
                0 => self.lose_primary(partition),
                1 => self.lose_coordinator(partition.into()),
                _ => self.lose_backup(partition),
            }
        }
        unreachable!("the clients are done before")
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
    /// Whether the thread that repairs members has ended because of a failure.
    is_over: AtomicBool,
}

impl<'a> ClusterExecutor<'a> {
    fn of(members: &'a Members) -> Self {
        let (begun, calls, is_over) = (AtomicU32::new(0), AtomicU32::new(0), AtomicBool::new(false));
        Self { cluster: &members.cluster, clients: Mutex::default(), begun, calls, is_over }
    }

    fn call<P: Procedure<Output = Vec<Seen>>>(&self, procedure: P) -> Result<Outcome, String> {
        let idle = self.clients.lock().unwrap().pop();
        let connect = || self.cluster.connect(self.begun.fetch_add(1, Ordering::Relaxed), catalog(), PATIENCE);
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
    let executor = ClusterExecutor::of(&members);
    let (history, failures) = std::thread::scope(|scope| {
        let failing = scope.spawn(|| {
            let fail = || members.fail(&executor, transactions);
            catch_unwind(AssertUnwindSafe(fail)).unwrap_or_else(|panic| {
                executor.is_over.store(true, Ordering::Relaxed);
                resume_unwind(panic)
            })
        });
        let history = runner::run(&executor, &settings);
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

#[test]
fn histories_with_failures_are_strictly_serializable() {
    let mut all = 0;
    for scheme in SchemeKind::ALL {
        let (report, failures, unknown) = run(scheme, if long() { 30_000 } else { 1_200 });
        eprintln!("{scheme}: {failures} failures, {unknown} unknown outcomes, {report}");
        assert!(report.is_strictly_serializable(), "{scheme}: {report}");
        assert!(failures >= 3, "{scheme}: only {failures} failures");
        all += unknown;
    }
    assert!(all > 0, "no call was active when a member failed");
}

/// The canary of each scheme, without failures, which would be noticed too.
#[test]
fn steps_apart_are_noticed_under_every_scheme() {
    for scheme in SchemeKind::ALL {
        let members = Members::start(scheme);
        let broken = Broken { inner: ClusterExecutor::of(&members), fault: SeededBug::StepsApart };
        let history = runner::run(&broken, &settings_of(800)).unwrap_or_else(|why| panic!("{scheme}: {why}"));
        assert!(!check(&history).is_strictly_serializable(), "{scheme}: it goes unnoticed");
        drop(broken);
        members.stop();
    }
}
