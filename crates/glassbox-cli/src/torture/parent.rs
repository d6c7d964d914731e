//! The parent: starts children, kills them, and records their messages.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use glassbox_workloads::tpcc::random::Random;
use indicatif::{ProgressBar, ProgressStyle};

use super::arguments::{TortureArguments, TortureWorkload};
use super::message::{Message, join};
use glassbox_program::exit::{self, Verdict};
use glassbox_workloads::format;

/// Maximum time of recovery and checks.
const MAX_RECOVERY: Duration = Duration::from_secs(600);

/// The expected contents of the database, from the children's messages.
struct Expected {
    /// The minimum and maximum of each count.
    min: Vec<u64>,
    max: Vec<u64>,
    /// TPC-C: orders when the child was ready, and those acknowledged since by each client.
    base: u64,
    since: Vec<u64>,
    acknowledged: u64,
    /// Number of kills before the child was ready.
    early: u64,
}

/// How a child ended.
enum ChildEnd {
    Killed { ready: bool },
    Violated(String),
}

/// Runs the kills and checks.
pub fn run(arguments: &TortureArguments) -> anyhow::Result<Verdict> {
    exit::handle_interrupts()?;
    if !(arguments.seconds_between > 0.0 && arguments.seconds_between <= 3_600.0) {
        bail!("invalid --seconds-between: use a number above 0 and up to 3600");
    }
    let temporary = std::env::temp_dir().join(format!("glassbox-torture-{}", std::process::id()));
    let dir = arguments.dir.clone().unwrap_or_else(|| temporary.clone());
    let mut random = Random::of_part(arguments.seed, [0x7047, 0, 0]);
    let counts = if arguments.workload == TortureWorkload::Tpcc { 1 } else { arguments.clients };
    let mut expected = Expected {
        min: vec![0; counts],
        max: vec![u64::MAX; counts],
        base: 0,
        since: vec![0; arguments.clients],
        acknowledged: 0,
        early: 0,
    };
    let bar = ProgressBar::new(arguments.kills);
    bar.set_style(ProgressStyle::with_template("kill {pos:>4} of {len}  {bar:30}  {msg}")?);
    let started = Instant::now();
    let mut kills = 0;
    while kills < arguments.kills && !exit::interrupted() {
        let delay = delay(arguments, &mut random);
        match run_child(arguments, &dir, &mut expected, Some(delay), kills)? {
            ChildEnd::Killed { ready } => expected.early += u64::from(!ready),
            ChildEnd::Violated(what) => return violated(arguments, &dir, kills, &what, &bar),
        }
        kills += 1;
        bar.set_position(kills);
        bar.set_message(format!("{} transactions acknowledged", format::count(expected.acknowledged)));
    }
    if let ChildEnd::Violated(what) = run_child(arguments, &dir, &mut expected, None, kills)? {
        return violated(arguments, &dir, kills, &what, &bar);
    }
    bar.finish_and_clear();
    println!(
        "{kills} kills, {} of them before the database was open; {} transactions acknowledged, none lost; {}",
        expected.early,
        format::count(expected.acknowledged),
        format::time(started.elapsed().as_nanos() as f64),
    );
    if arguments.dir.is_none() {
        std::fs::remove_dir_all(&temporary).with_context(|| format!("cannot remove {}", temporary.display()))?;
    }
    Ok(Verdict::Good)
}

/// When to kill a child.
#[derive(Clone, Copy)]
struct Delay {
    time: Duration,
    /// Whether it starts when the child has recovered and checked, or else at the child's start.
    when_ready: bool,
}

/// In one case of four so soon after the start that the child is still opening the database.
fn delay(arguments: &TortureArguments, random: &mut Random) -> Delay {
    let max_us = (arguments.seconds_between * 1e6) as u64;
    let when_ready = random.uniform(1, 4) > 1;
    let max_us = if when_ready { max_us } else { max_us.min(40_000) };
    Delay { time: Duration::from_micros(random.uniform(0, max_us)), when_ready }
}

/// Starts a child, and kills it after a delay; without a delay, the child checks and exits.
fn run_child(
    arguments: &TortureArguments,
    dir: &Path,
    expected: &mut Expected,
    delay: Option<Delay>,
    number: u64,
) -> anyhow::Result<ChildEnd> {
    let mut child = start(arguments, dir, expected, delay.is_none(), number)?;
    let messages = listen(&mut child);
    let mut ready = false;
    let mut when_ready = delay.filter(|delay| delay.when_ready);
    let soon = delay.filter(|delay| !delay.when_ready);
    let mut deadline = Instant::now() + soon.map_or(MAX_RECOVERY, |delay| delay.time);
    let mut violation = None;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match messages.recv_timeout(left) {
            Ok(message) => expected.record(message, arguments.workload, &mut ready, &mut violation),
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
    // Fails if it has exited, which is fine.
    let _ = child.kill();
    let status = child.wait()?;
    for message in messages {
        expected.record(message, arguments.workload, &mut ready, &mut violation);
    }
    expected.settle(arguments.workload);
    // A child that checks must have succeeded, and one that works must have ended by the kill only.
    let late = status.code().is_none() && !ready && delay.is_none_or(|delay| delay.when_ready);
    let well = if delay.is_none() { status.success() && ready } else { status.code().is_none() && !late };
    if violation.is_none() && !well && !exit::interrupted() {
        violation = Some(match late {
            true => format!("the database was not open after {} s", MAX_RECOVERY.as_secs()),
            false => format!("the working process exited by itself ({status}); see its message above"),
        });
    }
    Ok(violation.map_or(ChildEnd::Killed { ready }, ChildEnd::Violated))
}

fn start(
    arguments: &TortureArguments,
    dir: &Path,
    expected: &Expected,
    check_only: bool,
    number: u64,
) -> anyhow::Result<Child> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new(program);
    command.arg("torture-child").arg("--dir").arg(dir);
    command.args(["--workload", arguments.workload.name(), "--log", arguments.log.name()]);
    command.args(["--durability", arguments.durability.name()]);
    command.args(arguments.engine.arguments());
    command.args(["--partitions", &arguments.partitions.to_string(), "--clients", &arguments.clients.to_string()]);
    command.args(["--seed", &(arguments.seed + number).to_string()]);
    command.args(["--min", &join(&expected.min), "--max", &join(&expected.max)]);
    if check_only {
        command.arg("--check-only");
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("cannot start another process")
}

/// Reads the child's messages, so that its pipe never fills.
fn listen(child: &mut Child) -> Receiver<Message> {
    let (sender, receiver) = channel();
    let pipe = child.stdout.take().expect("it is piped");
    std::thread::spawn(move || {
        // A line that the kill cut off is no message.
        for message in BufReader::new(pipe).lines().map_while(Result::ok).filter_map(|line| line.parse().ok()) {
            if sender.send(message).is_err() {
                return;
            }
        }
    });
    receiver
}

impl Expected {
    fn record(
        &mut self,
        message: Message,
        workload: TortureWorkload,
        ready: &mut bool,
        violation: &mut Option<String>,
    ) {
        match (message, workload) {
            (Message::Ready(counts), TortureWorkload::Bank) => {
                *ready = true;
                // The exact number: transactions that are missing now were never committed.
                self.min.clone_from(&counts);
                self.max = counts;
            }
            (Message::Ready(counts), TortureWorkload::Tpcc) => {
                *ready = true;
                self.base = counts[0];
                self.min = counts;
            }
            (Message::WillSend(client, number), _) => self.max[client] = number,
            (Message::Acknowledged(client, number), TortureWorkload::Bank) => {
                self.acknowledged += number - self.min[client];
                self.min[client] = number;
            }
            (Message::Acknowledged(client, number), TortureWorkload::Tpcc) => self.since[client] = number,
            (Message::Violation(what), _) => *violation = Some(what),
        }
    }

    /// Adds the orders that a child's clients had acknowledged.
    fn settle(&mut self, workload: TortureWorkload) {
        if workload == TortureWorkload::Tpcc {
            let orders: u64 = self.since.iter().sum();
            self.acknowledged += orders;
            self.min[0] = self.min[0].max(self.base + orders);
            self.since.fill(0);
        }
    }
}

fn violated(
    arguments: &TortureArguments,
    dir: &Path,
    kills: u64,
    what: &str,
    bar: &ProgressBar,
) -> anyhow::Result<Verdict> {
    bar.finish_and_clear();
    let kept: PathBuf = dir.to_owned();
    println!("VIOLATION after {kills} kills: {what}");
    println!("The directory is kept: {}", kept.display());
    println!(
        "To repeat: glassbox torture --workload {} --log {} --partitions {} --clients {} --seconds-between {} \
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
