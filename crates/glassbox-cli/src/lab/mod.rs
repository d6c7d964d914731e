//! `glassbox lab`: experiments. Each is a command of its own.

mod limits;

use clap::{Args, Subcommand};

use crate::Verdict;

/// Measure: experiments that compare Glassbox with what it could be
#[derive(Args)]
#[command(arg_required_else_help = true)]
pub struct Arguments {
    #[command(subcommand)]
    experiment: Experiment,
}

#[derive(Subcommand)]
enum Experiment {
    Limits(limits::Arguments),
    #[command(hide = true)]
    CountLimits(limits::ChildArguments),
}

/// Runs the experiment.
pub fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    match &arguments.experiment {
        Experiment::Limits(arguments) => limits::run(arguments),
        Experiment::CountLimits(arguments) => limits::run_child(arguments),
    }
}
