//! The kernel: the *Looking Glass* mix as bare code on bare data. Every engine is compared with this limit.
//!
//! Half New-Orders of ten items of the home warehouse, half Payments by customer number (Harizopoulos et al., *OLTP
//! Through the Looking Glass*, SIGMOD 2008, section 4), on the full TPC-C schema with rows of the specification's sizes
//! and all its indexes. There are no transactions: no log, no undo, no locks, one thread, and the caller's inputs are
//! made in advance. The remaining work is the minimum of any engine: a New-Order finds 23 rows, changes 13, inserts 12
//! rows and 13 index entries; a Payment finds three rows, changes three and inserts one. A number above the kernel's is
//! overhead; a number below it is an error of measurement.
//!
//! Four variants share the source of the procedures and are distinguished at compile time, not by branches:
//!
//! - the *index* is a B+-tree everywhere ([`BTrees`]), or hash tables and arrays wherever the mix needs no order
//!   ([`HashTables`]);
//! - with *prefetching*, all keys of a transaction descend their indexes together before it executes, so that their
//!   cache misses overlap. Execution uses the rows found by that descent: no key is looked up twice.
//!
//! Each procedure therefore has two halves: *locate*, which only reads and differs between the variants, and *execute*,
//! which cannot fail. A New-Order with an unknown item needs no undo: *locate* finds out before the first write.
//!
//! Rejected: an allocation for each row (huge pages and dense tables gain more than any tuning of code); one row store
//! for each district (this mix would gain, but it would be another problem).

mod check;
mod fields;
mod hash;
mod index;
mod inputs;
mod keys;
mod memory;
mod node;
mod procedures;
mod rows;
pub mod shared;
mod store;
mod tree;

pub use check::{Checksum, Inconsistency};
pub use inputs::{KernelInput, LineInput, NewOrderInput, NewOrderOutput, PaymentInput, PaymentOutput};
pub use memory::Pages;
pub use memory::touch_and_release;
pub use rows::{Customer, District, History, Item, NewOrder, Order, OrderLine, Stock, Warehouse};
pub use shared::load_shared;
pub use store::{BTrees, HashTables, Indexes, Kernel, Sizing};

/// B+-trees, each row found when it is needed: the kernel other engines are divided by.
pub type TreeKernel = Kernel<BTrees, false>;
/// B+-trees, all keys of a transaction descending together first.
pub type TreePrefetchKernel = Kernel<BTrees, true>;
/// Hash tables and arrays where order is not needed.
pub type HashKernel = Kernel<HashTables, false>;
/// Hash tables and arrays where order is not needed, all keys of a transaction probed together first.
pub type HashPrefetchKernel = Kernel<HashTables, true>;

#[cfg(test)]
mod tests;
