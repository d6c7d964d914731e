//! The database through its interface, of both engines.

mod column_types;
mod dense;
mod each;
mod full_tables;
mod handed_over;
mod inspect_pages;
mod later_index;
mod prepared;
mod replay_errors;
mod schema_versions;
mod small_pool;
mod user_code;
mod waits;
