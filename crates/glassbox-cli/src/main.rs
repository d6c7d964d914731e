//! The `glassbox` program: runs TPC-C, inspects and checks databases, kills processes to test recovery, and starts its
//! siblings for clusters and for experiments.
//!
//! Its exit status is 0 on success, 1 on an error or a failed check, 2 for invalid arguments. Results go to standard
//! output; progress and errors go to standard error. A reader that closes its end (`| head`) is no error.

mod condition;
mod dump;
mod info;
mod options;
mod torture;
mod tpcc;
mod verify;

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};
use glassbox_program::exit::{self, Verdict};
use glassbox_program::sibling;

/// Threads of clients allocate and free without waiting for each other.
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
    /// Run or operate a cluster of processes (starts `glassbox-cluster`)
    Cluster(OtherArguments),
    /// Run one replica or coordinator of a cluster (starts `glassbox-cluster node`)
    Node(OtherArguments),
    /// Run experiments: the papers', and limits (starts `glassbox-lab`)
    Lab(OtherArguments),
    /// Explain the engine's choices by the formulas behind them (starts `glassbox-lab explain`)
    Explain(OtherArguments),
    #[command(hide = true)]
    TortureChild(torture::TortureChildArguments),
}

/// The arguments of another program, which reads them itself.
#[derive(Args)]
#[command(disable_help_flag = true, disable_version_flag = true)]
struct OtherArguments {
    /// Arguments of that program; its own `--help` lists them
    #[arg(value_name = "ARGUMENTS", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

impl OtherArguments {
    /// Replaces this process by the program, at one of its commands.
    fn start(&self, program: &str, command: Option<&str>) -> anyhow::Result<Verdict> {
        let command = command.map(OsStr::new).into_iter();
        match sibling::become_program(program, command.chain(self.arguments.iter().map(OsString::as_os_str)))? {}
    }
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
        Command::Cluster(arguments) => arguments.start(sibling::CLUSTER, None),
        Command::Node(arguments) => arguments.start(sibling::CLUSTER, Some("node")),
        Command::Lab(arguments) => arguments.start(sibling::LAB, None),
        Command::Explain(arguments) => arguments.start(sibling::LAB, Some("explain")),
        Command::TortureChild(arguments) => torture::run_child(&arguments),
    };
    exit::code(result)
}
