//! `glassbox-cluster node`: one member of a cluster, until a signal ends it.

use std::io::{BufRead, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use clap::Args;
use glassbox::research::shard::Shard;

use super::config::Config;
use glassbox_program::exit::{self, Verdict};
use glassbox_program::results::is_standard_output as is_dash;

/// Run one replica or coordinator of a cluster
///
/// Prints `listening ADDRESS` when it accepts connections. Its address decides which member it is. It has no place in
/// the cluster until a command gives it one (`glassbox-cluster begin`, `bring-back`, `begin-coordinator`). There is no
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
    let (rows, catalog) = (config.clone(), config.catalog());
    let rows = move |shard: &mut Shard| rows.fill(shard);
    let ends = || ORPHANED.load(Ordering::Relaxed) || exit::interrupted();
    config.processes().serve(listener, arguments.dir.as_deref(), catalog, rows, ends).map_err(anyhow::Error::msg)?;
    Ok(Verdict::Good)
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
