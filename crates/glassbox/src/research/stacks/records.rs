//! Stacks without pages: records are in plain memory and reached by pointer.
//!
//! Without pages there is no use for components that log changes of pages, lock or latch them, or find stores made of
//! them: no log, no locks, no latches, no directory. The rows with their indexes remain, stored as in the partitioned
//! engine and used by one thread; and sessions, until the last stack removes them as well.

use std::cell::RefCell;
use std::panic::resume_unwind;
use std::path::Path;

use super::engine::StackEngine;
use super::typed::StackConfig;
use crate::answer::Answer;
use crate::catalog::Catalog;
use crate::classic::stack::StackSessions;
use crate::error::Error;
use crate::io::Clock;
use crate::log::Lsn;
use crate::partitioned::Alone;
use crate::procedure::Procedure;
use crate::record::Record;

/// Settings are checked as those of a stack with the smallest pages.
const MIN_PAGE_BYTES: usize = 4 << 10;

/// Rows and indexes of one thread, and the sessions that run transactions on them.
pub(crate) struct Records<T> {
    data: RefCell<Alone>,
    sessions: T,
}

impl<T: StackSessions<Session = ()>> StackEngine for Records<T> {
    fn make(
        _: Option<&Path>,
        config: &StackConfig,
        clock: impl Clock + 'static,
        catalog: &Catalog,
    ) -> Result<Self, Error> {
        config.check(MIN_PAGE_BYTES)?;
        let procedures = catalog.numbers(&(0..catalog.procedures.len() as u16).collect::<Vec<_>>());
        let data = Alone::new(&catalog.tables, &procedures, config.memory_bytes, Box::new(clock))?;
        Ok(Self { data: RefCell::new(data), sessions: T::of(vec![(); T::count(config.sessions)]) })
    }

    fn load<R: Record>(&self, row: &R) -> Result<(), Error> {
        self.data.borrow_mut().insert(row)
    }

    #[inline(always)]
    fn execute<P: Procedure>(&self, procedure: &P, answer: &mut Answer<P::Output>) -> Result<Lsn, Error> {
        let session = self.sessions.take()?;
        let ended = self.data.borrow_mut().execute(procedure, answer);
        // Released before a panic resumes: a session held while a panic unwinds would never be used again.
        drop(session);
        ended?.unwrap_or_else(|panic| resume_unwind(panic));
        Ok(Lsn::NONE)
    }

    #[inline(always)]
    fn wait(&self, _: Lsn) -> Result<(), Error> {
        Ok(())
    }

    #[inline(always)]
    fn nudge(&self) {}

    fn digest(&self) -> Result<u64, Error> {
        Ok(self.data.borrow_mut().digest())
    }

    fn verify(&self) -> Vec<String> {
        self.data.borrow_mut().verify()
    }
}
