//! The `glassbox` program: runs TPC-C, alone or on a cluster of processes, looks into a database, checks it, tortures
//! it, and measures what it is made of.
//!
//! Its exit status is 0 when all went well, 1 when something failed or a check found something, 2 for wrong arguments.
//! What was asked for goes to standard output; progress and complaints go to standard error. A reader that closes its
//! end (`| head`) is no error.

mod cluster;
mod dump;
mod explain;
mod info;
mod interrupt;
mod lab;
mod options;
mod results;
mod torture;
mod tpcc;
mod verify;

use std::io;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use glassbox_lab::format;

/// Messages are allocated by one thread and freed by another: the system's allocator gets slower with every change of
/// who sends what.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

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
    Info(info::Arguments),
    Verify(verify::Arguments),
    Dump(dump::Arguments),
    Torture(torture::Arguments),
    Explain(explain::Arguments),
    Lab(lab::Arguments),
    Cluster(cluster::Arguments),
    Node(cluster::NodeArguments),
    #[command(hide = true)]
    TortureChild(torture::ChildArguments),
}

impl Command {
    /// Refuses arguments that do not go together.
    fn check(&self) -> Result<(), String> {
        match self {
            Self::Tpcc(arguments) => arguments.check(),
            Self::Torture(arguments) => arguments.check(),
            _ => Ok(()),
        }
    }
}

/// Whether everything that was checked is as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Good,
    Bad,
}

fn main() -> ExitCode {
    let command = Program::parse().command;
    if let Err(problem) = command.check() {
        Program::command().error(ErrorKind::ArgumentConflict, problem).exit();
    }
    let result = match command {
        Command::Tpcc(arguments) => tpcc::run(&arguments),
        Command::Info(arguments) => info::run(&arguments),
        Command::Verify(arguments) => verify::run(&arguments),
        Command::Dump(arguments) => dump::run(&arguments),
        Command::Torture(arguments) => torture::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Lab(arguments) => lab::run(&arguments),
        Command::Cluster(arguments) => cluster::run(&arguments),
        Command::Node(arguments) => cluster::run_node(&arguments),
        Command::TortureChild(arguments) => torture::run_child(&arguments),
    };
    match result {
        Ok(Verdict::Good) => ExitCode::SUCCESS,
        Ok(Verdict::Bad) => ExitCode::FAILURE,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", in_words(&error));
            ExitCode::FAILURE
        }
    }
}

/// An error and its causes, those left out that the message before them tells already.
fn in_words(error: &anyhow::Error) -> String {
    let mut words = String::new();
    for cause in error.chain().map(ToString::to_string).filter(|cause| !cause.is_empty()) {
        if words.is_empty() {
            words = cause;
        } else if !words.ends_with(&cause) {
            words = format!("{words}: {cause}");
        }
    }
    words
}

/// Whether the reader of the output went away.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe))
}
