//! The `glassbox-lab` program: the papers' experiments, limits, single stacks, and the reasons of the engine's choices.
//!
//! The exit status is 0 on success, 1 on an error or a failed check, 2 for invalid arguments. Results go to standard
//! output; progress and errors go to standard error.

mod program;

use std::process::ExitCode;

use clap::Parser;
use glassbox_program::exit;

/// Messages are allocated by one thread and freed by another: the system's allocator gets slower whenever the pairs of
/// threads change.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Run experiments: limits, the Looking Glass, low overhead concurrency control, Charm, determinism, scaling
#[derive(Parser)]
#[command(name = "glassbox-lab", version, propagate_version = true, arg_required_else_help = true)]
struct Program {
    #[command(subcommand)]
    experiment: program::Experiment,
}

fn main() -> ExitCode {
    exit::code(program::run(&Program::parse().experiment))
}
