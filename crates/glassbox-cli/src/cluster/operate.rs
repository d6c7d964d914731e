//! Commands to a cluster that runs: who is who, and who it is from now on.

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
use glassbox_cluster::{Address, Configuration};

use super::arguments::SchemeOption;
use super::config::Config;
use super::{PATIENCE, auto};
use crate::{Verdict, interrupt};

/// How long another command may take to decide something.
const DECIDES_WITHIN: Duration = Duration::from_secs(15);

/// What is decided about a cluster.
#[derive(Subcommand)]
pub enum OperateOption {
    /// Tell who is who in a cluster, as each of its processes says
    Status(ClusterFile),
    /// Let a cluster begin whose processes have all been started (`glassbox node`)
    Begin(ClusterFile),
    /// Give all processes that were started anew their places; partitions without a primary go on from what journals
    /// have (`glassbox node --dir`)
    Resume {
        #[command(flatten)]
        cluster: ClusterFile,
        /// How long to wait for processes that are not there
        #[arg(long, value_name = "S", default_value = "30", value_parser = clap::value_parser!(u64).range(0..=86_400))]
        wait_s: u64,
    },
    /// Make a backup the primary of its partition, at any moment
    Promote {
        #[command(flatten)]
        cluster: ClusterFile,
        /// The partition
        partition: u8,
    },
    /// Let a partition's primary no longer wait for a backup
    LeaveOut {
        #[command(flatten)]
        cluster: ClusterFile,
        /// The partition
        partition: u8,
        /// The replica
        replica: u8,
    },
    /// Give a replica that was started anew, or lost its place, the place of a backup
    BringBack {
        #[command(flatten)]
        cluster: ClusterFile,
        /// The partition
        partition: u8,
        /// The replica
        replica: u8,
    },
    /// Have partitions do something else while they wait for others, from now on; `auto` watches the load and changes
    /// it as that suggests, until interrupted
    Scheme {
        #[command(flatten)]
        cluster: ClusterFile,
        /// What
        scheme: SchemeOption,
    },
    /// Give a coordinator that was started anew its place
    BeginCoordinator {
        #[command(flatten)]
        cluster: ClusterFile,
        /// Which, where there are several
        #[arg(default_value = "0")]
        coordinator: u16,
    },
}

/// Which cluster.
#[derive(Args)]
pub struct ClusterFile {
    /// The cluster, as JSON. What is decided is kept beside it, in FILE.decided
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
}

/// Where is kept what is decided about a cluster.
pub fn decided(config: &Path) -> PathBuf {
    let mut path = config.as_os_str().to_owned();
    path.push(".decided");
    path.into()
}

/// So that a file that is new there is found again when the power was gone.
pub fn force_directory_of(file: &Path) -> std::io::Result<()> {
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

/// What was decided about a cluster: a configuration on each line of a file, the newest last. Who holds it is alone.
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
            ensure!(Instant::now() < until, "{} is in use: another command decides; try again", path.display());
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut text = String::new();
        file.read_to_string(&mut text).with_context(context)?;
        // A last line without its end was told nobody.
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
        written.map_err(|error| format!("nothing was decided: cannot write {}: {error}", self.path.display()))
    }
}

/// An operator of a cluster, whose decisions are kept beside this file. Without one, only the members know of them: for
/// a cluster that ends with its one operator.
pub fn operator(config: &Config, file: Option<&Path>) -> anyhow::Result<Operator<Sockets>> {
    let told = |line: &str| eprintln!("{line}");
    // Nothing is held up: it is not a part of the cluster.
    let mut sockets = Sockets::new(config.identity(Address::OPERATOR), None, Duration::ZERO, told)?;
    let machines = config.shape().machines();
    config.calls(Address::OPERATOR)?.into_iter().for_each(|(machine, at)| sockets.call(machine, at));
    Ok(match file {
        Some(file) => {
            let (mut decided, newest) = Decided::open(file, &config.shape())?;
            Operator::new(sockets, machines, newest, Box::new(move |next| decided.record(next)))
        }
        None => Operator::new(sockets, machines, None, Box::new(|_| Ok(()))),
    })
}

impl OperateOption {
    const fn file(&self) -> &PathBuf {
        match self {
            Self::Status(cluster) | Self::Begin(cluster) | Self::BeginCoordinator { cluster, .. } => &cluster.config,
            Self::Promote { cluster, .. } | Self::LeaveOut { cluster, .. } => &cluster.config,
            Self::BringBack { cluster, .. } | Self::Resume { cluster, .. } | Self::Scheme { cluster, .. } => {
                &cluster.config
            }
        }
    }
}

/// Does what was asked for, and says what came of it.
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
            println!("{}", table(standings));
            return Ok(if gone { Verdict::Bad } else { Verdict::Good });
        }
        OperateOption::Begin(_) => operator.begin(config.shape().configuration(), PATIENCE),
        OperateOption::Resume { wait_s, .. } => {
            operator.wait_for_all(Duration::from_secs(wait_s));
            operator.resume()
        }
        OperateOption::Promote { partition, .. } => operator.promote(partition).map(|now| println!("{now} is primary")),
        OperateOption::LeaveOut { partition, replica, .. } => {
            operator.leave_out(Address::Replica { partition, replica })
        }
        OperateOption::BringBack { partition, replica, .. } => {
            operator.bring_back(Address::Replica { partition, replica })
        }
        OperateOption::Scheme { scheme, .. } => {
            operator.change_scheme(scheme.kind().context("`auto` is no scheme but whichever suits")?)
        }
        OperateOption::BeginCoordinator { coordinator, .. } => {
            operator.begin_coordinator(Address::Coordinator(coordinator))
        }
    }
    .map_err(anyhow::Error::msg)?;
    println!("configuration {}", operator.newest().map_err(anyhow::Error::msg)?.epoch);
    Ok(Verdict::Good)
}

/// Watches until interrupted.
fn watch(config: &Config, file: &Path) -> anyhow::Result<Verdict> {
    interrupt::listen()?;
    println!("watching; every change is told with the sums that led to it");
    auto::follow((config, Some(file)), None, &Mutex::new(()), interrupt::requested, |change| {
        println!("\nafter {:.1} s: {}\n{}", change.after.as_secs_f64(), change.to, change.advice);
    })?;
    Ok(Verdict::Good)
}

fn table(standings: glassbox_cluster::run::Standings) -> Table {
    let mut table = Table::new();
    let line = LineStyle::none().fill('─').junction('─');
    table.load_style(TableStyle::new().header_separator(line).bottom_border(line));
    table.set_header(["process", "is", "configuration"]);
    for (machine, standing) in standings {
        let epoch = standing.as_ref().ok().and_then(Standing::configuration).map_or(0, |known| known.epoch);
        let is = match standing {
            Ok(Standing::None) => "without a place: started, and not told to begin".to_owned(),
            Ok(Standing::Primary(_)) => "primary".to_owned(),
            Ok(Standing::Backup(_)) => "backup".to_owned(),
            Ok(Standing::Joining(_)) => "about to be a backup: it gets the rows".to_owned(),
            Ok(Standing::Lost(_, why)) => format!("lost: {why}; leave it out, start it anew, bring it back"),
            Ok(Standing::Coordinator(_)) => "coordinator".to_owned(),
            Ok(Standing::Kept(..)) => "without a place; its journal has rows: resume the cluster".to_owned(),
            Ok(Standing::Idle(_)) => "without a place: bring it back to give it one".to_owned(),
            Err(why) => format!("gone: {why}"),
        };
        table.add_row([machine.to_string(), is, if epoch == 0 { "none".to_owned() } else { epoch.to_string() }]);
    }
    table
}
