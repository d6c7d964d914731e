//! Names of the objects that can be locked, and the stored form of a list of names.

use std::fmt;

use super::mode::LockMode;
use crate::classic::ids::{PageId, Rid, StoreId};

/// An object that can be locked. Each except the volume is below another: a store below the volume, a page and the end
/// of an index below their store, a record below its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum LockName {
    /// Everything.
    Volume,
    /// A heap file or an index.
    Store(StoreId),
    /// A page of a heap file, with its records.
    Page(StoreId, PageId),
    /// A record, in its heap file; so also the key that points to it, and the gap below that key, in every index.
    Record(StoreId, Rid),
    /// The end of an index: the gap above its highest key.
    End(StoreId),
}

/// Bytes that are no list of locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a logged list of locks {0}")]
pub(crate) struct BadLocks(pub(crate) &'static str);

/// The last bits of a hash, which give the partition of a name.
pub(super) const PARTITION_BITS: u32 = 16;

/// A name as two integers: kind and store, then page and slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PackedName {
    place: u64,
    rid: u64,
}

pub(super) const VOLUME: u32 = 0;
pub(super) const STORE: u32 = 1;
pub(super) const PAGE: u32 = 2;
pub(super) const RECORD: u32 = 3;
pub(super) const END: u32 = 4;

impl PackedName {
    /// What every name is below.
    pub(super) const THE_VOLUME: PackedName = PackedName { place: 0, rid: 0 };
    /// That of no name.
    pub(super) const NONE: PackedName = PackedName { place: u64::MAX, rid: 0 };

    #[inline(always)]
    fn new(kind: u32, store: StoreId, rid: u64) -> Self {
        Self { place: u64::from(kind) << 32 | u64::from(store.0), rid }
    }

    /// Of a whole store.
    #[inline(always)]
    pub(super) fn of_store(store: StoreId) -> Self {
        Self::new(STORE, store, 0)
    }

    /// Of a page.
    #[inline(always)]
    pub(super) fn of_page(store: StoreId, page: PageId) -> Self {
        Self::new(PAGE, store, u64::from(page.0) << 32)
    }

    /// Of a name.
    #[inline(always)]
    pub(super) fn of(name: LockName) -> Self {
        match name {
            LockName::Volume => Self::THE_VOLUME,
            LockName::Store(store) => Self::of_store(store),
            LockName::Page(store, page) => Self::of_page(store, page),
            LockName::Record(store, rid) => Self::new(RECORD, store, rid.to_u64()),
            LockName::End(store) => Self::new(END, store, 0),
        }
    }

    #[inline(always)]
    pub(super) fn kind(self) -> u32 {
        (self.place >> 32) as u32
    }

    #[inline(always)]
    pub(super) fn store(self) -> StoreId {
        StoreId(self.place as u32)
    }

    #[inline(always)]
    pub(super) fn page(self) -> PageId {
        PageId((self.rid >> 32) as u32)
    }

    /// The name of the next higher level.
    #[cfg(test)]
    pub(super) fn above(self) -> impl Iterator<Item = PackedName> {
        let page = (self.kind() == RECORD).then(|| Self::of_page(self.store(), self.page()));
        let store = (self.kind() >= PAGE).then(|| Self::of_store(self.store()));
        let volume = (self.kind() >= STORE).then_some(Self::THE_VOLUME);
        page.into_iter().chain(store).chain(volume)
    }

    /// The name again.
    pub(super) fn name(self) -> LockName {
        match self.kind() {
            VOLUME => LockName::Volume,
            STORE => LockName::Store(self.store()),
            PAGE => LockName::Page(self.store(), self.page()),
            RECORD => LockName::Record(self.store(), Rid::from_u64(self.rid)),
            _ => LockName::End(self.store()),
        }
    }

    /// All its bits depend on all of the name except the slot, by one wide multiplication, folded (as in wyhash). The
    /// slot is added above the last bits: so the records of a page are in one partition, and neighbours have adjacent
    /// homes.
    #[inline(always)]
    pub(super) fn hash(self) -> u64 {
        let left = self.place ^ 0x9e37_79b9_7f4a_7c15;
        let right = self.rid >> 32 ^ 0xd1b5_4a32_d192_ed03;
        let product = u128::from(left) * u128::from(right);
        (product as u64 ^ (product >> 64) as u64).wrapping_add(u64::from(self.rid as u32) << PARTITION_BITS)
    }
}

impl LockName {
    /// Appends the stored form: kind (1 byte), store (4), page (4), slot (2), little-endian, each only if the kind has
    /// it.
    pub(super) fn encode(self, out: &mut Vec<u8>) {
        out.push(PackedName::of(self).kind() as u8);
        match self {
            LockName::Volume => {}
            LockName::Store(store) | LockName::End(store) => out.extend_from_slice(&store.0.to_le_bytes()),
            LockName::Page(store, page) => {
                out.extend_from_slice(&store.0.to_le_bytes());
                out.extend_from_slice(&page.0.to_le_bytes());
            }
            LockName::Record(store, rid) => {
                out.extend_from_slice(&store.0.to_le_bytes());
                out.extend_from_slice(&rid.page.0.to_le_bytes());
                out.extend_from_slice(&rid.slot.to_le_bytes());
            }
        }
    }

    /// Decodes a stored name from the front of `bytes`.
    fn decode(bytes: &mut &[u8]) -> Result<Self, BadLocks> {
        let kind = u32::from(take::<1>(bytes)?[0]);
        if kind == VOLUME {
            return Ok(LockName::Volume);
        }
        if kind > END {
            return Err(BadLocks("names no kind of lock"));
        }
        let store = StoreId(u32::from_le_bytes(take(bytes)?));
        Ok(match kind {
            STORE => LockName::Store(store),
            END => LockName::End(store),
            PAGE => LockName::Page(store, PageId(u32::from_le_bytes(take(bytes)?))),
            _ => {
                let page = PageId(u32::from_le_bytes(take(bytes)?));
                LockName::Record(store, Rid { page, slot: u16::from_le_bytes(take(bytes)?) })
            }
        })
    }
}

/// Reads the stored form of the locks of a prepared transaction, all of `bytes`; see
/// [`Owner::encode_locks`](super::owner::Owner::encode_locks).
///
/// # Errors
/// When the bytes are no such list.
pub(crate) fn decode_locks(bytes: &[u8]) -> Result<Vec<(LockName, LockMode)>, BadLocks> {
    let mut rest = bytes;
    let mut locks = Vec::new();
    while !rest.is_empty() {
        let [mode] = take::<1>(&mut rest)?;
        let mode = [LockMode::S, LockMode::SIX, LockMode::X].into_iter().find(|known| *known as u8 == mode);
        let mode = mode.ok_or(BadLocks("has a mode that no prepared transaction keeps"))?;
        locks.push((LockName::decode(&mut rest)?, mode));
    }
    Ok(locks)
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], BadLocks> {
    let (taken, rest) = bytes.split_first_chunk::<N>().ok_or(BadLocks("ends within a name"))?;
    *bytes = rest;
    Ok(*taken)
}

impl fmt::Display for LockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LockName::Volume => write!(f, "the volume"),
            LockName::Store(store) => write!(f, "store {store}"),
            LockName::Page(store, page) => write!(f, "page {page} of store {store}"),
            LockName::Record(store, rid) => write!(f, "record {rid} of store {store}"),
            LockName::End(store) => write!(f, "the end of store {store}"),
        }
    }
}
