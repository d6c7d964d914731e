//! The types of the consensus library, as this crate uses them.

use std::fmt;
use std::sync::Arc;

use openraft_rt_sim::SimRuntime;
use serde::{Deserialize, Serialize};

/// A proposal: bytes that this crate does not interpret. Shared by the log, and the messages to each member.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Data(#[serde(with = "shared_bytes")] pub(crate) Arc<[u8]>);

mod shared_bytes {
    use std::sync::Arc;

    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &Arc<[u8]>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(bytes)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<[u8]>, D::Error> {
        serde_bytes::deserialize(deserializer).map(|bytes: Vec<u8>| Arc::from(bytes))
    }
}

impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl fmt::Display for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

openraft::declare_raft_types!(
    /// The library's parameters.
    pub(crate) Types:
        D = Data,
        R = (),
        NodeId = u64,
        Node = (),
        AsyncRuntime = SimRuntime,
);

pub(crate) type Entry = openraft::alias::EntryOf<Types>;
pub(crate) type LogId = openraft::alias::LogIdOf<Types>;
pub(crate) type Vote = openraft::alias::VoteOf<Types>;
pub(crate) type StoredMembership = openraft::alias::StoredMembershipOf<Types>;
pub(crate) type SnapshotMeta = openraft::alias::SnapshotMetaOf<Types>;
pub(crate) type Snapshot = openraft::alias::SnapshotOf<Types, Arc<[u8]>>;

/// A record that a driver writes to its disk. Records are restored from in the order of their numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// Counts from 1.
    pub number: u64,
    /// Its contents.
    pub record: Vec<u8>,
}

/// A decision, in the order of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decided {
    /// Something that a member has proposed, and its place in the log. Places grow, with gaps.
    Data(u64, Arc<[u8]>),
    /// A state that some member gave to [`Agreement::begin_base`](crate::Agreement::begin_base): it stands for
    /// everything before, which is not decided again.
    State(Arc<[u8]>),
}

/// The work of a driver.
#[derive(Debug, Default)]
pub struct Output {
    /// Messages to send, with their receivers. They may be lost, delayed or sent twice.
    pub messages: Vec<(u64, Vec<u8>)>,
    /// Records to write. When they are durable, [`Agreement::forced`](crate::Agreement::forced) is called.
    pub writes: Vec<Write>,
    /// Decisions.
    pub decided: Vec<Decided>,
}

/// The leader, as far as a member knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Leadership {
    /// The term, which grows with each election.
    pub term: u64,
    /// The leader of the term.
    pub leader: Option<u64>,
    /// Whether this member is the leader and has everything that was decided in earlier terms.
    pub is_ready: bool,
}
