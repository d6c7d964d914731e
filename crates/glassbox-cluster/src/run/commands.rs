//! The operator's commands for a cluster of any catalog, and the file of its decisions.
//!
//! A program with its own procedures gets the commands of `glassbox-cluster` by [`Processes::operate`]. The decisions
//! are recorded before any member receives them, in one file with a lock: its holder is the only operator. `status`
//! only asks: it needs neither the file nor the lock, so a monitor may run it at any time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, Instant};

use glassbox::Catalog;

use super::operator::{Operator, Recorder};
use super::processes::Processes;
use super::shape::Shape;
use super::sockets::Sockets;
use super::status::Status;
use crate::protocol::address::{Address, Group};
use crate::protocol::configuration::{Configuration, SchemeKind};

/// How long another command may take to decide.
const DECIDES_WITHIN: Duration = Duration::from_secs(15);
/// How long processes may take to load and to connect when a cluster begins.
const BEGINS_WITHIN: Duration = Duration::from_secs(300);
/// How long a command waits at most for processes that do not run.
pub const MAX_WAIT_SECONDS: u64 = 86_400;

/// The commands, for a user that gave none of them.
const USAGE: &str = "give a command: status [--json], begin, resume [SECONDS], promote PARTITION|sequencer, leave-out \
                     PARTITION|sequencer REPLICA, bring-back PARTITION|sequencer REPLICA [SECONDS], settle PARTITION \
                     SET, members NUMBER.., scheme NAME, begin-coordinator [NUMBER]";

/// The decisions about a cluster: one configuration a line, the newest last. Its holder is the only operator.
#[derive(Debug)]
pub struct Decisions {
    file: File,
    path: PathBuf,
}

impl Decisions {
    /// Opens the file, which is made if it is missing, and waits for its lock; the newest configuration in it.
    ///
    /// # Errors
    /// When the file cannot be used, another command holds the lock, or the file is of another cluster.
    pub fn open(path: &Path, shape: &Shape) -> Result<(Self, Option<Configuration>), String> {
        let failed = |error: std::io::Error| format!("cannot use {}: {error}", path.display());
        let mut file = File::options().read(true).append(true).create(true).open(path).map_err(failed)?;
        force_directory_of(path).map_err(failed)?;
        let until = Instant::now() + DECIDES_WITHIN;
        while file.try_lock().is_err() {
            if Instant::now() > until {
                return Err(format!("{} is in use by another command; try again", path.display()));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(failed)?;
        // An incomplete last line was sent to no member.
        let whole = &text[..text.rfind('\n').map_or(0, |at| at + 1)];
        if whole.len() < text.len() {
            file.set_len(whole.len() as u64).map_err(failed)?;
        }
        let newest = whole.lines().last().map(serde_json::from_str::<Configuration>).transpose();
        let newest =
            newest.map_err(|error| format!("the last line of {} is no configuration: {error}", path.display()))?;
        if newest.as_ref().is_some_and(|newest| !shape.admits(newest)) {
            return Err(format!(
                "the last line of {} is of another cluster: name the file of this one",
                path.display()
            ));
        }
        Ok((Self { file, path: path.to_owned() }, newest))
    }

    /// Appends a configuration, and makes it durable.
    ///
    /// # Errors
    /// The system's.
    pub fn record(&mut self, next: &Configuration) -> Result<(), String> {
        let line = serde_json::to_string(next).map_err(|error| error.to_string())? + "\n";
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_all());
        written.map_err(|error| format!("decision failed: cannot write {}: {error}", self.path.display()))
    }

    /// The recorder of an operator.
    pub fn recorder(mut self) -> Recorder {
        Box::new(move |next| self.record(next))
    }
}

/// Makes a new file durable in its directory.
///
/// # Errors
/// The system's.
pub fn force_directory_of(file: &Path) -> std::io::Result<()> {
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

impl Processes {
    /// The role of each process. Nothing is written, and no lock is needed.
    ///
    /// # Errors
    /// When there are no sockets.
    pub fn status(&self, catalog: &Catalog) -> Result<Status, String> {
        let mut monitor = self.monitor(catalog)?;
        let standings = monitor.standings();
        let progress = if self.scheme.is_deterministic() { monitor.progress() } else { BTreeMap::new() };
        Ok(Status::new(self, standings, &progress))
    }

    /// Carries out an operator's command, as `glassbox-cluster` does for its own workloads: `status`, `begin`,
    /// `resume`, `promote`, `leave-out`, `bring-back`, `settle`, `members`, `scheme` or `begin-coordinator`, with its
    /// arguments; the result, for the operator. Decisions are kept in the file `decided`, one for a cluster.
    ///
    /// ```no_run
    /// # fn operate(cluster: glassbox_cluster::run::Processes, catalog: glassbox::Catalog) -> Result<(), String> {
    /// let arguments = std::env::args().skip(1);
    /// println!("{}", cluster.operate(&catalog, "cluster.json.decided".as_ref(), arguments)?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When there is no such command, or it cannot be carried out.
    pub fn operate(
        &self,
        catalog: &Catalog,
        decided: &Path,
        arguments: impl IntoIterator<Item = String>,
    ) -> Result<String, String> {
        self.check()?;
        let arguments: Vec<String> = arguments.into_iter().collect();
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match words[..] {
            ["status"] => return self.status(catalog).map(|status| status.to_string()),
            ["status", "--json"] => return self.status(catalog).map(|status| status.json()),
            [] => return Err(USAGE.to_owned()),
            _ => {}
        }
        let command = Command::parse(&words)?;
        let (decisions, newest) = Decisions::open(decided, &self.shape())?;
        let mut operator = self.operator(catalog, newest, decisions.recorder())?;
        self.carry_out(&mut operator, &command)
    }

    /// Carries out a command. Returns the result, for the user; its last line names the configuration.
    ///
    /// # Errors
    /// When the cluster refuses the command, or members that it needs do not answer.
    pub fn carry_out(&self, operator: &mut Operator<Sockets>, command: &Command) -> Result<String, String> {
        let mut result = String::new();
        match *command {
            Command::Begin => operator.begin(self.shape().configuration(), BEGINS_WITHIN)?,
            Command::Resume(wait) => {
                operator.wait_for_all(wait);
                operator.resume()?;
            }
            Command::Promote(group) => {
                let role = match group {
                    Group::Sequencer if self.scheme.is_deterministic() => "the sequencer",
                    Group::Sequencer => "the coordinator",
                    Group::Partition(_) => "primary",
                };
                result = format!("{} is {role}\n", operator.promote(group)?);
            }
            Command::LeaveOut(replica) => operator.leave_out(replica)?,
            Command::BringBack(replica, wait) => {
                operator.wait_for(replica, wait);
                operator.bring_back(replica)?;
            }
            Command::Settle(replica) => operator.settle(replica)?,
            Command::Members(ref members) => operator.change_members(members)?,
            Command::Scheme(scheme) => operator.change_scheme(scheme)?,
            Command::BeginCoordinator(coordinator, wait) => {
                operator.wait_for(coordinator, wait);
                operator.begin_coordinator(coordinator)?;
            }
        }
        Ok(format!("{result}configuration {}", operator.newest()?.epoch))
    }
}

/// A command that changes a running cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Begin a new cluster, once all of its processes are started.
    Begin,
    /// Give restarted processes their roles, after a wait for those that do not run.
    Resume(Duration),
    /// Promote a backup of a partition, or a hot backup of the sequencer.
    Promote(Group),
    /// Remove a backup, for which its primary then no longer waits.
    LeaveOut(Address),
    /// Make a replica a backup, after a wait until its process can be reached.
    BringBack(Address, Duration),
    /// Declare the rows of a replica right, where no majority of replica sets says which are.
    Settle(Address),
    /// Have the coordinators with these numbers agree from now on.
    Members(BTreeSet<u16>),
    /// Change the concurrency-control scheme.
    Scheme(SchemeKind),
    /// Give a restarted coordinator its role, after a wait until its process can be reached.
    BeginCoordinator(Address, Duration),
}

impl Command {
    /// Reads a command from the words of a command line.
    fn parse(words: &[&str]) -> Result<Self, String> {
        let wait = |text: &[&str], otherwise| match text {
            [text] => match number(text)? {
                seconds if seconds <= MAX_WAIT_SECONDS => Ok(Duration::from_secs(seconds)),
                _ => Err(format!("`{text}` seconds are too many: give at most {MAX_WAIT_SECONDS}, a day")),
            },
            _ => Ok(Duration::from_secs(otherwise)),
        };
        Ok(match *words {
            ["begin"] => Self::Begin,
            ["resume", ref time @ ..] if time.len() < 2 => Self::Resume(wait(time, 30)?),
            ["promote", at] => Self::Promote(group(at)?),
            ["leave-out", at, replica] => Self::LeaveOut(group(at)?.member(number(replica)?)),
            ["bring-back", at, replica, ref time @ ..] if time.len() < 2 => {
                Self::BringBack(group(at)?.member(number(replica)?), wait(time, 10)?)
            }
            ["settle", partition, set] => {
                Self::Settle(Address::Replica { partition: number(partition)?, replica: number(set)? })
            }
            ["members", ref members @ ..] => {
                Self::Members(members.iter().map(|it| number(it)).collect::<Result<_, _>>()?)
            }
            ["scheme", name] => Self::Scheme(scheme(name)?),
            ["begin-coordinator", ref which @ ..] if which.len() < 2 => {
                let coordinator = Address::Coordinator(which.first().map_or(Ok(0), |it| number(it))?);
                Self::BeginCoordinator(coordinator, Duration::from_secs(10))
            }
            _ => return Err(format!("unknown command `{}`: {USAGE}", words.join(" "))),
        })
    }
}

fn number<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}` is no valid number: {USAGE}"))
}

fn group(text: &str) -> Result<Group, String> {
    text.parse().map_err(|_| format!("`{text}` is neither the number of a partition nor `sequencer`"))
}

/// A scheme by its name, with hyphens.
fn scheme(name: &str) -> Result<SchemeKind, String> {
    let hyphenated = |it: &SchemeKind| it.to_string().replace(", ", "-").replace(' ', "-");
    let found = SchemeKind::ALL.into_iter().find(|it| hyphenated(it) == name);
    found.ok_or_else(|| {
        let all: Vec<_> = SchemeKind::ALL.iter().map(hyphenated).collect();
        format!("unknown scheme `{name}`: give one of {}", all.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster() -> (Processes, Catalog) {
        // No process listens there.
        let nodes = (0..3).map(|port| std::net::SocketAddr::from(([127, 0, 0, 1], 1 + port))).collect();
        (Processes::new(1, SchemeKind::Speculation, 2, nodes), glassbox_workloads::micro::catalog())
    }

    fn operate(decided: &Path, words: &str) -> Result<String, String> {
        let (cluster, catalog) = cluster();
        cluster.operate(&catalog, decided, words.split_whitespace().map(str::to_owned))
    }

    /// Case 43: a status writes nothing, and does not wait for the command that holds the decisions.
    #[test]
    fn a_status_needs_neither_the_file_of_decisions_nor_its_lock() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("missing").join("decided");
        let status = operate(&missing, "status").unwrap();
        assert_eq!(status.matches("not reachable: ").count(), 3, "{status}");
        assert!(status.contains("Connection refused"), "{status}");
        assert!(operate(&missing, "status --json").unwrap().starts_with('{'));
        assert!(operate(&missing, "promote 0").unwrap_err().contains("cannot use "));
        let held = directory.path().join("decided");
        let _held = Decisions::open(&held, &cluster().0.shape()).unwrap();
        operate(&held, "status").unwrap();
    }

    #[test]
    fn an_unknown_command_is_refused_with_the_usage() {
        let directory = tempfile::tempdir().unwrap();
        let decided = directory.path().join("decided");
        let endless = [u64::MAX, 86_401].map(|seconds| format!("resume {seconds}"));
        let words = ["", "halt", "promote", "promote x", "settle 0", "scheme best", "members one"];
        for words in words.into_iter().chain(endless.iter().map(String::as_str)) {
            let why = operate(&decided, words).unwrap_err();
            assert!(why.contains("give ") || why.contains("neither"), "`{words}`: {why}");
        }
    }

    #[test]
    fn decisions_are_read_again_without_a_line_that_was_cut_off() {
        let directory = tempfile::tempdir().unwrap();
        let shape = cluster().0.shape();
        let path = directory.path().join("decided");
        let first = shape.configuration();
        let (mut decisions, newest) = Decisions::open(&path, &shape).unwrap();
        assert_eq!(newest, None);
        decisions.record(&first).unwrap();
        drop(decisions);
        let whole = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{whole}{}", &whole[..whole.len() / 2])).unwrap();
        assert_eq!(Decisions::open(&path, &shape).unwrap().1, Some(first));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), whole);
        let other = Shape::new(SchemeKind::Speculation, 7);
        assert!(Decisions::open(&path, &other).unwrap_err().contains("another cluster"));
    }
}
