//! A user's procedures on a cluster of processes: `cargo run --example accounts` starts three of itself, a sequencer
//! and two partitions, transfers money between accounts of both, and ends them.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use glassbox::{Catalog, Declared, KeySet, Procedure, Record, Stop, Transaction};
use glassbox_cluster::run::Processes;
use glassbox_cluster::{SchedulerKind, SchemeKind};

#[derive(Record, Clone, Copy)]
#[record(table = "account", key = id, partition_by = id)]
struct Account {
    id: u32,
    cents: i64,
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Transfer {
    from: u32,
    to: u32,
    cents: i64,
}

impl Procedure for Transfer {
    const NAME: &'static str = "transfer";
    type Output = ();
    fn declare(&self, set: &mut impl KeySet) -> Declared {
        set.write::<Account>(&self.from);
        set.write::<Account>(&self.to);
        Declared::Complete
    }
    fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
        for (id, change) in [(self.from, -self.cents), (self.to, self.cents)] {
            // Each partition runs the procedure, and changes the rows that it owns.
            if tx.owns::<Account>(&id) {
                let missing = || Stop::abort(1, "no such account");
                tx.update::<Account, _>(&id, |account| account.cents += change)?.ok_or_else(missing)?;
            }
        }
        Ok(())
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Balance {
    of: u32,
}

impl Procedure for Balance {
    const NAME: &'static str = "balance";
    type Output = i64;
    fn declare(&self, set: &mut impl KeySet) -> Declared {
        set.read::<Account>(&self.of);
        Declared::Complete
    }
    fn run<T: Transaction>(&self, tx: &mut T) -> Result<i64, Stop> {
        let account = tx.get::<Account>(&self.of)?;
        account.map(|account| account.cents).ok_or_else(|| Stop::abort(1, "no such account"))
    }
}

fn catalog() -> Catalog {
    Catalog::new().table::<Account>().distributed_procedure::<Transfer>().distributed_procedure::<Balance>()
}

/// A process of the cluster: `accounts LISTEN CLUSTER`, with the cluster as JSON.
fn node(listen: &str, cluster: &str) -> Result<(), Box<dyn std::error::Error>> {
    let cluster: Processes = serde_json::from_str(cluster)?;
    let rows = |shard: &mut glassbox::research::shard::Shard| {
        (0..100).try_for_each(|id| shard.load(&Account { id, cents: 10_000 })).map_err(|error| error.to_string())
    };
    Ok(cluster.serve(TcpListener::bind(listen)?, None, catalog(), rows, || false)?)
}

struct Running(Vec<Child>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.iter_mut().for_each(|child| drop((child.kill(), child.wait())));
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    if let [listen, cluster] = &arguments[..] {
        return node(listen, cluster);
    }
    let free = |_| TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let nodes = (0..3).map(free).collect::<Result<Vec<_>, _>>()?;
    let cluster = Processes::new(1, SchemeKind::Deterministic(SchedulerKind::Vll), 2, nodes.clone());
    let text = serde_json::to_string(&cluster)?;
    let start = |at: &std::net::SocketAddr| {
        Command::new(std::env::current_exe()?).args([&at.to_string(), &text]).stdin(Stdio::null()).spawn()
    };
    let _processes = Running(nodes.iter().map(start).collect::<Result<_, _>>()?);
    let patience = Duration::from_secs(20);
    cluster.operator(&catalog(), None, Box::new(|_| Ok(())))?.begin(cluster.shape().configuration(), patience)?;
    let mut client = cluster.connect(0, catalog(), patience)?;
    for turn in 0..1_000 {
        client.call(Transfer { from: turn % 100, to: turn * 7 % 100, cents: i64::from(turn) })?;
    }
    let total = (0..100).map(|of| client.call(Balance { of })).sum::<Result<i64, _>>()?;
    println!("after 1,000 transfers between two partitions the accounts have {total} cents, as before");
    assert_eq!(total, 1_000_000);
    Ok(())
}
