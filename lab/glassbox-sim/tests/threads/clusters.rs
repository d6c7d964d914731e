//! Clusters of threads, under every scheme: histories with phantoms are strictly serializable.

use std::sync::{Arc, Mutex};

use glassbox::procedure::Procedure;
use glassbox::research::shard::Shard;
use glassbox_cluster::run::{Client, Cluster, Queues, Shape};
use glassbox_cluster::{SchedulerKind, SchemeKind};
use glassbox_testing::dice::seed;
use glassbox_testing::serializability::executor::{Executor, Submission, UndeclaredWork, Work, catalog};
use glassbox_testing::serializability::history::{Outcome, Seen, Step};
use glassbox_testing::serializability::workload::{Forms, HistorySettings};
use glassbox_testing::serializability::{check, runner};

use super::planted;

const PARTITIONS: u8 = 3;

/// A cluster, and clients that are not in use.
struct ClusterExecutor {
    cluster: Cluster,
    clients: Mutex<Vec<Client<Queues>>>,
}

impl ClusterExecutor {
    fn start(shape: Shape) -> Self {
        let catalog = Arc::new(catalog());
        let shard = |partition| Shard::new(&catalog, usize::from(partition), usize::from(PARTITIONS), 1 << 24);
        let cluster = Cluster::start(shape, Arc::clone(&catalog), shard).unwrap();
        Self { cluster, clients: Mutex::new(Vec::new()) }
    }

    fn call<P: Procedure<Output = Vec<Seen>>>(&self, procedure: P) -> Result<Outcome, String> {
        let idle = self.clients.lock().unwrap().pop();
        let mut client = idle.unwrap_or_else(|| self.cluster.client());
        let answer = client.call(procedure);
        self.clients.lock().unwrap().push(client);
        match answer {
            Ok(seen) => Ok(Outcome::Committed(seen)),
            Err(error) => error.abort_reason().map(|_| Outcome::Aborted).map_err(|error| error.to_string()),
        }
    }
}

impl Executor for ClusterExecutor {
    fn execute(&self, way: Submission, steps: &[Step]) -> Result<Outcome, String> {
        match way {
            Submission::Declared => self.call(Work { steps: steps.to_vec() }),
            Submission::Undeclared | Submission::Closure => self.call(UndeclaredWork { steps: steps.to_vec() }),
        }
    }
}

fn is_right(scheme: SchemeKind) {
    let clients = 4;
    for forms in [Forms::Lists, Forms::Clubs, Forms::Both] {
        let settings = HistorySettings { seed: seed(1), clients, transactions: 800, forms, abort_one_in: 12 };
        let executor = ClusterExecutor::start(Shape::new(scheme, PARTITIONS));
        let history = runner::run(&executor, &settings).unwrap_or_else(|why| panic!("{scheme}, {settings:?}: {why}"));
        let report = check(&history);
        assert!(report.is_strictly_serializable(), "{scheme}, {settings:?}: {report}");
        assert!(report.committed > u64::from(settings.transactions) * 8 / 10, "{scheme}: {report}");
        assert!(report.committed < report.transactions && report.overlaps > 0, "{scheme}: {report}");
        executor.clients.lock().unwrap().clear();
        executor.cluster.stop().unwrap();
    }
}

#[test]
fn interactive_schemes() {
    SchemeKind::ALL.into_iter().for_each(is_right);
}

#[test]
fn deterministic_schemes() {
    SchedulerKind::ALL.into_iter().map(SchemeKind::Deterministic).for_each(is_right);
}

/// The canary of each scheduler: a fault of its own, which simulated clusters have among failures.
#[test]
fn a_fault_of_each_scheduler_is_noticed() {
    // Many clients, so that VLL has enough blocked transactions to analyse.
    let is_noticed = |seed: u64, shape: Shape| {
        let settings =
            HistorySettings { seed, clients: 32, transactions: 1_600, forms: Forms::Lists, abort_one_in: 12 };
        let executor = ClusterExecutor::start(shape);
        let history = runner::run(&executor, &settings);
        executor.clients.lock().unwrap().clear();
        executor.cluster.stop().unwrap();
        history.map(|history| !check(&history).is_strictly_serializable())
    };
    for (scheduler, make) in planted::FAULTS {
        let shape = Shape::new(SchemeKind::Deterministic(scheduler), PARTITIONS);
        let seed = (1..=20).find(|seed| is_noticed(*seed, shape.with_scheduler(make)) == Ok(true));
        let seed = seed.unwrap_or_else(|| panic!("{}: it goes unnoticed", shape.scheme));
        assert_eq!(is_noticed(seed, shape), Ok(false), "{}, seed {seed}: without the fault", shape.scheme);
    }
}
