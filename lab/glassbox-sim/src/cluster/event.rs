//! Events of a world, and messages on their way.

use glassbox_cluster::{Address, Group, Packet, SchemeKind};

/// An event at a point of virtual time.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    Arrives {
        number: u64,
    },
    Ready {
        at: Address,
        life: u64,
    },
    LosePatience,
    /// A client's pause is over.
    CallAgain {
        client: u32,
    },
    /// A member does what is due.
    Tick {
        at: Address,
        life: u64,
    },
    Advise,
    /// A replica's journal was forced.
    Forced {
        at: Address,
        life: u64,
        upto: usize,
    },
    /// The base of a replica's journal is complete.
    Based {
        at: Address,
        life: u64,
    },
    Fault(Fault),
}

/// A message in flight.
pub(super) struct Flying {
    pub(super) from: Address,
    pub(super) to: Address,
    /// A connection belongs to one incarnation of a party, and ends with it.
    pub(super) life: u64,
    /// `None`: the end of a broken connection.
    pub(super) packet: Option<Packet>,
    /// Whether others follow it in the same batch.
    pub(super) more: bool,
}

/// An event that happens at its time, if it is possible then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    /// A backup stops, and loses its memory.
    KillBackup(Group),
    /// A primary, or the sequencer, stops.
    KillPrimary(Group),
    /// The sequencer stops, whichever member it is.
    KillSequencer,
    /// A coordinator stops.
    KillCoordinator(u16),
    /// The operator leaves stopped backups out, and promotes one if the group has no primary.
    Repair(Group),
    /// The operator replaces a running primary, which learns of it later.
    Replace(Group),
    /// The operator restarts stopped or deposed members as backups.
    Return(Group),
    /// The operator restarts a stopped coordinator.
    RestartCoordinator(u16),
    /// Nothing gets through from one member to another for this many microseconds.
    Cut(Address, Address, u64),
    /// The operator changes the scheme.
    Switch(SchemeKind),
    /// Nothing gets to or from the sequencer for this many microseconds, from or to other members.
    Isolate(u64),
    /// A member's work takes this many times as long.
    Slow(Address, u64),
    /// A client stops, and loses its memory.
    KillClient(u32),
    /// A successor of a stopped client is started.
    StartClient(u32),
    /// The connection of a client and a member breaks; both keep running.
    Break(u32, Address),
    /// It is made again.
    Mend(u32, Address),
    /// A member of a cluster with journals stops.
    Kill(Address),
    /// The coordinators of these bits agree from then on, among those that there are.
    ChangeMembers(u64),
    /// Another member leads the group that agrees.
    Transfer(u16),
    /// All replicas with this number stop.
    KillSet(u8),
    /// All members stop at once.
    Power,
    /// The operator restarts all stopped members from their journals.
    Resume,
}
