//! Calls from a thread of the same process, which runs its procedure on the partition itself.
//!
//! An idle partition runs a single-partition call on arrival and answers it: nothing of it stays in the state machine
//! but counters. So a client that can reach the state machine need not send the call: the procedure runs on the
//! caller's value, and its output is made where the caller needs it. The run has the same place in the serial order as
//! if the call had arrived, and its answer had left, at this moment.
//!
//! Everything else goes by message: replication and journals, waiting for other transactions, sampling, timing, and
//! calls that turn out to need other partitions.

use glassbox::research::shard::{Ran, Stamp};
use glassbox::{Error, Procedure};

use crate::participant::partition::Partition;
use crate::participant::store::Store;

impl Partition {
    /// Runs a caller's procedure on this partition alone, as a call. `None`: the call has to be sent, because a
    /// transaction is active or a replica has to receive it.
    #[inline]
    pub(crate) fn run_here<P: Procedure>(
        &mut self,
        procedure: &P,
        stamp: Stamp,
        output: &mut Option<P::Output>,
    ) -> Option<Result<(), Box<Error>>> {
        if self.waits_for_rest() || !self.scheme.is_bare() || self.has_announced() {
            return None;
        }
        self.store.run_here(procedure, stamp, output)
    }
}

impl Store {
    /// Runs a caller's procedure on this partition alone, if no replica has to receive it and nothing is sampled;
    /// `None`: the call has to be sent.
    #[inline]
    pub(crate) fn run_here<P: Procedure>(
        &mut self,
        procedure: &P,
        stamp: Stamp,
        output: &mut Option<P::Output>,
    ) -> Option<Result<(), Box<Error>>> {
        if self.stream.is_replicated() || self.sampler.is_on() || self.broken.is_some() {
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
            Ran::Aborted(reason) => {
                self.seen.singles_aborted += 1;
                reason.into()
            }
            Ran::Failed(failure) => (*failure).into(),
            Ran::Elsewhere(_) => return None,
            ran => unreachable!("a call cannot end with {ran:?}"),
        };
        self.seen.singles += 1;
        Some(Err(Box::new(why)))
    }
}
