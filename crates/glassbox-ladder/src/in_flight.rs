//! The full stack, of which one caller has many transactions under way: group commit.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::hint::black_box;
use std::path::Path;

use glassbox::record::Record;
use glassbox::stacks::{DatabaseOf, Full, StackConfig, Submitted};
use glassbox::{Catalog, Error};
use glassbox_workloads::tpcc::population::Sink;
use glassbox_workloads::tpcc::{Input, Scale};

use crate::{LadderDatabase, load};

struct InFlight {
    database: DatabaseOf<Full>,
    /// The oldest first.
    waiting: RefCell<VecDeque<Submitted<()>>>,
    most: usize,
}

/// A new, empty database on the full stack, which runs a transaction before the `most` before it are durable, and
/// answers them in their order; see [`DatabaseOf::open`].
///
/// # Errors
/// As there.
pub fn open_in_flight(
    most: usize,
    directory: &Path,
    config: &StackConfig,
    catalog: &Catalog,
) -> Result<Box<dyn LadderDatabase>, Error> {
    let database = DatabaseOf::open(Some(directory), config, catalog)?;
    Ok(Box::new(InFlight { database, waiting: RefCell::new(VecDeque::with_capacity(most)), most }))
}

impl InFlight {
    /// Waits until no more than so many are under way.
    fn wait(&self, waiting: &mut VecDeque<Submitted<()>>, left: usize) -> Result<(), Error> {
        while waiting.len() > left {
            waiting.pop_front().map_or(Ok(()), |submitted| self.database.wait(submitted))?;
        }
        Ok(())
    }
}

impl Sink for &InFlight {
    type Error = Error;

    fn row<R: Record>(&mut self, row: &R) -> Result<(), Error> {
        self.database.insert_unlogged(row)
    }
}

impl LadderDatabase for InFlight {
    fn load(&self, scale: &Scale, seed: u64) -> Result<(), Error> {
        load(self, scale, seed)
    }

    fn call_each(&self, inputs: &[Input]) -> Result<(), Error> {
        let mut waiting = self.waiting.borrow_mut();
        for input in inputs {
            self.wait(&mut waiting, self.most - 1)?;
            waiting.push_back(match input {
                Input::NewOrder(procedure) => self.database.submit_with(procedure, |output| _ = black_box(output)),
                Input::Payment(procedure) => self.database.submit_with(procedure, |output| _ = black_box(output)),
                other => unreachable!("the paper has no {}", other.kind().name()),
            }?);
        }
        Ok(())
    }

    fn finish(&self) -> Result<(), Error> {
        self.wait(&mut self.waiting.borrow_mut(), 0)
    }

    fn digest(&self) -> Result<u64, Error> {
        self.database.digest()
    }

    fn verify(&self) -> Vec<String> {
        self.database.verify()
    }
}
