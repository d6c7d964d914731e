//! The classic engine taken apart: stacks from which components were left out when they were compiled.
//!
//! What does each component of a conventional engine cost? "OLTP Through the Looking Glass" (Harizopoulos et al.,
//! SIGMOD 2008) removed one component after the other from Shore. Here a named stack is the engine of
//! [`Architecture::Classic`](crate::Architecture::Classic) without some components. [`StackName`] lists the stacks:
//! first the ladder of that paper from [`StackName::Full`] to [`StackName::Bare`], then the other order of locks and
//! latches, then the full stack without one component each, and with other sizes of pages.
//!
//! Stacks are for experiments. Each run creates a new database and never opens it again. Its clock is a counter, so
//! that equal calls give equal rows. The same procedures run on all stacks and lead to the same
//! [`StackDatabase::digest`].
//!
//! The last two stacks of the ladder have no pages: their records are in plain memory and reached by pointer, as in the
//! partitioned engine. Such a stack cannot have a component that works on pages.
//!
//! A stack without latches, without locks or with one session serves one thread. [`DatabaseOf`] names the stack by
//! type, so that the compiler enforces this; the documentation of each stack has the example.

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
