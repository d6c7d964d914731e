//! `glassbox explain`: why the engine does what it does.

mod scheme;

use clap::{Args, Subcommand};

use crate::Verdict;

/// Say why: the sums behind what the engine chooses
#[derive(Args)]
#[command(arg_required_else_help = true)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Scheme(scheme::Arguments),
}

/// Explains it.
pub fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    match &arguments.what {
        What::Scheme(arguments) => scheme::run(arguments),
    }
}
