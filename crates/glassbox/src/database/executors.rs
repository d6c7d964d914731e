//! The database's threads that run submitted calls.
//!
//! Where the configuration asks for it, each partition has one. Otherwise threads of the callers run all calls, and a
//! single thread looks now and then for calls whose submitters neither wait for them nor come back: no other might run
//! them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use crate::config::Execution;
use crate::database::any_engine::AnyEngine;
use crate::database::inner::Inner;
use crate::io::keep_on_core;

/// The interval of looks for calls that are left and not awaited; and the longest, to which it grows while none are
/// left, so that an idle database costs little.
const LOOK_EVERY: Duration = Duration::from_millis(100);
const MAX_INTERVAL: Duration = Duration::from_millis(800);

/// Running threads; dropping them ends them. Calls that are left run in the threads that wait for them.
pub(crate) struct Executors {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Executors {
    /// Starts the threads. Where the system refuses one, threads that wait run the calls.
    pub(crate) fn start(inner: &Arc<Inner>) -> Option<Self> {
        let AnyEngine::Partitioned(engine) = &inner.engine else { return None };
        let stop = Arc::new(AtomicBool::new(false));
        let spawn = |name: String, run: Box<dyn FnOnce(&AtomicBool) + Send>| {
            let stop = stop.clone();
            Builder::new().name(name).spawn(move || run(&stop)).ok()
        };
        let threads = match inner.config.execution {
            Execution::Caller => return None,
            Execution::Thread => {
                let serve = |partition: usize| {
                    let inner = inner.clone();
                    spawn(format!("glassbox-part-{partition}"), Box::new(move |stop| serve(&inner, partition, stop)))
                };
                (0..engine.cells.len()).filter_map(serve).collect()
            }
            // Runs that must repeat exactly have no threads, and one caller.
            Execution::Auto | Execution::Core if !inner.config.log_threads => return None,
            Execution::Auto | Execution::Core => {
                let inner = Arc::downgrade(inner);
                let sweep = spawn("glassbox-sweep".to_owned(), Box::new(move |stop| sweep(&inner, stop)));
                sweep.into_iter().collect()
            }
        };
        Some(Self { stop, threads })
    }
}

/// Runs the calls of a partition until `stop`.
fn serve(inner: &Inner, partition: usize, stop: &AtomicBool) {
    if let AnyEngine::Partitioned(engine) = &inner.engine {
        keep_on_core(partition, engine.cells.len());
        engine.serve(partition, stop);
    }
}

/// Runs the calls that are left, now and then, until `stop`.
fn sweep(inner: &Weak<Inner>, stop: &AtomicBool) {
    let (mut interval, mut handed_over) = (LOOK_EVERY, 0);
    loop {
        std::thread::park_timeout(interval);
        if stop.load(Ordering::Relaxed) {
            return;
        }
        if let Some(inner) = inner.upgrade()
            && let AnyEngine::Partitioned(engine) = &inner.engine
        {
            engine.sweep();
            let before = std::mem::replace(&mut handed_over, engine.handed_over());
            interval = if handed_over == before { (interval * 2).min(MAX_INTERVAL) } else { LOOK_EVERY };
        }
    }
}

impl Drop for Executors {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.thread().unpark();
            // A panic there was reported by the panic hook.
            let _ = thread.join();
        }
    }
}
