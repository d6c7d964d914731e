//! A cluster's description as JSON, which every process reads.

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;

use anyhow::Context;
use glassbox::Catalog;
use glassbox::research::shard::Shard;
use glassbox_cluster::run::{Identity, Processes, Shape, force_directory_of};
use glassbox_cluster::{Address, OrderSettings, SchemeKind};
use glassbox_workloads::contention::{self, Contention};
use glassbox_workloads::micro::{self, Load, Micro};
use glassbox_workloads::tpcc::{self, Scale};
use serde::{Deserialize, Serialize};

/// A cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The cluster's number: frames of another one are refused.
    pub cluster: u64,
    /// The concurrency-control scheme.
    pub scheme: SchemeKind,
    pub partitions: u8,
    /// Of each partition, the primary included.
    pub replicas: u8,
    /// They take turns.
    #[serde(default = "one")]
    pub coordinators: u8,
    /// The injected round trip.
    pub round_trip_us: u64,
    /// How a sequencer orders inputs.
    #[serde(default)]
    pub order: OrderSettings,
    /// The rows and procedures.
    pub workload: Workload,
    /// The addresses of the processes: the coordinators, then partition by partition the primary and its backups.
    pub nodes: Vec<SocketAddr>,
    /// Whether its processes are those of one command on one machine, and end with it: then another such command may
    /// write this file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ends_with_command: bool,
}

/// Rows and procedures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Workload {
    /// TPC-C, loaded with a seed.
    Tpcc {
        /// The sizes of the database.
        scale: Scale,
        /// The seed of the initial rows.
        seed: u64,
    },
    /// The microbenchmark.
    Micro {
        /// Clients with rows of their own.
        clients: u32,
        /// Shares of its transactions.
        load: Load,
    },
    /// The microbenchmark of hot rows.
    Contention {
        /// Rows, and shares of its transactions.
        load: Contention,
    },
}

const fn one() -> u8 {
    1
}

impl Config {
    /// Two partitions without backups and a coordinator, without the addresses of their processes.
    pub fn of_two(scheme: SchemeKind, workload: Workload) -> anyhow::Result<Self> {
        let (cluster, order, nodes) = (Self::new_number()?, OrderSettings::new(), Vec::new());
        let (partitions, replicas, coordinators, round_trip_us) = (2, 1, 1, 0);
        Ok(Self {
            cluster,
            scheme,
            partitions,
            replicas,
            coordinators,
            round_trip_us,
            order,
            workload,
            nodes,
            ends_with_command: false,
        })
    }

    /// A number that no other cluster has.
    pub fn new_number() -> anyhow::Result<u64> {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_nanos() as u64;
        Ok(now ^ u64::from(std::process::id()) << 32)
    }

    /// What the cluster's processes must know of each other.
    pub fn processes(&self) -> Processes {
        let Self { cluster, scheme, partitions, replicas, coordinators, round_trip_us, order, .. } = *self;
        let nodes = self.nodes.clone();
        Processes { replicas, coordinators, round_trip_us, order, ..Processes::new(cluster, scheme, partitions, nodes) }
    }

    /// Whether the sequencer has a hot backup.
    pub const fn has_hot_backup(&self) -> bool {
        matches!(self.scheme, SchemeKind::Deterministic(_)) && self.coordinators > 1 && !self.order.by_clocks
    }

    /// Refuses an invalid description.
    pub fn check(&self) -> anyhow::Result<()> {
        self.processes().check().map_err(anyhow::Error::msg)?;
        match &self.workload {
            Workload::Tpcc { scale, .. } => scale.check()?,
            Workload::Contention { load } => load.check(self.partitions).map_err(anyhow::Error::msg)?,
            Workload::Micro { .. } => {}
        }
        Ok(())
    }

    /// The cluster as options of the command line, each with its value.
    pub fn options(&self) -> Vec<(&'static str, String)> {
        let mut options = vec![
            ("--partitions", self.partitions.to_string()),
            ("--replicas", self.replicas.to_string()),
            ("--coordinators", self.coordinators.to_string()),
            ("--by-clocks", self.order.by_clocks.to_string()),
            ("--members", self.order.members.to_string()),
            ("--log", if self.order.agreement.is_some() { "raft" } else { "local" }.to_owned()),
        ];
        // Shares are of one million.
        let percent = |share: u64| (share as f64 / 1e4).to_string();
        match &self.workload {
            Workload::Tpcc { scale: Scale { warehouses, items, customers, orders }, .. } => options.extend([
                ("workload", "tpcc".to_owned()),
                ("--warehouses", warehouses.to_string()),
                ("--small (items, customers, orders)", format!("({items}, {customers}, {orders})")),
            ]),
            Workload::Contention {
                load: Contention { rows, hot, several, participants, work_us, dependent, relists },
            } => {
                options.extend([
                    ("workload", "contention".to_owned()),
                    ("--rows", rows.to_string()),
                    ("--hot", hot.to_string()),
                    ("--several", percent(*several)),
                    ("--participants", participants.to_string()),
                    ("--work-us", work_us.to_string()),
                    ("--dependent", percent(*dependent)),
                    ("--relists", percent(*relists)),
                ]);
            }
            Workload::Micro { clients, load: Load { several, conflicts, aborts, two_rounds } } => {
                options.extend([
                    ("workload", "micro".to_owned()),
                    ("--several", percent(*several)),
                    ("--aborts", percent(*aborts)),
                    ("--conflicts", percent(*conflicts)),
                    ("--two-rounds", percent(*two_rounds)),
                    ("--clients", clients.to_string()),
                ]);
            }
        }
        options
    }

    /// The options in which another cluster differs: `option is value (asked for: value)`.
    pub fn differences(&self, asked: &Self) -> Vec<String> {
        let asked = asked.options();
        let of = |name: &str| asked.iter().find(|(other, _)| *other == name).map_or("none", |(_, value)| value);
        let differs = |(name, value): (&str, String)| {
            let asked = of(name);
            (asked != value).then(|| format!("{name} is {value} (asked for: {asked})"))
        };
        self.options().into_iter().filter_map(differs).collect()
    }

    pub fn shape(&self) -> Shape {
        self.processes().shape()
    }

    pub fn catalog(&self) -> Catalog {
        match self.workload {
            Workload::Tpcc { .. } => tpcc::distributed_catalog(),
            Workload::Micro { .. } => micro::catalog(),
            Workload::Contention { .. } => contention::catalog(),
        }
    }

    pub fn identity(&self, me: Address) -> Identity {
        self.processes().identity(me, &self.catalog())
    }

    /// Reads a description.
    pub fn read(file: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        serde_json::from_str(&text).with_context(|| format!("invalid cluster file {}", file.display()))
    }

    /// The parties that a party dials, and their addresses.
    pub fn calls(&self, me: Address) -> anyhow::Result<Vec<(Address, SocketAddr)>> {
        self.processes().calls(me).map_err(anyhow::Error::msg)
    }

    /// The address of a member.
    pub fn at(&self, address: Address) -> anyhow::Result<SocketAddr> {
        self.processes().at(address).map_err(anyhow::Error::msg)
    }

    /// Adds the initial rows of a partition.
    pub fn fill(&self, shard: &mut Shard) -> Result<(), String> {
        match &self.workload {
            Workload::Micro { clients, .. } => Micro::fill(shard, *clients, self.partitions),
            Workload::Contention { load } => load.fill(self.partitions, shard).map_err(|error| error.to_string())?,
            Workload::Tpcc { scale, seed } => tpcc::fill(scale, *seed, shard).map_err(|error| error.to_string())?,
        }
        Ok(())
    }
}

/// Writes the cluster's file.
pub fn save(config: &Config, file: &Path) -> anyhow::Result<()> {
    let context = || format!("cannot write {}", file.display());
    let text = serde_json::to_string_pretty(config)? + "\n";
    if let Some(parent) = file.parent() {
        std::fs::create_dir_all(parent).with_context(context)?;
    }
    // With half a file, or wrong addresses, the journals could not be resumed.
    let beside = file.with_extension("json.new");
    let written = std::fs::File::create(&beside).and_then(|mut new| {
        new.write_all(text.as_bytes())?;
        new.sync_all()
    });
    written.and_then(|()| std::fs::rename(&beside, file)).with_context(context)?;
    force_directory_of(file).with_context(context)
}
