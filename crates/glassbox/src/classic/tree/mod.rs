//! B+-trees on pages: ordered keys of a fixed width, each with the record that it belongs to.
//!
//! Problem: an index that outgrows memory, that many threads read and change at once, and that is whole again after a
//! crash at any moment; whose changes are undone when their transaction does not commit, although others have moved
//! the entries meanwhile. Naive: one latch for the tree, and old pages to go back to. The first makes all threads
//! wait for one that reads a page from disk, the second undoes what others did on the same page.
//!
//! # Design
//!
//! Keys are unique; an index that is not ends its keys with the primary key. Entries have a fixed width, so a node is a
//! sorted array ([`node`]), searched by halving, and an insertion moves the end of the array once. How keys are
//! compared is a parameter ([`keys`]). The root never changes its number: when it is full, what is in it moves to a new
//! child.
//!
//! Changes of entries are physiological and undone logically, by a descent of their own; structure changes (splits,
//! the unlinking of empty nodes, the growing and shrinking of the root) are nested top actions, undone page by
//! page, and only if the crash was within them (Mohan and Levine 1992, ARIES/IM). Each leaves a whole tree, so a
//! transaction that fails behind a split leaves the split. Recovery must take unfinished nested actions back first,
//! those of all transactions: a logical undo descends, and needs a whole tree. That is possible because what a nested
//! action changed was latched until the crash, so no later change exists. That holds for the space map too: pages that
//! are unlinked are freed within the nested action, and not allocated before it has ended.
//!
//! Locks are not the tree's business. Where one is needed the caller is asked, under the latch, whether he has it
//! without waiting: for the record of a key found, for that of the next key where one is missing, comes or goes
//! (next-key locking on records, ARIES/IM "data-only"). If not, the tree changes nothing and lets go of all latches.
//! The question names the leaf too, for locks of leaves as Berkeley DB has them, and an insertion the leaves that its
//! split has made.
//!
//! # Latches
//!
//! Lookups couple shared latches from the root down. Changes do so too and latch the leaf exclusively, which is enough
//! nearly always (Bayer and Schkolnick 1977, their second solution). A leaf that is full is split by a second descent
//! with exclusive latches that splits full nodes on its way, so that a parent always has room and two levels are
//! latched at most; one that became empty is unlinked by a second descent that keeps the nodes above it that become
//! empty with it, and the one that loses an entry.
//!
//! No circle of waits arises. A thread that waits for a latch on a node holds, in this tree, only latches on nodes of
//! higher levels and on leaves to the left of it; all waits go down or to the right, which is an order. Those that
//! would go to the left only try: an unlinking, which begins again, and a walk down, which goes on from the root. A new
//! page is latched before it is reachable; a cursor that has it latched from its former use finds it changed and waits
//! for nothing while it looks. Pages of the space map are latched last, and no lock is ever waited for. The order of
//! levels is meaningful because a page's level changes only in the root, while that is exclusively latched.
//!
//! # Invariants
//!
//! * Keys in a node grow; those below an entry of an inner node are not smaller than its separator, except for the
//!   first entry, whose separator means nothing, and smaller than the next one's.
//! * A child is one level below its parent. All leaves are linked in order. Inner nodes have no links.
//! * An inner node has a child. Leaves may be empty, for a moment or for longer; everything passes over them.
//! * A page that leaves the tree is stamped, so that a remembered address is not mistaken for what it was.
//!
//! # Rejected
//!
//! * Right links in inner nodes and high keys (Lehman and Yao 1981): a reader could do with one latch at a time, but
//!   coupling costs nothing more where a pool must fix the pages anyway, and unlinking stays simple.
//! * Keeping all unsafe ancestors latched in a split: splitting full ancestors early, which happens to them soon
//!   anyway, holds fewer latches.
//! * Merging nodes that are half empty: it saves little (Gray and Reuter 1993, §15.3), and splits and merges then
//!   alternate.
//! * Compressed keys, slots in nodes: keys are short and of one width.

mod change;
mod cursor;
mod definition;
mod entries;
mod fingers;
mod hints;
mod insert;
mod keys;
mod node;
mod remove;
mod schema_keys;
#[cfg(test)]
mod tests;
#[expect(clippy::module_inception, reason = "the noun of this room")]
mod tree;

pub(crate) use change::NodeChange;
pub(crate) use cursor::{Cursor, Step};
pub(crate) use definition::{Definition, create};
pub(crate) use fingers::Fingers;
pub(crate) use hints::Guess;
pub(crate) use insert::{Inserted, Near};
pub(crate) use keys::{IntegerKeys, Keys};
pub(crate) use node::MAX_KEY_BYTES;
pub(crate) use remove::Removed;
pub(crate) use schema_keys::{KeyPart, SchemaKeys};
pub(crate) use tree::Find;
pub(crate) use tree::{InLeaf, Neighbour, Next, Tree, anywhere};
