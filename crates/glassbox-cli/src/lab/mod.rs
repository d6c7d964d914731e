//! `glassbox lab`: experiments. Each is a command of its own.

mod calibrate;
mod child;
mod limits;
mod looking_glass;
mod low_overhead;
mod report;
mod shared;

use clap::{Args, Subcommand};

use crate::Verdict;
use child::ChildArguments;

/// Measure: experiments that compare Glassbox with what it could be
#[derive(Args)]
#[command(arg_required_else_help = true)]
pub struct Arguments {
    #[command(subcommand)]
    experiment: Experiment,
}

#[derive(Subcommand)]
enum Experiment {
    Calibrate(calibrate::Arguments),
    Limits(limits::Arguments),
    LookingGlass(looking_glass::Arguments),
    LowOverhead(low_overhead::Arguments),
    Report(report::Arguments),
    #[command(hide = true)]
    CountInProcess(ChildArguments<glassbox_lab::in_process::System>),
    #[command(hide = true)]
    CountLimits(ChildArguments<glassbox_lab::limits::systems::System>),
    #[command(hide = true)]
    CountLookingGlass(ChildArguments<glassbox_lab::looking_glass::System>),
}

/// Runs the experiment.
pub fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    let good = |ran: anyhow::Result<()>| ran.map(|()| Verdict::Good);
    match &arguments.experiment {
        Experiment::Calibrate(arguments) => calibrate::run(arguments),
        Experiment::Limits(arguments) => limits::run(arguments),
        Experiment::LookingGlass(arguments) => looking_glass::run(arguments),
        Experiment::LowOverhead(arguments) => low_overhead::run(arguments),
        Experiment::Report(arguments) => report::run(arguments),
        Experiment::CountInProcess(arguments) => good(glassbox_lab::in_process::run_child(&arguments.child())),
        Experiment::CountLimits(arguments) => good(glassbox_lab::limits::count::run_child(&arguments.child())),
        Experiment::CountLookingGlass(arguments) => good(glassbox_lab::looking_glass::run_child(&arguments.child())),
    }
}
