//! How the program ends: the exit status of a command, and Ctrl-C.
//!
//! The first Ctrl-C asks the command to end, so that it still prints its results; the second ends the program at once.

use std::io;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// The status that shells give a program that SIGINT ended.
const STATUS_OF_SIGINT: i32 = 130;

/// Whether everything that was checked is as it should be: the exit status of a command that ran to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Exit status 0.
    Good,
    /// Exit status 1.
    Bad,
}

/// Starts to handle Ctrl-C.
pub fn handle_interrupts() -> anyhow::Result<()> {
    ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(STATUS_OF_SIGINT);
        }
    })?;
    Ok(())
}

/// Whether Ctrl-C was pressed: the command should end.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// The exit status of a command's result; an error is printed. A reader that closed its end (`| head`) is no error.
pub fn code(result: anyhow::Result<Verdict>) -> ExitCode {
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

/// An error and its causes, without those that the message before already contains.
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

/// Whether the reader of the output closed its end.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe))
}
