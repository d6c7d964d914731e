//! Running the program.

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The result of a run of the program.
pub struct Ran {
    pub status: Option<i32>,
    pub out: String,
    pub err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("the program writes UTF-8");
        Self { status: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

/// The program, not yet started.
pub fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_glassbox"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs it to its end.
pub fn run(arguments: &[&str]) -> Ran {
    program(arguments).output().expect("the program can be started").into()
}

/// Runs it to its end, and asserts success.
pub fn run_well(arguments: &[&str]) -> Ran {
    let ran = run(arguments);
    assert_eq!(ran.status, Some(0), "{arguments:?}\n{}\n{}", ran.out, ran.err);
    ran
}

pub fn text(path: &Path) -> &str {
    path.to_str().expect("temporary directories have plain names")
}
