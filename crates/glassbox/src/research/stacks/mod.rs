//! The classic engine taken apart: stacks from which components were left out when they were compiled.
//!
//! What does each part of a conventional engine cost? "OLTP Through the Looking Glass" (Harizopoulos et al., SIGMOD
//! 2008) answered by taking one after the other out of Shore. Here a named stack is the engine of
//! [`Architecture::Classic`](crate::Architecture::Classic) without some components: [`StackName`] lists them, first
//! the ladder of that paper from [`StackName::Full`] to [`StackName::Bare`], then the other order of locks and
//! latches, then each component alone left out.
//!
//! These are for experiments: such a database is made anew each time and never opened again; its clock counts, so that
//! equal calls give equal rows. Procedures are the same on all of them, and end in the same [`StackDatabase::digest`].
//!
//! The last two of the ladder have no pages: their records lie in plain memory and are reached by pointer, as those of
//! the engine in memory. A component that is about pages cannot be named together with that.
//!
//! A stack without latches or locks serves one thread. [`DatabaseOf`] names the stack by type, and then the compiler
//! sees to that:
//!
//! ```
//! use glassbox::research::stacks::{DatabaseOf, Full};
//! fn shared<T: Sync>() {}
//! shared::<DatabaseOf<Full>>();
//! ```
//!
//! ```compile_fail,E0277
//! use glassbox::research::stacks::{Bare, DatabaseOf};
//! fn shared<T: Sync>() {}
//! shared::<DatabaseOf<Bare>>();
//! ```

mod any;
mod engine;
mod list;
mod name;
mod paged;
mod records;
mod typed;

pub use any::StackDatabase;
pub use list::*;
pub use name::StackName;
pub use typed::{DatabaseOf, StackConfig, Submitted};
