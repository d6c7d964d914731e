//! `glassbox-lab explain scheme`: the predicted throughput of each scheme under a load, term by term, and the choice.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use glassbox_cluster::SchemeKind;
use glassbox_cluster::auto::{Advice, Statistics, Times};
use glassbox_sim::cluster::{ALL, Costs, Link, Load, Settings, World};
use serde::Deserialize;

use glassbox_program::exit::Verdict;

/// Show the predicted throughput of each scheme under a load, and the scheme that the engine would choose
///
/// The model of "Low Overhead Concurrency Control" (SIGMOD 2010), section 6, with terms that it omits. The load comes
/// from options, from a file, or from the engine's statistics in a short simulated run. The times are the paper's,
/// unless the file has others.
#[derive(Args)]
pub struct SchemeArguments {
    /// Transactions on several partitions, in percent
    #[arg(long, value_name = "PERCENT", default_value = "10", value_parser = clap::value_parser!(u64).range(..=100))]
    several: u64,
    /// Share of these that take two rounds, in percent
    #[arg(long, value_name = "PERCENT", default_value = "0", value_parser = clap::value_parser!(u64).range(..=100))]
    two_rounds: u64,
    /// Transactions that abort, in percent
    #[arg(long, value_name = "PERCENT", default_value = "0", value_parser = clap::value_parser!(u64).range(..=100))]
    aborts: u64,
    /// Transactions that write a contended row, one in each partition, in percent
    #[arg(long, value_name = "PERCENT", default_value = "0", value_parser = clap::value_parser!(u64).range(..=100))]
    conflicts: u64,
    /// Round trip of a message and its answer, in microseconds
    #[arg(long, value_name = "MICROSECONDS", default_value = "120")]
    round_trip: u64,
    /// Calls in flight
    #[arg(long, value_name = "N", default_value = "40", value_parser = clap::value_parser!(u32).range(1..=1000))]
    clients: u32,
    /// Coordinators, which take turns
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=64))]
    coordinators: u16,
    /// The load and the times from a JSON file: {"load": {"several": 0.1, …}, "times": {"single_us": 64, …}}; missing
    /// fields have their defaults
    #[arg(long, value_name = "FILE", conflicts_with = "simulate")]
    from: Option<PathBuf>,
    /// Simulate the load for a virtual second, and show the engine's statistics and choice
    #[arg(long)]
    simulate: bool,
    /// Print the formulas' values as JSON, in the format of `--from`
    #[arg(long)]
    json: bool,
}

/// The contents of a file.
#[derive(Deserialize)]
struct Given {
    #[serde(default)]
    load: Statistics,
    times: Option<Times>,
}

/// Does what the arguments say.
pub fn run(arguments: &SchemeArguments) -> anyhow::Result<Verdict> {
    let advice = match &arguments.from {
        Some(file) => {
            let text = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
            let given: Given = serde_json::from_slice(&text).with_context(|| format!("{}", file.display()))?;
            Advice::of_model(given.load, given.times.unwrap_or_else(of_the_paper), SchemeKind::Blocking)
        }
        None if arguments.simulate => simulated(arguments)?,
        None => Advice::of_model(arguments.load(), of_the_paper(), SchemeKind::Blocking),
    };
    let mut out = std::io::stdout().lock();
    if arguments.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&advice)?)?;
    } else {
        writeln!(out, "{advice}")?;
    }
    Ok(Verdict::Good)
}

fn share(percent: u64) -> f64 {
    percent as f64 / 100.0
}

impl SchemeArguments {
    /// The advisor's statistics of this load.
    fn load(&self) -> Statistics {
        let (several, participants) = (share(self.several), 2.0);
        Statistics {
            several,
            participants,
            rounds: 1.0 + share(self.two_rounds),
            single_aborts: share(self.aborts),
            several_aborts: share(self.aborts),
            // A transaction on two partitions writes the row of one of them.
            hottest: share(self.conflicts) / (1.0 + several),
            round_trip_us: self.round_trip as f64,
            clients: f64::from(self.clients),
            coordinators: u32::from(self.coordinators),
            ..Statistics::default()
        }
    }
}

/// The paper's times, and the simulator's for those that the paper omits.
fn of_the_paper() -> Times {
    let costs = Costs::of_the_paper();
    let us = |ns: u64| ns as f64 / 1e3;
    Times {
        single_us: us(costs.single_ns),
        keeping: costs.single_undo_ns as f64 / costs.single_ns as f64,
        locking: costs.locking_thousandths as f64 / 1e3,
        fragment_us: us(costs.fragment_ns),
        decide_us: us(costs.decide_ns),
        stopped_us: us(costs.stopped_ns),
        undo_us: us(costs.undo_ns),
        message_us: us(costs.coordinator_message_ns),
    }
}

fn simulated(arguments: &SchemeArguments) -> anyhow::Result<Advice> {
    let of_all = |percent: u64| percent * ALL / 100;
    let load = Load {
        several: of_all(arguments.several),
        two_rounds: of_all(arguments.two_rounds),
        aborts: of_all(arguments.aborts),
        conflicts: of_all(arguments.conflicts),
    };
    let settings = Settings {
        link: Link::of(arguments.round_trip * 1_000 / 2),
        clients: arguments.clients,
        coordinators: arguments.coordinators,
        advice_us: 100_000,
        ..Settings::of_the_paper(SchemeKind::Blocking, load, 1)
    };
    let mut world = World::new(settings);
    world.keep_history(false);
    world.run_us(1_050_000);
    world
        .advice()
        .cloned()
        .context("the simulated second has too few transactions for a choice; raise --clients or lower --round-trip")
}
