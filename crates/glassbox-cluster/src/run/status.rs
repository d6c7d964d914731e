//! The status of a cluster: the role of each process, in words.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use super::operator::Standings;
use super::processes::Processes;
use crate::protocol::address::Address;
use crate::protocol::configuration::Configuration;
use crate::wire::Standing;

/// The state of one process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProcessStatus {
    /// The name of the process.
    pub process: String,
    /// The role, or the reason for having none.
    pub role: String,
    /// Whether it has answered.
    pub answers: bool,
    /// The last configuration that it knows.
    pub configuration: Option<u64>,
    /// Under a deterministic scheme, the last epoch that it has executed, or that its log has.
    pub epoch: Option<u64>,
    /// The epochs by which another process of its group is ahead.
    pub lag: Option<u64>,
}

/// The state of all processes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Status {
    /// The processes, coordinators first.
    pub processes: Vec<ProcessStatus>,
}

/// Properties of the cluster that decide how a role is called.
struct Naming {
    is_agreed: bool,
    is_ordered: bool,
    has_sets: bool,
    /// The newest configuration that a process knows.
    newest: Option<u64>,
    /// The members of the group that agrees.
    members: BTreeSet<Address>,
    /// The last epoch of the input log.
    log_end: Option<u64>,
}

impl Status {
    /// The status of these processes. `progress`: under a deterministic scheme, their epochs.
    pub fn new(cluster: &Processes, standings: Standings, progress: &BTreeMap<Address, u64>) -> Self {
        let known = || standings.values().flatten().filter_map(Standing::configuration);
        let newest = known().max_by_key(|known| known.epoch);
        let naming = Naming {
            is_agreed: cluster.order.agreement.is_some(),
            is_ordered: cluster.scheme.is_deterministic(),
            has_sets: cluster.replicas > 1,
            newest: newest.map(|it| it.epoch),
            members: newest.map(Configuration::members).unwrap_or_default(),
            log_end: progress.iter().filter(|(it, _)| it.partition().is_none()).map(|(_, epoch)| *epoch).max(),
        };
        // A partition without inputs in the last epochs has no lag.
        let furthest =
            |who: Address| progress.iter().filter(|(it, _)| it.group() == who.group()).map(|(_, epoch)| *epoch).max();
        let of_process = |(machine, standing): (Address, Result<Standing, String>)| {
            let epoch = progress.get(&machine).copied();
            ProcessStatus {
                process: machine.to_string(),
                answers: standing.is_ok(),
                configuration: standing.as_ref().ok().and_then(|it| it.configuration()).map(|it| it.epoch),
                epoch,
                lag: epoch.and_then(|epoch| Some(furthest(machine)?.saturating_sub(epoch))),
                role: naming.role(machine, standing, epoch),
            }
        };
        Self { processes: standings.into_iter().map(of_process).collect() }
    }

    /// Whether all processes have answered.
    pub fn all_answer(&self) -> bool {
        self.processes.iter().all(|it| it.answers)
    }

    /// The status as JSON.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("texts and numbers can be written")
    }
}

impl Naming {
    fn role(&self, machine: Address, standing: Result<Standing, String>, epoch: Option<u64>) -> String {
        let standing = match standing {
            Ok(standing) => standing,
            Err(why) => return format!("not reachable: {why}"),
        };
        let known = standing.configuration().map(|it| it.epoch);
        let is_member = machine.partition().is_none();
        let text = match standing {
            Standing::None if self.is_agreed && !is_member && !self.has_sets => {
                "without a place: begin the cluster; if it has begun, and this is not its directory, the rows are lost"
            }
            Standing::None if self.is_agreed => {
                "without a place: begin the cluster; if it has begun, it takes what it needs from the others"
            }
            Standing::None => "without a place: begin the cluster, or bring it back",
            Standing::Primary(_) | Standing::Coordinator(_) if is_member && self.is_agreed => {
                let role = if self.is_ordered { "sequencer" } else { "coordinator" };
                let is_newest = known == self.newest;
                return format!(
                    "{role}, {}",
                    if is_newest { "elected" } else { "replaced: it is cut off from the others" }
                );
            }
            Standing::Primary(_) if is_member => "sequencer",
            Standing::Primary(_) if self.is_agreed && self.is_ordered && self.has_sets => "executes the log",
            Standing::Primary(_) => "primary",
            Standing::CatchesUp(_) => {
                let lag = self.log_end.map(|end| end.saturating_sub(epoch.unwrap_or(0)));
                return lag.map_or_else(|| "catches up".to_owned(), |lag| format!("catches up: {lag} epochs"));
            }
            Standing::Joining(_) if self.is_agreed && self.is_ordered => {
                "joining: it takes the rows of another replica set"
            }
            Standing::Backup(_) if self.is_agreed && is_member && !self.members.contains(&machine) => {
                "no member of the group: make it one with `members`"
            }
            Standing::Backup(_) if self.is_agreed && self.is_ordered => "member of the log's group",
            Standing::Backup(_) if self.is_agreed && is_member => "coordinator that can be elected",
            Standing::Idle(_) if self.is_agreed => "waits for its place, which a majority gives it",
            Standing::Backup(_) if is_member => "hot backup of the sequencer",
            Standing::Backup(_) => "backup",
            Standing::Joining(_) => "joining as a backup: it is sent what its primary has",
            Standing::Lost(_, why) if self.is_agreed && self.is_ordered => return format!("stopped: {why}"),
            Standing::Lost(_, why) if self.is_agreed => return format!("lost: {why}; it joins again by itself"),
            Standing::Lost(_, why) => return format!("lost: {why}; leave it out, restart it, bring it back"),
            Standing::Coordinator(_) => "coordinator",
            Standing::Kept(..) => "without a place; it has a journal: resume the cluster",
            Standing::Idle(_) => "without a place: bring it back",
        };
        text.to_owned()
    }
}

/// A table, for a terminal.
impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_ordered = self.processes.iter().any(|it| it.epoch.is_some());
        let number = |it: Option<u64>| it.map_or_else(|| "none".to_owned(), |it| it.to_string());
        let mut rows = vec![["process", "role", "configuration", "epoch", "lag"].map(str::to_owned)];
        rows.extend(self.processes.iter().map(|it| {
            [it.process.clone(), it.role.clone(), number(it.configuration), number(it.epoch), number(it.lag)]
        }));
        let columns = if is_ordered { 5 } else { 3 };
        let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
        for (number, row) in rows.iter().enumerate() {
            let cells = (0..columns).map(|at| format!("{:width$}", row[at], width = width(at)));
            let line = cells.collect::<Vec<_>>().join("  ");
            if number > 0 {
                f.write_str("\n")?;
            }
            f.write_str(line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::configuration::{SchedulerKind, SchemeKind};

    /// Case 40: a replica that has yet to execute inputs is not called one that executes the log, and an unreachable
    /// process has the reason in its row.
    #[test]
    fn a_replica_that_lags_catches_up_and_an_unreachable_process_has_the_reason() {
        let scheme = SchemeKind::Deterministic(SchedulerKind::Vll);
        let cluster = Processes::new(1, scheme, 2, Vec::new());
        let configuration = cluster.shape().configuration();
        let replica = |partition| Address::Replica { partition, replica: 0 };
        let standings = Standings::from([
            (Address::Coordinator(0), Ok(Standing::Primary(configuration.clone()))),
            (replica(0), Ok(Standing::CatchesUp(configuration))),
            (replica(1), Err("partition 1 replica 0: Connection refused".to_owned())),
        ]);
        let progress = BTreeMap::from([(Address::Coordinator(0), 300), (replica(0), 100)]);
        let status = Status::new(&cluster, standings, &progress);
        let roles: Vec<_> = status.processes.iter().map(|it| &it.role[..]).collect();
        let refused = "not reachable: partition 1 replica 0: Connection refused";
        assert_eq!(roles, ["sequencer", "catches up: 200 epochs", refused]);
        assert!(!status.all_answer() && status.to_string().lines().count() == 4, "{status}");
        assert!(status.json().contains("\"role\": \"catches up: 200 epochs\""), "{}", status.json());
    }
}
