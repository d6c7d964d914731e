//! Ctrl-C: the first asks the work to end, so that its results are still told; the second ends the program at once.

use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// The status that shells give a program that SIGINT ended.
const STATUS_OF_SIGINT: i32 = 130;

/// Begins to listen.
pub fn listen() -> anyhow::Result<()> {
    ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(STATUS_OF_SIGINT);
        }
    })?;
    Ok(())
}

/// Whether the work should end.
pub fn requested() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}
