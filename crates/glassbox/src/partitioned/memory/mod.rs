//! What a partition keeps its rows in: rows addressed by number, hash and ordered indexes from keys to those numbers.
//!
//! One thread owns a partition at a time, so nothing here latches, counts or fences: every structure is `Send` and none is
//! `Sync`. All of them lie in [`region::Region`]s, whose addresses never move.

pub(crate) mod btree;
pub(crate) mod hash;
pub(crate) mod prefetch;
pub(crate) mod region;
pub(crate) mod rows;
#[cfg(test)]
mod testing;
