//! Clusters of threads under load, with every scheme, and their invariants afterwards.

mod micro;
mod support;
mod tpcc;

pub use support::assert_settled;
