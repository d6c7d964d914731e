//! A database on a stack that is chosen at run time: one branch for each call.
//!
//! All functions are inline, so that the many engines are compiled in the crate that uses them, not in the library.

use std::path::Path;

use super::list::{self, named_stacks};
use super::name::StackName;
use super::typed::{DatabaseOf, StackConfig};
use crate::catalog::Catalog;
use crate::error::Error;
use crate::procedure::Procedure;
use crate::record::Record;

/// A database on a stack chosen at run time. Threads cannot share it, because some stacks serve one thread only; a
/// [`DatabaseOf`] can be shared if its stack can.
pub struct StackDatabase(Any);

macro_rules! any {
    ($($name:ident $called:literal $what:literal $components:tt;)*) => {
        enum Any {
            $($name(Box<DatabaseOf<list::$name>>),)*
        }

        impl Any {
            #[inline]
            fn open(
                stack: StackName,
                directory: Option<&Path>,
                config: &StackConfig,
                catalog: &Catalog,
            ) -> Result<Self, Error> {
                Ok(match stack {
                    $(StackName::$name => Self::$name(Box::new(DatabaseOf::open(directory, config, catalog)?)),)*
                })
            }
        }

        impl StackDatabase {
            /// See [`DatabaseOf::insert_unlogged`].
            ///
            /// # Errors
            /// As there.
            #[inline]
            pub fn insert_unlogged<R: Record>(&self, row: &R) -> Result<(), Error> {
                match &self.0 {
                    $(Any::$name(database) => database.insert_unlogged(row),)*
                }
            }

            /// See [`DatabaseOf::call`].
            ///
            /// # Errors
            /// As there.
            #[inline]
            pub fn call<P: Procedure>(&self, procedure: &P) -> Result<P::Output, Error> {
                match &self.0 {
                    $(Any::$name(database) => database.call(procedure),)*
                }
            }

            /// See [`DatabaseOf::digest`].
            ///
            /// # Errors
            /// As there.
            #[inline]
            pub fn digest(&self) -> Result<u64, Error> {
                match &self.0 {
                    $(Any::$name(database) => database.digest(),)*
                }
            }

            /// See [`DatabaseOf::verify`].
            #[inline]
            pub fn verify(&self) -> Vec<String> {
                match &self.0 {
                    $(Any::$name(database) => database.verify(),)*
                }
            }
        }
    };
}
named_stacks!(any);

impl StackDatabase {
    /// See [`DatabaseOf::open`].
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn open(
        stack: StackName,
        directory: Option<&Path>,
        config: StackConfig,
        catalog: Catalog,
    ) -> Result<Self, Error> {
        Any::open(stack, directory, &config, &catalog).map(Self)
    }
}
