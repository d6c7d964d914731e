//! The stacks of the Looking Glass's ladder, compiled for New-Order and Payment; one of them is chosen at run time.
//!
//! [`glassbox::stacks::StackDatabase`] can be any stack there is and runs any procedure; but for the compiler each
//! stack is an engine of its own, into which each procedure is compiled anew: minutes of it. So here are the stacks of
//! the ladder only, and of procedures the two that the paper runs. They are a crate of their own behind one trait
//! object, so that they are compiled once, and not again with every test and program that measures them.

mod in_flight;

use std::hint::black_box;
use std::path::Path;

use glassbox::record::Record;
use glassbox::stacks::{self, DatabaseOf, StackConfig, StackName};
use glassbox::{Catalog, Error};
use glassbox_workloads::tpcc::population::{self, Sink};
use glassbox_workloads::tpcc::{Input, Scale};
pub use in_flight::open_in_flight;

/// A database on a stack of the ladder.
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

    /// Returns when everything that was called is answered.
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
        /// Any of them. It is only named here: elsewhere its parts would be compiled again, its end for example.
        enum Any {
            $($name(DatabaseOf<stacks::$name>),)*
        }

        /// A new, empty database on a stack; see [`DatabaseOf::open`].
        ///
        /// # Errors
        /// As there.
        ///
        /// # Panics
        /// When the stack is not one of the ladder.
        pub fn open(
            stack: StackName,
            directory: &Path,
            config: &StackConfig,
            catalog: &Catalog,
        ) -> Result<Box<dyn LadderDatabase>, Error> {
            Ok(match stack {
                $(StackName::$name => Box::new(Any::$name(DatabaseOf::open(Some(directory), config, catalog)?)),)*
                other => panic!("{other} is not on the ladder"),
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
                    // The stack is chosen once, not for each call.
                    $(Self::$name(database) => inputs.iter().try_for_each(|input| {
                        match input {
                            // Looked at where it is: what a caller does with an answer is not the engine's.
                            Input::NewOrder(procedure) => database.call_with(procedure, |output| _ = black_box(output)),
                            Input::Payment(procedure) => database.call_with(procedure, |output| _ = black_box(output)),
                            other => unreachable!("the paper has no {}", other.kind().name()),
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

ladder!(Full, IntegerKeys, NoDiskLog, NoLog, NoLsn, NoLocks, NoLatches, NoDirectory, LargePages, NoPool, NoPages, Bare);
