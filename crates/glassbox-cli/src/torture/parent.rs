//! The parent: starts children, kills them, and keeps account of what they said.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use glassbox_workloads::tpcc::random::Random;
use indicatif::{ProgressBar, ProgressStyle};

use super::message::{Message, join};
use super::{Arguments, Workload};
use crate::{Verdict, format, interrupt};

/// Longest that recovering and checking may take.
const PATIENCE: Duration = Duration::from_secs(600);

/// What is known of the database, from what children said.
struct Known {
    /// For each count, what it must at least be, and may at most be.
    least: Vec<u64>,
    most: Vec<u64>,
    /// TPC-C: orders when the child was ready, and acknowledged since by each client.
    base: u64,
    since: Vec<u64>,
    acknowledged: u64,
    /// Kills before the child was ready.
    early: u64,
}

/// How a child ended.
enum Ended {
    Killed { ready: bool },
    Violated(String),
}

/// Tortures.
pub fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    interrupt::listen()?;
    if !(arguments.seconds_between > 0.0 && arguments.seconds_between <= 3_600.0) {
        bail!("--seconds-between must be above 0, and at most 3600");
    }
    let temporary = std::env::temp_dir().join(format!("glassbox-torture-{}", std::process::id()));
    let dir = arguments.dir.clone().unwrap_or_else(|| temporary.clone());
    let mut random = Random::of_part(arguments.seed, [0x7047, 0, 0]);
    let counts = if arguments.workload == Workload::Tpcc { 1 } else { arguments.clients };
    let mut known = Known {
        least: vec![0; counts],
        most: vec![u64::MAX; counts],
        base: 0,
        since: vec![0; arguments.clients],
        acknowledged: 0,
        early: 0,
    };
    let bar = ProgressBar::new(arguments.kills);
    bar.set_style(ProgressStyle::with_template("kill {pos:>4} of {len}  {bar:30}  {msg}")?);
    let started = Instant::now();
    let mut kills = 0;
    while kills < arguments.kills && !interrupt::requested() {
        let delay = delay(arguments, &mut random);
        match one_life(arguments, &dir, &mut known, Some(delay), kills)? {
            Ended::Killed { ready } => known.early += u64::from(!ready),
            Ended::Violated(what) => return violated(arguments, &dir, kills, &what, &bar),
        }
        kills += 1;
        bar.set_position(kills);
        bar.set_message(format!("{} transactions acknowledged", format::count(known.acknowledged)));
    }
    if let Ended::Violated(what) = one_life(arguments, &dir, &mut known, None, kills)? {
        return violated(arguments, &dir, kills, &what, &bar);
    }
    bar.finish_and_clear();
    println!(
        "{kills} kills, {} of them before the database was open again; {} transactions acknowledged, all there; {}",
        known.early,
        format::count(known.acknowledged),
        format::time(started.elapsed().as_nanos() as f64),
    );
    if arguments.dir.is_none() {
        std::fs::remove_dir_all(&temporary).with_context(|| format!("cannot remove {}", temporary.display()))?;
    }
    Ok(Verdict::Good)
}

/// When to kill.
#[derive(Clone, Copy)]
struct Delay {
    time: Duration,
    /// Counted from when the child has recovered and checked, or else from its start.
    when_ready: bool,
}

/// One time in four so soon after the start that the child is still opening.
fn delay(arguments: &Arguments, random: &mut Random) -> Delay {
    let most_us = (arguments.seconds_between * 1e6) as u64;
    let when_ready = random.uniform(1, 4) > 1;
    let most_us = if when_ready { most_us } else { most_us.min(40_000) };
    Delay { time: Duration::from_micros(random.uniform(0, most_us)), when_ready }
}

/// Starts a child, and kills it after a delay; or, without one, lets it check and end.
fn one_life(
    arguments: &Arguments,
    dir: &Path,
    known: &mut Known,
    delay: Option<Delay>,
    life: u64,
) -> anyhow::Result<Ended> {
    let mut child = start(arguments, dir, known, delay.is_none(), life)?;
    let messages = listen(&mut child);
    let mut ready = false;
    let mut when_ready = delay.filter(|delay| delay.when_ready);
    let soon = delay.filter(|delay| !delay.when_ready);
    let mut deadline = Instant::now() + soon.map_or(PATIENCE, |delay| delay.time);
    let mut violation = None;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match messages.recv_timeout(left) {
            Ok(message) => known.hear(message, arguments.workload, &mut ready, &mut violation),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
        if let Some(delay) = when_ready.take_if(|_| ready) {
            deadline = Instant::now() + delay.time;
            continue;
        }
        if left.is_zero() {
            break;
        }
    }
    // It may have ended by itself; then this fails, and that is well.
    let _ = child.kill();
    let status = child.wait()?;
    for message in messages {
        known.hear(message, arguments.workload, &mut ready, &mut violation);
    }
    known.settle(arguments.workload);
    // A checker must have ended well, and a worker must not have ended but by the kill.
    let late = status.code().is_none() && !ready && delay.is_none_or(|delay| delay.when_ready);
    let well = if delay.is_none() { status.success() && ready } else { status.code().is_none() && !late };
    if violation.is_none() && !well && !interrupt::requested() {
        violation = Some(match late {
            true => format!("it was not open again after {} s", PATIENCE.as_secs()),
            false => format!("the process that worked on it ended by itself ({status}); its message is above"),
        });
    }
    Ok(violation.map_or(Ended::Killed { ready }, Ended::Violated))
}

fn start(arguments: &Arguments, dir: &Path, known: &Known, check_only: bool, life: u64) -> anyhow::Result<Child> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new(program);
    command.arg("torture-child").arg("--dir").arg(dir);
    command.args(["--workload", arguments.workload.name(), "--log", arguments.log.name()]);
    command.args(["--durability", arguments.durability.name()]);
    command.args(arguments.engine.arguments());
    command.args(["--partitions", &arguments.partitions.to_string(), "--clients", &arguments.clients.to_string()]);
    command.args(["--seed", &(arguments.seed + life).to_string()]);
    command.args(["--least", &join(&known.least), "--most", &join(&known.most)]);
    if check_only {
        command.arg("--check-only");
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("cannot start another process")
}

/// Reads what the child says, so that its pipe never fills.
fn listen(child: &mut Child) -> Receiver<Message> {
    let (sender, receiver) = channel();
    let pipe = child.stdout.take().expect("it is piped");
    std::thread::spawn(move || {
        // A line that was cut off by the kill is no message.
        for message in BufReader::new(pipe).lines().map_while(Result::ok).filter_map(|line| line.parse().ok()) {
            if sender.send(message).is_err() {
                return;
            }
        }
    });
    receiver
}

impl Known {
    fn hear(&mut self, message: Message, workload: Workload, ready: &mut bool, violation: &mut Option<String>) {
        match (message, workload) {
            (Message::Ready(counts), Workload::Bank) => {
                *ready = true;
                // Exactly so many are there now, and those that are not will not come back.
                self.least.clone_from(&counts);
                self.most = counts;
            }
            (Message::Ready(counts), Workload::Tpcc) => {
                *ready = true;
                self.base = counts[0];
                self.least = counts;
            }
            (Message::WillSend(client, number), _) => self.most[client] = number,
            (Message::Acknowledged(client, number), Workload::Bank) => {
                self.acknowledged += number - self.least[client];
                self.least[client] = number;
            }
            (Message::Acknowledged(client, number), Workload::Tpcc) => self.since[client] = number,
            (Message::Violation(what), _) => *violation = Some(what),
        }
    }

    /// Adds up what was acknowledged in a life.
    fn settle(&mut self, workload: Workload) {
        if workload == Workload::Tpcc {
            let orders: u64 = self.since.iter().sum();
            self.acknowledged += orders;
            self.least[0] = self.least[0].max(self.base + orders);
            self.since.fill(0);
        }
    }
}

fn violated(arguments: &Arguments, dir: &Path, kills: u64, what: &str, bar: &ProgressBar) -> anyhow::Result<Verdict> {
    bar.finish_and_clear();
    let kept: PathBuf = dir.to_owned();
    println!("VIOLATION after {kills} kills: {what}");
    println!("The directory is kept: {}", kept.display());
    println!(
        "To try again: glassbox torture --workload {} --log {} --partitions {} --clients {} --seconds-between {} \
         --seed {} --kills {}",
        arguments.workload.name(),
        arguments.log.name(),
        arguments.partitions,
        arguments.clients,
        arguments.seconds_between,
        arguments.seed,
        arguments.kills,
    );
    Ok(Verdict::Bad)
}
