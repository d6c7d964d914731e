//! `glassbox node`: one member of a cluster, until it is told to end.

use std::io::{BufRead, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, bail};
use clap::Args;
use glassbox_cluster::Address;
use glassbox_cluster::run::{JournalWriter, Node, Sockets, drive};

use super::config::Config;
use crate::exit::{self, Verdict};
use crate::results::is_standard_output as is_dash;

/// Run one replica or coordinator of a cluster
///
/// Prints `listening ADDRESS` when it accepts connections. Its address decides which member it is. It has no place in
/// the cluster until a command gives it one (`glassbox cluster begin`, `bring-back`, `begin-coordinator`). There is no
/// encryption and no password: listen on a private network only.
#[derive(Args)]
#[command(name = "node")]
pub struct NodeArguments {
    /// Where to listen; port 0: any free port
    #[arg(long, value_name = "ADDRESS")]
    listen: SocketAddr,
    /// The cluster, as JSON; -: one line of standard input, whose end then ends the process
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Keep a replica's rows, and a sequencer's log, on disk: the journal is in this directory, under the member's name
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Standard input has ended: the parent process ended.
static ORPHANED: AtomicBool = AtomicBool::new(false);

/// Runs the node.
pub fn run(arguments: &NodeArguments) -> anyhow::Result<Verdict> {
    exit::handle_interrupts()?;
    let listener =
        TcpListener::bind(arguments.listen).with_context(|| format!("cannot listen on {}", arguments.listen))?;
    let at = listener.local_addr()?;
    println!("listening {at}");
    std::io::stdout().flush()?;
    let config = read(arguments)?;
    config.check()?;
    let shape = config.shape();
    let place = config.nodes.iter().position(|node| *node == at);
    let place = place.with_context(|| format!("none of the cluster's `nodes` listens on {at}: correct --listen"))?;
    let me = shape.machines()[place];
    let told = |line: &str| eprintln!("{line}");
    let mut sockets = Sockets::new(config.identity(me), Some(listener), shape.round_trip, told)?;
    let mut node = node(me, &config);
    let name = match me {
        Address::Replica { partition, replica } => Some(format!("partition-{partition}-replica-{replica}")),
        // The input log.
        Address::Coordinator(number) if config.scheme.is_deterministic() => Some(format!("sequencer-{number}")),
        _ => None,
    };
    if let (Some(dir), Some(name)) = (&arguments.dir, name) {
        let directory = dir.join(name);
        let (empty, wake) = (config.empty_shard(me.partition().unwrap_or(0))?, sockets.waker()?);
        std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
        let keeper = JournalWriter::open(&directory, (me, config.cluster), &config.catalog(), empty, wake);
        node = node.with_journal(keeper.with_context(|| format!("cannot use {}", directory.display()))?);
    }
    config.calls(me)?.into_iter().for_each(|(other, at)| sockets.call(other, at));
    drive(&mut node, &mut sockets, || ORPHANED.load(Ordering::Relaxed) || exit::interrupted());
    node.close();
    match node.failed() {
        None => Ok(Verdict::Good),
        Some(why) => bail!("{me} has stopped: {why}"),
    }
}

fn node(me: Address, config: &Config) -> Node {
    let partition = if let Address::Replica { partition, .. } = me { partition } else { 0 };
    let (first, empty) = (config.clone(), config.clone());
    let first = move || first.shard(partition).map_err(|error| format!("{error:#}"));
    let empty = move || empty.empty_shard(partition).map_err(|error| error.to_string());
    Node::new(me, config.shape(), Arc::new(first), Arc::new(empty))
}

fn read(arguments: &NodeArguments) -> anyhow::Result<Config> {
    if !is_dash(&arguments.config) {
        return Config::read(&arguments.config);
    }
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    // From here on the end of standard input ends the process, also while it loads.
    std::thread::spawn(|| {
        let _ = std::io::stdin().lock().read_to_end(&mut Vec::new());
        ORPHANED.store(true, Ordering::Relaxed);
        std::thread::sleep(std::time::Duration::from_secs(2));
        std::process::exit(1);
    });
    serde_json::from_str(&line).context("standard input is no cluster")
}
