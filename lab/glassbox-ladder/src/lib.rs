//! The stacks of the Looking Glass, compiled for New-Order and Payment; one of them is chosen at run time.
//!
//! [`glassbox::research::stacks::StackDatabase`] can be any stack and runs any procedure; but each stack is
//! monomorphised as an engine of its own, with each procedure, which takes minutes to compile. So this crate and
//! `glassbox-ladder-variants` have only the paper's two procedures, behind one trait object: they are compiled once, at
//! the same time, and not with every test and program that measures them.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::hint::black_box;
use std::path::Path;

use glassbox::record::Record;
use glassbox::research::stacks::{DatabaseOf, Full, StackConfig, StackName, Submitted};
use glassbox::{Catalog, Error};
pub use glassbox_ladder_variants::LadderDatabase;
use glassbox_ladder_variants::load;
use glassbox_workloads::tpcc::population::Sink;
use glassbox_workloads::tpcc::{Input, Scale};

/// The stacks in the paper's order.
mod in_order {
    glassbox_ladder_variants::ladder!(
        Full,
        IntegerKeys,
        NoDiskLog,
        NoLog,
        NoLsn,
        NoLocks,
        NoLatches,
        NoDirectory,
        LargePages,
        NoPool,
        NoPages,
        Bare
    );
}

/// A new, empty database on a stack; see [`DatabaseOf::open`].
///
/// # Errors
/// As there.
///
/// # Panics
/// When neither crate has the stack.
pub fn open(
    stack: StackName,
    directory: &Path,
    config: &StackConfig,
    catalog: &Catalog,
) -> Result<Box<dyn LadderDatabase>, Error> {
    let in_order = in_order::open(stack, directory, config, catalog)?;
    let variant = match in_order {
        None => glassbox_ladder_variants::open(stack, directory, config, catalog)?,
        found => found,
    };
    Ok(variant.unwrap_or_else(|| panic!("{stack:?} is not compiled here")))
}

/// The full stack, with many transactions of one caller in flight: group commit.
struct InFlight {
    database: DatabaseOf<Full>,
    /// Transactions in flight, the oldest first.
    waiting: RefCell<VecDeque<Submitted<()>>>,
    in_flight: usize,
}

/// A new, empty database on the full stack, which has up to `in_flight` transactions waiting for the disk, and answers
/// them in order; see [`DatabaseOf::open`].
///
/// # Errors
/// As there.
pub fn open_in_flight(
    in_flight: usize,
    directory: &Path,
    config: &StackConfig,
    catalog: &Catalog,
) -> Result<Box<dyn LadderDatabase>, Error> {
    let database = DatabaseOf::open(Some(directory), config, catalog)?;
    Ok(Box::new(InFlight { database, waiting: RefCell::new(VecDeque::with_capacity(in_flight)), in_flight }))
}

impl InFlight {
    /// Waits until at most `left` are in flight.
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
            self.wait(&mut waiting, self.in_flight - 1)?;
            waiting.push_back(match input {
                Input::NewOrder(procedure) => self.database.submit_with(procedure, |output| _ = black_box(output)),
                Input::Payment(procedure) => self.database.submit_with(procedure, |output| _ = black_box(output)),
                other => unreachable!("the mix has no {}", other.kind().name()),
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
