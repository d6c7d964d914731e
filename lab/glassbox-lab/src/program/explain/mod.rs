//! `glassbox-lab explain`: the reasons of the engine's choices.

mod scheme;

use clap::{Args, Subcommand};

use glassbox_program::exit::Verdict;

/// Explain the engine's choices by the formulas behind them
#[derive(Args)]
#[command(arg_required_else_help = true)]
pub struct ExplainArguments {
    #[command(subcommand)]
    what: Explanation,
}

#[derive(Subcommand)]
enum Explanation {
    Scheme(scheme::SchemeArguments),
}

/// Prints the explanation.
pub fn run(arguments: &ExplainArguments) -> anyhow::Result<Verdict> {
    match &arguments.what {
        Explanation::Scheme(arguments) => scheme::run(arguments),
    }
}
