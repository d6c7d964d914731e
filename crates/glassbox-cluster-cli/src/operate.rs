//! Commands for a running cluster: its state, and changes of its configuration.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::{Args, Subcommand};
use comfy_table::{LineStyle, Table, TableStyle};
use glassbox_cluster::run::{Operator, Shape, Sockets};
use glassbox_cluster::wire::Standing;
use glassbox_cluster::{Address, Configuration, Group};
use glassbox_workloads::format;

use super::arguments::SchemeOption;
use super::config::Config;
use super::{PATIENCE, auto};
use glassbox_program::exit::{self, Verdict};

/// How long another command may take to decide.
const DECIDES_WITHIN: Duration = Duration::from_secs(15);

/// A command for a running cluster.
#[derive(Subcommand)]
pub enum OperateOption {
    /// Show the role of each process
    Status(ClusterFile),
    /// Begin a new cluster, once all of its processes are started (`glassbox-cluster node`)
    Begin(ClusterFile),
    /// Give all restarted processes their places; partitions without a primary continue from journals
    /// (`glassbox-cluster node --dir`)
    Resume {
        #[command(flatten)]
        cluster: ClusterFile,
        /// How long to wait for processes that do not run
        #[arg(long, value_name = "S", default_value = "30", value_parser = clap::value_parser!(u64).range(0..=86_400))]
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
        #[arg(long, value_name = "S", default_value = "10", value_parser = clap::value_parser!(u64).range(0..=86_400))]
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
        #[arg(long, value_name = "S", default_value = "10", value_parser = clap::value_parser!(u64).range(0..=86_400))]
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

/// Makes a new file durable in its directory.
pub fn force_directory_of(file: &Path) -> std::io::Result<()> {
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

/// The decisions about a cluster: one configuration a line, the newest last. Its holder is the only operator.
struct Decided {
    file: File,
    path: PathBuf,
}

impl Decided {
    fn open(config: &Path, shape: &Shape) -> anyhow::Result<(Self, Option<Configuration>)> {
        let path = decided(config);
        let context = || format!("cannot use {}", path.display());
        let mut options = File::options();
        let mut file = options.read(true).append(true).create(true).open(&path).with_context(context)?;
        force_directory_of(&path).with_context(context)?;
        let until = Instant::now() + DECIDES_WITHIN;
        while file.try_lock().is_err() {
            ensure!(Instant::now() < until, "{} is in use by another command; try again", path.display());
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut text = String::new();
        file.read_to_string(&mut text).with_context(context)?;
        // An incomplete last line was sent to no member.
        let whole = &text[..text.rfind('\n').map_or(0, |at| at + 1)];
        ensure!(whole.len() == text.len() || file.set_len(whole.len() as u64).is_ok(), context());
        let newest = whole.lines().last().map(serde_json::from_str::<Configuration>).transpose();
        let newest = newest.with_context(|| format!("the last line of {} is no configuration", path.display()))?;
        let fits = newest.as_ref().is_none_or(|newest| shape.admits(newest));
        ensure!(fits, "the last line of {} is of another cluster than {}", path.display(), config.display());
        Ok((Self { file, path }, newest))
    }

    fn record(&mut self, next: &Configuration) -> Result<(), String> {
        let line = serde_json::to_string(next).map_err(|error| error.to_string())? + "\n";
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_all());
        written.map_err(|error| format!("decision failed: cannot write {}: {error}", self.path.display()))
    }
}

/// An operator of a cluster, whose decisions are kept next to this file. Without a file only the members know them: for
/// a cluster that ends with its operator.
pub fn operator(config: &Config, file: Option<&Path>) -> anyhow::Result<Operator<Sockets>> {
    let (processes, catalog) = (config.processes(), config.catalog());
    let operator = match file {
        Some(file) => {
            let (mut decided, newest) = Decided::open(file, &config.shape())?;
            processes.operator(&catalog, newest, Box::new(move |next| decided.record(next)))
        }
        None => processes.operator(&catalog, None, Box::new(|_| Ok(()))),
    };
    operator.map_err(anyhow::Error::msg)
}

impl OperateOption {
    const fn file(&self) -> &PathBuf {
        match self {
            Self::Status(cluster) | Self::Begin(cluster) | Self::BeginCoordinator { cluster, .. } => &cluster.config,
            Self::Promote { cluster, .. } | Self::LeaveOut { cluster, .. } => &cluster.config,
            Self::BringBack { cluster, .. }
            | Self::Resume { cluster, .. }
            | Self::Scheme { cluster, .. }
            | Self::Members { cluster, .. } => &cluster.config,
        }
    }
}

/// Runs a command, and reports its result.
pub fn run(option: &OperateOption) -> anyhow::Result<Verdict> {
    let config = Config::read(option.file())?;
    config.check()?;
    if let OperateOption::Scheme { scheme: SchemeOption::Auto, ref cluster } = *option {
        return watch(&config, &cluster.config);
    }
    let mut operator = operator(&config, Some(option.file()))?;
    match *option {
        OperateOption::Status(_) => {
            let standings = operator.standings();
            let gone = standings.values().any(Result::is_err);
            let progress = if config.scheme.is_deterministic() { operator.progress() } else { BTreeMap::new() };
            println!("{}", table(standings, &progress, &config));
            return Ok(if gone { Verdict::Bad } else { Verdict::Good });
        }
        OperateOption::Begin(_) => operator.begin(config.shape().configuration(), PATIENCE),
        OperateOption::Resume { wait_s, .. } => {
            operator.wait_for_all(Duration::from_secs(wait_s));
            operator.resume()
        }
        OperateOption::Promote { group, .. } => operator.promote(group).map(|now| {
            let role = match group {
                Group::Sequencer if config.scheme.is_deterministic() => "the sequencer",
                Group::Sequencer => "the coordinator",
                Group::Partition(_) => "primary",
            };
            println!("{now} is {role}");
        }),
        OperateOption::LeaveOut { group, replica, .. } => operator.leave_out(group.member(replica)),
        OperateOption::BringBack { group, replica, wait_s, .. } => {
            let replica = group.member(replica);
            operator.wait_for(replica, Duration::from_secs(wait_s));
            operator.bring_back(replica)
        }
        OperateOption::Members { ref members, .. } => operator.change_members(&members.iter().copied().collect()),
        OperateOption::Scheme { scheme, .. } => {
            operator.change_scheme(scheme.kind().context("`auto` is no scheme of its own")?)
        }
        OperateOption::BeginCoordinator { coordinator, wait_s, .. } => {
            let coordinator = Address::Coordinator(coordinator);
            operator.wait_for(coordinator, Duration::from_secs(wait_s));
            operator.begin_coordinator(coordinator)
        }
    }
    .map_err(anyhow::Error::msg)?;
    println!("configuration {}", operator.newest().map_err(anyhow::Error::msg)?.epoch);
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

/// `progress`: under a deterministic scheme, how far each process is in the input log.
fn table(standings: glassbox_cluster::run::Standings, progress: &BTreeMap<Address, u64>, config: &Config) -> Table {
    let (is_agreed, is_ordered) = (config.order.agreement.is_some(), config.scheme.is_deterministic());
    // A partition without inputs in the last epochs is not behind.
    let furthest =
        |who: Address| progress.iter().filter(|(it, _)| it.group() == who.group()).map(|(_, epoch)| *epoch).max();
    let decided = |standing: &Result<Standing, _>| standing.as_ref().ok()?.configuration().map(|known| known.epoch);
    let newest = standings.values().filter_map(decided).max();
    let known = standings.values().flatten().filter_map(Standing::configuration);
    let members = known.max_by_key(|known| known.epoch).map(Configuration::members).unwrap_or_default();
    let mut table = Table::new();
    let line = LineStyle::none().fill('─').junction('─');
    table.load_style(TableStyle::new().header_separator(line).bottom_border(line));
    let of_log = if progress.is_empty() { &[][..] } else { &["epoch", "behind others by"] };
    table.set_header(["process", "role", "configuration"].iter().chain(of_log));
    for (machine, standing) in standings {
        let epoch = decided(&standing).unwrap_or(0);
        let is = match standing {
            Ok(Standing::None) if is_agreed => {
                "without a place: begin the cluster; if it has begun, what this process had is lost".to_owned()
            }
            Ok(Standing::None) => "without a place: begin the cluster, or bring it back".to_owned(),
            Ok(Standing::Primary(_) | Standing::Coordinator(_)) if machine.partition().is_none() && is_agreed => {
                let what = if is_ordered { "sequencer" } else { "coordinator" };
                let is_newest = Some(epoch) == newest;
                format!("{what}, {}", if is_newest { "elected" } else { "replaced: it is cut off from the others" })
            }
            Ok(Standing::Primary(_)) if machine.partition().is_none() => "sequencer".to_owned(),
            Ok(Standing::Primary(_)) if is_agreed && is_ordered && config.replicas > 1 => "executes the log".to_owned(),
            Ok(Standing::Primary(_)) => "primary".to_owned(),
            Ok(Standing::Joining(_)) if is_agreed && is_ordered => {
                "joining: it takes the rows of another replica set".to_owned()
            }
            Ok(Standing::Backup(_)) if is_agreed && machine.partition().is_none() && !members.contains(&machine) => {
                "no member of the group: make it one with `members`".to_owned()
            }
            Ok(Standing::Backup(_)) if is_agreed && is_ordered => "member of the log's group".to_owned(),
            Ok(Standing::Backup(_)) if is_agreed && machine.partition().is_none() => {
                "coordinator that can be elected".to_owned()
            }
            Ok(Standing::Idle(_)) if is_agreed => "waits for its place, which a majority gives it".to_owned(),
            Ok(Standing::Backup(_)) if machine.partition().is_none() => "hot backup of the sequencer".to_owned(),
            Ok(Standing::Backup(_)) => "backup".to_owned(),
            Ok(Standing::Joining(_)) => "joining as a backup: it is sent what its primary has".to_owned(),
            Ok(Standing::Lost(_, why)) if is_agreed => format!("lost: {why}; it joins again by itself"),
            Ok(Standing::Lost(_, why)) => format!("lost: {why}; leave it out, restart it, bring it back"),
            Ok(Standing::Coordinator(_)) => "coordinator".to_owned(),
            Ok(Standing::Kept(..)) => "without a place; it has a journal: resume the cluster".to_owned(),
            Ok(Standing::Idle(_)) => "without a place: bring it back".to_owned(),
            Err(why) => format!("not reachable: {why}"),
        };
        let mut row = vec![machine.to_string(), is, if epoch == 0 { "none".to_owned() } else { epoch.to_string() }];
        if !progress.is_empty() {
            let epoch = progress.get(&machine);
            let told = |number: Option<u64>| number.map_or_else(|| "none".to_owned(), format::count);
            row.extend([
                told(epoch.copied()),
                told(epoch.and_then(|epoch| Some(furthest(machine)?.saturating_sub(*epoch)))),
            ]);
        }
        table.add_row(row);
    }
    table
}
