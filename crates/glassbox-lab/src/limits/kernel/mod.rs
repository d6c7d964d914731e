//! The kernel: the *Looking Glass* mix as bare code on bare data. It is the limit that every engine is compared with.
//!
//! Half New-Orders of ten items of the home warehouse, half Payments by customer number (Harizopoulos et al., *OLTP
//! Through the Looking Glass*, SIGMOD 2008, section 4), on the full TPC-C schema with rows of the specification's sizes
//! and all its indexes. There are no transactions: no log, no undo, no locks, one thread, and the caller's inputs are
//! made beforehand. What is left is what any engine must do: find 23 rows, change 13, make 12 and enter 13 index
//! entries for a New-Order; three finds, three changes and one new row for a Payment. A figure above the kernel's is
//! overhead; a figure below it is an error of measurement.
//!
//! Four variants share one text of the procedures and are made by the compiler, not by branches:
//!
//! - the *index* is a B+-tree everywhere ([`BTrees`]), or hash tables and arrays wherever the mix needs no order
//!   ([`HashTables`]);
//! - with *prefetching*, all keys of a transaction go down their indexes together before it executes, so that their
//!   cache misses overlap. Execution uses the rows found then: nothing is looked up twice.
//!
//! Each procedure therefore has two halves: *locate*, which only reads and is where the variants differ, and *execute*,
//! which cannot fail. That also answers the New-Order with an unknown item without an undo: it is seen before the first
//! write.
//!
//! Rejected: rows behind pointers of their own allocation (huge pages and dense tables are worth more than any tuning
//! of code); one row store per district (this mix would gain, but it would no longer be the same problem).

mod check;
mod direct;
mod fields;
mod hash;
mod index;
mod keys;
mod load;
mod memory;
mod new_order;
mod node;
mod payment;
mod rows;
pub mod sample;
mod shared;
mod store;
mod tree;

pub use check::{Checksum, Inconsistency};
pub use memory::Pages;
pub(super) use memory::touch_and_give_back;
pub use new_order::{Line, NewOrderInput, NewOrderOutput};
pub use payment::{PaymentInput, PaymentOutput};
pub use rows::{Customer, District, History, Item, NewOrder, Order, OrderLine, Stock, Warehouse};
pub use store::{BTrees, HashTables, Indexes, Input, Kernel, Sizing};

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
