//! A page of the space map, and its changes.
//!
//! ```text
//! offset  bytes
//!     24      4  1 if the next map page has been made, else 0
//!     28      4  zero
//!     32         a bit for each page, to the page's end; bit i is bit i % 8 of byte 32 + i / 8
//! ```
//!
//! With n bits in a map page, map pages are at 1, 1 + n, 1 + 2n and so on. Bit i of the one at p speaks for page p + i,
//! so bit 0 for the map page itself, which is always in use, as is page 0.

use crate::classic::ids::PageId;
use crate::classic::page::BadChange;
use crate::classic::page::{self, HEADER_BYTES, PageKind};

const NEXT: usize = HEADER_BYTES;
const BITS: usize = HEADER_BYTES + 8;

/// What a new map page holds behind the header: only itself is in use.
pub(crate) const NEW_MAP: [u8; 9] = [0, 0, 0, 0, 0, 0, 0, 0, 1];

/// The first map page.
pub(crate) const FIRST_MAP: PageId = PageId(1);

/// For how many pages a map page speaks.
pub(crate) fn pages_per_map(page_bytes: usize) -> u32 {
    ((page_bytes - BITS) * 8) as u32
}

/// The map page that speaks for `page`, and which of its bits; `None` for page 0.
pub(crate) fn place(page: PageId, page_bytes: usize) -> Option<(PageId, u32)> {
    let behind = page.0.checked_sub(FIRST_MAP.0)?;
    let bit = behind % pages_per_map(page_bytes);
    Some((PageId(page.0 - bit), bit))
}

/// Whether a page is one of the map's own.
pub(crate) fn is_map_page(page: PageId, page_bytes: usize) -> bool {
    place(page, page_bytes).is_some_and(|(_, bit)| bit == 0)
}

/// Whether the page of this bit is in use.
pub(crate) fn is_taken(map: &[u8], bit: u32) -> bool {
    map[BITS + bit as usize / 8] >> (bit % 8) & 1 == 1
}

/// Whether the next map page has been made.
pub(crate) fn has_next(map: &[u8]) -> bool {
    page::u32_at(map, NEXT) != 0
}

/// The first clear bit of those from `from` to before `until`.
pub(crate) fn first_free(map: &[u8], from: u32, until: u32) -> Option<u32> {
    let mut at = from;
    while at < until {
        let word = at / 64;
        // Bits of the word before `at` count as taken.
        let taken = page::u64_at(map, BITS + word as usize * 8) | ((1 << (at % 64)) - 1);
        if taken != u64::MAX {
            return Some(word * 64 + taken.trailing_ones()).filter(|found| *found < until);
        }
        at = (word + 1) * 64;
    }
    None
}

/// A change of a map page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MapChange {
    /// The page of this bit is in use from now on.
    Take { bit: u32 },
    /// It is free from now on.
    Give { bit: u32 },
    /// The next map page has been made.
    Extend,
    /// It has not.
    Retract,
}

impl MapChange {
    /// Appends the stored form.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let (what, bit) = match *self {
            MapChange::Take { bit } => (0, bit),
            MapChange::Give { bit } => (1, bit),
            MapChange::Extend => (2, 0),
            MapChange::Retract => (3, 0),
        };
        out.push(what);
        out.extend_from_slice(&bit.to_le_bytes());
    }

    /// Reads the stored form, all of `bytes`.
    ///
    /// # Errors
    /// When it is none.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, BadChange> {
        let [what, bit @ ..] = bytes else { return Err(BadChange("of the space map is empty")) };
        let bit = u32::from_le_bytes(bit.try_into().map_err(|_| BadChange("of the space map has a wrong length"))?);
        match (what, bit) {
            (0, bit) => Ok(MapChange::Take { bit }),
            (1, bit) => Ok(MapChange::Give { bit }),
            (2, 0) => Ok(MapChange::Extend),
            (3, 0) => Ok(MapChange::Retract),
            _ => Err(BadChange("of the space map is none that this program knows")),
        }
    }

    /// Does it to the page.
    ///
    /// # Errors
    /// When the page is not one to which this can be done. It is unchanged then.
    pub(crate) fn apply(&self, map: &mut [u8]) -> Result<(), BadChange> {
        if page::kind(map) != Some(PageKind::Map) {
            return Err(BadChange("of the space map does not fit a page of another kind"));
        }
        match *self {
            MapChange::Take { bit } | MapChange::Give { bit } => {
                if bit == 0 || bit >= pages_per_map(map.len()) {
                    return Err(BadChange("of the space map is of a page for which the map page does not speak"));
                }
                let take = matches!(self, MapChange::Take { .. });
                if is_taken(map, bit) == take {
                    return Err(BadChange("takes a page that is in use, or gives back one that is not"));
                }
                map[BITS + bit as usize / 8] ^= 1 << (bit % 8);
            }
            MapChange::Extend | MapChange::Retract => {
                let extend = *self == MapChange::Extend;
                if has_next(map) == extend {
                    return Err(BadChange("makes a map page that there is, or removes one that there is not"));
                }
                map[NEXT..NEXT + 4].copy_from_slice(&u32::from(extend).to_le_bytes());
            }
        }
        Ok(())
    }

    /// The change that undoes it.
    pub(crate) fn inverse(&self) -> Self {
        match *self {
            MapChange::Take { bit } => MapChange::Give { bit },
            MapChange::Give { bit } => MapChange::Take { bit },
            MapChange::Extend => MapChange::Retract,
            MapChange::Retract => MapChange::Extend,
        }
    }
}
