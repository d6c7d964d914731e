//! Running the program under test.

use std::process::Command;
use std::sync::Once;

use glassbox_testing::program;
pub use glassbox_testing::program::{Ran, text};

static SIBLINGS: Once = Once::new();

/// The program, not yet started.
pub fn program(arguments: &[&str]) -> Command {
    let file = env!("CARGO_BIN_EXE_glassbox-lab");
    SIBLINGS.call_once(|| {
        program::build_siblings(file, &[("glassbox-cli", "glassbox"), ("glassbox-cluster-cli", "glassbox-cluster")])
    });
    program::command(env!("CARGO_BIN_EXE_glassbox-lab"), arguments)
}

/// Runs the program to its end.
pub fn run(arguments: &[&str]) -> Ran {
    program::run(program(arguments))
}

/// Runs the program to its end, and asserts success.
pub fn run_well(arguments: &[&str]) -> Ran {
    program::run_well(program(arguments))
}

/// See [`program::run_counting`].
pub fn run_counting(arguments: &[&str]) -> Option<Ran> {
    program::run_counting(program(arguments))
}
