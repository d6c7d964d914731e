//! The operator: decides the configurations of a cluster, on a user's command.
//!
//! A configuration's epoch must never be used twice. So there is one operator at a time. It records each configuration
//! before it sends it to a member, and begins from the newest one that was recorded or that a member knows. If it fails
//! midway, the members that have the configuration send it to the others. Under an agreement the group decides, and the
//! operator proposes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::link::{Link, ask_all};
use super::sockets::Sockets;
use crate::protocol::address::{Address, Group};
use crate::protocol::configuration::{Configuration, Replicas, SchemeKind};
use crate::protocol::message::GroupChange;
use crate::wire::{Answer, Question, Standing};

/// How long a running process may take to answer. A process that loads rows is silent for longer, and is waited for.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);
/// How long a group that agrees may take for a change of its members: those that are new are sent the log.
const AGREES_WITHIN: Duration = Duration::from_secs(60);
/// How long a process is dialed before it counts as failed.
const CALLED_FOR: Duration = Duration::from_secs(1);

/// The state that each process reports, or why it does not.
pub type Standings = BTreeMap<Address, Result<Standing, String>>;

/// Makes a configuration durable before any member receives it.
pub type Recorder = Box<dyn FnMut(&Configuration) -> Result<(), String>>;

/// Decides the configurations of a cluster.
pub struct Operator<L: Link> {
    link: L,
    machines: Vec<Address>,
    newest: Option<Configuration>,
    /// The configuration that was recorded last when it began.
    recorded: Option<Configuration>,
    record: Recorder,
}

impl Operator<Sockets> {
    /// Waits until all processes can be reached, for at most this long; whether they can.
    pub fn wait_for_all(&mut self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        let Self { machines, link, .. } = self;
        machines.iter().all(|&machine| link.wait_for(machine, until).is_ok())
    }

    /// Waits until a process that was just started can be reached, for at most this long; whether it can.
    pub fn wait_for(&mut self, machine: Address, patience: Duration) -> bool {
        self.machines.contains(&machine) && self.link.wait_for(machine, Instant::now() + patience).is_ok()
    }

    /// Begins a new cluster. `patience`: for the processes to start, and then to make the initial rows.
    ///
    /// # Errors
    /// When a process has a place already, does not run, or cannot make its rows.
    pub fn begin(&mut self, first: Configuration, patience: Duration) -> Result<(), String> {
        let until = Instant::now() + patience;
        for machine in self.machines.clone() {
            self.link.wait_for(machine, until)?;
        }
        for (machine, standing) in self.standings() {
            if standing? != Standing::None {
                return Err(format!("{machine} has begun already; begin a cluster once, with new processes"));
            }
        }
        if let Some(newest) = &self.newest {
            return Err(format!("the cluster has begun already: it is in configuration {}", newest.epoch));
        }
        self.decide(first.clone())?;
        // A process begins before those that send to it: without a place it would ignore most messages.
        let is_backup = |it: &Address| first.backup_since(*it).is_some();
        let is_primary = |it: &Address| matches!(it, Address::Replica { .. }) && !is_backup(it);
        let is_replica = |it: &Address| it.partition().is_some();
        let follows = |it: &Address| is_backup(it) && is_replica(it);
        // Those that agree may elect one as soon as a majority has begun.
        let agrees = |it: &Address| is_backup(it) && !is_replica(it);
        let coordinates = |it: &Address| !is_backup(it) && !is_replica(it);
        for some in [&follows as &dyn Fn(&Address) -> bool, &is_primary, &agrees, &coordinates] {
            let some: Vec<_> = self.machines.clone().into_iter().filter(some).collect();
            let left = until.saturating_duration_since(Instant::now());
            let begun = self.ask_all(&some, &Question::Begin(first.clone()), left);
            begun.into_values().try_for_each(|standing| standing.map(drop))?;
        }
        Ok(())
    }
}

/// The member that becomes the primary of its group, if the group has none.
fn heir(newest: &Configuration, group: Group, standings: &Standings) -> Result<Option<Address>, String> {
    let standing = |it: Address| standings.get(&it).and_then(|standing| standing.as_ref().ok());
    let replicas @ Replicas { primary, backups, .. } = newest.group(group).ok_or("a group of another cluster")?;
    if let Some(Standing::Primary(known) | Standing::CatchesUp(known)) = standing(*primary)
        && known.group(group).is_some_and(|known| known.since == replicas.since)
    {
        return Ok(None);
    }
    let lives = |it: &&(Address, u64)| has_rows(replicas, it, standings);
    if let Some((backup, _)) = backups.iter().find(lives) {
        return Err(format!("{backup} runs and has {}; promote a backup of {group} first", group.state()));
    }
    let kept = |it: Address| match standing(it) {
        Some(Standing::Kept(_, since)) => Some(*since),
        _ => None,
    };
    replicas.heir(kept).map(Some).ok_or_else(|| {
        let begun = if newest.epoch > 1 { "" } else { "; if the cluster has never begun, remove its directories" };
        format!(
            "no running process has {} of {primary}; start it, or one of its backups, with its directory{begun}",
            group.state()
        )
    })
}

/// Whether a backup runs and has what this primary has.
fn has_rows(replicas: &Replicas, &(backup, since): &(Address, u64), standings: &Standings) -> bool {
    let standing = standings.get(&backup);
    matches!(standing, Some(Ok(Standing::Backup(known))) if known.epoch >= since.max(replicas.since))
}

fn unknown(group: Group) -> String {
    match group {
        Group::Partition(_) => format!("unknown {group}"),
        Group::Sequencer => {
            "the cluster has no sequencer with hot backups; one that orders by its clock is restarted, then resume"
                .to_owned()
        }
    }
}

impl<L: Link> Operator<L> {
    /// An operator of these processes, which are connected or dialed. `newest` is the configuration that was recorded
    /// last.
    pub fn new(link: L, machines: Vec<Address>, newest: Option<Configuration>, record: Recorder) -> Self {
        Self { link, machines, recorded: newest.clone(), newest, record }
    }

    /// The state that each process reports.
    pub fn standings(&mut self) -> Standings {
        self.link.find_reachable(Instant::now() + CALLED_FOR);
        let standings = self.ask_all(&self.machines.clone(), &Question::Standing, ANSWERS_WITHIN);
        let known = standings.values().flatten().filter_map(Standing::configuration).chain(&self.newest);
        self.newest = known.max_by_key(|known| known.epoch).cloned();
        standings
    }

    /// Under a deterministic scheme, the last epoch of the input log that each partition has executed, and that each
    /// log has, of the processes that answer.
    pub fn progress(&mut self) -> BTreeMap<Address, u64> {
        self.asked_for_progress().into_iter().filter_map(|(who, (epoch, _))| Some((who, epoch?))).collect()
    }

    /// How many bytes of records, without those of bases, each process that answers has written into its journal since
    /// it was started.
    pub fn written(&mut self) -> BTreeMap<Address, u64> {
        self.asked_for_progress().into_iter().map(|(who, (_, bytes))| (who, bytes)).collect()
    }

    fn asked_for_progress(&mut self) -> BTreeMap<Address, (Option<u64>, u64)> {
        let questions = self.machines.iter().map(|&it| (it, Question::Progress)).collect::<Vec<_>>();
        let answers = ask_all(&mut self.link, questions, Instant::now() + ANSWERS_WITHIN);
        let progress = answers.into_iter().filter_map(|(who, answer)| match answer {
            Ok(Answer::Progress(epoch, bytes)) => Some((who, (epoch, bytes))),
            _ => None,
        });
        progress.collect()
    }

    /// Gives all restarted processes their places; partitions and the sequencer continue from journals.
    ///
    /// # Errors
    /// When a group has no member with rows or log, a coordinator does not run, no process was restarted, or earlier
    /// decisions were not recorded.
    pub fn resume(&mut self) -> Result<(), String> {
        if self.newest.as_ref().is_some_and(|newest| newest.agreement.is_some()) {
            self.begin_agreeing()?;
            return self.is_complete();
        }
        if self.recorded.is_none() {
            return Err("no decision about the cluster is recorded: the running processes may not know of the \
                        last promotion; restore the .decided file"
                .to_owned());
        }
        let standings = self.standings();
        let newest = self.newest()?.clone();
        let is_new = |it: &Address| matches!(standings.get(it), Some(Ok(Standing::None | Standing::Kept(..))));
        let primaries = newest.groups().filter_map(|it| heir(&newest, it, &standings).transpose());
        let primaries = primaries.collect::<Result<Vec<_>, String>>()?;
        let is_gone = |it: &Address| standings.get(it).is_none_or(Result::is_err);
        let machines = self.machines.clone();
        let is_coordinator = |it: &Address| matches!(it, Address::Coordinator(_)) && newest.sequencer.is_none();
        if let Some(gone) = machines.iter().find(|it| is_coordinator(it) && is_gone(it)) {
            return Err(format!("{gone} does not run; start its process first"));
        }
        let others: Vec<_> = machines.iter().copied().filter(|it| is_new(it) && !primaries.contains(it)).collect();
        if primaries.is_empty() && others.is_empty() {
            return Err("every running process has a place".to_owned());
        }
        // Backups of other partitions are waited for, or removed by a command of their own.
        let resumed = |it: &Address| primaries.iter().any(|primary| primary.group() == it.group());
        let gone: Vec<_> = machines.into_iter().filter(|it| is_gone(it) && resumed(it)).collect();
        let next = newest.resume(&primaries, &others, &gone);
        self.decide(next.clone())?;
        // A primary begins before the backups that join it, and partitions before coordinators that ask for reports.
        let (coordinators, replicas) = others.into_iter().partition(is_coordinator);
        for some in [primaries, replicas, coordinators] {
            let begun = self.ask_all(&some, &Question::Begin(next.clone()), ANSWERS_WITHIN);
            begun.into_values().try_for_each(|standing| standing.map(drop))?;
        }
        let all = self.machines.clone();
        self.ask_all(&all, &Question::Configure(next), ANSWERS_WITHIN);
        Ok(())
    }

    /// In a cluster that has begun to agree since it was stopped: begins the group, and has restarted processes ask it
    /// for their places.
    fn begin_agreeing(&mut self) -> Result<(), String> {
        let Some(first) = self.recorded.clone().filter(|it| it.epoch > 1 && it.agreement.is_some()) else {
            return Ok(());
        };
        let standings = self.standings();
        let known = standings.values().flatten().filter_map(Standing::configuration);
        let agreed = known.filter(|it| it.agreement.is_some()).map(|it| it.epoch).max();
        let waits = |it: &Address| matches!(standings.get(it), Some(Ok(it)) if is_kept(it));
        // A coordinator has no journal before, unless it is a sequencer. Once the group has begun, one that has nothing
        // has lost its directory.
        let leader = first.coordinator_of(Address::OPERATOR);
        // One that was begun, and ended before its journal said so, begins again: then the others know no configuration
        // but the first one.
        let is_begun = agreed.is_some_and(|epoch| epoch > first.epoch || !waits(&leader));
        if !is_begun && self.machines.iter().any(waits) {
            // One that does not answer may know of a group that has begun: another one would lose its decisions.
            if let Some((silent, Err(why))) = standings.iter().find(|(_, standing)| standing.is_err()) {
                return Err(format!("{silent} does not run ({why}); start all processes of the cluster first"));
            }
            match standings.get(&leader) {
                Some(Ok(standing)) if *standing == Standing::None || is_kept(standing) => {
                    drop(self.ask(leader, Question::Begin(first.clone()))?);
                }
                Some(Ok(_)) => {}
                _ => return Err(format!("{leader} does not run; start its process first")),
            }
        }
        // Replicas, and what were hot backups of the sequencer.
        let others: Vec<_> = self.machines.iter().copied().filter(|it| *it != leader && waits(it)).collect();
        let begun = self.ask_all(&others, &Question::Begin(first), ANSWERS_WITHIN);
        begun.into_values().try_for_each(|standing| standing.map(drop))
    }

    /// Under an agreement: whether every process runs, and has what it needs to go on by itself.
    fn is_complete(&mut self) -> Result<(), String> {
        let standings = self.standings();
        let has_rows = |it: &Address| matches!(standings.get(it), Some(Ok(standing)) if *standing != Standing::None);
        let members = self.newest.as_ref().map(Configuration::members).unwrap_or_default();
        let is_needed = |it: &Address| it.partition().is_some() || members.contains(it);
        for (&machine, standing) in standings.iter().filter(|(it, _)| is_needed(it)) {
            match standing {
                // It takes the rows of another replica set.
                Ok(Standing::None) if self.machines.iter().any(|it| is_other_replica(*it, machine) && has_rows(it)) => {
                }
                Ok(Standing::None) => {
                    return Err(format!(
                        "{machine} has nothing of what it had: start it with its directory; without one it waits until \
                         the others have begun, and takes what it needs from them"
                    ));
                }
                Ok(standing) if is_kept(standing) => {
                    return Err(format!(
                        "{machine} has what it had before the cluster began to agree; repeat the command. If that \
                         changes nothing, its directory is an older copy"
                    ));
                }
                Ok(_) => {}
                Err(why) => return Err(format!("{machine} does not run: {why}; start it: it goes on by itself")),
            }
        }
        Ok(())
    }

    /// The newest configuration that is known.
    ///
    /// # Errors
    /// When the cluster has not begun.
    pub fn newest(&self) -> Result<&Configuration, String> {
        self.newest.as_ref().ok_or_else(|| "the cluster has not begun; begin it first".to_owned())
    }

    /// Promotes a backup that has what its primary has; which one.
    ///
    /// # Errors
    /// When there is none.
    pub fn promote(&mut self, group: Group) -> Result<Address, String> {
        let standings = self.standings();
        let newest = self.newest()?;
        if group == Group::Sequencer && newest.agreement.is_some() {
            return self.transfer();
        }
        let replicas = newest.group(group).ok_or_else(|| unknown(group))?;
        let Some(&(backup, _)) = replicas.backups.iter().find(|it| has_rows(replicas, it, &standings)) else {
            return Err(format!("{group} has no running backup with {}", group.state()));
        };
        self.next(newest.promote(backup)?, backup)?;
        Ok(backup)
    }

    /// Under an agreement: has these coordinators agree. Those that are new are sent the log first. The cluster works
    /// on meanwhile.
    ///
    /// # Errors
    /// When one does not run, or has lost its directory, and with it what it had voted; or when no majority decides in
    /// time.
    pub fn change_members(&mut self, members: &BTreeSet<u16>) -> Result<(), String> {
        let standings = self.standings();
        let newest = self.newest()?.clone();
        if newest.agreement.is_none() {
            return Err("the cluster has no group that agrees; begin another cluster with --log raft".to_owned());
        }
        let wanted: BTreeSet<Address> = members.iter().copied().map(Address::Coordinator).collect();
        for &member in &wanted {
            match standings.get(&member) {
                None => return Err(format!("{member} is unknown: name it in the cluster's file")),
                Some(Err(why)) => return Err(format!("{member} does not run: {why}")),
                Some(Ok(Standing::None)) => {
                    return Err(format!(
                        "{member} has not begun: if it was started again without what it had, it asks for its place by \
                         itself; repeat the command"
                    ));
                }
                Some(Ok(Standing::Kept(..))) => return Err(format!("{member} has no place yet; give `resume` first")),
                Some(Ok(_)) => {}
            }
        }
        let (until, mut why) = (Instant::now() + AGREES_WITHIN, String::new());
        while Instant::now() < until {
            // The leader may be another one meanwhile.
            let elected = self.newest()?.coordinator_of(Address::OPERATOR);
            let change = Question::ChangeGroup(GroupChange::Members(members.clone()));
            why = self.ask(elected, change).err().unwrap_or_default();
            std::thread::sleep(Duration::from_millis(100));
            self.standings();
            if self.newest()?.members() == wanted {
                return Ok(());
            }
        }
        Err(format!("the members have not changed within {} s; is a majority running? {why}", AGREES_WITHIN.as_secs()))
    }

    /// Under an agreement: has another member lead.
    fn transfer(&mut self) -> Result<Address, String> {
        let standings = self.standings();
        let newest = self.newest()?.clone();
        let lives = |it: &Address| matches!(standings.get(it), Some(Ok(Standing::Backup(_))));
        let before = newest.coordinator_of(Address::OPERATOR);
        let next = newest.members().into_iter().find(|it| *it != before && lives(it));
        let Some(next @ Address::Coordinator(number)) = next else {
            return Err("no other member of the group runs".to_owned());
        };
        // Once: a leader that gives way does so until another one leads.
        self.ask(before, Question::ChangeGroup(GroupChange::Lead(number)))?;
        let until = Instant::now() + ANSWERS_WITHIN;
        while Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
            self.standings();
            if self.newest()?.coordinator_of(Address::OPERATOR) == next {
                return Ok(next);
            }
        }
        Err(format!("{next} does not lead within {} s; look at the status", ANSWERS_WITHIN.as_secs()))
    }

    /// Removes a backup, for which its primary then no longer waits.
    ///
    /// # Errors
    /// When it is no backup.
    pub fn leave_out(&mut self, backup: Address) -> Result<(), String> {
        let standings = self.standings();
        let next = self.newest()?.without(backup)?;
        let primary = self.primary_beside(backup, &standings)?;
        let first = if next.agreement.is_some() { backup } else { primary };
        self.next(next, first)
    }

    /// Makes a restarted or removed member a backup, which its primary sends all that it has.
    ///
    /// # Errors
    /// When it does not run, or is the primary.
    pub fn bring_back(&mut self, replica: Address) -> Result<(), String> {
        let mut standings = self.standings();
        let standing = standings.remove(&replica).unwrap_or_else(|| Err(format!("{replica} is unknown")))?;
        let next = self.newest()?.with(replica)?;
        if matches!(standing, Standing::Backup(_)) {
            return Err(format!("{replica} is a backup already"));
        }
        self.primary_beside(replica, &standings)?;
        match standing {
            Standing::None | Standing::Kept(..) => self.begin_member(next, replica),
            _ => self.next(next, replica),
        }
    }

    /// Under an agreement: the rows of this replica are right, and the others of its partition take them. After replica
    /// sets have differed without a majority, or when the only replica of a partition executes inputs of the log with
    /// another result than before.
    ///
    /// # Errors
    /// When there is nothing to settle, the replica does not run, or no majority decides in time.
    pub fn settle(&mut self, replica: Address) -> Result<(), String> {
        let standings = self.standings();
        let newest = self.newest()?.clone();
        if newest.agreement.is_none() || !newest.scheme.is_deterministic() {
            return Err("nothing is to be settled: the cluster has no replica sets, or no --log raft".to_owned());
        }
        let is_withheld = |it: &Standings| matches!(it.get(&replica), Some(Ok(Standing::Lost(..))));
        let has_others = self.machines.iter().any(|it| is_other_replica(*it, replica));
        if has_others && !is_withheld(&standings) {
            return Err(format!(
                "{replica} does not wait for a decision: start its process, which says so in the status, then repeat \
                 the command"
            ));
        }
        self.ask(newest.coordinator_of(Address::OPERATOR), Question::Settle(replica))?;
        let until = Instant::now() + ANSWERS_WITHIN;
        while is_withheld(&self.standings()) {
            if Instant::now() > until {
                return Err("no majority of the coordinators has decided; start those that do not run".to_owned());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Changes the scheme; each partition finishes its active transactions first.
    ///
    /// # Errors
    /// When no coordinator runs, or one of the two schemes has an input log.
    pub fn change_scheme(&mut self, scheme: SchemeKind) -> Result<(), String> {
        let standings = self.standings();
        let now = self.newest()?.scheme;
        if let Some(fixed) = [now, scheme].into_iter().find(|it| it.is_deterministic()) {
            return Err(format!("a cluster has scheme `{fixed}` from its beginning to its end; begin another cluster"));
        }
        let next = self.newest()?.with_scheme(scheme);
        let coordinates = |(who, it): (&Address, _)| matches!(it, &Ok(Standing::Coordinator(_))).then_some(*who);
        let first = standings.iter().find_map(coordinates).ok_or("no coordinator runs; begin another first")?;
        self.next(next, first)
    }

    /// Gives a restarted coordinator its place; it recovers its predecessor's transactions.
    ///
    /// # Errors
    /// When it does not run, or has its place; when it is a sequencer, which has a log to continue.
    pub fn begin_coordinator(&mut self, coordinator: Address) -> Result<(), String> {
        if self.newest.as_ref().is_some_and(|newest| newest.agreement.is_some()) {
            return Err(format!(
                "the coordinators elect one of them; start {coordinator} again: it comes back by itself"
            ));
        }
        if let Some(sequencer) = self.newest.as_ref().and_then(|newest| newest.sequencer.as_ref()) {
            let backup = if sequencer.backups.is_empty() { "" } else { ", or promote a backup of the sequencer" };
            return Err(format!("under a deterministic scheme, resume the cluster{backup}"));
        }
        match self.standings().remove(&coordinator).unwrap_or_else(|| Err(format!("{coordinator} is unknown")))? {
            Standing::None | Standing::Kept(..) => {
                self.begin_member(self.newest()?.with_new_coordinator(coordinator)?, coordinator)
            }
            _ => Err(format!("{coordinator} has its place: only a restarted process needs one")),
        }
    }

    /// The primary of a member's group. A failed primary has to be replaced before anything else: its backups may be
    /// the only ones that have its rows or log.
    fn primary_beside(&self, replica: Address, standings: &Standings) -> Result<Address, String> {
        let group = replica.group().ok_or_else(|| format!("{replica} is no replica"))?;
        let primary = self.newest()?.group(group).ok_or_else(|| unknown(group))?.primary;
        match standings.get(&primary) {
            Some(Ok(Standing::Primary(_) | Standing::CatchesUp(_))) => Ok(primary),
            _ => Err(format!("primary {primary} does not answer; promote a backup first, or resume it")),
        }
    }

    fn begin_member(&mut self, next: Configuration, who: Address) -> Result<(), String> {
        if next.agreement.is_some() {
            return Err(format!("{who} has lost its place: start it with its directory, and it comes back by itself"));
        }
        self.decide(next.clone())?;
        self.ask(who, Question::Begin(next.clone()))?;
        self.tell(&next, who);
        Ok(())
    }

    /// Decides a configuration, and sends it first to the member that it concerns most.
    fn next(&mut self, next: Configuration, first: Address) -> Result<(), String> {
        if next.agreement.is_some() {
            return self.propose(&next, first);
        }
        self.decide(next.clone())?;
        self.ask(first, Question::Configure(next.clone()))?;
        self.tell(&next, first);
        Ok(())
    }

    /// Has the group that agrees on configurations decide. `concerns`: the replica that is to have its new role then.
    fn propose(&mut self, next: &Configuration, concerns: Address) -> Result<(), String> {
        let now = self.newest()?;
        if next.scheme.is_deterministic() || next.sequencer != now.sequencer {
            return Err(
                "the cluster agrees on its configurations by itself; restart processes that have failed, with \
                        their directories"
                    .to_owned(),
            );
        }
        let role =
            |it: &Configuration| (it.primaries().contains(&concerns), it.since_of(concerns).is_some(), it.scheme);
        self.ask(next.coordinator_of(Address::OPERATOR), Question::Configure(next.clone()))?;
        let until = Instant::now() + ANSWERS_WITHIN;
        while Instant::now() < until {
            self.standings();
            let newest = self.newest()?;
            if newest.epoch >= next.epoch {
                // Others may have followed.
                return if role(newest) == role(next) {
                    Ok(())
                } else {
                    Err(format!("another decision came first, configuration {}; repeat the command", newest.epoch))
                };
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err("no majority of the coordinators has decided; start those that do not run".to_owned())
    }

    fn decide(&mut self, next: Configuration) -> Result<(), String> {
        (self.record)(&next)?;
        self.newest = Some(next);
        Ok(())
    }

    /// Sends a configuration to all other running members; a member that does not run gets it from the others later.
    fn tell(&mut self, next: &Configuration, but: Address) {
        let mut others = self.machines.clone();
        others.retain(|it| *it != but);
        self.ask_all(&others, &Question::Configure(next.clone()), ANSWERS_WITHIN);
    }

    fn ask(&mut self, who: Address, question: Question) -> Result<Standing, String> {
        self.ask_all(&[who], &question, ANSWERS_WITHIN).remove(&who).expect("it was asked")
    }

    fn ask_all(&mut self, who: &[Address], question: &Question, patience: Duration) -> Standings {
        let questions = who.iter().map(|&it| (it, question.clone()));
        let answers = ask_all(&mut self.link, questions, Instant::now() + patience);
        let standing = |(who, answer): (Address, Result<Answer, String>)| match answer {
            Ok(Answer::Standing(standing)) => (who, Ok(standing)),
            Ok(Answer::Refused(why)) => (who, Err(why)),
            Ok(_) => (who, Err(format!("{who} gave the answer to another question"))),
            Err(why) => (who, Err(why)),
        };
        answers.into_iter().map(standing).collect()
    }
}

/// Whether one member is another replica of the other one's partition.
fn is_other_replica(one: Address, other: Address) -> bool {
    one != other && one.partition().is_some() && one.partition() == other.partition()
}

/// Whether a process has what it had before its cluster began to agree.
fn is_kept(standing: &Standing) -> bool {
    matches!(standing, Standing::Kept(known, _) if known.agreement.is_none())
}
