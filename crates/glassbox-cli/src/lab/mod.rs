//! `glassbox lab`: experiments. Each is a command of its own.

mod limits;
mod looking_glass;
mod report;
mod shared;

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
    LookingGlass(looking_glass::Arguments),
    Report(report::Arguments),
    #[command(hide = true)]
    CountLimits(limits::ChildArguments),
    #[command(hide = true)]
    CountLookingGlass(looking_glass::ChildArguments),
}

/// Runs the experiment.
pub fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    match &arguments.experiment {
        Experiment::Limits(arguments) => limits::run(arguments),
        Experiment::LookingGlass(arguments) => looking_glass::run(arguments),
        Experiment::Report(arguments) => report::run(arguments),
        Experiment::CountLimits(arguments) => limits::run_child(arguments),
        Experiment::CountLookingGlass(arguments) => looking_glass::run_child(arguments),
    }
}
