//! The arguments of `glassbox-cluster`.

use std::path::{Path, PathBuf};

use anyhow::ensure;
use clap::{Args, Subcommand, ValueEnum};
use glassbox_cluster::{AgreementSettings, DeadlockRule, OrderSettings, SchedulerKind, SchemeKind};
use glassbox_program::options::Common;
use glassbox_workloads::contention::Contention;
use glassbox_workloads::micro::Load;

use super::config::{Config, Workload};
use super::node::NodeArguments;
use super::operate::OperateOption;

/// Run a cluster of processes on this machine, under load, and check it; or operate a running cluster
///
/// Each replica of each partition and each coordinator is a separate process (`glassbox-cluster node`); the clients are
/// threads of this one. Rows are kept by replicas, and with --dir on disk as well.
#[derive(Args)]
pub struct Arguments {
    /// Partitions
    #[arg(long, short, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u8).range(1..=64))]
    pub partitions: u8,
    /// Replicas of each partition, the primary included; under a deterministic scheme with --log raft, replica sets,
    /// each of which executes the log by itself [default: 2; 1 under a deterministic scheme]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=8))]
    pub replicas: Option<u8>,
    /// Coordinators of transactions on several partitions; they take turns, or elect one (--log raft). Under a
    /// deterministic scheme, the sequencer and its hot backups, or sequencers (--by-clocks)
    /// [default: 1; 3 with --log raft]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64))]
    pub coordinators: Option<u8>,
    /// Concurrency control of a partition while distributed transactions are undecided
    #[arg(long, value_enum, default_value = "speculation")]
    pub scheme: SchemeOption,
    /// Delay messages, so that a round trip takes this many microseconds longer
    #[arg(long, value_name = "N", default_value = "0", value_parser = clap::value_parser!(u64).range(0..=10_000_000))]
    pub rtt_us: u64,
    /// Deterministic schemes: seal an epoch of inputs after this many microseconds (in the paper 10,000), instead of
    /// when the log has the one before
    #[arg(long, value_name = "N", default_value = "0", value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub epoch_us: u32,
    /// Blocking and the speculative schemes: a coordinator collects what it has for partitions for this many
    /// microseconds, so that it leaves together: more transactions a second where the coordinator is the limit, and
    /// each of them is later
    #[arg(long, value_name = "N", default_value = "0", value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub tick_us: u32,
    /// Schemes with primaries and backups: send a call on one partition to backups, and to journals, before the primary
    /// runs it, where no other transaction is active [default: send it with its end]
    #[arg(long)]
    pub overlap: bool,
    /// Deterministic schemes: all --coordinators are sequencers, each for a part of the clients, and their clocks make
    /// one order of their epochs [default: one sequencer, and the others are its hot backups]
    #[arg(long)]
    pub by_clocks: bool,
    /// Who decides the configurations, and under deterministic schemes, when an epoch of the input log is decided
    #[arg(long, value_enum, default_value = "local", conflicts_with = "by_clocks")]
    pub log: InputLogOption,
    /// With --log raft: how many of the coordinators agree at the beginning; others with `cluster members`
    /// [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub members: Option<u16>,
    /// Deterministic and two-phase schemes: refuse a part of the calls on a partition that is later than this many
    /// microseconds
    /// [default: refuse none]
    #[arg(long, value_name = "N", default_value = "0", hide_default_value = true,
          value_parser = clap::value_parser!(u32).range(0..=60_000_000))]
    pub max_lag_us: u32,
    /// Failures while clients work, this many rounds: kill a backup, leave it out and bring it back; kill a primary,
    /// promote a backup and bring it back; kill a coordinator and start another; with --dir, kill all processes at once
    /// and resume them from their journals. Under a deterministic scheme, the same with the sequencer and its hot
    /// backups
    #[arg(long, value_name = "N", default_value = "0")]
    pub incidents: u32,
    /// Replica sets with --log raft: kill the processes of one host while clients work, start them again once the log
    /// has grown by this many MiB, and report how many calls are answered before, meanwhile, while it catches up, and
    /// after
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub away_mb: Option<u64>,
    /// Deterministic schemes: how fast a replica that lacks rows is sent them while others of its partition work, in
    /// megabytes a second; the log is sent at a quarter of this rate, but at least a third faster than it grows
    /// [default: 8]
    #[arg(long, value_name = "MB", default_value = "0", hide_default_value = true,
          value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub catch_up_mb_s: u32,
    /// Keep the rows on disk too: each replica has a journal in this directory, and answers wait for it. A cluster that
    /// is there already is resumed
    #[arg(long, value_name = "DIR", conflicts_with = "save")]
    pub dir: Option<PathBuf>,
    /// Write the cluster to this file, for `promote` and other commands in another terminal
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// The workload, or the command
    #[command(subcommand)]
    pub action: ActionOption,
}

/// The workload, or the command.
#[derive(Subcommand)]
pub enum ActionOption {
    /// A cluster that begins and ends with this command.
    #[command(flatten)]
    Run(WorkloadOption),
    /// A running cluster.
    #[command(flatten)]
    Operate(OperateOption),
    /// A process of a cluster.
    Node(NodeArguments),
}

/// When an epoch of the input log is decided.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum InputLogOption {
    /// An operator's commands; when the sequencer and all of its hot backups have it
    Local,
    /// A majority of --coordinators (Raft): they elect the sequencer or coordinator, promote backups, and what fails
    /// comes back, by itself
    Raft,
}

/// A scheme.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum SchemeOption {
    /// Other transactions wait
    Blocking,
    /// Other transactions run speculatively, and are undone if the distributed one aborts
    Speculation,
    /// As speculation, but no deeper than the observed aborts allow: a run that will more probably be undone than not
    /// waits
    LimitedSpeculation,
    /// As speculation, but results wait until what they depend on is decided
    LocalSpeculation,
    /// Transactions lock the rows that they touch
    Locking,
    /// As locking, with locks always
    ForcedLocking,
    /// Transactions are validated afterwards
    Occ,
    /// Two-phase locking with declared locks first; coordinator 0 finds deadlocks in a graph of all waits
    TwoPhase,
    /// As two-phase; deadlocks end by timeouts
    TwoPhaseTimeout,
    /// As two-phase; a transaction that would wait for an older one is restarted
    TwoPhaseWaitDie,
    /// As two-phase; a transaction that would wait is restarted
    TwoPhaseNoWait,
    /// As two-phase; all transactions acquire locks in one order, one partition after the other
    TwoPhaseSorted,
    /// Deterministic: inputs are ordered first, and each partition runs one at a time in that order
    Serial,
    /// Deterministic: transactions lock their rows in the order of the log, in a lock table
    DeterministicLocks,
    /// Deterministic: the same with two counters for each row
    Vll,
    /// Blocking, speculation (limited or not) or locking, as the load suggests; changed while the cluster runs
    Auto,
}

/// A workload.
#[derive(Subcommand)]
pub enum WorkloadOption {
    /// TPC-C, the full mix, and its consistency conditions
    Tpcc {
        /// Warehouses
        #[arg(long, short, value_name = "N", default_value = "2",
              value_parser = clap::value_parser!(u16).range(1..=1_000))]
        warehouses: u16,
        /// Clients and time
        #[command(flatten)]
        load: LoadOptions,
    },
    /// The microbenchmark of twelve small rows
    Micro {
        /// Transactions on two partitions, in percent
        #[arg(long, value_name = "PERCENT", default_value = "10",
              value_parser = clap::value_parser!(u64).range(0..=100))]
        several: u64,
        /// Transactions that abort, in percent
        #[arg(long, value_name = "PERCENT", default_value = "0",
              value_parser = clap::value_parser!(u64).range(0..=100))]
        aborts: u64,
        /// Transactions that touch a hot row, in percent: as in the paper, the first client stays on the first
        /// partition and the second on the second, and others write a row of each
        #[arg(long, value_name = "PERCENT", default_value = "0",
              value_parser = clap::value_parser!(u64).range(0..=100))]
        conflicts: u64,
        /// Of the transactions on two partitions, those that read on both before they write, in percent
        #[arg(long, value_name = "PERCENT", default_value = "0",
              value_parser = clap::value_parser!(u64).range(0..=100))]
        two_rounds: u64,
        /// Clients and time
        #[command(flatten)]
        load: LoadOptions,
    },
    /// The microbenchmark of hot rows: ten increments, of which one for each partition is of a hot row (VLDB 2014)
    Contention {
        /// Rows of each partition; in the paper a million
        #[arg(long, value_name = "N", default_value = "100000",
              value_parser = clap::value_parser!(u32).range(20..=100_000_000))]
        rows: u32,
        /// Hot rows of each partition: the contention index is one divided by their number
        #[arg(long, value_name = "N", default_value = "100", value_parser = clap::value_parser!(u32).range(1..))]
        hot: u32,
        /// Distributed transactions, in percent
        #[arg(long, value_name = "PERCENT", default_value = "10",
              value_parser = clap::value_parser!(u64).range(0..=100))]
        several: u64,
        /// The partitions of a distributed transaction
        #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u8).range(2..=4))]
        participants: u8,
        /// The time that each participant computes; in the paper's long transactions 150
        #[arg(long, value_name = "US", default_value = "0", value_parser = clap::value_parser!(u32).range(0..=100_000))]
        work_us: u32,
        /// Transactions whose keys depend on rows, in percent
        #[arg(long, value_name = "PERCENT", default_value = "0",
              value_parser = clap::value_parser!(u64).range(0..=100))]
        dependent: u64,
        /// Calls that change what dependent ones depend on, in percent
        #[arg(long, value_name = "PERCENT", default_value = "0",
              value_parser = clap::value_parser!(u64).range(0..=100))]
        relists: u64,
        /// Clients and time
        #[command(flatten)]
        load: LoadOptions,
    },
}

/// Clients and time.
#[derive(Args)]
pub struct LoadOptions {
    /// Clients; each waits for its answer before it calls again
    #[arg(long, short, value_name = "N", default_value = "8", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub clients: u32,
    /// How long to run
    #[arg(long, short, value_name = "S", default_value = "10", value_parser = seconds)]
    pub seconds: f64,
    /// Options of all measurements
    #[command(flatten)]
    pub common: Common,
}

impl SchemeOption {
    /// The scheme's kind; `None`: to be found.
    pub const fn kind(self) -> Option<SchemeKind> {
        match self {
            Self::Blocking => Some(SchemeKind::Blocking),
            Self::Speculation => Some(SchemeKind::Speculation),
            Self::LimitedSpeculation => Some(SchemeKind::LimitedSpeculation),
            Self::LocalSpeculation => Some(SchemeKind::LocalSpeculation),
            Self::Locking => Some(SchemeKind::Locking),
            Self::ForcedLocking => Some(SchemeKind::ForcedLocking),
            Self::Occ => Some(SchemeKind::Occ),
            Self::TwoPhase => Some(SchemeKind::TwoPhase(DeadlockRule::Graph)),
            Self::TwoPhaseTimeout => Some(SchemeKind::TwoPhase(DeadlockRule::Timeout)),
            Self::TwoPhaseWaitDie => Some(SchemeKind::TwoPhase(DeadlockRule::WaitDie)),
            Self::TwoPhaseNoWait => Some(SchemeKind::TwoPhase(DeadlockRule::NoWait)),
            Self::TwoPhaseSorted => Some(SchemeKind::TwoPhase(DeadlockRule::Sorted)),
            Self::Serial => Some(SchemeKind::Deterministic(SchedulerKind::Serial)),
            Self::DeterministicLocks => Some(SchemeKind::Deterministic(SchedulerKind::OrderedLocks)),
            Self::Vll => Some(SchemeKind::Deterministic(SchedulerKind::Vll)),
            Self::Auto => None,
        }
    }

    /// The name on the command line.
    pub fn name(self) -> String {
        self.to_possible_value().expect("every scheme can be chosen").get_name().to_owned()
    }
}

impl WorkloadOption {
    /// Clients and time.
    pub const fn load(&self) -> &LoadOptions {
        match self {
            Self::Tpcc { load, .. } | Self::Micro { load, .. } | Self::Contention { load, .. } => load,
        }
    }

    /// The file for machine-readable results.
    pub fn json(&self) -> Option<&Path> {
        self.load().common.json.as_deref()
    }

    fn workload(&self) -> Workload {
        match self {
            Self::Tpcc { warehouses, load } => Workload::Tpcc { scale: load.common.scale(*warehouses), seed: 0 },
            &Self::Contention { rows, hot, several, participants, work_us, dependent, relists, .. } => {
                let (several, dependent, relists) = (several * 10_000, dependent * 10_000, relists * 10_000);
                let load = Contention { rows, hot, several, participants, work_us, dependent, relists };
                Workload::Contention { load }
            }
            Self::Micro { several, aborts, conflicts, two_rounds, load } => {
                let [several, aborts, conflicts, two_rounds] =
                    [several, aborts, conflicts, two_rounds].map(|percent| percent * 10_000);
                let clients = load.clients;
                Workload::Micro { clients, load: Load { several, conflicts, aborts, two_rounds } }
            }
        }
    }
}

impl Arguments {
    /// Whether inputs are ordered first.
    pub fn is_deterministic(&self) -> bool {
        self.scheme.kind().is_some_and(SchemeKind::is_deterministic)
    }

    /// Replicas of each partition.
    pub fn replicas(&self) -> u8 {
        self.replicas.unwrap_or(if self.is_deterministic() { 1 } else { 2 })
    }

    /// Whether a majority decides the log.
    pub const fn is_agreed(&self) -> bool {
        matches!(self.log, InputLogOption::Raft)
    }

    /// Coordinators.
    pub fn coordinators(&self) -> u8 {
        self.coordinators.unwrap_or(if self.is_agreed() { 3 } else { 1 })
    }

    /// Whether partitions, or the sequencer, have backups.
    pub fn has_backups(&self) -> bool {
        self.replicas() > 1 || self.is_deterministic() && self.coordinators() > 1 && !self.by_clocks
    }

    /// The cluster's file, for commands that operate it.
    pub fn file(&self) -> Option<PathBuf> {
        self.dir.as_ref().map(|dir| dir.join("cluster.json")).or_else(|| self.save.clone())
    }

    /// The cluster that is in the directory already, if it is the one that was asked for.
    pub fn existing(&self, workload: &WorkloadOption) -> anyhow::Result<Option<Config>> {
        let Some(file) = self.dir.as_ref().and(self.file()).filter(|file| file.exists()) else { return Ok(None) };
        let (found, wanted) = (Config::read(&file)?, self.config(workload)?);
        let asked = Config { cluster: found.cluster, scheme: found.scheme, nodes: found.nodes.clone(), ..wanted };
        // Other settings of the order may be others than before.
        let OrderSettings { by_clocks, agreement, members, .. } = self.order();
        let members = if members == 0 { found.order.members } else { members };
        let agreement = agreement.map(|times| found.order.agreement.unwrap_or(times));
        let order = OrderSettings { by_clocks, agreement, members, ..found.order };
        let asked = Config { round_trip_us: found.round_trip_us, order, ..asked };
        ensure!(
            asked == found,
            "cluster in {} is another than asked for: {}; ask for that one, or choose another directory",
            file.display(),
            found.differences(&asked).join(", ")
        );
        let order = OrderSettings { agreement, members, ..self.order() };
        Ok(Some(Config { round_trip_us: self.rtt_us, order, ..found }))
    }

    fn order(&self) -> OrderSettings {
        let &Self { epoch_us, tick_us, overlap, max_lag_us, by_clocks, members, catch_up_mb_s, .. } = self;
        let (agreement, members) = (self.is_agreed().then(AgreementSettings::default), members.unwrap_or(0));
        let order = OrderSettings { epoch_us, tick_us, overlap, max_lag_us, ..OrderSettings::new() };
        OrderSettings { by_clocks, catch_up_mb_s, agreement, members, ..order }
    }

    /// The cluster, without the addresses of its processes.
    pub fn config(&self, workload: &WorkloadOption) -> anyhow::Result<Config> {
        Ok(Config {
            cluster: Config::new_number()?,
            scheme: self.scheme.kind().unwrap_or(SchemeKind::Speculation),
            partitions: self.partitions,
            replicas: self.replicas(),
            coordinators: self.coordinators(),
            round_trip_us: self.rtt_us,
            order: self.order(),
            workload: workload.workload(),
            nodes: Vec::new(),
            ends_with_command: self.dir.is_none() && self.save.is_some(),
        })
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.1..=86_400.0).contains(seconds));
    seconds.ok_or_else(|| "give a number of seconds from 0.1 to 86400, such as 10".to_owned())
}
