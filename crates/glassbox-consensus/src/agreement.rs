//! One member of the group that agrees on a log.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use openraft::async_runtime::watch::WatchReceiver;
use openraft::async_runtime::{AsyncRuntime, Instant};
use openraft::impls::ProgressResponder;
use openraft::vote::RaftLeaderId;
use openraft::{ChangeMembers, Config, Raft, ServerState, SnapshotPolicy};
use openraft_rt_sim::{SimInstant, SimRuntime};
use serde::{Deserialize, Serialize};

use crate::rpc::{MAX_ENTRIES, Message, Peers, Request, answer};
use crate::shared::Shared;
use crate::store::{Decisions, LogStore};
use crate::stored::{Change, State, Stored};
use crate::types::{Data, Types};
use crate::{Leadership, Output};

/// The times of a group, and how much of the log it keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The interval of a leader's heartbeats, in milliseconds; 30 by default.
    pub heartbeat_ms: u32,
    /// The least silence of the leader, in milliseconds, after which a member wants to be elected; 150 by default. Each
    /// draws its own time between this one and twice as much.
    pub election_ms: u32,
    /// Entries before a base that stay in the log for members that are a little behind, if they are not too large;
    /// 1,000 by default.
    pub kept_entries: u32,
}

impl Settings {
    /// Refuses times that make no sense.
    ///
    /// # Errors
    /// The problem.
    pub fn check(&self) -> Result<(), String> {
        let Self { heartbeat_ms, election_ms, .. } = *self;
        if heartbeat_ms == 0 || election_ms / 2 < heartbeat_ms || election_ms > 60_000 {
            return Err(format!(
                "`heartbeat_ms` is {heartbeat_ms} and `election_ms` is {election_ms}: give at least 1, and at least \
                 twice as much, up to 60000"
            ));
        }
        Ok(())
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self { heartbeat_ms: 30, election_ms: 150, kept_entries: 1_000 }
    }
}

/// How many entries a new member may lack when it becomes one.
const MAX_BEHIND: u64 = 64;

/// A member.
pub struct Agreement {
    me: u64,
    settings: Settings,
    runtime: SimRuntime,
    /// The origin of the library's clock.
    started: SimInstant,
    raft: Raft<Types, Decisions>,
    shared: Shared,
    /// What to do at the next poll.
    proposals: Vec<Arc<[u8]>>,
    commands: Vec<Command>,
}

/// What a driver asks of the library.
enum Command {
    /// Another set of members.
    Members {
        members: BTreeSet<u64>,
        /// Those that are new.
        new: Vec<u64>,
        /// Those that get the log and are to be no members.
        others: BTreeSet<u64>,
    },
    Transfer(u64),
    Purge(u64),
    TakeState,
}

impl std::fmt::Debug for Agreement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agreement")
            .field("me", &self.me)
            .field("leadership", &self.leadership())
            .finish_non_exhaustive()
    }
}

impl Agreement {
    /// A member with the records that it wrote before, or without any. It first decides the state of its base, if it
    /// has one. `seed`: of the random times; different members have different ones.
    /// `life`: greater than in earlier lives of the member, if it wrote anything in them.
    ///
    /// # Errors
    /// When the records are damaged, or the settings make no sense.
    pub fn new<'a>(
        me: u64,
        settings: Settings,
        seed: u64,
        life: u64,
        records: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Self, String> {
        let mut runtime = SimRuntime::with_seed(seed);
        let shared = Shared::default();
        settings.check()?;
        {
            let mut inner = shared.lock();
            inner.stored = Stored::restore(records)?;
            // A response to an earlier life must not pass for one to this life.
            inner.requested = life << 24;
        }
        let patience = Duration::from_millis(10 * u64::from(settings.heartbeat_ms));
        let (log, decisions, peers) =
            (LogStore(shared.clone()), Decisions(shared.clone()), Peers(shared.clone(), patience));
        let config = Self::config(settings)?;
        let (raft, started) = runtime.block_on(async {
            let raft = Raft::new(me, config, peers, log, decisions).await;
            if let Ok(raft) = &raft {
                watch_over(raft, &shared);
            }
            (raft, SimInstant::now())
        });
        let raft = raft.map_err(|error| format!("Raft cannot start: {error}"))?;
        let (proposals, commands) = (Vec::new(), Vec::new());
        Ok(Self { me, settings, runtime, started, raft, shared, proposals, commands })
    }

    fn config(settings: Settings) -> Result<Arc<Config>, String> {
        let election_ms = u64::from(settings.election_ms);
        let config = Config {
            cluster_name: "glassbox".to_owned(),
            heartbeat_interval: settings.heartbeat_ms.into(),
            election_timeout_min: election_ms,
            election_timeout_max: 2 * election_ms,
            enable_pre_vote: Some(true),
            // A leader sends entries before its own disk has them. Restarted without them in the same term, it would
            // give their places to others.
            enable_leader_restore: Some(false),
            snapshot_policy: SnapshotPolicy::Never,
            // The driver says what is purged, when its base is durable.
            max_in_snapshot_log_to_keep: u64::MAX,
            purge_batch_size: 1,
            max_payload_entries: MAX_ENTRIES,
            // Before that a new member does not count: a group of one would wait for it.
            replication_lag_threshold: MAX_BEHIND,
            ..Config::default()
        };
        config.validate().map(Arc::new).map_err(|error| format!("invalid times of Raft: {error}"))
    }

    /// Begins a group of these members; to be called at one or all of them, once, with the same members.
    pub fn begin(&mut self, members: &[u64]) {
        let members: BTreeSet<u64> = members.iter().copied().collect();
        let raft = self.raft.clone();
        self.runtime.block_on(async {
            SimRuntime::spawn(async move { raft.initialize(members).await });
        });
    }

    /// Proposes something. Only a leader's proposals are decided, in the order in which it made them; others, and those
    /// of a leader that is replaced, may be [lost](Self::lost), also some before others that are decided.
    pub fn propose(&mut self, data: Arc<[u8]>) {
        self.proposals.push(data);
    }

    /// How many proposals were refused, or may never be decided.
    pub fn lost(&self) -> u64 {
        self.shared.lock().lost
    }

    /// Receives a message of another member. A message that makes no sense is ignored.
    pub fn receive(&mut self, from: u64, message: &[u8]) {
        let mut inner = self.shared.lock();
        match postcard::from_bytes(message) {
            Ok(Message::Request(number, request)) => inner.asked.push_back((from, number, request)),
            Ok(Message::Response(number, response)) => {
                if inner.requests.get(&number).is_some_and(|(to, _)| *to == from)
                    && let Some((_, waiting)) = inner.requests.remove(&number)
                {
                    // The task may be gone.
                    let _ = waiting.send(response);
                }
            }
            Err(_) => {}
        }
    }

    /// Everything up to this write is durable.
    pub fn forced(&mut self, number: u64) {
        self.shared.lock().forced(number);
    }

    /// The next members. A member that is new first gets the log. Ignored while another change is under way; if that
    /// does not end, for 30 heartbeats. To be repeated until they are the [members](Self::members). `waiting`: others
    /// that keep what they got of the log, because a later change may make them members.
    pub fn change_members(&mut self, members: &[u64], waiting: &[u64]) {
        let mut inner = self.shared.lock();
        if std::mem::replace(&mut inner.is_changing, true) {
            return;
        }
        let known: BTreeSet<u64> = inner.members.voter_ids().collect();
        let members: BTreeSet<u64> = members.iter().copied().collect();
        let new = members.difference(&known).copied().collect();
        // Former additions that did not become members.
        let nodes = inner.members.nodes().map(|(member, ())| *member);
        let others = nodes.filter(|it| !known.contains(it) && !members.contains(it) && !waiting.contains(it)).collect();
        self.commands.push(Command::Members { members, new, others });
    }

    /// The members as of the last decision; during a change, those that it ends with.
    pub fn members(&self) -> Vec<u64> {
        let inner = self.shared.lock();
        let last = inner.members.membership().get_joint_config().last();
        last.into_iter().flatten().copied().collect()
    }

    /// The sets of members of each of which a majority has to agree, as of the last decision: two during a change.
    pub fn quorums(&self) -> Vec<Vec<u64>> {
        let inner = self.shared.lock();
        let sets = inner.members.membership().get_joint_config().iter();
        sets.map(|set| set.iter().copied().collect()).collect()
    }

    /// Whether no change of the members is half done. A leader ends one that its predecessor, or it, has begun.
    pub fn is_settled(&mut self) -> bool {
        let is_joint = self.shared.lock().members.membership().get_joint_config().len() > 1;
        if is_joint && self.leadership().is_ready {
            self.change_members(&self.members(), &[]);
        }
        !is_joint
    }

    /// Has another member lead.
    pub fn transfer_to(&mut self, member: u64) {
        self.commands.push(Command::Transfer(member));
    }

    /// The records that restore the member as it is.
    pub fn records(&self) -> Vec<Vec<u8>> {
        encoded(&self.shared.lock().stored.changes(None))
    }

    /// Begins a base: `state` stands for everything that was decided so far, all of which the driver has taken. The
    /// records that restore the member, if they replace those before. `None`: not now, because a newer state of another
    /// member is on its way to the disk.
    pub fn begin_base(&mut self, state: Arc<[u8]>) -> Option<Vec<Vec<u8>>> {
        let mut inner = self.shared.lock();
        if inner.stored.state.as_ref().is_some_and(|state| state.last > inner.applied) {
            return None;
        }
        inner.stored.state = Some(State { last: inner.applied, members: inner.members.clone(), data: state });
        let kept_after = inner.stored.kept_after(self.settings.kept_entries);
        // The library takes it when it has time: it may be waiting for the disk.
        self.commands.push(Command::TakeState);
        Some(encoded(&inner.stored.changes(kept_after)))
    }

    /// The base is durable: the log before it is not needed any more.
    pub fn base_is_durable(&mut self) {
        let upto = self.shared.lock().stored.kept_after(self.settings.kept_entries);
        self.commands.extend(upto.map(|upto| Command::Purge(upto.index)));
    }

    /// Why it has stopped.
    pub fn failed(&self) -> Option<String> {
        // Asked at every step of a driver.
        if !self.shared.lock().is_gone {
            return None;
        }
        let reported = self.raft.metrics().borrow_watched().running_state.as_ref().err().map(ToString::to_string);
        Some(reported.unwrap_or_else(|| "Raft has stopped".to_owned()))
    }

    /// Who leads.
    pub fn leadership(&self) -> Leadership {
        let metrics = self.raft.server_metrics();
        let metrics = metrics.borrow_watched();
        let (term, leader) = (metrics.vote.leader_id().term, metrics.current_leader);
        let applied = self.shared.lock().applied;
        let is_ready = metrics.state == ServerState::Leader
            && leader == Some(self.me)
            && applied.is_some_and(|last| last.leader_id == metrics.vote.leader_id().to_committed());
        Leadership { term, leader, is_ready }
    }

    /// When the driver has to poll again, at the latest, after it has polled.
    pub fn poll_every(&self) -> Duration {
        Duration::from_millis(self.settings.heartbeat_ms.into()) / 6
    }

    /// Does everything that is due at a time, which never goes back. `now`: since the member was made.
    pub fn poll(&mut self, now: Duration, out: &mut Output) {
        let (raft, shared) = (&self.raft, &self.shared);
        let due = self.started + now;
        let (proposals, commands) = (self.proposals.drain(..), self.commands.drain(..));
        let asked: Vec<_> = shared.lock().asked.drain(..).collect();
        self.runtime.block_on(async {
            for (from, number, request) in asked {
                serve(raft, shared, from, number, request);
            }
            for data in proposals {
                propose(raft, shared, data).await;
            }
            let patience = Duration::from_millis(self.settings.heartbeat_ms.into()) * 30;
            commands.for_each(|command| carry_out(raft, shared, patience, command));
            // Timers fire only when nothing is runnable: first those before this time, then those of it.
            SimRuntime::sleep_until(due).await;
            settle().await;
        });
        let mut inner = self.shared.lock();
        out.messages.append(&mut inner.messages);
        out.writes.append(&mut inner.writes);
        out.decided.append(&mut inner.decided);
    }
}

/// Notes when the library's task ends, also by a panic.
fn watch_over(raft: &Raft<Types, Decisions>, shared: &Shared) {
    let (mut metrics, shared) = (raft.server_metrics(), shared.clone());
    SimRuntime::spawn(async move {
        while metrics.changed().await.is_ok() {}
        shared.lock().is_gone = true;
    });
}

fn encoded(changes: &[Change]) -> Vec<Vec<u8>> {
    changes.iter().map(|change| postcard::to_allocvec(change).expect("changes can be written")).collect()
}

/// Lets all tasks run until each waits for something.
async fn settle() {
    SimRuntime::sleep(Duration::from_nanos(1)).await;
}

/// Answers a request in a task of its own: it may wait for the disk.
fn serve(raft: &Raft<Types, Decisions>, shared: &Shared, from: u64, number: u64, request: Request) {
    let (raft, shared) = (raft.clone(), shared.clone());
    SimRuntime::spawn(async move {
        let response = answer(&raft, &shared, request).await;
        shared.lock().messages.push((from, Message::Response(number, response).bytes()));
    });
}

/// Proposes to the library, and notes in a task of its own whether it was in vain.
async fn propose(raft: &Raft<Types, Decisions>, shared: &Shared, data: Arc<[u8]>) {
    let (responder, ended) = ProgressResponder::complete_only();
    let sent = raft.write(Data(data)).responder(responder).await;
    let shared = shared.clone();
    SimRuntime::spawn(async move {
        if sent.is_err() || !matches!(ended.await, Ok(Ok(_))) {
            shared.lock().lost += 1;
        }
    });
}

fn carry_out(raft: &Raft<Types, Decisions>, shared: &Shared, patience: Duration, command: Command) {
    let (raft, shared) = (raft.clone(), shared.clone());
    // The driver sees in the membership, the leadership and the log whether it was carried out, and may repeat it.
    SimRuntime::spawn(async move {
        match command {
            Command::Members { members, new, others } => {
                let change = async {
                    // The library changes one thing at a time.
                    if !others.is_empty() {
                        raft.change_membership(ChangeMembers::RemoveNodes(others), false).await?;
                    }
                    for member in new {
                        raft.add_learner(member, (), true).await?;
                    }
                    raft.change_membership(ChangeMembers::ReplaceAllVoters(members), false).await
                };
                _ = SimRuntime::timeout(patience, change).await;
                shared.lock().is_changing = false;
            }
            Command::Transfer(member) => _ = raft.trigger().transfer_leader(member).await,
            Command::Purge(upto) => _ = raft.trigger().purge_log(upto).await,
            Command::TakeState => _ = raft.trigger().snapshot().await,
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The library stops when it is to take a state and there is none.
    #[test]
    fn a_failure_of_the_library_is_noticed() {
        let mut alone = Agreement::new(0, Settings::default(), 1, 1, []).unwrap();
        alone.begin(&[0]);
        let mut out = Output::default();
        for ms in 1..600 {
            alone.poll(Duration::from_millis(ms), &mut out);
            out.writes.last().iter().for_each(|last| alone.forced(last.number));
        }
        assert!(alone.leadership().is_ready && alone.failed().is_none());
        alone.commands.push(Command::TakeState);
        (600..610).for_each(|ms| alone.poll(Duration::from_millis(ms), &mut out));
        assert!(alone.failed().is_some_and(|why| why.contains("no state")), "{:?}", alone.failed());
    }
}
