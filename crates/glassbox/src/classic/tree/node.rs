//! A node of a tree: the bytes of its page.
//!
//! ```text
//! offset  bytes
//!     24      1  level: 0 in leaves, one more than its children's in inner nodes; 255: not part of a tree any more.
//!                If keys have more than 255 bytes (format 2), the upper three bits are those of the width above its
//!                lower eight, and the level has five, of which 31 stands for 255
//!     25      1  key width w, its lower eight bits
//!     26      2  number of entries
//!     28      4  left sibling, of leaves; 0: none, and in inner nodes
//!     32      4  right sibling, likewise
//!     36      2  position of the last insertion
//!     38      2  how many insertions in a row came each right behind the one before
//!     40         entries: in leaves w bytes of key and 8 of record id (big-endian), in inner nodes w bytes of
//!                separator and 4 of child page (little-endian)
//! ```
//!
//! The last 8 bytes of a page are never part of an entry, so that 8 bytes can be read from wherever a key stands.
//! The separator of an inner node's first entry means nothing: its child has all that is smaller than the second's.
//!
//! Entries on the stack, for those that are not on a page yet, or not any more.

use arrayvec::ArrayVec;

use super::entries::Entries;
use super::keys::padded_8;
use crate::classic::ids::{PageId, Rid, StoreId};
use crate::classic::page::{self, PageKind, u16_at, u32_at};

/// Bytes of the widest key.
pub(crate) const MAX_KEY_BYTES: usize = 512;
/// Bytes of the widest entry.
pub(super) const MAX_ENTRY_BYTES: usize = MAX_KEY_BYTES + Rid::WIDTH;
/// Where the entries begin.
pub(super) const FIRST: usize = 40;
/// Bytes at a page's end that no entry uses.
pub(super) const SLACK: usize = 8;
/// The level of a page that was a node.
pub(super) const RETIRED: u8 = 255;
/// The highest level of a node.
pub(super) const MAX_LEVEL: u8 = 30;

pub(super) const LEVEL: usize = 24;
const KEY_WIDTH: usize = 25;
const COUNT: usize = 26;
const LEFT: usize = 28;
const RIGHT: usize = 32;
const LAST: usize = 36;
const RUN: usize = 38;
pub(super) const CHILD_BYTES: usize = 4;

/// The two bytes that say a node's level and the width of its keys.
#[inline(always)]
const fn shape(level: u8, key_width: usize) -> [u8; 2] {
    let above = (key_width >> 8) as u8;
    let level = if above != 0 && level > MAX_LEVEL { MAX_LEVEL + 1 } else { level };
    [level | above << 5, key_width as u8]
}

/// The level and the width of the keys that two bytes say.
#[inline(always)]
const fn of_shape(level: u8, key_width: u8) -> (u8, usize) {
    if level <= MAX_LEVEL || level == RETIRED {
        return (level, key_width as usize);
    }
    let (above, level) = (level >> 5, level & 31);
    (if level > MAX_LEVEL { RETIRED } else { level }, (above as usize) << 8 | key_width as usize)
}

/// The siblings of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Links {
    pub(crate) left: PageId,
    pub(crate) right: PageId,
}

impl Links {
    /// No siblings.
    pub(crate) const NONE: Links = Links { left: PageId::NONE, right: PageId::NONE };
}

/// What inserting into a node has been like: tells growing keys from random ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sequence {
    /// Position of the last insertion; one less than 0, wrapped, before the first.
    pub(super) last: u16,
    /// How many in a row came each right behind the one before.
    pub(super) run: u16,
}

impl Sequence {
    /// Nothing is known yet.
    pub(super) const NONE: Sequence = Sequence { last: u16::MAX, run: 0 };

    /// After an insertion at `at`.
    #[inline(always)]
    pub(super) fn inserted(self, at: u16) -> Self {
        let run = if at == self.last.wrapping_add(1) { self.run.saturating_add(1) } else { 0 };
        Self { last: at, run }
    }

    /// After a removal at `at`.
    #[inline(always)]
    pub(super) fn removed(self, at: u16) -> Self {
        let shifts = self.last != u16::MAX && at <= self.last;
        Self { last: if shifts { self.last.wrapping_sub(1) } else { self.last }, run: self.run }
    }
}

/// What a node's header says, once it has been read: kept while the page is latched.
#[derive(Clone, Copy)]
pub(super) struct NodeHeader {
    pub(super) level: u8,
    count: usize,
    key_width: usize,
    stride: usize,
}

impl NodeHeader {
    /// The leaf of this tree that is on this page, if it is one.
    #[inline(always)]
    pub(super) fn of_leaf(page: &[u8], store: StoreId, key_width: usize) -> Option<Self> {
        Node::leaf_of(page, store, key_width).map(Node::header)
    }

    /// Puts an entry, as wide as the others, for which there is room, into the node that was read from this page, as
    /// the change for it does.
    #[inline(always)]
    pub(super) fn insert(self, page: &mut [u8], at: usize, entry: &[u8]) {
        let sequence = self.on(page).sequence();
        let (place, end) = (FIRST + at * self.stride, FIRST + self.count * self.stride);
        assert!(at <= self.count && entry.len() == self.stride && end + self.stride + SLACK <= page.len());
        if place < end {
            page.copy_within(place..end, place + self.stride);
        }
        match entry.first_chunk::<16>() {
            // Without a call.
            Some(both) if entry.len() == 16 => page[place..place + 16].copy_from_slice(both),
            _ => page[place..place + entry.len()].copy_from_slice(entry),
        }
        set_count(page, self.count + 1);
        set_sequence(page, sequence.inserted(at as u16));
    }

    /// The same with one entry more.
    #[inline(always)]
    pub(super) fn grown(self) -> Self {
        Self { count: self.count + 1, ..self }
    }

    /// The node that was read from this page.
    #[inline(always)]
    pub(super) fn on(self, page: &[u8]) -> Node<'_> {
        let Self { level, count, key_width, stride } = self;
        Node { page, level, count, key_width, stride }
    }
}

/// A page read as a node.
#[derive(Clone, Copy)]
pub(super) struct Node<'p> {
    page: &'p [u8],
    pub(super) level: u8,
    pub(super) count: usize,
    key_width: usize,
    stride: usize,
}

impl<'p> Node<'p> {
    /// Reads the header, whatever the tree.
    #[inline(always)]
    pub(super) fn read(page: &'p [u8]) -> Result<Self, &'static str> {
        if page.len() < FIRST + SLACK || page::kind(page) != Some(PageKind::Node) {
            return Err("is no node of a tree");
        }
        let (level, key_width) = of_shape(page[LEVEL], page[KEY_WIDTH]);
        if shape(level, key_width) != [page[LEVEL], page[KEY_WIDTH]] {
            return Err("has no level");
        }
        let count = usize::from(u16_at(page, COUNT));
        let stride = entry_bytes(level, key_width);
        if FIRST + count * stride + SLACK > page.len() {
            return Err("claims more entries than fit");
        }
        Ok(Self { page, level, count, key_width, stride })
    }

    /// Reads the header of a node of this tree.
    #[inline(always)]
    pub(super) fn read_of(page: &'p [u8], store: StoreId, key_width: usize) -> Result<Self, &'static str> {
        let node = Self::read(page)?;
        if page::store(page) != store || node.key_width != key_width || node.level == RETIRED {
            return Err("is no node of this tree");
        }
        Ok(node)
    }

    /// Reads the header of a leaf of this tree; `None` if the page is none.
    #[inline(always)]
    pub(super) fn leaf_of(page: &'p [u8], store: StoreId, key_width: usize) -> Option<Self> {
        let (stride, count) = (entry_bytes(0, key_width), usize::from(u16_at(page, COUNT)));
        let is_leaf =
            page::is(page, PageKind::Node, store) && u16_at(page, LEVEL) == u16::from_le_bytes(shape(0, key_width));
        let fits = FIRST + count * stride + SLACK <= page.len();
        (is_leaf && fits).then_some(Self { page, level: 0, count, key_width, stride })
    }

    /// The value that was read.
    #[inline(always)]
    pub(super) fn header(self) -> NodeHeader {
        let Self { level, count, key_width, stride, .. } = self;
        NodeHeader { level, count, key_width, stride }
    }

    #[inline(always)]
    pub(super) fn entries(self) -> Entries<'p> {
        Entries::new(&self.page[FIRST..], self.stride, self.count)
    }

    /// Bytes of an entry.
    #[inline(always)]
    pub(super) fn stride(self) -> usize {
        self.stride
    }

    /// Key and what follows it.
    #[inline(always)]
    pub(super) fn entry(self, at: usize) -> &'p [u8] {
        self.bytes(at, at + 1)
    }

    /// The bytes of the entries from one position up to another.
    #[inline(always)]
    pub(super) fn bytes(self, from: usize, to: usize) -> &'p [u8] {
        &self.page[FIRST + from * self.stride..FIRST + to * self.stride]
    }

    #[inline(always)]
    pub(super) fn key(self, at: usize) -> &'p [u8] {
        &self.entry(at)[..self.key_width]
    }

    /// The record of a leaf's entry.
    #[inline(always)]
    pub(super) fn rid(self, at: usize) -> Rid {
        rid_of(self.entry(at))
    }

    /// The child of an inner node's entry.
    #[inline(always)]
    pub(super) fn child(self, at: usize) -> PageId {
        PageId(u32_at(self.page, FIRST + at * self.stride + self.key_width))
    }

    #[inline(always)]
    pub(super) fn links(self) -> Links {
        Links { left: PageId(u32_at(self.page, LEFT)), right: PageId(u32_at(self.page, RIGHT)) }
    }

    pub(super) fn sequence(self) -> Sequence {
        Sequence { last: u16_at(self.page, LAST), run: u16_at(self.page, RUN) }
    }

    /// All that makes this node: the header behind that of the page, and the entries.
    pub(super) fn body(self) -> &'p [u8] {
        &self.page[page::HEADER_BYTES..FIRST + self.count * self.stride]
    }
}

/// Bytes of an entry at this level.
#[inline(always)]
pub(super) fn entry_bytes(level: u8, key_width: usize) -> usize {
    key_width + if level == 0 { Rid::WIDTH } else { CHILD_BYTES }
}

/// How many entries a node of this level has room for.
pub(super) fn capacity(page_bytes: usize, level: u8, key_width: usize) -> usize {
    (page_bytes - FIRST - SLACK) / entry_bytes(level, key_width)
}

/// The record of a leaf's entry, given its bytes.
#[inline(always)]
pub(super) fn rid_of(entry: &[u8]) -> Rid {
    let at = entry.len() - Rid::WIDTH;
    Rid::from_u64(u64::from_be_bytes(entry[at..].try_into().expect("8 bytes")))
}

/// The body of a node, to be given to a new page.
pub(super) fn body(level: u8, key_width: usize, links: Links, sequence: Sequence, entries: &[u8]) -> Vec<u8> {
    let count = (entries.len() / entry_bytes(level, key_width)) as u16;
    let mut body = Vec::with_capacity(FIRST - page::HEADER_BYTES + entries.len());
    body.extend_from_slice(&shape(level, key_width));
    body.extend_from_slice(&count.to_le_bytes());
    body.extend_from_slice(&links.left.0.to_le_bytes());
    body.extend_from_slice(&links.right.0.to_le_bytes());
    body.extend_from_slice(&sequence.last.to_le_bytes());
    body.extend_from_slice(&sequence.run.to_le_bytes());
    body.extend_from_slice(entries);
    body
}

/// Whether the header in a [`body`] tells exactly the entries behind it.
pub(super) fn is_body(body: &[u8]) -> bool {
    const HEADER: usize = page::HEADER_BYTES;
    let (level, key_width) = of_shape(body[LEVEL - HEADER], body[KEY_WIDTH - HEADER]);
    let count = usize::from(u16_at(body, COUNT - HEADER));
    body.len() == FIRST - HEADER + count * entry_bytes(level, key_width)
}

/// Sets the level; the byte that said it before.
pub(super) fn set_level(page: &mut [u8], level: u8) -> u8 {
    let (_, key_width) = of_shape(page[LEVEL], page[KEY_WIDTH]);
    std::mem::replace(&mut page[LEVEL], shape(level, key_width)[0])
}

/// Whether a node can have this level, or have had one.
pub(super) const fn is_level(level: u8) -> bool {
    level <= MAX_LEVEL || level == RETIRED
}

pub(super) fn set_count(page: &mut [u8], count: usize) {
    page[COUNT..COUNT + 2].copy_from_slice(&(count as u16).to_le_bytes());
}

pub(super) fn set_links(page: &mut [u8], links: Links) {
    page[LEFT..LEFT + 4].copy_from_slice(&links.left.0.to_le_bytes());
    page[RIGHT..RIGHT + 4].copy_from_slice(&links.right.0.to_le_bytes());
}

pub(super) fn set_sequence(page: &mut [u8], sequence: Sequence) {
    page[LAST..LAST + 2].copy_from_slice(&sequence.last.to_le_bytes());
    page[RUN..RUN + 2].copy_from_slice(&sequence.run.to_le_bytes());
}

/// An entry on the stack.
pub(super) struct EntryBuffer(ArrayVec<u8, MAX_ENTRY_BYTES>);

impl EntryBuffer {
    /// Room for an entry.
    #[inline(always)]
    pub(super) fn empty() -> Self {
        Self(ArrayVec::new())
    }

    /// Makes it an entry of a leaf, where it is: copying it takes longer than making it.
    #[inline(always)]
    pub(super) fn set_leaf(&mut self, key: &[u8], rid: Rid) {
        let Self(bytes) = self;
        bytes.clear();
        // 8 bytes at a time where that is enough, without a call.
        match key.first_chunk::<8>() {
            Some(first) if key.len() == 8 => append(bytes, first),
            None => {
                append(bytes, &padded_8(key).to_be_bytes());
                bytes.truncate(key.len());
            }
            _ => append(bytes, key),
        }
        append(bytes, &rid.to_u64().to_be_bytes());
    }

    /// An entry of an inner node.
    pub(super) fn inner(separator: &[u8], child: PageId) -> Self {
        let mut entry = Self::copy(separator);
        append(&mut entry.0, &child.0.to_le_bytes());
        entry
    }

    /// A copy.
    #[inline(always)]
    pub(super) fn copy(entry: &[u8]) -> Self {
        let mut copy = ArrayVec::new();
        append(&mut copy, entry);
        Self(copy)
    }

    #[inline(always)]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Appends bytes, for which there is room.
#[inline(always)]
pub(super) fn append<const MAX: usize>(to: &mut ArrayVec<u8, MAX>, bytes: &[u8]) {
    to.try_extend_from_slice(bytes).expect("no key or entry is longer");
}

#[cfg(test)]
mod tests {
    use super::{MAX_KEY_BYTES, MAX_LEVEL, RETIRED, of_shape, shape};

    #[test]
    fn two_bytes_say_level_and_width() {
        for key_width in 1..=MAX_KEY_BYTES {
            for level in (0..=MAX_LEVEL).chain([RETIRED]) {
                let said = shape(level, key_width);
                assert_eq!(of_shape(said[0], said[1]), (level, key_width));
                assert!(key_width > 255 || said == [level, key_width as u8], "format 1 has changed");
            }
        }
    }
}
