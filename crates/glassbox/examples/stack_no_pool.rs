//! A small program on the last stack that has pages: what is in it, and what is not, its symbols tell.

#[path = "stack/counter.rs"]
mod counter;

counter::on!(NoPool);
