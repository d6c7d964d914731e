//! The settings of a simulated run.

use glassbox_cluster::{Address, Configuration, MakeScheduler, OrderSettings, SchemeKind};
use glassbox_workloads::micro::Load;

use super::costs::Costs;
use super::link::Link;

/// A cluster, its load and its costs.
#[derive(Debug, Clone, Copy)]
pub struct Settings<W = Load> {
    /// The initial scheme.
    pub scheme: SchemeKind,
    /// Partitions, at least 2 for distributed transactions.
    pub partitions: u8,
    /// Replicas of each, the primary included.
    pub replicas: u8,
    /// Coordinators; each client uses one of them. Under a deterministic scheme, the sequencer and its hot backups, or
    /// sequencers.
    pub coordinators: u16,
    /// Clients in a closed loop.
    pub clients: u32,
    /// The clients' load.
    pub load: W,
    /// The costs of work.
    pub costs: Costs,
    /// The links.
    pub link: Link,
    /// Under locking and OCC, the timeout of a distributed transaction.
    pub patience_us: u64,
    /// The number of failures in the simulated time.
    pub incidents: u32,
    /// The number of stops of clients, or of their connections, in the simulated time.
    pub partings: u32,
    /// Whether replicas have journals.
    pub journals: bool,
    /// The number of power failures in the simulated time; only with journals.
    pub outages: u32,
    /// The number of changes of the scheme in the simulated time.
    pub switches: u32,
    /// The interval of a watcher whose proposals the operator follows; 0: none.
    pub advice_us: u64,
    /// The most by which a member's clock is ahead of another's; a restarted one has another clock.
    pub clock_skew_us: u64,
    /// How a sequencer orders inputs.
    pub order: OrderSettings,
    /// A bug to inject, which must be detected.
    pub bug: Option<Bug>,
    /// A scheduler with a planted fault, in place of the scheme's.
    pub scheduler: Option<MakeScheduler>,
    /// Whether messages of coordinators are handled before waiting ones of clients; otherwise all are handled in the
    /// order of arrival.
    pub coordinators_first: bool,
    /// The number of processors that all parties share, the clients being one thread; `None`: each has its own.
    pub processors: Option<u32>,
    /// Decides everything random.
    pub seed: u64,
}

/// A known bug: wrong messages, a journal that loses records, an operator that does not check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// A participant is told to abort a committed transaction.
    HalfCommit,
    /// A participant is told to commit an aborted transaction.
    HalfAbort,
    /// A backup does not receive an entry.
    ForgottenEntry,
    /// A backup does not receive a change of the scheme.
    MissedScheme,
    /// A primary counts on backups that do not receive its stream.
    FalseAck,
    /// A run gets the remote rows of its predecessor.
    StaleRows,
    /// A participant never receives a decision.
    LostDecision,
    /// A partition begins transactions of several coordinators in the order of arrival.
    Unordered,
    /// A coordinator does not learn that a client's session left transactions.
    MissedSessionEnd,
    /// A coordinator does not learn that results were withdrawn.
    MissedWithdrawal,
    /// A coordinator does not learn that its transaction is part of a deadlock.
    MissedDeadlock,
    /// A journal acknowledges entries that it has not forced.
    UnforcedAck,
    /// A partition is resumed from rows that a backup had before its present role.
    OldHeir,
    /// An executor receives the inputs of an epoch in another order.
    InputsReordered,
    /// A replica of another set does not execute an input.
    SkippedInput,
    /// A participant's vote against a transaction arrives as one for it.
    FalseVote,
    /// A participant's vote is lost.
    LostVote,
    /// The rows of another participant that arrive are those of an earlier transaction.
    StaleExchange,
    /// A sequencer says that it is later than its clock is.
    FalseClock,
    /// A member that agrees and has lost its memory votes again under its former number.
    OldIncarnation,
}

impl<W> Settings<W> {
    /// All members.
    pub(super) fn members(&self) -> Vec<Address> {
        let replicas = (0..self.partitions)
            .flat_map(|partition| (0..self.replicas).map(move |replica| Address::Replica { partition, replica }));
        (0..self.coordinators).map(Address::Coordinator).chain(replicas).collect()
    }

    /// Whether members always have something to do later.
    pub(super) const fn always_tick(&self) -> bool {
        self.order.by_clocks || self.order.agreement.is_some()
    }

    /// The initial configuration.
    pub(super) fn configuration(&self) -> Configuration {
        let first = Configuration::first(self.partitions, self.replicas, self.scheme);
        self.order.configuration(first, self.coordinators)
    }

    /// The paper's setting: two partitions without replicas, 40 clients, its costs.
    ///
    /// A message takes 60 µs, which makes a distributed transaction under blocking take 211 µs, the paper's *t_mp*: a
    /// fragment, 45; its result, 60; a message in and two out at the coordinator, 34, and 2 for their queueing; the
    /// decision, 60, and carrying it out, 10. The 40 µs that the paper measured are a `ping` there and back, which
    /// wakes no process.
    pub fn of_the_paper(scheme: SchemeKind, load: W, seed: u64) -> Self {
        Self {
            scheme,
            partitions: 2,
            replicas: 1,
            coordinators: 1,
            clients: 40,
            load,
            costs: Costs::of_the_paper(),
            link: Link::of(60_000),
            patience_us: 5_000,
            incidents: 0,
            partings: 0,
            journals: false,
            outages: 0,
            switches: 0,
            advice_us: 0,
            clock_skew_us: 0,
            order: OrderSettings::default(),
            bug: None,
            scheduler: None,
            coordinators_first: false,
            processors: None,
            seed,
        }
    }
}
