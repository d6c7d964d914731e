//! The `glassbox` program: runs TPC-C, in one process or on a cluster, inspects and checks databases, kills processes
//! to test recovery, and runs the experiments.
//!
//! Its exit status is 0 on success, 1 on an error or a failed check, 2 for invalid arguments. Results go to standard
//! output; progress and errors go to standard error. A reader that closes its end (`| head`) is no error.

mod cluster;
mod dump;
mod exit;
mod explain;
mod info;
mod lab;
mod options;
mod results;
mod torture;
mod tpcc;
mod verify;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};

/// Messages are allocated by one thread and freed by another: the system's allocator gets slower whenever the pairs of
/// threads change.
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
    Tpcc(tpcc::TpccArguments),
    Info(info::InfoArguments),
    Verify(verify::VerifyArguments),
    Dump(dump::DumpArguments),
    Torture(torture::TortureArguments),
    Explain(explain::ExplainArguments),
    Lab(lab::LabArguments),
    Cluster(cluster::Arguments),
    Node(cluster::NodeArguments),
    #[command(hide = true)]
    TortureChild(torture::TortureChildArguments),
}

impl Command {
    /// Rejects invalid combinations of arguments.
    fn check(&self) -> Result<(), String> {
        match self {
            Self::Tpcc(arguments) => arguments.check(),
            Self::Torture(arguments) => arguments.check(),
            _ => Ok(()),
        }
    }
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
    exit::code(result)
}
