//! The library's own tests of log stores, also on a store that is restored from its records after every write.

use openraft::StorageError;
use openraft::async_runtime::AsyncRuntime;
use openraft::testing::log::{StoreBuilder, Suite};
use openraft_rt_sim::SimRuntime;

use super::*;
use crate::shared::TestDisk;

/// Builds empty stores, whose driver forces at once.
struct Stores {
    /// Whether a store crashes after every write.
    crashes: bool,
}

impl StoreBuilder<Types, LogStore, GivenState> for Stores {
    async fn build(&self) -> Result<((), LogStore, GivenState), StorageError<Types>> {
        let shared = Shared::default();
        shared.lock().disk = Some(TestDisk { crashes: self.crashes, records: Vec::new() });
        Ok(((), LogStore(shared.clone()), GivenState(Decisions(shared))))
    }
}

/// [`Decisions`] whose driver has given a state.
struct GivenState(Decisions);

impl RaftStateMachine<Types> for GivenState {
    type SnapshotData = Arc<[u8]>;
    type SnapshotBuilder = Decisions;

    async fn applied_state(&mut self) -> io::Result<(Option<LogId>, StoredMembership)> {
        self.0.applied_state().await
    }

    async fn apply<S>(&mut self, entries: S) -> io::Result<()>
    where
        S: Stream<Item = io::Result<EntryResponder<Types>>> + Unpin + OptionalSend,
    {
        self.0.apply(entries).await
    }

    async fn get_snapshot_builder(&mut self) -> Decisions {
        let mut inner = self.0.0.lock();
        let (last, members) = (inner.applied, inner.members.clone());
        inner.stored.state = Some(State { last, members, data: Arc::from(&b"a state"[..]) });
        drop(inner);
        self.0.clone()
    }

    async fn install_snapshot(&mut self, meta: &SnapshotMeta, data: Arc<[u8]>) -> io::Result<()> {
        self.0.install_snapshot(meta, data).await
    }

    async fn get_current_snapshot(&mut self) -> io::Result<Option<Snapshot>> {
        self.0.get_current_snapshot().await
    }
}

#[test]
fn the_store_passes_the_librarys_tests() {
    for crashes in [false, true] {
        let suite = Suite::<Types, LogStore, GivenState, Stores, ()>::test_all(Stores { crashes });
        SimRuntime::with_seed(0).block_on(suite).unwrap_or_else(|error| panic!("crashes: {crashes}: {error}"));
    }
}
