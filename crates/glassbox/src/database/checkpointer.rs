//! The thread that makes a checkpoint whenever the log has grown enough, to keep recovery short and the log small.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::database::inner::Inner;

/// Polling interval.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Polling interval after failed checkpoints.
const LOOK_AFTER_FAILURES: Duration = Duration::from_secs(60);

/// A running checkpointer; dropping it ends the thread, after a running checkpoint.
pub(crate) struct Checkpointer {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    /// Starts the thread if the database has a log to truncate.
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
                    // A failed checkpoint (on a full disk, for example) is not retried at once: an attempt needs room
                    // too.
                    wait = if look(&inner) { LOOK_EVERY } else { (wait * 2).min(LOOK_AFTER_FAILURES) };
                }
            })
            .ok()?;
        Some(Self { stop: Some(stop), thread: Some(thread) })
    }
}

/// Makes a checkpoint if one is due; false if it failed.
fn look(inner: &Weak<Inner>) -> bool {
    let Some(inner) = inner.upgrade() else { return true };
    let (Some(log), Some(store)) = (inner.engine.log(), &inner.store) else { return true };
    // A prepared transaction can keep the log from before the last checkpoint.
    let start = store.manifest().last_checkpoint();
    if log.appended().0 - start < inner.config.checkpoint_log_bytes || inner.engine.check().is_err() {
        return true;
    }
    // A failure leaves the log complete; it is counted in the statistics, and the checkpoint is retried.
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
