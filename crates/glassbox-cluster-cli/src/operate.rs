//! Commands for a running cluster: its state, and changes of its configuration.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::builder::RangedU64ValueParser;
use clap::{Args, Subcommand};
use glassbox_cluster::run::{Command, Decisions, MAX_WAIT_SECONDS, Operator, Processes, Sockets};
use glassbox_cluster::{Address, Group};

use super::arguments::SchemeOption;
use super::auto;
use super::config::{Config, save};
use glassbox_program::exit::{self, Verdict};

/// Parses the time that a command may wait.
fn seconds() -> RangedU64ValueParser {
    clap::value_parser!(u64).range(0..=MAX_WAIT_SECONDS)
}

/// A command for a running cluster.
#[derive(Subcommand)]
pub enum OperateOption {
    /// Show the role of each process; nothing is written or locked
    Status {
        #[command(flatten)]
        cluster: ClusterFile,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Begin a new cluster, once all of its processes are started (`glassbox-cluster node`)
    Begin(ClusterFile),
    /// Give all restarted processes their places; partitions without a primary continue from journals
    /// (`glassbox-cluster node --dir`)
    Resume {
        #[command(flatten)]
        cluster: ClusterFile,
        /// How long to wait for processes that do not run
        #[arg(long, value_name = "S", default_value = "30", value_parser = seconds())]
        wait_s: u64,
    },
    /// Promote a backup to the primary of its partition, or a hot backup to the sequencer, at any time; with --log
    /// raft, `sequencer` has another member lead
    Promote {
        #[command(flatten)]
        cluster: ClusterFile,
        /// The number of a partition, or `sequencer`
        #[arg(value_name = "PARTITION")]
        group: Group,
    },
    /// Remove a backup, for which its primary then no longer waits
    LeaveOut {
        #[command(flatten)]
        cluster: ClusterFile,
        /// The number of a partition, or `sequencer`
        #[arg(value_name = "PARTITION")]
        group: Group,
        /// The replica
        replica: u8,
    },
    /// Make a restarted or removed replica a backup
    BringBack {
        #[command(flatten)]
        cluster: ClusterFile,
        /// The number of a partition, or `sequencer`
        #[arg(value_name = "PARTITION")]
        group: Group,
        /// The replica
        replica: u8,
        /// How long to wait until its process can be reached
        #[arg(long, value_name = "S", default_value = "10", value_parser = seconds())]
        wait_s: u64,
    },
    /// With --log raft: the coordinators with these numbers agree from now on; the others are sent nothing any more.
    /// The cluster works on meanwhile
    Members {
        #[command(flatten)]
        cluster: ClusterFile,
        /// The numbers of the coordinators
        #[arg(value_name = "NUMBER", required = true)]
        members: Vec<u16>,
    },
    /// Have a stopped cluster without --log raft, with one coordinator or sequencer, become one with it: its
    /// coordinators elect one from the next `resume` on. All processes are stopped; one coordinator agrees alone, until
    /// `members` adds others
    Agree {
        #[command(flatten)]
        cluster: ClusterFile,
        /// The addresses of other coordinators, usually two, whose processes are started with those of the cluster
        #[arg(value_name = "ADDRESS")]
        coordinators: Vec<SocketAddr>,
    },
    /// With --log raft: the rows of this replica set are right for a partition, and its other replicas take them. After
    /// sets have differed without a majority; and when the only replica (set 0) executes the log with another result
    /// than before
    Settle {
        #[command(flatten)]
        cluster: ClusterFile,
        /// The number of the partition
        partition: u8,
        /// The number of the replica set
        set: u8,
    },
    /// Change the concurrency-control scheme; `auto` watches the load and changes the scheme as it suggests, until
    /// interrupted
    Scheme {
        #[command(flatten)]
        cluster: ClusterFile,
        /// The scheme
        scheme: SchemeOption,
    },
    /// Give a restarted coordinator its place
    BeginCoordinator {
        #[command(flatten)]
        cluster: ClusterFile,
        /// The coordinator's number
        #[arg(default_value = "0")]
        coordinator: u16,
        /// How long to wait until its process can be reached
        #[arg(long, value_name = "S", default_value = "10", value_parser = seconds())]
        wait_s: u64,
    },
}

/// The cluster.
#[derive(Args)]
pub struct ClusterFile {
    /// The cluster, as JSON. Decisions are kept next to it, in FILE.decided
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
}

/// The file with the decisions about a cluster.
pub fn decided(config: &Path) -> PathBuf {
    let mut path = config.as_os_str().to_owned();
    path.push(".decided");
    path.into()
}

/// An operator of a cluster, whose decisions are kept next to this file. Without a file only the members know them: for
/// a cluster that ends with its operator.
pub fn operator(config: &Config, file: Option<&Path>) -> anyhow::Result<Operator<Sockets>> {
    let processes = config.processes();
    let catalog = config.catalog();
    let operator = match file {
        Some(file) => {
            let (decisions, newest) = Decisions::open(&decided(file), &config.shape()).map_err(anyhow::Error::msg)?;
            processes.operator(&catalog, newest, decisions.recorder())
        }
        None => processes.operator(&catalog, None, Box::new(|_| Ok(()))),
    };
    operator.map_err(anyhow::Error::msg)
}

impl OperateOption {
    const fn file(&self) -> &PathBuf {
        match self {
            Self::Status { cluster, .. } | Self::Settle { cluster, .. } => &cluster.config,
            Self::Begin(cluster) | Self::BeginCoordinator { cluster, .. } => &cluster.config,
            Self::Promote { cluster, .. } | Self::LeaveOut { cluster, .. } => &cluster.config,
            Self::BringBack { cluster, .. }
            | Self::Resume { cluster, .. }
            | Self::Scheme { cluster, .. }
            | Self::Agree { cluster, .. }
            | Self::Members { cluster, .. } => &cluster.config,
        }
    }

    /// The command that changes the cluster.
    fn command(&self) -> anyhow::Result<Command> {
        Ok(match *self {
            Self::Begin(_) => Command::Begin,
            Self::Resume { wait_s, .. } => Command::Resume(Duration::from_secs(wait_s)),
            Self::Promote { group, .. } => Command::Promote(group),
            Self::LeaveOut { group, replica, .. } => Command::LeaveOut(group.member(replica)),
            Self::BringBack { group, replica, wait_s, .. } => {
                Command::BringBack(group.member(replica), Duration::from_secs(wait_s))
            }
            Self::Settle { partition, set, .. } => Command::Settle(Address::Replica { partition, replica: set }),
            Self::Members { ref members, .. } => Command::Members(members.iter().copied().collect()),
            Self::Scheme { scheme, .. } => Command::Scheme(scheme.kind().context("`auto` is no scheme of its own")?),
            Self::BeginCoordinator { coordinator, wait_s, .. } => {
                Command::BeginCoordinator(Address::Coordinator(coordinator), Duration::from_secs(wait_s))
            }
            Self::Status { .. } => bail!("a status changes nothing"),
            Self::Agree { .. } => bail!("a stopped cluster begins to agree"),
        })
    }
}

/// Runs a command, and reports its result.
pub fn run(option: &OperateOption) -> anyhow::Result<Verdict> {
    let config = Config::read(option.file())?;
    config.check()?;
    if let OperateOption::Scheme { scheme: SchemeOption::Auto, ref cluster } = *option {
        return watch(&config, &cluster.config);
    }
    if let OperateOption::Status { json, .. } = *option {
        let status = config.processes().status(&config.catalog()).map_err(anyhow::Error::msg)?;
        println!("{}", if json { status.json() } else { status.to_string() });
        return Ok(if status.all_answer() { Verdict::Good } else { Verdict::Bad });
    }
    if let OperateOption::Agree { ref coordinators, ref cluster } = *option {
        return agree(config, &cluster.config, coordinators);
    }
    let command = option.command()?;
    let mut operator = operator(&config, Some(option.file()))?;
    println!("{}", config.processes().carry_out(&mut operator, &command).map_err(anyhow::Error::msg)?);
    Ok(Verdict::Good)
}

/// Has a stopped cluster agree from its next resume on, and writes its file.
fn agree(config: Config, file: &Path, coordinators: &[SocketAddr]) -> anyhow::Result<Verdict> {
    let next = config.processes().agree(&config.catalog(), &decided(file), coordinators).map_err(anyhow::Error::msg)?;
    let Processes { coordinators, order, nodes, .. } = next;
    save(&Config { coordinators, order, nodes, ..config }, file)?;
    let others = (1..coordinators).map(|it| format!(" {it}")).collect::<String>();
    println!(
        "the cluster agrees from now on: give {} to all processes, start them, then `glassbox-cluster resume`, then \
         `glassbox-cluster members 0{others}`",
        file.display()
    );
    Ok(Verdict::Good)
}

/// Watches until interrupted.
fn watch(config: &Config, file: &Path) -> anyhow::Result<Verdict> {
    exit::handle_interrupts()?;
    println!("watching; each change is printed with its calculation");
    auto::follow((config, Some(file)), None, &Mutex::new(()), exit::interrupted, |change| {
        println!("\nafter {:.1} s: {}\n{}", change.after.as_secs_f64(), change.to, change.advice);
    })?;
    Ok(Verdict::Good)
}
