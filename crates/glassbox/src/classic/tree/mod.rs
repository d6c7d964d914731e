//! B+-trees on pages: ordered keys of a fixed width, each with the record that it belongs to.
mod change;
mod check;
mod cursor;
mod insert;
mod keys;
mod node;
mod remove;
mod schema_keys;
mod split;
#[cfg(test)]
mod tests;
#[expect(clippy::module_inception, reason = "the noun of this room")]
mod tree;

pub(crate) use change::NodeChange;
pub(crate) use check::Problem;
pub(crate) use cursor::{Cursor, Step};
pub(crate) use insert::Inserted;
pub(crate) use keys::{IntegerKeys, Keys};
pub(crate) use node::MOST_KEY_BYTES;
pub(crate) use remove::Removed;
pub(crate) use schema_keys::{KeyPart, SchemaKeys};
pub(crate) use tree::{Definition, Find, Neighbour, Next, Tree, create};
