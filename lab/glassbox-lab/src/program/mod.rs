//! Experiments, each of which is a command.

mod calibrate;
mod charm;
mod child;
mod determinism;
mod explain;
mod limits;
mod looking_glass;
mod low_overhead;
mod report;
mod scaling;
mod shared;
mod stack;

use clap::Subcommand;

use child::CountArguments;
use glassbox_program::exit::Verdict;

/// An experiment, or an explanation.
#[derive(Subcommand)]
pub enum Experiment {
    Calibrate(calibrate::CalibrateArguments),
    Charm(charm::CharmArguments),
    Determinism(determinism::DeterminismArguments),
    Explain(explain::ExplainArguments),
    Limits(limits::LimitsArguments),
    LookingGlass(looking_glass::LookingGlassArguments),
    LowOverhead(low_overhead::LowOverheadArguments),
    Report(report::ReportArguments),
    Scaling(scaling::ScalingArguments),
    Stack(stack::StackArguments),
    #[command(hide = true)]
    CountCharm(CountArguments<glassbox_lab::charm::CountedPolicy>),
    #[command(hide = true)]
    CountInProcess(CountArguments<glassbox_lab::in_process::CallPath>),
    #[command(hide = true)]
    CountLocks(CountArguments<glassbox_lab::in_process::LockedShare>),
    #[command(hide = true)]
    CountLimits(CountArguments<glassbox_lab::limits::systems::System>),
    #[command(hide = true)]
    CountLookingGlass(CountArguments<glassbox_lab::looking_glass::LadderSystem>),
    #[command(hide = true)]
    CountScaling(CountArguments<glassbox_lab::scaling::CountedRun>),
}

/// Runs the experiment.
pub fn run(experiment: &Experiment) -> anyhow::Result<Verdict> {
    let good = |ran: anyhow::Result<()>| ran.map(|()| Verdict::Good);
    match experiment {
        Experiment::Calibrate(arguments) => calibrate::run(arguments),
        Experiment::Charm(arguments) => charm::run(arguments),
        Experiment::Determinism(arguments) => determinism::run(arguments),
        Experiment::Explain(arguments) => explain::run(arguments),
        Experiment::Limits(arguments) => limits::run(arguments),
        Experiment::LookingGlass(arguments) => looking_glass::run(arguments),
        Experiment::LowOverhead(arguments) => low_overhead::run(arguments),
        Experiment::Report(arguments) => report::run(arguments),
        Experiment::Scaling(arguments) => scaling::run(arguments),
        Experiment::Stack(arguments) => stack::run(arguments),
        Experiment::CountCharm(arguments) => good(glassbox_lab::charm::run_child(&arguments.child())),
        Experiment::CountInProcess(arguments) => good(glassbox_lab::in_process::run_child(&arguments.child())),
        Experiment::CountLocks(arguments) => good(glassbox_lab::in_process::run_locked_child(&arguments.child())),
        Experiment::CountLimits(arguments) => good(glassbox_lab::limits::instructions::run_child(&arguments.child())),
        Experiment::CountLookingGlass(arguments) => good(glassbox_lab::looking_glass::run_child(&arguments.child())),
        Experiment::CountScaling(arguments) => good(glassbox_lab::scaling::run_child(&arguments.child())),
    }
}
