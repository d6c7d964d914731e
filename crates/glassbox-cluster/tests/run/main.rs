//! Clusters of threads: every scheme under a real load, and what has to hold afterwards.

mod micro;
mod support;
mod tpcc;
