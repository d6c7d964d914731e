//! What a simulated run is like.

use glassbox_cluster::{Address, Configuration, SchemeKind};

use super::costs::Costs;
use super::link::Link;

/// A cluster, its load and its costs.
#[derive(Debug, Clone, Copy)]
pub struct Settings<W = Load> {
    /// What partitions do while they wait for others, at first.
    pub scheme: SchemeKind,
    /// Partitions, at least 2 for transactions on several.
    pub partitions: u8,
    /// Replicas of each, the primary included.
    pub replicas: u8,
    /// Coordinators; each client has one of them.
    pub coordinators: u16,
    /// Clients, each of which waits for its answer before it calls again.
    pub clients: u32,
    /// What the clients do.
    pub load: W,
    /// What work costs.
    pub costs: Costs,
    /// What links are like.
    pub link: Link,
    /// Under locking and occ, how long a transaction waits for its partitions before it is tried again.
    pub patience_us: u64,
    /// How many times something fails, in the time that is simulated.
    pub incidents: u32,
    /// How many times a client stops and another is started, or one of its connections breaks, in the time that is
    /// simulated.
    pub partings: u32,
    /// Whether replicas have journals on disks.
    pub journals: bool,
    /// How many times the power goes and comes back, in the time that is simulated: only with journals.
    pub outages: u32,
    /// How many times the operator has the partitions use another scheme, in the time that is simulated.
    pub switches: u32,
    /// How often somebody looks whether another scheme suits the load, and the operator follows; 0: never.
    pub advice_us: u64,
    /// Something that is done wrong, to see that it is noticed.
    pub bug: Option<Bug>,
    /// Whether messages of coordinators go before those of clients that wait to be handled; otherwise all are handled
    /// in the order of their arrival.
    pub coordinators_first: bool,
    /// How many processors all parties share, the clients being one thread; `None`: each has its own.
    pub processors: Option<u32>,
    /// Decides everything that is random.
    pub seed: u64,
}

/// A known bug: messages that a member would never send, a journal that does not keep what it should, an operator that
/// does not look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// A partition is told to abort what is committed.
    HalfCommit,
    /// A partition is told to commit what is aborted.
    HalfAbort,
    /// A backup is not told of a run.
    ForgottenEntry,
    /// A backup is not told that the scheme is another.
    UnheardScheme,
    /// A primary counts on backups that do not get what it sends.
    FalseHeld,
    /// A run gets the rows that were found for the one before.
    StaleRows,
    /// A partition never hears a decision.
    LostDecision,
    /// A partition begins transactions of several coordinators as they arrive.
    Unordered,
    /// A coordinator is not told that a client has left something.
    UnheardEnd,
    /// A coordinator is not told that results do not count any more.
    UnheardWithdrawal,
    /// A journal says that it holds what it has not forced.
    UnforcedHeld,
    /// A partition is resumed from rows that its backup had before it was one as it is now.
    OldHeir,
}

/// The microbenchmark's load; shares are of one million.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Load {
    /// Transactions on two partitions.
    pub several: u64,
    /// Transactions that touch a row that is written all the time.
    pub conflicts: u64,
    /// Transactions that abort, on one partition.
    pub aborts: u64,
    /// Of those on two partitions, how many take two rounds.
    pub two_rounds: u64,
}

/// All, in the unit of [`Load`].
pub const ALL: u64 = 1_000_000;

impl<W> Settings<W> {
    /// Everybody but the clients.
    pub(super) fn members(&self) -> Vec<Address> {
        let replicas = (0..self.partitions)
            .flat_map(|partition| (0..self.replicas).map(move |replica| Address::Replica { partition, replica }));
        (0..self.coordinators).map(Address::Coordinator).chain(replicas).collect()
    }

    /// Who is who at first.
    pub(super) fn configuration(&self) -> Configuration {
        Configuration::first(self.partitions, self.replicas, self.scheme).with_coordinators(self.coordinators)
    }

    /// The paper's: two partitions without replicas, 40 clients, its costs.
    ///
    /// A message takes 60 µs, which makes a transaction of two partitions under blocking take 211 µs, the paper's
    /// *t_mp*: a fragment, 45; its result, 60; a message in and two out at the coordinator, 34, and 2 for what they
    /// wait for others; the decision, 60, and carrying it out, 10. The 40 µs that the paper measured are a `ping` there
    /// and back, which no process has to be woken for.
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
            bug: None,
            coordinators_first: false,
            processors: None,
            seed,
        }
    }
}
