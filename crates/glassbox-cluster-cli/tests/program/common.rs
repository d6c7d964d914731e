//! Running the program under test.

use std::process::Command;

use glassbox_testing::program;
pub use glassbox_testing::program::{Ran, does, interrupted, once, text};

/// The program, not yet started.
pub fn program(arguments: &[&str]) -> Command {
    program::command(env!("CARGO_BIN_EXE_glassbox-cluster"), arguments)
}

/// Runs the program to its end.
pub fn run(arguments: &[&str]) -> Ran {
    program::run(program(arguments))
}

/// Runs the program to its end, and asserts success.
pub fn run_well(arguments: &[&str]) -> Ran {
    program::run_well(program(arguments))
}
