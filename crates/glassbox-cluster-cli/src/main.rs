//! The `glassbox-cluster` program: runs a cluster of processes under load and checks it, operates a cluster, and is one
//! of its processes.
//!
//! The exit status is 0 on success, 1 on an error or a failed check, 2 for invalid arguments. Results go to standard
//! output; progress and errors go to standard error.

use std::process::ExitCode;

use clap::Parser;
use glassbox_cluster_cli::Arguments;
use glassbox_program::exit;

/// Messages are allocated by one thread and freed by another: the system's allocator gets slower whenever the pairs of
/// threads change.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
#[command(name = "glassbox-cluster", version, propagate_version = true, arg_required_else_help = true)]
struct Program {
    #[command(flatten)]
    arguments: Arguments,
}

fn main() -> ExitCode {
    exit::code(glassbox_cluster_cli::run(&Program::parse().arguments))
}
