//! The background writer: a thread that writes dirty pages before their frames are needed.
//!
//! It checks the frames that the clock reaches next and writes the dirty ones, sooner after a thread has found a dirty
//! page there. It is not part of the pool: without it, a thread that needs a frame writes a batch itself, so that tests
//! are repeatable.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use super::pool::{BufferPool, WriterRequests, WriterSignal};
use super::write_ahead::WriteAhead;
use crate::classic::latch::Latch;
use crate::error::Error;
use crate::io::{IoError, OpeningProcess};

/// The running thread. Dropping it stops the thread and waits for its end; dirty pages stay dirty.
pub(crate) struct BackgroundWriter {
    signal: Arc<WriterSignal>,
    thread: Mutex<Option<JoinHandle<()>>>,
    process: OpeningProcess,
}

impl BackgroundWriter {
    /// Starts the thread, the only one for this pool.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn start<L, W>(pool: Arc<BufferPool<L, W>>) -> Result<Self, Error>
    where
        L: Latch + Sync,
        W: WriteAhead + Send + Sync + 'static,
    {
        let signal = pool.signal.clone();
        let was_running = {
            let requests = WriterRequests { running: true, ..WriterRequests::default() };
            std::mem::replace(&mut *signal.requests(), requests).running
        };
        assert!(!was_running, "a pool has one background writer");
        let running = RunningWriter(signal.clone());
        let run = move || {
            // A failure stops the pool, and every later writer gets it as an error.
            while running.0.wait() && write(&pool).is_ok() {}
        };
        let thread = Builder::new().name("glassbox-pages".into()).spawn(run);
        let error = |e| IoError::new(std::path::Path::new("pages"), "start a thread for", e);
        let thread = Mutex::new(Some(thread.map_err(error)?));
        Ok(Self { signal, thread, process: OpeningProcess::current() })
    }

    /// Stops the thread and waits for it. A child of the process that started it has no such thread.
    pub(crate) fn stop(&self) {
        if !self.process.is_current() {
            if let Ok(mut thread) = self.thread.try_lock() {
                std::mem::forget(thread.take());
            }
            return;
        }
        {
            let mut requests = self.signal.requests();
            requests.stop = true;
            self.signal.come.notify_one();
        }
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // Its panic has stopped the pool already.
            let _ = thread.join();
        }
    }
}

impl Drop for BackgroundWriter {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Marks the signal as without a listener when the thread ends.
struct RunningWriter(Arc<WriterSignal>);

impl Drop for RunningWriter {
    fn drop(&mut self) {
        self.0.requests().running = false;
    }
}

fn write<L: Latch, W: WriteAhead>(pool: &BufferPool<L, W>) -> Result<(), Error> {
    while pool.clean_ahead()? > 0 {}
    pool.volume.grow_ahead();
    Ok(())
}
