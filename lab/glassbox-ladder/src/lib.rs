//! The stacks of the Looking Glass, compiled for New-Order and Payment; one of them is chosen at run time.
//!
//! [`glassbox::research::stacks::StackDatabase`] can be any stack and runs any procedure; but each stack is
//! monomorphised as an engine of its own, with each procedure, which takes minutes to compile. So this crate has only
//! the paper's two procedures, behind one trait object: it is compiled once, and not with every test and program that
//! measures them.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::hint::black_box;
use std::path::Path;

use glassbox::record::Record;
use glassbox::research::stacks::{self, DatabaseOf, Full, StackConfig, StackName, Submitted};
use glassbox::{Catalog, Error};
use glassbox_workloads::tpcc::population::{self, Sink};
use glassbox_workloads::tpcc::{Input, Scale};

/// A database on a stack.
pub trait LadderDatabase {
    /// Adds the initial rows of all warehouses, before the first call.
    ///
    /// # Errors
    /// When pages fail.
    fn load(&self, scale: &Scale, seed: u64) -> Result<(), Error>;

    /// Runs New-Orders and Payments, one after the other.
    ///
    /// # Errors
    /// Of the first that fails.
    ///
    /// # Panics
    /// When an input is neither.
    fn call_each(&self, inputs: &[Input]) -> Result<(), Error>;

    /// Waits until all calls are answered.
    ///
    /// # Errors
    /// When the engine fails.
    fn finish(&self) -> Result<(), Error> {
        Ok(())
    }

    /// See [`DatabaseOf::digest`].
    ///
    /// # Errors
    /// As there.
    fn digest(&self) -> Result<u64, Error>;

    /// See [`DatabaseOf::verify`].
    fn verify(&self) -> Vec<String>;
}

fn load(mut sink: impl Sink<Error = Error>, scale: &Scale, seed: u64) -> Result<(), Error> {
    population::items(scale, seed, &mut sink)?;
    scale.warehouse_ids().try_for_each(|w_id| population::warehouse(scale, seed, w_id, &mut sink))
}

macro_rules! ladder {
    ($($name:ident),*) => {
        /// Any of them. Only this crate uses it, so that its code, such as its drop glue, is compiled once.
        #[allow(clippy::large_enum_variant, reason = "it is boxed as a whole")]
        enum Any {
            $($name(DatabaseOf<stacks::$name>),)*
        }

        /// A new, empty database on a stack; see [`DatabaseOf::open`].
        ///
        /// # Errors
        /// As there.
        pub fn open(
            stack: StackName,
            directory: &Path,
            config: &StackConfig,
            catalog: &Catalog,
        ) -> Result<Box<dyn LadderDatabase>, Error> {
            Ok(match stack {
                $(StackName::$name => Box::new(Any::$name(DatabaseOf::open(Some(directory), config, catalog)?)),)*
            })
        }

        impl Sink for &Any {
            type Error = Error;

            fn row<R: Record>(&mut self, row: &R) -> Result<(), Error> {
                match self {
                    $(Any::$name(database) => database.insert_unlogged(row),)*
                }
            }
        }

        impl LadderDatabase for Any {
            fn load(&self, scale: &Scale, seed: u64) -> Result<(), Error> {
                load(self, scale, seed)
            }

            fn call_each(&self, inputs: &[Input]) -> Result<(), Error> {
                match self {
                    // One branch for all calls.
                    $(Self::$name(database) => inputs.iter().try_for_each(|input| {
                        match input {
                            // By reference: moving the output is the caller's cost.
                            Input::NewOrder(procedure) => database.call_with(procedure, |output| _ = black_box(output)),
                            Input::Payment(procedure) => database.call_with(procedure, |output| _ = black_box(output)),
                            other => unreachable!("the mix has no {}", other.kind().name()),
                        }
                    }),)*
                }
            }

            fn digest(&self) -> Result<u64, Error> {
                match self {
                    $(Self::$name(database) => database.digest(),)*
                }
            }

            fn verify(&self) -> Vec<String> {
                match self {
                    $(Self::$name(database) => database.verify(),)*
                }
            }
        }
    };
}

ladder!(
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
    Bare,
    LatchesFirst,
    WithoutDiskLog,
    WithoutLog,
    WithoutLsn,
    WithoutLocks,
    WithoutLatches,
    CachedDirectory,
    WithoutDirectory,
    WithLargePages,
    WithoutPool,
    WithoutSessions,
    PagesOf4Kib,
    PagesOf16Kib
);

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
