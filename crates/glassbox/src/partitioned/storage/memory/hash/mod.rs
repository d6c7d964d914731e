//! A hash index from hashes to row numbers.

mod bucket;
mod check;
mod index;

pub(crate) use bucket::Probe;
pub(crate) use index::HashIndex;
#[cfg(test)]
mod tests;
