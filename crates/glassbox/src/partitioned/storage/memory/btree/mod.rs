//! An ordered index from unique keys to row numbers.

mod check;
mod fingers;
mod insert;
mod node;
mod nodes;
mod range;
mod tree;

pub(crate) use check::check;
pub(crate) use insert::NotInserted;
pub(crate) use tree::{BTree, Next, Node};
#[cfg(test)]
mod tests;
