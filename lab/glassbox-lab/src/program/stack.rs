//! `glassbox-lab stack`: one stack of the Looking Glass, by one client.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use clap::{Args, ValueEnum};
use glassbox::research::stacks::StackName;
use glassbox_lab::looking_glass::{OneStack, Workload};
use glassbox_program::exit::{self, Verdict};
use glassbox_program::latencies::{put_latencies, table};
use glassbox_program::options::{Common, DurabilityOption};
use glassbox_program::results::{Figure, Results, memory, report_to};
use glassbox_workloads::format;
use glassbox_workloads::tpcc::{ClientTallies, Observer, Scale};
use serde_json::json;

use super::shared::{check_memory, seconds};

/// Transactions for each second of the run that there is room for, if memory suffices: the fastest stacks run as many.
const MAX_RATE: f64 = 2e6;
/// The share of available memory that may be reserved, a divisor.
const MEMORY_SHARE: u64 = 2;

/// Run a stack of the Looking Glass, the classic engine from which components were left out
///
/// One client, one transaction at a time, New-Order and Payment in its home warehouse, on a new database that is
/// removed afterwards.
#[derive(Args)]
pub struct StackArguments {
    /// The stack, from `full` to `bare`
    #[arg(value_name = "NAME")]
    stack: StackName,
    /// Warehouses
    #[arg(long, short, value_name = "N", default_value = "2",
          value_parser = clap::value_parser!(u16).range(1..=10_000))]
    warehouses: u16,
    /// Duration of the run, in seconds
    #[arg(long, short, value_name = "S", default_value = "10", value_parser = seconds, allow_negative_numbers = true)]
    seconds: f64,
    /// Mix of transactions
    #[arg(long, value_enum, default_value = "looking-glass")]
    mix: StackMix,
    /// When a transaction is answered, on a stack with a log on disk
    #[arg(long, value_enum, default_value = "sync")]
    durability: DurabilityOption,
    /// Options of all measurements of TPC-C
    #[command(flatten)]
    common: Common,
}

/// A mix of the transactions that stacks have.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum StackMix {
    /// Half New-Order, half Payment, as in OLTP Through the Looking Glass
    LookingGlass,
    /// New-Order alone
    NewOrder,
}

impl StackMix {
    const fn workload(self) -> (Workload, &'static str) {
        match self {
            Self::LookingGlass => (Workload::Mix, "looking-glass"),
            Self::NewOrder => (Workload::NewOrder, "new-order"),
        }
    }
}

/// Runs the stack, prints the results, checks the data.
pub fn run(arguments: &StackArguments) -> anyhow::Result<Verdict> {
    exit::handle_interrupts()?;
    let stack = arguments.stack;
    let mut out = report_to(arguments.common.json.as_deref());
    let scale = arguments.common.scale(arguments.warehouses);
    let (workload, mix) = arguments.mix.workload();
    let forced = matches!(arguments.durability, DurabilityOption::Sync);
    let configuration = json!({
        "scale": scale,
        "stack": stack.name(),
        "clients": 1,
        "in_flight": 1,
        "seconds": arguments.seconds,
        "mix": mix,
        "forced": forced,
        "seed": arguments.common.seed,
    });
    let mut results = Results::new(arguments.common.json.as_deref(), "tpcc", configuration)?;
    writeln!(
        out,
        "TPC-C, {mix} mix: {} warehouse{}, stack `{stack}` ({}), 1 client, {}",
        scale.warehouses,
        if scale.warehouses == 1 { "" } else { "s" },
        stack.what(),
        if forced { "answers wait for the disk if the stack has a log there" } else { "answers wait for no disk" },
    )?;
    let room = room(&scale, arguments.seconds);
    check_memory(OneStack::memory_bytes(&scale, room) as u64, "its pages", "use fewer --warehouses")?;
    let of = ((stack, forced), (&scale, workload));
    let mut database = OneStack::load(of.0, of.1, room, arguments.common.seed, Path::new("."))?;
    let tallies = ClientTallies::new(1);
    let (seconds, is_full) = call(&mut database, &tallies, arguments.seconds)?;
    let tally = tallies.sum();
    writeln!(out, "{}", table(&tally, seconds))?;
    if is_full {
        writeln!(out, "ended after {seconds:.1} s of {} s: its memory is full", arguments.seconds)?;
    } else if exit::interrupted() {
        writeln!(out, "interrupted after {seconds:.1} s of {} s", arguments.seconds)?;
    }
    put_latencies(&mut results, 1.0, &tally, seconds, None)?;
    let problems = database.check();
    match problems.len() {
        0 => writeln!(out, "consistency trees, heap files and indexes are sound")?,
        count => writeln!(out, "consistency {} VIOLATIONS", format::count(count as u64))?,
    }
    problems.iter().try_for_each(|problem| writeln!(out, "            {problem}"))?;
    let (figure, value) = ("checks after the run", problems.len() as f64);
    let unit = "violations";
    results.put(Figure { figure, row: "indexes", x: 1.0, metric: unit, value, spread: None, unit })?;
    results.finish()?;
    Ok(if problems.is_empty() { Verdict::Good } else { Verdict::Bad })
}

/// For how many transactions there is memory, at most those of `seconds`.
fn room(scale: &Scale, seconds: f64) -> usize {
    let wanted = (seconds * MAX_RATE) as usize;
    let empty = OneStack::memory_bytes(scale, 0);
    let each = OneStack::memory_bytes(scale, 1) - empty;
    let available = memory("MemAvailable").unwrap_or(u64::MAX) / MEMORY_SHARE;
    wanted.min((available as usize).saturating_sub(empty) / each).max(1)
}

/// Calls transactions one after the other. Returns the seconds, and whether memory ended them.
fn call(database: &mut OneStack, tallies: &ClientTallies, seconds: f64) -> anyhow::Result<(f64, bool)> {
    let mut recorder = tallies.recorder(0);
    let begun = Instant::now();
    loop {
        let elapsed = begun.elapsed().as_secs_f64();
        if elapsed >= seconds || exit::interrupted() {
            return Ok((elapsed, false));
        }
        match database.run_next()? {
            Some((kind, latency_ns)) => recorder.answered(kind, latency_ns, true),
            None => return Ok((elapsed, true)),
        }
    }
}
