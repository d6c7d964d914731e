//! The thread that makes a checkpoint whenever the log has grown enough, so that recovery stays short and the disk does
//! not fill.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::database::Inner;

/// How often it looks.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A running checkpointer; dropping it ends it, after the checkpoint that it may be making.
pub(crate) struct Checkpointer {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    /// Starts it if the database has a log to shorten.
    pub(crate) fn start(inner: &Arc<Inner>) -> Option<Self> {
        if inner.engine.log.is_none() || inner.config.checkpoint_log_bytes == 0 {
            return None;
        }
        let (stop, stopped) = channel();
        let inner = Arc::downgrade(inner);
        let thread = std::thread::Builder::new()
            .name("glassbox-checkpoint".to_owned())
            .spawn(move || {
                while stopped.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                    look(&inner);
                }
            })
            .ok()?;
        Some(Self { stop: Some(stop), thread: Some(thread) })
    }
}

fn look(inner: &Weak<Inner>) {
    let Some(inner) = inner.upgrade() else { return };
    let (Some(log), Some(storage)) = (&inner.engine.log, &inner.storage) else { return };
    let start = inner.manifest(storage).log_start;
    if log.appended().0 - start < inner.config.checkpoint_log_bytes || inner.engine.check().is_err() {
        return;
    }
    // A failure leaves the log whole; it is tried again, and counted where people look.
    if inner.checkpoint(false).is_err() {
        inner.failed_checkpoints.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
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
