//! Histories of concurrent clients are strictly serializable, and the checker that says so is right: it finds every
//! planted anomaly by its name, agrees with a search of all serial orders, and finds engines that are broken.
//!
//! `examples/serializability.rs` is the long form.

mod build;
mod clients;
mod exhaustive;
mod items;
mod phantoms;
mod scale;
