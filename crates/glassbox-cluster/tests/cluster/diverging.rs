//! Processes of three replica sets, one of which runs a procedure that depends on more than its arguments and the rows.

use std::fs::File;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use glassbox::{Catalog, Declared, KeySet, Procedure, Record, Stop, Transaction};
use glassbox_cluster::run::Processes;
use glassbox_cluster::wire::Standing;
use glassbox_cluster::{Address, AgreementSettings, OrderSettings, SchedulerKind, SchemeKind};

const PATIENCE: Duration = Duration::from_secs(60);
/// In the environment of a process: the address on which it listens.
const LISTEN: &str = "GLASSBOX_TEST_LISTEN";
/// In the environment of one process: while this file is there, its additions are wrong.
const WRONG: &str = "GLASSBOX_TEST_WRONG";

#[derive(Record, Clone, Copy)]
#[record(table = "counter", key = id, partition_by = id)]
struct Counter {
    id: u32,
    sum: i64,
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Add(i64);

impl Procedure for Add {
    const NAME: &'static str = "add";
    type Output = i64;
    fn declare(&self, set: &mut impl KeySet) -> Declared {
        set.write::<Counter>(&0);
        Declared::Complete
    }
    fn run<T: Transaction>(&self, tx: &mut T) -> Result<i64, Stop> {
        let is_wrong = std::env::var_os(WRONG).is_some_and(|file| Path::new(&file).exists());
        let missing = || Stop::abort(1, "no counter");
        let add = |counter: &mut Counter| {
            counter.sum += self.0 + i64::from(is_wrong);
            counter.sum
        };
        tx.update::<Counter, _>(&0, add)?.ok_or_else(missing)
    }
}

fn catalog() -> Catalog {
    Catalog::new().table::<Counter>().distributed_procedure::<Add>()
}

fn cluster(nodes: Vec<SocketAddr>) -> Processes {
    let order = OrderSettings { agreement: Some(AgreementSettings::default()), ..OrderSettings::new() };
    let scheme = SchemeKind::Deterministic(SchedulerKind::Vll);
    Processes { replicas: 3, coordinators: 3, order, ..Processes::new(1, scheme, 1, nodes) }
}

/// The directory and the addresses of a cluster that is being tested.
fn described() -> (PathBuf, Vec<SocketAddr>) {
    let dir = PathBuf::from(std::env::var_os("GLASSBOX_TEST_DIR").unwrap());
    let nodes = std::fs::read_to_string(dir.join("nodes")).unwrap();
    (dir, nodes.lines().map(|line| line.parse().unwrap()).collect())
}

/// A process of the cluster.
fn member(listen: &str) {
    let (dir, nodes) = described();
    let listener = TcpListener::bind(listen).unwrap();
    let rows = |shard: &mut glassbox::research::shard::Shard| {
        shard.load(&Counter { id: 0, sum: 0 }).map_err(|error| error.to_string())
    };
    cluster(nodes).serve(listener, Some(&dir), catalog(), rows, || false).unwrap();
}

struct Running(Vec<Child>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.iter_mut().for_each(|child| drop((child.kill(), child.wait())));
    }
}

#[test]
fn a_set_that_differs_is_named_and_takes_the_rows_of_another_one() {
    if let Ok(listen) = std::env::var(LISTEN) {
        // Each process of the cluster is this test again.
        return member(&listen);
    }
    let scratch = tempfile::tempdir().unwrap();
    let (dir, wrong) = (scratch.path(), scratch.path().join("wrong"));
    let free = |_| TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let nodes: Vec<_> = (0..6).map(free).collect();
    std::fs::write(dir.join("nodes"), nodes.iter().map(|it| format!("{it}\n")).collect::<String>()).unwrap();
    let cluster = cluster(nodes.clone());
    let reports = |at: &SocketAddr| dir.join(format!("{}.err", at.port()));
    let start = |at: &SocketAddr| {
        let mut process = Command::new(std::env::current_exe().unwrap());
        process.args([
            "--exact",
            "diverging::a_set_that_differs_is_named_and_takes_the_rows_of_another_one",
            "--nocapture",
        ]);
        process.stdin(Stdio::null()).stdout(Stdio::null());
        process.stderr(File::create(reports(at)).unwrap()).env("GLASSBOX_TEST_DIR", dir).env(LISTEN, at.to_string());
        if *at == nodes[5] {
            process.env(WRONG, &wrong);
        }
        process.spawn().unwrap()
    };
    let mut processes = Running(nodes.iter().map(start).collect());
    let mut operator = cluster.operator(&catalog(), None, Box::new(|_| Ok(()))).unwrap();
    operator.begin(cluster.shape().configuration(), PATIENCE).unwrap();
    let mut client = cluster.connect(0, catalog(), PATIENCE).unwrap();
    let mut sum = 0;
    let mut add = |times: u32| {
        for _ in 0..times {
            // Until the sets are compared, the answer may be that of the wrong one.
            client.call(Add(3)).unwrap();
            sum += 3;
        }
        sum
    };
    add(100);
    std::fs::write(&wrong, "").unwrap();
    let began = Instant::now();
    let report = loop {
        add(10);
        let text = std::fs::read_to_string(reports(&nodes[5])).unwrap();
        if text.contains("takes the rows of another replica set") {
            break text;
        }
        assert!(began.elapsed() < PATIENCE, "it goes unnoticed: {text}");
    };
    for words in ["partition 0 replica 2: ", "than the majority", "procedure `add`", "in epoch ", "input 0"] {
        assert!(report.contains(words), "no `{words}` in {report}");
    }
    std::fs::remove_file(&wrong).unwrap();
    let back = Address::Replica { partition: 0, replica: 2 };
    let began = Instant::now();
    while !matches!(operator.standings().get(&back), Some(Ok(Standing::Primary(_)))) {
        add(10);
        assert!(began.elapsed() < PATIENCE, "it does not come back: {:?}", operator.standings());
    }
    let expected = add(10);
    // It answers alone, with the right rows.
    processes.0[3..5].iter_mut().for_each(|other| drop((other.kill(), other.wait())));
    assert_eq!(client.call(Add(0)).unwrap(), expected);
}
