//! A small program on the full stack: what is in it, and what is not, its symbols tell.

#[path = "stack/counter.rs"]
mod counter;

counter::on!(Full);
