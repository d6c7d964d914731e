//! The database through its interface, of both engines.

mod dense;
mod each;
mod handed_over;
mod inspect_pages;
mod prepared;
mod user_code;
mod waits;
