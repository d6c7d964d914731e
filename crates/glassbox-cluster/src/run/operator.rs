//! Whoever decides who is who: a command of a person today, or of a harness.
//!
//! A configuration's number must never be used twice. So there is one operator at a time, it hands each configuration
//! to `record` before anybody hears of it, and begins from the newest that was recorded or that any member knows. If it
//! ends in the middle, those whom it has told tell the others. An agreement among several machines would take its place
//! here, and nowhere else.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::link::{Link, ask_all};
use super::sockets::Sockets;
use crate::protocol::address::Address;
use crate::protocol::configuration::{Configuration, Replicas};
use crate::protocol::scheme_kind::SchemeKind;
use crate::wire::{Answer, Question, Standing};

/// How long a process that is there may take to answer. One that loads rows is silent for longer, and waited for.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);
/// How long a process is called before it counts as gone, where nobody says that it is.
const CALLED_FOR: Duration = Duration::from_secs(1);

/// What each process says of itself, or why it says nothing.
pub type Standings = BTreeMap<Address, Result<Standing, String>>;

/// Keeps a configuration for good before it is told to anybody.
pub type Record = Box<dyn FnMut(&Configuration) -> Result<(), String>>;

/// Decides who is who in a cluster.
pub struct Operator<L: Link> {
    link: L,
    machines: Vec<Address>,
    newest: Option<Configuration>,
    /// Whether something had been recorded.
    knows: bool,
    record: Record,
}

impl Operator<Sockets> {
    /// Waits until all processes can be reached, or for so long; whether they can.
    pub fn wait_for_all(&mut self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        let Self { machines, link, .. } = self;
        machines.iter().all(|&machine| link.wait_for(machine, until).is_ok())
    }

    /// Lets a cluster begin in which nobody has a place yet. `patience`: to start, and then to make the first rows.
    ///
    /// # Errors
    /// When somebody has a place, is not there, or cannot make its rows.
    pub fn begin(&mut self, first: Configuration, patience: Duration) -> Result<(), String> {
        let until = Instant::now() + patience;
        for machine in self.machines.clone() {
            self.link.wait_for(machine, until)?;
        }
        for (machine, standing) in self.standings() {
            if standing? != Standing::None {
                return Err(format!("{machine} has begun already: a cluster begins once, of new processes"));
            }
        }
        if let Some(newest) = &self.newest {
            return Err(format!("the cluster has begun already, and got to configuration {}", newest.epoch));
        }
        self.decide(first.clone())?;
        // Whoever is spoken to has begun before those who speak to it: who has no place hears hardly anything.
        let is_backup = |it: &Address| first.backup_since(*it).is_some();
        let is_primary = |it: &Address| matches!(it, Address::Replica { .. }) && !is_backup(it);
        let is_coordinator = |it: &Address| matches!(it, Address::Coordinator(_));
        for some in [&is_backup as &dyn Fn(&Address) -> bool, &is_primary, &is_coordinator] {
            let some: Vec<_> = self.machines.clone().into_iter().filter(some).collect();
            let left = until.saturating_duration_since(Instant::now());
            let begun = self.ask_all(&some, &Question::Begin(first.clone()), left);
            begun.into_values().try_for_each(|standing| standing.map(drop))?;
        }
        Ok(())
    }
}

/// Who becomes a partition's primary, if it has none.
fn heir(newest: &Configuration, partition: usize, standings: &Standings) -> Result<Option<Address>, String> {
    let standing = |it: Address| standings.get(&it).and_then(|standing| standing.as_ref().ok());
    let replicas @ Replicas { primary, backups, .. } = &newest.partitions[partition];
    if let Some(Standing::Primary(known)) = standing(*primary)
        && known.partitions[partition].since == replicas.since
    {
        return Ok(None);
    }
    let lives = |it: &&(Address, u64)| has_rows(replicas, it, standings);
    if let Some((backup, _)) = backups.iter().find(lives) {
        return Err(format!("{backup} lives and has the rows: promote a backup of partition {partition} first"));
    }
    let kept = |it: Address| match standing(it) {
        Some(Standing::Kept(_, since)) => Some(*since),
        _ => None,
    };
    newest.heir(partition, kept).map(Some).ok_or_else(|| {
        let begun = if newest.epoch > 1 { "" } else { "; if the cluster never began, remove its directories" };
        format!(
            "nobody is there who has the rows of {primary}: start it, or a backup of its, with its directory{begun}"
        )
    })
}

/// Whether a backup is there and has the rows of this primary.
fn has_rows(replicas: &Replicas, &(backup, since): &(Address, u64), standings: &Standings) -> bool {
    let standing = standings.get(&backup);
    matches!(standing, Some(Ok(Standing::Backup(known))) if known.epoch >= since.max(replicas.since))
}

impl<L: Link> Operator<L> {
    /// An operator of these processes, who can be reached or are being called. `newest` is what was recorded last.
    pub fn new(link: L, machines: Vec<Address>, newest: Option<Configuration>, record: Record) -> Self {
        Self { link, machines, knows: newest.is_some(), newest, record }
    }

    /// What each process says of itself.
    pub fn standings(&mut self) -> Standings {
        self.link.look_around(Instant::now() + CALLED_FOR);
        let standings = self.ask_all(&self.machines.clone(), &Question::Standing, ANSWERS_WITHIN);
        let known = standings.values().flatten().filter_map(Standing::configuration).chain(&self.newest);
        self.newest = known.max_by_key(|known| known.epoch).cloned();
        standings
    }

    /// Gives all processes that were started anew their places: partitions go on from what journals have.
    ///
    /// # Errors
    /// When a partition has nobody with rows, a coordinator is not there, nobody was started anew, or what was decided
    /// before was not recorded.
    pub fn resume(&mut self) -> Result<(), String> {
        if !self.knows {
            return Err("nothing is recorded of what was decided about the cluster: those who are there may not know \
                        who was promoted last"
                .to_owned());
        }
        let standings = self.standings();
        let newest = self.newest()?.clone();
        let is_new = |it: &Address| matches!(standings.get(it), Some(Ok(Standing::None | Standing::Kept(..))));
        let partitions = 0..newest.partitions.len();
        let primaries = partitions.filter_map(|it| heir(&newest, it, &standings).transpose());
        let primaries = primaries.collect::<Result<Vec<_>, String>>()?;
        let is_gone = |it: &Address| standings.get(it).is_none_or(Result::is_err);
        let machines = self.machines.clone();
        if let Some(gone) = machines.iter().find(|it| matches!(it, Address::Coordinator(_)) && is_gone(it)) {
            return Err(format!("{gone} is not there: start its process first"));
        }
        let others: Vec<_> = machines.iter().copied().filter(|it| is_new(it) && !primaries.contains(it)).collect();
        if primaries.is_empty() && others.is_empty() {
            return Err("everybody who is there has a place".to_owned());
        }
        // Backups of partitions that go on by themselves are waited for, or left out by a command of their own.
        let resumed = |it: &Address| primaries.iter().any(|primary| primary.partition() == it.partition());
        let gone: Vec<_> = machines.into_iter().filter(|it| is_gone(it) && resumed(it)).collect();
        let next = newest.resume(&primaries, &others, &gone);
        self.decide(next.clone())?;
        // Who sends rows is there before those who ask for them, and partitions before who asks what they have.
        let (replicas, coordinators) = others.into_iter().partition(|it| matches!(it, Address::Replica { .. }));
        for some in [primaries, replicas, coordinators] {
            let begun = self.ask_all(&some, &Question::Begin(next.clone()), ANSWERS_WITHIN);
            begun.into_values().try_for_each(|standing| standing.map(drop))?;
        }
        let all = self.machines.clone();
        self.ask_all(&all, &Question::Configure(next), ANSWERS_WITHIN);
        Ok(())
    }

    /// The newest configuration that is known.
    ///
    /// # Errors
    /// When the cluster has not begun.
    pub fn newest(&self) -> Result<&Configuration, String> {
        self.newest.as_ref().ok_or_else(|| "the cluster has not begun: tell it to begin first".to_owned())
    }

    /// Gives a partition another primary: a backup that has the rows. Which one.
    ///
    /// # Errors
    /// When there is none.
    pub fn promote(&mut self, partition: u8) -> Result<Address, String> {
        let standings = self.standings();
        let newest = self.newest()?;
        let replicas = newest.partitions.get(usize::from(partition));
        let replicas = replicas.ok_or_else(|| format!("there is no partition {partition}"))?;
        let Some(&(backup, _)) = replicas.backups.iter().find(|it| has_rows(replicas, it, &standings)) else {
            return Err(format!("partition {partition} has no backup that is there and has the rows"));
        };
        self.next(newest.promote(backup)?, backup)?;
        Ok(backup)
    }

    /// Takes a backup out of its partition's set: its primary waits for it no more.
    ///
    /// # Errors
    /// When it is none.
    pub fn leave_out(&mut self, backup: Address) -> Result<(), String> {
        let standings = self.standings();
        let next = self.newest()?.without(backup)?;
        let primary = self.primary_beside(backup, &standings)?;
        self.next(next, primary)
    }

    /// Makes a process, which has been started anew or has lost its place, a backup: it gets the rows from the primary.
    ///
    /// # Errors
    /// When it is not there, or is the primary.
    pub fn bring_back(&mut self, replica: Address) -> Result<(), String> {
        let mut standings = self.standings();
        let standing = standings.remove(&replica).unwrap_or_else(|| Err("there is no such replica".to_owned()))?;
        let next = self.newest()?.with(replica)?;
        if matches!(standing, Standing::Backup(_)) {
            return Err(format!("{replica} is a backup and has the rows"));
        }
        self.primary_beside(replica, &standings)?;
        match standing {
            Standing::None | Standing::Kept(..) => self.begin_anew(next, replica),
            _ => self.next(next, replica),
        }
    }

    /// Has partitions use another scheme, once what is under way has ended.
    ///
    /// # Errors
    /// When no coordinator is there.
    pub fn change_scheme(&mut self, scheme: SchemeKind) -> Result<(), String> {
        let standings = self.standings();
        let next = self.newest()?.with_scheme(scheme);
        let coordinates = |(who, it): (&Address, _)| matches!(it, &Ok(Standing::Coordinator(_))).then_some(*who);
        let first = standings.iter().find_map(coordinates).ok_or("no coordinator is there: begin another first")?;
        self.next(next, first)
    }

    /// Gives a coordinator that has been started anew its place: it finds out what the one before left undecided.
    ///
    /// # Errors
    /// When it is not there, or has its place.
    pub fn begin_coordinator(&mut self, coordinator: Address) -> Result<(), String> {
        match self.standings().remove(&coordinator).unwrap_or_else(|| Err(format!("{coordinator} is not known")))? {
            Standing::None => self.begin_anew(self.newest()?.with_new_coordinator(coordinator)?, coordinator),
            _ => Err(format!("{coordinator} has its place: only a process that has been started anew is given one")),
        }
    }

    /// The primary of a replica's partition. One that is gone has to be replaced before anything else: its backups may
    /// be the only ones that have the rows.
    fn primary_beside(&self, replica: Address, standings: &Standings) -> Result<Address, String> {
        let Address::Replica { partition, .. } = replica else { return Err(format!("{replica} is no replica")) };
        let replicas = self.newest()?.partitions.get(usize::from(partition));
        let primary = replicas.ok_or_else(|| format!("there is no partition {partition}"))?.primary;
        match standings.get(&primary) {
            Some(Ok(Standing::Primary(_))) => Ok(primary),
            _ => Err(format!("{primary} is the primary and does not answer: promote a backup first, or resume it")),
        }
    }

    fn begin_anew(&mut self, next: Configuration, who: Address) -> Result<(), String> {
        self.decide(next.clone())?;
        self.ask(who, Question::Begin(next.clone()))?;
        self.tell(&next, who);
        Ok(())
    }

    /// Decides, and tells one first whom it concerns most.
    fn next(&mut self, next: Configuration, first: Address) -> Result<(), String> {
        self.decide(next.clone())?;
        self.ask(first, Question::Configure(next.clone()))?;
        self.tell(&next, first);
        Ok(())
    }

    fn decide(&mut self, next: Configuration) -> Result<(), String> {
        (self.record)(&next)?;
        self.newest = Some(next);
        Ok(())
    }

    /// Tells all others that are there; who is not hears it from the others, or has no place.
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
            Ok(_) => (who, Err(format!("{who} does not answer what it was asked"))),
            Err(why) => (who, Err(why)),
        };
        answers.into_iter().map(standing).collect()
    }
}
