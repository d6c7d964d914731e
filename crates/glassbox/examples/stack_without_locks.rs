//! A small program on the full stack without locks: what is in it, and what is not, its symbols tell.

#[path = "stack/counter.rs"]
mod counter;

counter::on!(WithoutLocks);
