//! Running the program under test.

use std::path::Path;
use std::process::Command;
use std::sync::Once;

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

static GLASSBOX: Once = Once::new();

/// Runs `glassbox`, next to the program under test, to its end.
pub fn run_glassbox(arguments: &[&str]) -> Ran {
    let file = env!("CARGO_BIN_EXE_glassbox-cluster");
    GLASSBOX.call_once(|| program::build_siblings(file, &[("glassbox-cli", "glassbox")]));
    program::run(program::command(Path::new(file).with_file_name("glassbox"), arguments))
}
