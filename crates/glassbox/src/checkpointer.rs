//! The thread that makes a checkpoint whenever the log has grown enough, so that recovery stays short and the disk does
//! not fill.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::inner::Inner;

/// How often it looks.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How late it looks again when checkpoints fail.
const LOOK_AFTER_FAILURES: Duration = Duration::from_secs(60);

/// A running checkpointer; dropping it ends it, after the checkpoint that it may be making.
pub(crate) struct Checkpointer {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    /// Starts it if the database has a log to shorten.
    pub(crate) fn start(inner: &Arc<Inner>) -> Option<Self> {
        if inner.engine.log().is_none() || inner.config.checkpoint_log_bytes == 0 {
            return None;
        }
        let (stop, stopped) = channel();
        let inner = Arc::downgrade(inner);
        let thread = std::thread::Builder::new()
            .name("glassbox-checkpoint".to_owned())
            .spawn(move || {
                let mut wait = LOOK_EVERY;
                while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                    // What failed, for want of room on the disk say, is not tried again at once: trying takes room too.
                    wait = if look(&inner) { LOOK_EVERY } else { (wait * 2).min(LOOK_AFTER_FAILURES) };
                }
            })
            .ok()?;
        Some(Self { stop: Some(stop), thread: Some(thread) })
    }
}

/// Makes a checkpoint if it is time; whether none failed.
fn look(inner: &Weak<Inner>) -> bool {
    let Some(inner) = inner.upgrade() else { return true };
    let (Some(log), Some(storage)) = (inner.engine.log(), &inner.storage) else { return true };
    let start = inner.manifest(storage).log_start;
    if log.appended().0 - start < inner.config.checkpoint_log_bytes || inner.engine.check().is_err() {
        return true;
    }
    // A failure leaves the log whole; it is tried again, and counted where people look.
    let made = inner.checkpoint(false).is_ok();
    if !made {
        inner.failed_checkpoints.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
    made
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // A panic there was reported by the panic hook.
            let _ = thread.join();
        }
    }
}
