//! The database through its interface, of both engines and all stacks.

mod dense;
mod each;
mod inspect_pages;
mod stacks;
mod waits;
