//! The volume's own page and the directory of its stores.
//!
//! Problem: the heap files and trees of a database must be found when it is opened, and a file of pages must not be
//! taken for one that it is not: of another database, page size, or format. So page 0 says what the volume is, and
//! begins a chain of pages with an entry for each store: its name, number and root, and what one must know of its
//! records or keys to undo a change of it before any schema is known ([`StoreEntry`]). The chain is in no order and
//! read from its beginning: there are as many entries as tables and indexes, and a caller in a hurry keeps what
//! it found ([`Cached`]). The cost of a look at the pages at every access is one of the numbers of "OLTP Through the
//! Looking Glass" (Harizopoulos et al. 2008); [`Uncached`] pays it.
//!
//! Invariants: an entry is never changed or removed once the nested action that made its store has ended, whatever
//! becomes of the transaction around it; so a cached entry stays true. Numbers of stores grow along the chain.

mod change;
mod create;
mod entry;
mod find;
mod lookup;
#[cfg(test)]
mod tests;
mod volume;

pub(crate) use change::DirectoryChange;
pub(crate) use create::{create_heap, create_tree};
#[cfg(test)]
pub(crate) use entry::MAX_NAME_BYTES;
pub(crate) use entry::{StoreEntry, StoreKind};
pub(crate) use find::{find, list, pages};
pub(crate) use lookup::{Cached, Directory, HeldEntry, Uncached};
pub(crate) use volume::{VOLUME_PAGE, VolumeIdentity, create_volume};
