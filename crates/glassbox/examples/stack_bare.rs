//! A small program on the bare stack: what is in it, and what is not, its symbols tell.

#[path = "stack/counter.rs"]
mod counter;

counter::on!(Bare);
