//! Loading the population in parallel, a warehouse at a time.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use glassbox::record::Record;
use glassbox::{BulkLoad, Error};

use super::population::{self, Sink};
use super::scale::Scale;

/// Loads the whole population in this number of threads.
///
/// `make_sink` gives each thread a sink of its own (for an engine whose bulk loader is shared, a reference to it).
///
/// # Errors
/// The first error of a sink; the others then stop before their next warehouse, and the load is incomplete.
///
/// # Panics
/// When the scale is impossible ([`Scale::check`]) or there are no threads.
pub fn load<S: Sink>(scale: &Scale, seed: u64, threads: usize, make_sink: impl Fn() -> S + Sync) -> Result<(), S::Error>
where
    S::Error: Send,
{
    assert!(threads > 0, "loading needs at least one thread");
    scale.check().unwrap_or_else(|error| panic!("{error}"));
    population::items(scale, seed, &mut make_sink())?;
    let begun = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let failure = Mutex::new(None);
    let work = || {
        let mut sink = make_sink();
        while !failed.load(Ordering::Relaxed) {
            let next = begun.fetch_add(1, Ordering::Relaxed) + 1;
            if next > usize::from(scale.warehouses) {
                return;
            }
            if let Err(error) = population::warehouse(scale, seed, next as u16, &mut sink) {
                failed.store(true, Ordering::Relaxed);
                failure.lock().expect("nothing panics while it is held").get_or_insert(error);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(usize::from(scale.warehouses)) {
            scope.spawn(work);
        }
        work();
    });
    failure.into_inner().expect("nothing panics while it is held").map_or(Ok(()), Err)
}

/// An engine's bulk loader as a sink of the population.
impl Sink for &BulkLoad<'_> {
    type Error = Error;

    fn row<R: Record>(&mut self, row: &R) -> Result<(), Error> {
        self.insert(row)
    }
}
