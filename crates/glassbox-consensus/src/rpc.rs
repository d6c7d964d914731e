//! Requests between members, their responses, and the library's network, which is made of them.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use openraft::async_runtime::{AsyncRuntime, Instant};
use openraft::entry::RaftEntry;
use openraft::errors::{RPCError, ReplicationClosed, StreamingError, Unreachable};
use openraft::network::{RPCOption, RaftNetworkFactory, RaftNetworkV2};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, TransferLeaderRequest, TransferLeaderResponse,
    VoteRequest, VoteResponse,
};
use openraft::{OptionalSend, Raft};
use openraft_rt_sim::{SimInstant, SimRuntime};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::shared::Shared;
use crate::store::Decisions;
use crate::types::{LogId, Snapshot, SnapshotMeta, StoredMembership, Types, Vote};

/// Bytes of a state in one request.
const PIECE_BYTES: usize = 256 << 10;
/// The maximum number of entries in one request. A member that has more to send to another one has its own work to do.
pub(crate) const MAX_ENTRIES: u64 = 32;
/// A member that others decide without gets what it lacks in one quarter of the time.
const CATCH_UP_SHARE: u32 = 4;
/// Bytes a second that the slowest disk forces.
const SLOW_DISK: f64 = 10e6;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Request {
    Append(AppendEntriesRequest<Types>),
    Vote(VoteRequest<Types>),
    PreVote(VoteRequest<Types>),
    Transfer(TransferLeaderRequest<Types>),
    /// A piece of a state, from this offset on.
    Piece {
        last: Option<LogId>,
        offset: u64,
        #[serde(with = "serde_bytes")]
        bytes: Vec<u8>,
    },
    /// All pieces of the state were sent.
    State {
        vote: Vote,
        last: Option<LogId>,
        members: StoredMembership,
        bytes: u64,
    },
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Response {
    Append(AppendEntriesResponse<Types>),
    Vote(VoteResponse<Types>),
    Transfer(TransferLeaderResponse<Types>),
    Piece,
    State(SnapshotResponse<Types>),
    /// The member cannot answer, or does not.
    Refused(String),
}

/// A message between two members.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Message {
    Request(u64, Request),
    Response(u64, Response),
}

impl Message {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("messages can be written")
    }
}

/// A state that arrives in pieces.
#[derive(Default)]
pub(crate) struct Arriving {
    of: Option<LogId>,
    bytes: Vec<u8>,
}

/// Answers a request of another member.
pub(crate) async fn answer(raft: &Raft<Types, Decisions>, shared: &Shared, request: Request) -> Response {
    let refused = |error: &dyn std::fmt::Display| Response::Refused(error.to_string());
    match request {
        Request::Append(request) => match raft.append_entries(request).await {
            Ok(response) => Response::Append(response),
            Err(error) => refused(&error),
        },
        Request::Vote(request) => match raft.vote(request).await {
            Ok(response) => Response::Vote(response),
            Err(error) => refused(&error),
        },
        Request::PreVote(request) => match raft.pre_vote(request).await {
            Ok(response) => Response::Vote(response),
            Err(error) => refused(&error),
        },
        Request::Transfer(request) => match raft.handle_transfer_leader(request).await {
            Ok(response) => Response::Transfer(response),
            Err(error) => refused(&error),
        },
        Request::Piece { last, offset, bytes } => {
            let arriving = &mut shared.lock().arriving;
            if offset == 0 {
                *arriving = Arriving { of: last, bytes: Vec::new() };
            }
            if arriving.of != last || arriving.bytes.len() as u64 != offset {
                return refused(&"a piece of the state before this one is missing");
            }
            arriving.bytes.extend(bytes);
            Response::Piece
        }
        Request::State { vote, last, members, bytes } => {
            let arrived = std::mem::take(&mut shared.lock().arriving);
            if arrived.of != last || arrived.bytes.len() as u64 != bytes {
                return refused(&"a piece of the state is missing");
            }
            let meta = SnapshotMeta { last_log_id: last, last_membership: members };
            let state = Snapshot { meta, snapshot: Arc::from(arrived.bytes) };
            match raft.install_full_snapshot(vote, state).await {
                Ok(response) => Response::State(response),
                Err(error) => refused(&error),
            }
        }
    }
}

/// Sends requests to one member.
pub(crate) struct Peer {
    shared: Shared,
    to: u64,
    /// How long it waits for a response that waits for the disk of the other member.
    patience: Duration,
}

/// A request that waits for its response; forgotten when no task waits any more.
struct Pending {
    shared: Shared,
    number: u64,
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.shared.lock().requests.remove(&self.number);
    }
}

impl Peer {
    /// The last entry of this member's log, and the last one that is decided.
    fn ends(&self) -> (u64, u64) {
        let inner = self.shared.lock();
        let index = |id: Option<LogId>| id.map_or(0, |id| id.index);
        (index(inner.stored.last()), index(inner.applied))
    }

    async fn ask(&self, request: Request, within: Duration) -> Result<Response, Unreachable<Types>> {
        let (sender, response) = oneshot::channel();
        let number = {
            let mut inner = self.shared.lock();
            inner.requested += 1;
            let number = inner.requested;
            inner.requests.insert(number, (self.to, sender));
            inner.messages.push((self.to, Message::Request(number, request).bytes()));
            number
        };
        let _pending = Pending { shared: self.shared.clone(), number };
        match SimRuntime::timeout(within, response).await {
            Ok(Ok(Response::Refused(why))) => Err(Unreachable::from_string(why)),
            Ok(Ok(response)) => Ok(response),
            Ok(Err(_)) | Err(_) => Err(Unreachable::from_string(format!("member {} does not answer", self.to))),
        }
    }
}

fn unexpected() -> Unreachable<Types> {
    Unreachable::from_string("the response is to another request")
}

impl RaftNetworkV2<Types> for Peer {
    type SnapshotData = Arc<[u8]>;

    async fn append_entries(
        &mut self,
        request: AppendEntriesRequest<Types>,
        option: RPCOption,
    ) -> Result<AppendEntriesResponse<Types>, RPCError<Types>> {
        let (sent, count) = (request.entries.last().map(RaftEntry::index), request.entries.len() as u64);
        let before = self.ends();
        let began = SimInstant::now();
        let response = self.ask(Request::Append(request), option.hard_ttl().max(self.patience)).await?;
        let (last, decided) = self.ends();
        let is_late = sent.is_some_and(|sent| last > sent + MAX_ENTRIES);
        // What this request has brought was decided by this member.
        let others_decide = decided > before.1.max(sent.unwrap_or_default()) || decided == last;
        // It gets at least twice what the log grows by.
        let comes_nearer = count >= 2 * u64::from(CATCH_UP_SHARE) * last.saturating_sub(before.0);
        if is_late && others_decide && comes_nearer {
            // Both have other work to do.
            SimRuntime::sleep(began.elapsed() * (CATCH_UP_SHARE - 1)).await;
        }
        match response {
            Response::Append(response) => Ok(response),
            _ => Err(unexpected().into()),
        }
    }

    async fn vote(
        &mut self,
        request: VoteRequest<Types>,
        option: RPCOption,
    ) -> Result<VoteResponse<Types>, RPCError<Types>> {
        match self.ask(Request::Vote(request), option.hard_ttl()).await? {
            Response::Vote(response) => Ok(response),
            _ => Err(unexpected().into()),
        }
    }

    async fn pre_vote(
        &mut self,
        request: VoteRequest<Types>,
        option: RPCOption,
    ) -> Result<VoteResponse<Types>, RPCError<Types>> {
        match self.ask(Request::PreVote(request), option.hard_ttl()).await? {
            Response::Vote(response) => Ok(response),
            _ => Err(unexpected().into()),
        }
    }

    async fn transfer_leader(
        &mut self,
        request: TransferLeaderRequest<Types>,
        option: RPCOption,
    ) -> Result<TransferLeaderResponse<Types>, RPCError<Types>> {
        match self.ask(Request::Transfer(request), option.hard_ttl()).await? {
            Response::Transfer(response) => Ok(response),
            _ => Err(unexpected().into()),
        }
    }

    async fn full_snapshot(
        &mut self,
        vote: Vote,
        state: Snapshot,
        _cancel: impl Future<Output = ReplicationClosed> + OptionalSend + 'static,
        option: RPCOption,
    ) -> Result<SnapshotResponse<Types>, StreamingError<Types>> {
        let (last, members) = (state.meta.last_log_id, state.meta.last_membership);
        let within = option.hard_ttl().max(10 * self.patience);
        let mut offset = 0;
        for piece in state.snapshot.chunks(PIECE_BYTES) {
            self.ask(Request::Piece { last, offset, bytes: piece.to_vec() }, within).await?;
            offset += piece.len() as u64;
        }
        // It has to get to the disk of the other member. One that has failed meanwhile is not waited for much longer.
        let on_disk = Duration::from_secs_f64(offset as f64 / SLOW_DISK);
        match self.ask(Request::State { vote, last, members, bytes: offset }, within + on_disk).await? {
            Response::State(response) => Ok(response),
            _ => Err(unexpected().into()),
        }
    }
}

/// Makes the connections to members.
pub(crate) struct Peers(pub(crate) Shared, pub(crate) Duration);

impl RaftNetworkFactory<Types> for Peers {
    type Network = Peer;

    async fn new_client(&mut self, to: u64, _: &()) -> Peer {
        Peer { shared: self.0.clone(), to, patience: self.1 }
    }
}
