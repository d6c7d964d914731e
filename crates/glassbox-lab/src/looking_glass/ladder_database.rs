//! A database on one of the ladder's stacks, chosen at run time.
//!
//! [`glassbox::stacks::StackDatabase`] can be any stack there is; but each stack is an engine that is compiled for every
//! table and procedure, minutes of it, so here are those of the ladder only, and of procedures those of the mix.

use std::hint::black_box;
use std::path::Path;

use glassbox::record::Record;
use glassbox::stacks::{self, DatabaseOf, StackConfig, StackName};
use glassbox::{Catalog, Error};
use glassbox_workloads::tpcc::Input;

macro_rules! ladder {
    ($($name:ident),*) => {
        /// A database on a stack of the ladder.
        pub(super) enum LadderDatabase {
            $($name(Box<DatabaseOf<stacks::$name>>),)*
        }

        impl LadderDatabase {
            /// See [`DatabaseOf::open`].
            ///
            /// # Panics
            /// When the stack is not one of the ladder.
            pub fn open(
                stack: StackName,
                directory: &Path,
                config: &StackConfig,
                catalog: &Catalog,
            ) -> Result<Self, Error> {
                Ok(match stack {
                    $(StackName::$name => {
                        Self::$name(Box::new(DatabaseOf::open(Some(directory), config, catalog)?))
                    })*
                    other => panic!("{other} is not on the ladder"),
                })
            }

            /// See [`DatabaseOf::insert_unlogged`].
            pub fn insert_unlogged<R: Record>(&self, row: &R) -> Result<(), Error> {
                match self {
                    $(Self::$name(database) => database.insert_unlogged(row),)*
                }
            }

            /// Runs all inputs, one after the other.
            pub fn call_each(&self, inputs: &[Input]) -> Result<(), Error> {
                match self {
                    $(Self::$name(database) => call_each(&**database, inputs),)*
                }
            }

            /// See [`DatabaseOf::digest`].
            pub fn digest(&self) -> Result<u64, Error> {
                match self {
                    $(Self::$name(database) => database.digest(),)*
                }
            }

            /// See [`DatabaseOf::verify`].
            pub fn verify(&self) -> Vec<String> {
                match self {
                    $(Self::$name(database) => database.verify(),)*
                }
            }
        }

        $(impl CallEach for DatabaseOf<stacks::$name> {
            fn call(&self, input: &Input) -> Result<(), Error> {
                match input {
                    Input::NewOrder(procedure) => drop(black_box(self.call(procedure)?)),
                    Input::Payment(procedure) => drop(black_box(self.call(procedure)?)),
                    other => unreachable!("the mix has no {}", other.kind().name()),
                }
                Ok(())
            }
        })*
    };
}

/// One input on a database whose stack is known by type: so the stack is chosen once, not for each call.
trait CallEach {
    fn call(&self, input: &Input) -> Result<(), Error>;
}

fn call_each<D: CallEach>(database: &D, inputs: &[Input]) -> Result<(), Error> {
    inputs.iter().try_for_each(|input| CallEach::call(database, input))
}

ladder!(Full, IntegerKeys, NoDiskLog, NoLog, NoLsn, NoLocks, NoLatches, NoDirectory, LargePages, NoPool, Bare);
