//! The types of the consensus library, as this crate uses them.

use std::fmt;
use std::sync::Arc;

use openraft_rt_sim::SimRuntime;
use serde::{Deserialize, Serialize};

/// What is agreed on: bytes that this crate does not interpret. Shared by the log, and the messages to each member.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Data(#[serde(with = "shared_bytes")] pub(crate) Arc<[u8]>);

mod shared_bytes {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &Arc<[u8]>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(bytes)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<[u8]>, D::Error> {
        Vec::<u8>::deserialize(deserializer).map(Arc::from)
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
