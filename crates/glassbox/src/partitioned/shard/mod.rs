//! One partition by itself, for those who drive partitions with messages: the data and the running of procedures on
//! it, without token, log or threads.
//!
//! Inside one process a transaction on several partitions holds all of them. Where partitions talk by messages each of
//! them runs the whole procedure, on the rows that are its own. What the procedure does to a row elsewhere has no
//! effect here: the row's own partition runs the same code and does it. What it reads elsewhere has to be brought
//! first: the run stops, is undone and says what it wants ([`Ran::Wants`]); with the rows found it runs again from the
//! start.
//!
//! Nothing here decides when to run what, keeps locks or knows messages. It only tells a [`Watch`] what is touched.

mod call;
mod carried;
mod declared_keys;
mod kind;
#[path = "shard.rs"]
mod one;
mod remote;
mod remote_read;
mod route;
#[cfg(test)]
mod tests;

pub use super::transaction::watch::{Touch, Watch, WatchedKey};
pub use call::{Call, Ran, Stamp, Task};
pub use carried::{Arguments, Output};
pub use declared_keys::{DeclaredKeys, DeclaredWatch, KeyRequest, TouchedKeys};
pub(crate) use kind::ShardProcedure;
pub use one::{Kept, Shard};
pub use remote_read::{Lookup, RemoteRead, RemoteReadResult};
pub use route::Route;
pub(crate) use route::Routing;
