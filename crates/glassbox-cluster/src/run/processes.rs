//! A cluster of processes of one program: what each of them must know, a member's process, and a client's connection.
//!
//! A program has one catalog, and runs as any party of the cluster. `examples/accounts.rs` shows one.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use glassbox::Catalog;
use glassbox::research::shard::Shard;
use serde::{Deserialize, Serialize};

use super::client::Client;
use super::driver::drive;
use super::journal_writer::JournalWriter;
use super::node::Node;
use super::operator::{Operator, Recorder};
use super::shape::{Identity, Shape};
use super::sockets::Sockets;
use crate::node::role::MakeShard;
use crate::protocol::address::Address;
use crate::protocol::configuration::{Configuration, SchemeKind};
use crate::protocol::input::OrderSettings;

/// A cluster, as all of its processes must know it; a program keeps it in a file.
///
/// ```
/// use glassbox_cluster::run::Processes;
/// use glassbox_cluster::{SchedulerKind, SchemeKind};
///
/// let scheme = SchemeKind::Deterministic(SchedulerKind::Vll);
/// let nodes = ["10.0.0.1:7000", "10.0.0.2:7000", "10.0.0.3:7000"].map(|at| at.parse().unwrap());
/// let cluster = Processes::new(7, scheme, 2, nodes.into());
/// assert_eq!(cluster.check(), Ok(()));
/// assert!(Processes { nodes: Vec::new(), ..cluster }.check().unwrap_err().contains("need 3"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Processes {
    /// The cluster's number: frames of another one are refused.
    pub cluster: u64,
    /// The concurrency-control scheme.
    pub scheme: SchemeKind,
    /// Partitions, 1 to 64.
    pub partitions: u8,
    /// Replicas of each partition, the primary included.
    pub replicas: u8,
    /// Coordinators, 1 to 64; under a deterministic scheme, the sequencer and its hot backups, or several sequencers.
    pub coordinators: u8,
    /// The injected round trip.
    pub round_trip_us: u64,
    /// How a sequencer orders inputs.
    #[serde(default)]
    pub order: OrderSettings,
    /// The addresses of the processes: the coordinators, then partition by partition the primary and its backups.
    pub nodes: Vec<SocketAddr>,
}

impl Processes {
    /// A cluster with one replica of each partition, and one coordinator.
    pub const fn new(cluster: u64, scheme: SchemeKind, partitions: u8, nodes: Vec<SocketAddr>) -> Self {
        let order = OrderSettings::new();
        Self { cluster, scheme, partitions, replicas: 1, coordinators: 1, round_trip_us: 0, order, nodes }
    }

    /// Refuses an invalid description.
    ///
    /// # Errors
    /// The problem, and what to give instead.
    pub fn check(&self) -> Result<(), String> {
        let &Self { scheme, partitions, replicas, coordinators, .. } = self;
        let (given, wanted) = (self.nodes.len(), self.shape().machines().len());
        let refuse = |is_wrong: bool, why: String| if is_wrong { Err(why) } else { Ok(()) };
        refuse(!(1..=64).contains(&partitions), format!("`partitions` is {partitions}: give 1 to 64"))?;
        refuse(replicas == 0, "`replicas` is 0: give at least 1, the primary".to_owned())?;
        refuse(!(1..=64).contains(&coordinators), format!("`coordinators` is {coordinators}: give 1 to 64"))?;
        refuse(
            scheme.is_deterministic() && replicas != 1 && self.order.agreement.is_none(),
            format!(
                "`replicas` is {replicas}: under scheme `{scheme}` each replica executes the log by itself, which \
                 needs an agreed log; give --log raft (`order.agreement`), or --replicas 1"
            ),
        )?;
        let OrderSettings { epoch_us, max_lag_us, tick_us, .. } = self.order;
        refuse(
            epoch_us > 0 && !scheme.is_deterministic(),
            format!("`order.epoch_us` is {epoch_us}, and scheme `{scheme}` has no epochs; give 0"),
        )?;
        refuse(
            tick_us > 0 && (scheme.is_deterministic() || scheme.clients_coordinate()),
            format!("`order.tick_us` is {tick_us}, and scheme `{scheme}` has no coordinator that could wait; give 0"),
        )?;
        refuse(
            self.order.overlap && !scheme.announces(),
            format!(
                "`order.overlap` is true, and under scheme `{scheme}` no call can be sent before it is run; give false"
            ),
        )?;
        refuse(tick_us > 1_000_000, format!("`order.tick_us` is {tick_us}: give at most 1000000"))?;
        refuse(
            max_lag_us > 0 && !(scheme.is_deterministic() || matches!(scheme, SchemeKind::TwoPhase(_))),
            format!(
                "`order.max_lag_us` is {max_lag_us}, and scheme `{scheme}` refuses no call; give 0, or a deterministic \
                 or two-phase scheme"
            ),
        )?;
        self.shape().check()?;
        refuse(
            self.order.by_clocks && !scheme.is_deterministic(),
            format!("`order.by_clocks` is true, and scheme `{scheme}` has no input log; choose a deterministic scheme"),
        )?;
        let members = self.order.members;
        refuse(
            members > 0 && (self.order.agreement.is_none() || members > coordinators.into()),
            format!("`order.members` is {members}: give at most `coordinators`, with `order.agreement`; or 0 for all"),
        )?;
        self.order.agreement.map_or(Ok(()), |it| it.check()).map_err(|why| format!("`order.agreement`: {why}"))?;
        refuse(
            self.order.agreement.is_some() && self.order.by_clocks,
            "`order.agreement` and `order.by_clocks` are set: sequencers that order by clocks elect none; choose one \
             of the two"
                .to_owned(),
        )?;
        refuse(
            self.order.by_clocks && self.order.epoch_us != 0 && !(200..=1_000_000).contains(&self.order.epoch_us),
            format!(
                "`order.epoch_us` is {}: sequencers by clocks seal an epoch in every interval; give 200 to 1000000, or \
                 0 for 10000",
                self.order.epoch_us
            ),
        )?;
        refuse(
            given != wanted,
            format!(
                "`nodes` has {given} addresses, but {coordinators} coordinators and {partitions} x {replicas} replicas \
                 need {wanted}"
            ),
        )
    }

    /// The cluster's shape.
    pub fn shape(&self) -> Shape {
        let Self { scheme, partitions, replicas, coordinators, round_trip_us, order, .. } = *self;
        Shape::new(scheme, partitions)
            .with_replicas(replicas)
            .with_coordinators(coordinators)
            .with_round_trip(Duration::from_micros(round_trip_us))
            .with_order(order)
    }

    /// A party's identity in a program with this catalog.
    pub fn identity(&self, me: Address, catalog: &Catalog) -> Identity {
        Identity::new(me, self.cluster, catalog)
    }

    /// The member that listens on an address; `None`: none does.
    pub fn member_at(&self, at: SocketAddr) -> Option<Address> {
        let place = self.nodes.iter().position(|node| *node == at)?;
        self.shape().machines().get(place).copied()
    }

    /// The address on which a member listens.
    ///
    /// # Errors
    /// When it is no member.
    pub fn at(&self, member: Address) -> Result<SocketAddr, String> {
        let place = self.shape().machines().iter().position(|it| *it == member);
        let at = place.and_then(|place| self.nodes.get(place)).copied();
        at.ok_or_else(|| format!("{member} is no member of the cluster"))
    }

    /// The members that a party dials, and their addresses; the others dial it. A client dials all members.
    ///
    /// # Errors
    /// When `nodes` lacks one.
    pub fn calls(&self, me: Address) -> Result<Vec<(Address, SocketAddr)>, String> {
        let calls = |other: &Address| match (me, *other) {
            (Address::Client(_), _) | (Address::Coordinator(_), Address::Replica { .. }) => true,
            (Address::Coordinator(me), Address::Coordinator(other)) => other < me,
            (Address::Replica { partition: p, replica: r }, Address::Replica { partition, replica }) => {
                p == partition && replica < r || self.scheme.is_deterministic() && partition < p
            }
            _ => false,
        };
        let machines = self.shape().machines();
        machines.into_iter().filter(calls).map(|other| Ok((other, self.at(other)?))).collect()
    }

    /// Runs the member that listens here, until `ends` returns true. `rows` adds the initial rows of a partition to an
    /// empty shard; with `dir`, the member has a journal there, below its own name.
    ///
    /// # Errors
    /// When the description is invalid, no member listens here, the directory cannot be used, or the member has
    /// stopped.
    pub fn serve(
        &self,
        listener: TcpListener,
        dir: Option<&Path>,
        catalog: Catalog,
        rows: impl Fn(&mut Shard) -> Result<(), String> + Send + Sync + 'static,
        ends: impl FnMut() -> bool,
    ) -> Result<(), String> {
        self.check()?;
        let at = listener.local_addr().map_err(|error| error.to_string())?;
        let me = self.member_at(at).ok_or_else(|| format!("none of the cluster's `nodes` listens on {at}"))?;
        let told = |line: &str| eprintln!("{line}");
        let identity = self.identity(me, &catalog);
        let sockets = Sockets::new(identity, Some(listener), self.shape().round_trip, told);
        let mut sockets = sockets.map_err(|error| error.to_string())?;
        let (partition, count) = (usize::from(me.partition().unwrap_or(0)), usize::from(self.partitions));
        let catalog = Arc::new(catalog);
        let empty: MakeShard = {
            let catalog = Arc::clone(&catalog);
            let table_bytes = glassbox::Config::default().table_bytes;
            Arc::new(move || Shard::new(&catalog, partition, count, table_bytes).map_err(|error| error.to_string()))
        };
        let first: MakeShard = {
            let empty = Arc::clone(&empty);
            Arc::new(move || {
                let mut shard = empty()?;
                rows(&mut shard)?;
                Ok(shard)
            })
        };
        let mut node = Node::new(me, self.shape(), first, Arc::clone(&empty));
        if let (Some(dir), Some(name)) = (dir, self.journal_of(me)) {
            let directory = dir.join(name);
            std::fs::create_dir_all(dir).map_err(|error| format!("cannot make {}: {error}", dir.display()))?;
            let wake = sockets.waker().map_err(|error| error.to_string())?;
            let writer = JournalWriter::open(&directory, (me, self.cluster), &catalog, empty()?, wake);
            let writer = writer.map_err(|error| format!("cannot use {}: {error}", directory.display()))?;
            node = node.with_journal(writer).back_by_itself()?;
        }
        self.calls(me)?.into_iter().for_each(|(other, at)| sockets.call(other, at));
        drive(&mut node, &mut sockets, ends);
        node.close();
        node.failed().map_or(Ok(()), |why| Err(format!("{me} has stopped: {why}")))
    }

    /// The name of a member's journal; `None`: it has none.
    pub fn journal_of(&self, member: Address) -> Option<String> {
        match member {
            Address::Replica { partition, replica } => Some(format!("partition-{partition}-replica-{replica}")),
            // The input log.
            Address::Coordinator(number) if self.scheme.is_deterministic() => Some(format!("sequencer-{number}")),
            // What it has voted.
            Address::Coordinator(number) if self.order.agreement.is_some() => Some(format!("coordinator-{number}")),
            _ => None,
        }
    }

    /// Connects a client. Clients have different numbers: while a process has one, another process with the same one is
    /// refused. Members that are down are dialed again and again: only calls
    /// that need them wait.
    ///
    /// # Errors
    /// When another client has this number, or no member can be reached for this long.
    pub fn connect(&self, number: u32, catalog: Catalog, patience: Duration) -> Result<Client<Sockets>, String> {
        let (me, until) = (Address::Client(number), Instant::now() + patience);
        let told = |line: &str| eprintln!("{line}");
        let sockets = Sockets::new(self.identity(me, &catalog), None, self.shape().round_trip, told);
        let mut sockets = sockets.map_err(|error| error.to_string())?;
        sockets.call_in_order(self.calls(me)?, until)?;
        sockets.wait_for_some(until)?;
        Ok(Client::new(me, Arc::new(catalog), &self.shape(), sockets))
    }

    /// The operator. `newest` is the configuration that was recorded last, and `record` makes a new one durable.
    ///
    /// # Errors
    /// When there are no sockets.
    pub fn operator(
        &self,
        catalog: &Catalog,
        newest: Option<Configuration>,
        record: Recorder,
    ) -> Result<Operator<Sockets>, String> {
        Ok(Operator::new(self.connect_as(Address::OPERATOR, catalog)?, self.shape().machines(), newest, record))
    }

    /// An operator that can ask, and decides nothing: members take decisions from [`Address::OPERATOR`] only. An
    /// operator at work stays connected.
    ///
    /// # Errors
    /// When there are no sockets.
    pub(super) fn monitor(&self, catalog: &Catalog) -> Result<Operator<Sockets>, String> {
        // Drawn for each: threads and containers may have the same process number.
        let me = Address::monitor(RandomState::new().build_hasher().finish() as u16);
        let record: Recorder = Box::new(|_| Err("a monitor decides nothing".to_owned()));
        Ok(Operator::new(self.connect_as(me, catalog)?, self.shape().machines(), None, record))
    }

    /// Connections of a party that is not part of the cluster, without injected delays.
    fn connect_as(&self, me: Address, catalog: &Catalog) -> Result<Sockets, String> {
        let report = |line: &str| eprintln!("{line}");
        let identity = self.identity(me, catalog);
        let mut sockets = Sockets::new(identity, None, Duration::ZERO, report).map_err(|error| error.to_string())?;
        self.calls(me)?.into_iter().for_each(|(machine, at)| sockets.call(machine, at));
        Ok(sockets)
    }
}
