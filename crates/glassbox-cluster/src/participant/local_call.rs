//! A call by somebody in the same process, who has the machine to himself while it runs.
//!
//! Where a partition has nothing under way, a call on it alone is run when it arrives, and answered: nothing of it is
//! left in the machine but what it counts. So whoever has the machine at hand need not send it: the procedure is run
//! where its caller has it, and its output is made where the caller wants it. It is the same run, at the same place in
//! the order of all others, as if the call had arrived and its answer gone out in this moment.
//!
//! What more there would be to do is left to messages: to have backups or a journal hold it, to wait for others, to
//! note what is touched or how long it takes, to go elsewhere.

use glassbox::shard::{Ran, Stamp};
use glassbox::{Error, Procedure};

use crate::participant::partition::Partition;
use crate::participant::store::Store;

impl Partition {
    /// Runs a procedure that is here, on this partition alone, as if it were called, for who waits for it; `None`: it
    /// is to be called by a message, because something is under way, or somebody else has to hear of it.
    #[inline]
    pub(crate) fn run_here<P: Procedure>(
        &mut self,
        procedure: &P,
        stamp: Stamp,
        output: &mut Option<P::Output>,
    ) -> Option<Result<(), Box<Error>>> {
        if self.waits_for_rest() || !self.scheme.is_bare() {
            return None;
        }
        self.store.run_here(procedure, stamp, output)
    }
}

impl Store {
    /// Runs a procedure on this partition alone for who waits for it here, where nobody else has to hear of it and
    /// nothing is noted; `None`: it is to be called by a message.
    #[inline]
    pub(crate) fn run_here<P: Procedure>(
        &mut self,
        procedure: &P,
        stamp: Stamp,
        output: &mut Option<P::Output>,
    ) -> Option<Result<(), Box<Error>>> {
        if self.stream.is_followed() || self.sampler.is_on() || self.broken.is_some() {
            return None;
        }
        match self.shard.run_here(procedure, stamp, output)? {
            Ok(()) => {
                self.seen.singles += 1;
                Some(Ok(()))
            }
            Err(ran) => self.has_not_run_here(*ran),
        }
    }

    #[cold]
    fn has_not_run_here(&mut self, ran: Ran) -> Option<Result<(), Box<Error>>> {
        let why = match self.unless_broken(ran) {
            Ran::Aborted(abort) => {
                self.seen.singles_aborted += 1;
                Error::Aborted(abort)
            }
            Ran::Failed(why) => Error::Config(why),
            Ran::Elsewhere(_) => return None,
            ran => unreachable!("{ran:?} is no end of a call"),
        };
        self.seen.singles += 1;
        Some(Err(Box::new(why)))
    }
}
