//! What a partition keeps its rows in: rows addressed by number; dense, hash and ordered indexes from keys to those
//! numbers.
//!
//! One thread owns a partition at a time, so nothing here latches, counts or fences: every structure is `Send` and none
//! is `Sync`. All of them lie in [`region::Region`]s, whose addresses never move.

mod btree;
mod dense;
mod hash;
mod region;
mod rows;

pub(crate) use btree::{BTree, Next, Node, NotInserted, check as check_tree};
pub(crate) use dense::DenseIndex;
pub(crate) use hash::{HashIndex, Probe};
pub(crate) use region::{AddressSpace, CannotReserve};
pub(crate) use rows::{Full, RowId, Rows, StagedKeys};
