//! The `glassbox` program: runs TPC-C, looks into a database, checks it, and tortures it.
//!
//! Its exit status is 0 when all went well, 1 when something failed or a check found something, 2 for wrong arguments.
//! What was asked for goes to standard output; progress and complaints go to standard error. A reader that closes its
//! end (`| head`) is no error.

mod format;
mod interrupt;
mod options;
mod results;
mod tpcc;

use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// An OLTP database one can see through.
#[derive(Parser)]
#[command(name = "glassbox", version, propagate_version = true, arg_required_else_help = true)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Tpcc(tpcc::Arguments),
}

/// Whether everything that was checked is as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Good,
    Bad,
}

fn main() -> ExitCode {
    let result = match Program::parse().command {
        Command::Tpcc(arguments) => tpcc::run(&arguments),
    };
    match result {
        Ok(Verdict::Good) => ExitCode::SUCCESS,
        Ok(Verdict::Bad) => ExitCode::FAILURE,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether the reader of the output went away.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe))
}
