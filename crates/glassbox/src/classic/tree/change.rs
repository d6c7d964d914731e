//! Changes of nodes, as data.
//!
//! Entries come and go one at a time when keys are inserted and removed; the rest is what structure changes are made
//! of. A change carries what it takes away, so that it can be undone on its page; and those of single entries carry
//! the tree's number, because by the time they are undone logically their page may belong to another store.

use super::node::{self, FIRST, Links, Node, RETIRED, SLACK, Sequence};
use crate::classic::ids::{PageId, Rid, StoreId};
use crate::classic::page;
use crate::classic::page::BadChange;

/// A change of one node. Positions count entries; `entry` and `entries` are key and record, or separator and child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeChange<'a> {
    /// Makes room at `at` and puts the entry there.
    Insert { store: StoreId, at: u16, entry: &'a [u8] },
    /// Removes the entry at `at`, which is this one.
    Remove { store: StoreId, at: u16, entry: &'a [u8] },
    /// Removes the entries from `from` to the end, which are these.
    Cut { from: u16, entries: &'a [u8] },
    /// Puts these behind the others, of which there are `from`.
    Append { from: u16, entries: &'a [u8] },
    /// Gives a leaf other siblings.
    Link { old: Links, new: Links },
    /// Replaces all of a node but the header that every page has; how a root is changed.
    Rebuild { old: &'a [u8], new: &'a [u8] },
    /// The node, once of this level, is not part of the tree any more. Who remembers it finds it changed.
    Retire { level: u8 },
    /// It is again.
    Revive { level: u8 },
}

const INSERT: u8 = 0;
const REMOVE: u8 = 1;
const CUT: u8 = 2;
const APPEND: u8 = 3;
const LINK: u8 = 4;
const REBUILD: u8 = 5;
const RETIRE: u8 = 6;
const REVIVE: u8 = 7;

const NO_NODE: BadChange = BadChange("is for a node, but the page is none");
const NO_ROOM: BadChange = BadChange("adds more to a node than fits");
const NO_ENTRY: BadChange = BadChange("names an entry that the node does not have");
const OTHER: BadChange = BadChange("does not fit what is in the node");
const CUT_OFF: BadChange = BadChange("of a node is cut off");

/// Splits `N` bytes off.
fn take<'a, const N: usize>(bytes: &mut &'a [u8]) -> Result<&'a [u8; N], BadChange> {
    let (first, rest) = bytes.split_first_chunk().ok_or(CUT_OFF)?;
    *bytes = rest;
    Ok(first)
}

fn take_u16(bytes: &mut &[u8]) -> Result<u16, BadChange> {
    Ok(u16::from_le_bytes(*take(bytes)?))
}

fn take_u32(bytes: &mut &[u8]) -> Result<u32, BadChange> {
    Ok(u32::from_le_bytes(*take(bytes)?))
}

fn take_links(bytes: &mut &[u8]) -> Result<Links, BadChange> {
    Ok(Links { left: PageId(take_u32(bytes)?), right: PageId(take_u32(bytes)?) })
}

impl<'a> NodeChange<'a> {
    /// The stored form of a change of one entry, in two parts.
    #[inline(always)]
    pub(crate) fn stored_entry(&self) -> Option<([u8; 7], &'a [u8])> {
        let (tag, store, at, entry) = match *self {
            NodeChange::Insert { store, at, entry } => (INSERT, store, at, entry),
            NodeChange::Remove { store, at, entry } => (REMOVE, store, at, entry),
            _ => return None,
        };
        let ([s0, s1, s2, s3], [a0, a1]) = (store.0.to_le_bytes(), at.to_le_bytes());
        Some(([tag, s0, s1, s2, s3, a0, a1], entry))
    }

    /// Appends the stored form of any other change.
    pub(crate) fn encode_other(&self, out: &mut Vec<u8>) {
        match *self {
            NodeChange::Insert { .. } | NodeChange::Remove { .. } => unreachable!("it is of one entry"),
            NodeChange::Cut { from, entries } | NodeChange::Append { from, entries } => {
                out.push(if matches!(self, NodeChange::Cut { .. }) { CUT } else { APPEND });
                out.extend_from_slice(&from.to_le_bytes());
                out.extend_from_slice(entries);
            }
            NodeChange::Link { old, new } => {
                out.push(LINK);
                for page in [old.left, old.right, new.left, new.right] {
                    out.extend_from_slice(&page.0.to_le_bytes());
                }
            }
            NodeChange::Rebuild { old, new } => {
                out.push(REBUILD);
                out.extend_from_slice(&(old.len() as u32).to_le_bytes());
                out.extend_from_slice(old);
                out.extend_from_slice(new);
            }
            NodeChange::Retire { level } => out.extend_from_slice(&[RETIRE, level]),
            NodeChange::Revive { level } => out.extend_from_slice(&[REVIVE, level]),
        }
    }

    /// Reads the stored form, all of `bytes`.
    ///
    /// # Errors
    /// When it is none.
    pub(crate) fn decode(mut bytes: &'a [u8]) -> Result<Self, BadChange> {
        let rest = &mut bytes;
        let [tag] = *take(rest)?;
        let change = match tag {
            INSERT | REMOVE => {
                let (store, at) = (StoreId(take_u32(rest)?), take_u16(rest)?);
                let entry = std::mem::take(rest);
                if entry.len() <= node::CHILD_BYTES || entry.len() > node::MAX_ENTRY_BYTES {
                    return Err(BadChange("has an entry of a width that no node has"));
                }
                if tag == INSERT {
                    NodeChange::Insert { store, at, entry }
                } else {
                    NodeChange::Remove { store, at, entry }
                }
            }
            CUT => NodeChange::Cut { from: take_u16(rest)?, entries: std::mem::take(rest) },
            APPEND => NodeChange::Append { from: take_u16(rest)?, entries: std::mem::take(rest) },
            LINK => NodeChange::Link { old: take_links(rest)?, new: take_links(rest)? },
            REBUILD => {
                let len = take_u32(rest)? as usize;
                let (old, new) = std::mem::take(rest).split_at_checked(len).ok_or(CUT_OFF)?;
                NodeChange::Rebuild { old, new }
            }
            RETIRE => NodeChange::Retire { level: take::<1>(rest)?[0] },
            REVIVE => NodeChange::Revive { level: take::<1>(rest)?[0] },
            _ => return Err(BadChange("of a node is none that this program knows")),
        };
        if rest.is_empty() { Ok(change) } else { Err(BadChange("of a node has something behind it")) }
    }

    /// Does it to the page, all but the LSN.
    ///
    /// # Errors
    /// When the page is not one to which this can be done. It is unchanged then.
    #[inline]
    pub(crate) fn apply(&self, page: &mut [u8]) -> Result<(), BadChange> {
        match *self {
            NodeChange::Insert { store, at, entry } => insert(page, store, at, entry),
            NodeChange::Remove { store, at, entry } => remove(page, store, at, entry),
            NodeChange::Cut { from, entries } => cut(page, from, entries),
            NodeChange::Append { from, entries } => append(page, from, entries),
            NodeChange::Link { old, new } => {
                if Node::read(page).map_err(|_| NO_NODE)?.links() != old {
                    return Err(OTHER);
                }
                node::set_links(page, new);
                Ok(())
            }
            NodeChange::Rebuild { old, new } => rebuild(page, old, new),
            NodeChange::Retire { level } => set_level(page, level, RETIRED),
            NodeChange::Revive { level } => set_level(page, RETIRED, level),
        }
    }

    /// Its inverse on the same page.
    pub(crate) fn inverse(&self) -> NodeChange<'a> {
        match *self {
            NodeChange::Insert { store, at, entry } => NodeChange::Remove { store, at, entry },
            NodeChange::Remove { store, at, entry } => NodeChange::Insert { store, at, entry },
            NodeChange::Cut { from, entries } => NodeChange::Append { from, entries },
            NodeChange::Append { from, entries } => NodeChange::Cut { from, entries },
            NodeChange::Link { old, new } => NodeChange::Link { old: new, new: old },
            NodeChange::Rebuild { old, new } => NodeChange::Rebuild { old: new, new: old },
            NodeChange::Retire { level } => NodeChange::Revive { level },
            NodeChange::Revive { level } => NodeChange::Retire { level },
        }
    }

    /// For undo: the entry of a leaf, taken apart; `None` when it is too short to be one.
    pub(crate) fn leaf_entry(entry: &[u8]) -> Option<(&[u8], Rid)> {
        let key_bytes = entry.len().checked_sub(Rid::WIDTH).filter(|bytes| *bytes > 0)?;
        Some((&entry[..key_bytes], node::rid_of(entry)))
    }
}

/// The node of the page, if its entries are as wide as this one.
#[inline(always)]
fn node_with<'p>(page: &'p [u8], store: StoreId, entry: &[u8]) -> Result<Node<'p>, BadChange> {
    let node = Node::read(page).map_err(|_| NO_NODE)?;
    if node.stride() != entry.len() || page::store(page) != store {
        return Err(OTHER);
    }
    Ok(node)
}

#[inline]
fn insert(page: &mut [u8], store: StoreId, at: u16, entry: &[u8]) -> Result<(), BadChange> {
    let node = node_with(page, store, entry)?;
    let (count, sequence, stride) = (node.count, node.sequence(), entry.len());
    let place = FIRST + usize::from(at) * stride;
    let end = FIRST + count * stride;
    if place > end {
        return Err(NO_ENTRY);
    }
    if end + stride + SLACK > page.len() {
        return Err(NO_ROOM);
    }
    page.copy_within(place..end, place + stride);
    page[place..place + stride].copy_from_slice(entry);
    node::set_count(page, count + 1);
    node::set_sequence(page, sequence.inserted(at));
    Ok(())
}

fn remove(page: &mut [u8], store: StoreId, at: u16, entry: &[u8]) -> Result<(), BadChange> {
    let node = node_with(page, store, entry)?;
    let (count, sequence, stride) = (node.count, node.sequence(), entry.len());
    if usize::from(at) >= count {
        return Err(NO_ENTRY);
    }
    if node.entry(usize::from(at)) != entry {
        return Err(OTHER);
    }
    let place = FIRST + usize::from(at) * stride;
    page.copy_within(place + stride..FIRST + count * stride, place);
    node::set_count(page, count - 1);
    node::set_sequence(page, sequence.removed(at));
    Ok(())
}

fn cut(page: &mut [u8], from: u16, entries: &[u8]) -> Result<(), BadChange> {
    let node = Node::read(page).map_err(|_| NO_NODE)?;
    let sequence = node.sequence();
    if usize::from(from) > node.count {
        return Err(NO_ENTRY);
    }
    if node.bytes(usize::from(from), node.count) != entries {
        return Err(OTHER);
    }
    node::set_count(page, usize::from(from));
    if sequence.last >= from {
        node::set_sequence(page, Sequence::NONE);
    }
    Ok(())
}

fn append(page: &mut [u8], from: u16, entries: &[u8]) -> Result<(), BadChange> {
    let node = Node::read(page).map_err(|_| NO_NODE)?;
    let (count, stride) = (node.count, node.stride());
    if usize::from(from) != count || !entries.len().is_multiple_of(stride) {
        return Err(OTHER);
    }
    let end = FIRST + count * stride;
    if end + entries.len() + SLACK > page.len() {
        return Err(NO_ROOM);
    }
    page[end..end + entries.len()].copy_from_slice(entries);
    node::set_count(page, count + entries.len() / stride);
    Ok(())
}

fn rebuild(page: &mut [u8], old: &[u8], new: &[u8]) -> Result<(), BadChange> {
    let node = Node::read(page).map_err(|_| NO_NODE)?;
    if node.body() != old {
        return Err(OTHER);
    }
    if new.len() < FIRST - page::HEADER_BYTES || page::HEADER_BYTES + new.len() + SLACK > page.len() {
        return Err(NO_ROOM);
    }
    if !node::is_body(new) {
        return Err(BadChange("makes a node whose header does not fit its entries"));
    }
    page[page::HEADER_BYTES..page::HEADER_BYTES + new.len()].copy_from_slice(new);
    Ok(())
}

fn set_level(page: &mut [u8], from: u8, to: u8) -> Result<(), BadChange> {
    if Node::read(page).map_err(|_| NO_NODE)?.level != from || !node::is_level(to) {
        return Err(OTHER);
    }
    // A leaf's entries are wider than others: what is retired or revived must be a node either way.
    let before = node::set_level(page, to);
    if Node::read(page).is_err() {
        page[node::LEVEL] = before;
        return Err(OTHER);
    }
    Ok(())
}
