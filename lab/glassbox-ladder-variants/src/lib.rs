//! Half of the stacks of the Looking Glass, those outside the paper's order: without one component alone, in another
//! order, with other pages; and what both halves have in common.
//!
//! Each stack is an engine of its own to the compiler, with each procedure. So the stacks are in two crates, which are
//! compiled at the same time; `glassbox-ladder` has the other half, and opens a stack of either.

use glassbox::Error;
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

    /// See [`glassbox::research::stacks::DatabaseOf::digest`].
    ///
    /// # Errors
    /// As there.
    fn digest(&self) -> Result<u64, Error>;

    /// See [`glassbox::research::stacks::DatabaseOf::verify`].
    fn verify(&self) -> Vec<String>;
}

/// Loads the population, in one thread.
///
/// # Errors
/// The first of the sink.
pub fn load(mut sink: impl Sink<Error = Error>, scale: &Scale, seed: u64) -> Result<(), Error> {
    population::items(scale, seed, &mut sink)?;
    scale.warehouse_ids().try_for_each(|w_id| population::warehouse(scale, seed, w_id, &mut sink))
}

/// A database of any of the stacks named, and `open`, which opens one of them.
#[macro_export]
macro_rules! ladder {
    ($($name:ident),*) => {
        /// Any of them. Only this crate uses it, so that its code, such as its drop glue, is compiled once.
        #[allow(clippy::large_enum_variant, reason = "it is boxed as a whole")]
        enum Any {
            $($name(glassbox::research::stacks::DatabaseOf<glassbox::research::stacks::$name>),)*
        }

        /// A new, empty database on a stack, if it is one of these.
        ///
        /// # Errors
        /// See [`glassbox::research::stacks::DatabaseOf::open`].
        pub fn open(
            stack: glassbox::research::stacks::StackName,
            directory: &std::path::Path,
            config: &glassbox::research::stacks::StackConfig,
            catalog: &glassbox::Catalog,
        ) -> Result<Option<Box<dyn $crate::LadderDatabase>>, glassbox::Error> {
            use glassbox::research::stacks::{DatabaseOf, StackName};

            Ok(match stack {
                $(StackName::$name => Some(Box::new(Any::$name(DatabaseOf::open(Some(directory), config, catalog)?))),)*
                _ => None,
            })
        }

        impl glassbox_workloads::tpcc::population::Sink for &Any {
            type Error = glassbox::Error;

            fn row<R: glassbox::Record>(&mut self, row: &R) -> Result<(), glassbox::Error> {
                match self {
                    $(Any::$name(database) => database.insert_unlogged(row),)*
                }
            }
        }

        impl $crate::LadderDatabase for Any {
            fn load(&self, scale: &glassbox_workloads::tpcc::Scale, seed: u64) -> Result<(), glassbox::Error> {
                $crate::load(self, scale, seed)
            }

            fn call_each(&self, inputs: &[glassbox_workloads::tpcc::Input]) -> Result<(), glassbox::Error> {
                use std::hint::black_box;

                use glassbox_workloads::tpcc::Input;

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

            fn digest(&self) -> Result<u64, glassbox::Error> {
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
