//! A page with records: slots grow from its beginning, records from its end.
//!
//! ```text
//! offset  bytes
//!     24      2  slots n
//!     26      2  where the records begin; the page's size if there are none
//!     28      2  holes: bytes behind there that belong to no slot
//!     30      2  ghosts: slots whose record is deleted
//!     32      4  the page of the heap file's list that names this page
//!     36      2  its place in that list page
//!     38      2  zero
//!     40     4n  slots: offset of the record, 2 bytes; its length, 15 bits; 1 if it is a ghost, the highest bit
//!            ..  free
//!                records
//! ```
//!
//! Everything read from a page is checked against the page's bounds: a damaged page gives no record or an error.

use crate::classic::ids::PageId;
use crate::classic::page::BadChange;
use crate::classic::page::{HEADER_BYTES, u16_at, u32_at};

const SLOTS: usize = HEADER_BYTES;
const BEGIN: usize = 26;
const HOLES: usize = 28;
const GHOSTS: usize = 30;
const LIST: usize = 32;
const INDEX: usize = 36;
const SLOT_ARRAY: usize = 40;
const SLOT_BYTES: usize = 4;
const GHOST: u16 = 1 << 15;

const WRONG_GHOSTS: BadChange = BadChange("is of a page that counts its ghosts wrongly");

/// The longest record that fits in an empty page.
pub(crate) fn most_record_bytes(page_bytes: usize) -> usize {
    (page_bytes - SLOT_ARRAY - SLOT_BYTES).min(usize::from(GHOST) - 1)
}

/// What an empty page holds behind the header.
pub(crate) fn new_body(page_bytes: usize, list: PageId, index: u16) -> [u8; SLOT_ARRAY - HEADER_BYTES] {
    let mut body = [0; SLOT_ARRAY - HEADER_BYTES];
    put(&mut body, BEGIN - HEADER_BYTES, page_bytes);
    body[LIST - HEADER_BYTES..][..4].copy_from_slice(&list.0.to_le_bytes());
    put(&mut body, INDEX - HEADER_BYTES, usize::from(index));
    body
}

/// The place of the page in its heap file's list: list page, and index there.
pub(crate) fn list_place(page: &[u8]) -> (PageId, u16) {
    (PageId(u32_at(page, LIST)), u16_at(page, INDEX))
}

/// A slot in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) at: usize,
    pub(crate) length: usize,
    pub(crate) is_ghost: bool,
}

/// The number of slots.
#[inline(always)]
pub(crate) fn slots(page: &[u8]) -> u16 {
    u16_at(page, SLOTS)
}

/// The number of ghosts.
#[inline(always)]
pub(crate) fn ghosts(page: &[u8]) -> u16 {
    u16_at(page, GHOSTS)
}

/// The slot of this number; `None` if there is none, or its record is not between the slots and the page's end.
#[inline(always)]
pub(crate) fn slot(page: &[u8], number: u16) -> Option<Slot> {
    let slots = slots(page);
    if number >= slots {
        return None;
    }
    let entry = page.get(SLOT_ARRAY + SLOT_BYTES * usize::from(number)..)?.first_chunk::<SLOT_BYTES>()?;
    let at = usize::from(u16::from_le_bytes([entry[0], entry[1]]));
    let length = u16::from_le_bytes([entry[2], entry[3]]);
    let found = Slot { at, length: usize::from(length & !GHOST), is_ghost: length & GHOST != 0 };
    (found.at >= place_of_slot(slots) && found.at + found.length <= page.len()).then_some(found)
}

/// Where a slot stands.
#[inline(always)]
pub(crate) fn place_of_slot(number: u16) -> usize {
    SLOT_ARRAY + SLOT_BYTES * usize::from(number)
}

/// Where the record of a slot begins if all before it are as long as it is, and none has ever moved.
#[inline(always)]
pub(crate) fn likely_place(page_bytes: usize, number: u16, length: usize) -> Option<usize> {
    page_bytes.checked_sub((usize::from(number) + 1) * length)
}

/// The record in this slot; `None` for a ghost, and if there is none.
#[inline(always)]
pub(crate) fn record(page: &[u8], number: u16) -> Option<&[u8]> {
    let slot = slot(page, number).filter(|slot| !slot.is_ghost)?;
    Some(&page[slot.at..slot.at + slot.length])
}

/// A slot that comes next, and the room for its record before the others.
#[derive(Clone, Copy)]
pub(crate) struct Fresh {
    pub(crate) slot: u16,
    at: usize,
}

impl Fresh {
    /// Whether one more record of this length has room between the slots and the records then.
    #[inline(always)]
    pub(crate) fn leaves_room(self, length: usize) -> bool {
        self.at >= place_of_slot(self.slot) + 2 * SLOT_BYTES + length
    }
}

/// Where a record of this length goes in a page without ghosts that has room between the slots and the records.
#[inline(always)]
pub(crate) fn fresh(page: &[u8], length: usize) -> Option<Fresh> {
    let (slot, begin) = (slots(page), usize::from(u16_at(page, BEGIN)));
    let end = place_of_slot(slot) + SLOT_BYTES;
    let fits = begin <= page.len() && begin >= end + length && slot < u16::MAX && length < usize::from(GHOST);
    (fits && ghosts(page) == 0).then(|| Fresh { slot, at: begin - length })
}

/// Puts a record there, as [`insert`] does.
#[inline(always)]
pub(crate) fn append(page: &mut [u8], Fresh { slot, at }: Fresh, record: &[u8]) {
    page[at..at + record.len()].copy_from_slice(record);
    let ([a0, a1], [l0, l1]) = ((at as u16).to_le_bytes(), (record.len() as u16).to_le_bytes());
    page[place_of_slot(slot)..][..SLOT_BYTES].copy_from_slice(&[a0, a1, l0, l1]);
    let [s0, s1] = (slot + 1).to_le_bytes();
    page[SLOTS..SLOTS + 4].copy_from_slice(&[s0, s1, a0, a1]);
}

/// Bytes between the slots and the records; `None` if they overlap.
fn gap(page: &[u8]) -> Option<usize> {
    let begin = usize::from(u16_at(page, BEGIN));
    let end = SLOT_ARRAY + SLOT_BYTES * usize::from(slots(page));
    if begin > page.len() { None } else { begin.checked_sub(end) }
}

/// Whether a record of this length can get a slot of its own.
pub(crate) fn fits_fresh(page: &[u8], length: usize) -> bool {
    has_room(page, length + SLOT_BYTES, 0) && slots(page) < u16::MAX
}

/// Whether a record of this length can take the place of this ghost.
pub(crate) fn fits_ghost(page: &[u8], ghost: Slot, length: usize) -> bool {
    ghost.length == length || has_room(page, length, ghost.length)
}

fn has_room(page: &[u8], needed: usize, given_up: usize) -> bool {
    gap(page).is_some_and(|gap| gap + usize::from(u16_at(page, HOLES)) + given_up >= needed)
}

/// Puts a record into a slot: that of a ghost, or the next one. Moves the others together if there is no room
/// otherwise; where to depends on nothing but the page, so redo does the same.
///
/// # Errors
/// When that slot or the room is not there. The page is unchanged then.
pub(crate) fn insert(page: &mut [u8], number: u16, record: &[u8]) -> Result<(), BadChange> {
    let old = slot(page, number);
    let ghosts = counted_ghosts(page)?;
    let (given_up, slot_bytes) = match old {
        Some(ghost) if ghost.is_ghost && ghosts > 0 => (ghost.length, 0),
        None if number == slots(page) && number < u16::MAX => (0, SLOT_BYTES),
        _ => return Err(BadChange("puts a record into a slot that is not free")),
    };
    let no_room = BadChange("puts a record into a page without room");
    if record.len() >= usize::from(GHOST) {
        return Err(no_room);
    }
    if let Some(ghost) = old.filter(|ghost| ghost.length == record.len()) {
        write(page, number, ghost.at, record);
    } else {
        let needed = record.len() + slot_bytes;
        let gap = gap(page).ok_or(BadChange("is of a page whose slots and records overlap"))?;
        if gap < needed {
            compact(page, old.map(|_| number), needed)?;
        } else {
            let holes = usize::from(u16_at(page, HOLES)) + given_up;
            if holes > page.len() {
                return Err(no_room);
            }
            put(page, HOLES, holes);
        }
        let at = usize::from(u16_at(page, BEGIN)) - record.len();
        put(page, BEGIN, at);
        write(page, number, at, record);
    }
    if old.is_some() {
        put(page, GHOSTS, usize::from(ghosts) - 1);
    } else {
        put(page, SLOTS, usize::from(number) + 1);
    }
    Ok(())
}

fn write(page: &mut [u8], number: u16, at: usize, record: &[u8]) {
    page[at..at + record.len()].copy_from_slice(record);
    let entry = SLOT_ARRAY + SLOT_BYTES * usize::from(number);
    put(page, entry, at);
    put(page, entry + 2, record.len());
}

/// The number of ghosts, at most that of the slots: then a change of it can be undone.
fn counted_ghosts(page: &[u8]) -> Result<u16, BadChange> {
    let ghosts = ghosts(page);
    if ghosts <= slots(page) { Ok(ghosts) } else { Err(WRONG_GHOSTS) }
}

/// Makes the record of this slot a ghost, or a ghost a record again.
///
/// # Errors
/// When the slot is not the other, or of another length. The page is unchanged then.
pub(crate) fn set_ghost(page: &mut [u8], number: u16, record: &[u8], is_ghost: bool) -> Result<(), BadChange> {
    let slot = slot(page, number)
        .filter(|slot| slot.is_ghost != is_ghost && slot.length == record.len())
        .ok_or(BadChange("deletes or brings back a record that is not there so"))?;
    let bytes = &mut page[slot.at..slot.at + slot.length];
    if is_ghost && bytes != record {
        return Err(BadChange("deletes a record that has other bytes"));
    }
    let ghosts = counted_ghosts(page)?;
    let counted =
        if is_ghost { ghosts.checked_add(1).filter(|more| *more <= slots(page)) } else { ghosts.checked_sub(1) };
    let counted = counted.ok_or(WRONG_GHOSTS)?;
    // The transaction that deleted it may have put another one here.
    page[slot.at..slot.at + slot.length].copy_from_slice(record);
    put(page, GHOSTS, counted.into());
    let flag = if is_ghost { usize::from(GHOST) } else { 0 };
    put(page, SLOT_ARRAY + SLOT_BYTES * usize::from(number) + 2, slot.length | flag);
    Ok(())
}

/// Moves all records but that of slot `except` to the page's end, in the order of their slots.
fn compact(page: &mut [u8], except: Option<u16>, needed: usize) -> Result<(), BadChange> {
    let kept = || (0..slots(page)).filter(|number| Some(*number) != except);
    let mut bytes = 0;
    for number in kept() {
        bytes += slot(page, number).ok_or(BadChange("is of a page with a slot that points outside"))?.length;
    }
    let end = SLOT_ARRAY + SLOT_BYTES * usize::from(slots(page));
    if end + needed + bytes > page.len() {
        return Err(BadChange("puts a record into a page without room"));
    }
    let mut moved = page.to_vec();
    let mut begin = page.len();
    for number in kept() {
        let slot = slot(page, number).expect("it was there before");
        begin -= slot.length;
        moved[begin..begin + slot.length].copy_from_slice(&page[slot.at..slot.at + slot.length]);
        put(&mut moved, SLOT_ARRAY + SLOT_BYTES * usize::from(number), begin);
    }
    put(&mut moved, BEGIN, begin);
    put(&mut moved, HOLES, 0);
    // What records left behind in the gap would be different bytes in a page that got here another way.
    moved[end..begin].fill(0);
    page.copy_from_slice(&moved);
    Ok(())
}

/// Writes a number of 2 bytes.
fn put(page: &mut [u8], at: usize, number: usize) {
    let number = u16::try_from(number).expect("offsets and lengths in a page have 16 bits");
    page[at..at + 2].copy_from_slice(&number.to_le_bytes());
}

/// Finds what contradicts itself in a page of records.
///
/// # Errors
/// What is wrong.
pub(crate) fn check(page: &[u8]) -> Result<(), &'static str> {
    let gap = gap(page).ok_or("its slots and records overlap")?;
    let mut places = Vec::new();
    for number in 0..slots(page) {
        places.push(slot(page, number).ok_or("a slot points outside of the page")?);
    }
    if places.iter().filter(|slot| slot.is_ghost).count() != usize::from(ghosts(page)) {
        return Err("it counts its ghosts wrongly");
    }
    places.sort_by_key(|slot| (slot.at, slot.length));
    let begin = SLOT_ARRAY + SLOT_BYTES * places.len() + gap;
    if places.first().is_some_and(|first| first.at < begin) {
        return Err("a record begins before the records");
    }
    if places.windows(2).any(|two| two[0].at + two[0].length > two[1].at) {
        return Err("two records overlap");
    }
    let bytes: usize = places.iter().map(|slot| slot.length).sum();
    if begin + bytes + usize::from(u16_at(page, HOLES)) != page.len() {
        return Err("it counts its holes wrongly");
    }
    Ok(())
}
