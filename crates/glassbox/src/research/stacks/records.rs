//! Stacks without pages: records lie in plain memory and are reached by pointer.
//!
//! What describes changes of pages, names or guards them, or finds what consists of them has nothing left to do without
//! pages: no log, no locks, no latches, no directory. What remains is the rows with their indexes, as the engine in
//! memory keeps them, which one thread has to itself; and sessions, until they are taken out as well.

use std::cell::RefCell;
use std::panic::resume_unwind;
use std::path::Path;

use super::engine::StackEngine;
use super::typed::StackConfig;
use crate::catalog::Catalog;
use crate::classic::stack::StackSessions;
use crate::error::Error;
use crate::io::Clock;
use crate::log::Lsn;
use crate::partitioned::Alone;
use crate::procedure::Procedure;
use crate::record::Record;

/// Rows and indexes of one thread, and who may run a transaction on them.
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
        let procedures = catalog.numbers(&(0..catalog.procedures.len() as u16).collect::<Vec<_>>());
        let data = Alone::new(&catalog.tables, &procedures, config.memory_bytes, Box::new(clock))?;
        Ok(Self { data: RefCell::new(data), sessions: T::of(vec![(); T::count(config.sessions)]) })
    }

    fn load<R: Record>(&self, row: &R) -> Result<(), Error> {
        self.data.borrow_mut().insert(row)
    }

    #[inline(always)]
    fn execute<P: Procedure>(&self, procedure: &P, answer: &mut Result<P::Output, Error>) -> Result<Lsn, Error> {
        let session = self.sessions.take()?;
        let ended = self.data.borrow_mut().execute(procedure, answer);
        // Before a panic goes on: what is held when it passes is not taken again.
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
