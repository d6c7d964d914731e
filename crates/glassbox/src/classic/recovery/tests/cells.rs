//! A small access method, with everything that recovery must be able to deal with: entries that move between pages
//! while transactions run, found wherever they are and undone logically; pages that come into being in nested
//! actions; registers that stay where they are and are undone on their page; a hint that is never undone.

use std::collections::BTreeMap;

use crate::classic::change::{Change, PageLog, Undo};
use crate::classic::ids::{PageId, StoreId};
use crate::classic::page::pages::{ExclusivePage, Pages};
use crate::classic::page::{self, HEADER_BYTES, PageKind, u64_at};
use crate::classic::wal::rollback::Undoer;
use crate::error::Error;

/// Counts the pages that hold cells.
const COUNT: PageId = PageId(0);
const REGISTERS: PageId = PageId(1);
const HINT: PageId = PageId(2);
const FIRST: u32 = 3;
const CELLS: StoreId = StoreId(7);
/// Few, so that pages overflow.
const CELLS_IN_A_PAGE: usize = 4;
const CELL_BYTES: usize = 16;
const EMPTY: [u8; CELL_BYTES] = [0; CELL_BYTES];

/// Keys from here on are those of registers.
pub const FIRST_REGISTER: u64 = 1000;
pub const REGISTER_COUNT: u64 = 6;

pub struct Cells<'a, P> {
    pub pages: &'a P,
    /// Called between the changes of nested actions, so that crashes find them unfinished.
    pub between: &'a dyn Fn() -> Result<(), Error>,
}

type Found = (PageId, usize);

fn cell(key: u64, value: u64) -> [u8; CELL_BYTES] {
    (u128::from(value) << 64 | u128::from(key)).to_le_bytes()
}

fn at(slot: usize) -> usize {
    HEADER_BYTES + slot * CELL_BYTES
}

/// Replaces some bytes.
fn put(
    journal: &mut impl PageLog,
    page: &mut impl ExclusivePage,
    at: usize,
    new: &[u8],
    undo: Undo,
) -> Result<(), Error> {
    let old = page[at..at + new.len()].to_vec();
    journal.change(page, Change::Bytes { at: at as u16, old: &old, new }, undo)
}

impl<P: Pages> Cells<'_, P> {
    pub fn create(&self, journal: &mut impl PageLog) -> Result<(), Error> {
        for id in [COUNT, REGISTERS, HINT] {
            let change = Change::Format { kind: PageKind::Heap, store: StoreId::VOLUME, body: &[] };
            journal.change(&mut self.pages.fix_new(id)?, change, Undo::Nothing)?;
        }
        Ok(())
    }

    fn count(&self) -> Result<u64, Error> {
        Ok(u64_at(&self.pages.fix_shared(COUNT)?, HEADER_BYTES))
    }

    /// The place of the cell with this key, 0 for an empty one; looks at the pages beginning with the one of number
    /// `first`.
    fn find(&self, key: u64, first: u64) -> Result<Option<Found>, Error> {
        let count = self.count()?;
        for number in 0..count {
            let id = PageId(FIRST + ((first + number) % count) as u32);
            let page = self.pages.fix_shared(id)?;
            let slot = (0..CELLS_IN_A_PAGE).find(|slot| u64_at(&page, at(*slot)) == key);
            if let Some(slot) = slot {
                return Ok(Some((id, slot)));
            }
        }
        Ok(None)
    }

    /// A nested action: a new page, with half of the cells of another one.
    fn grow(&self, journal: &mut impl PageLog) -> Result<(), Error> {
        let begun = journal.begin_nested();
        let mut count = self.pages.fix_exclusive(COUNT)?;
        let number = u64_at(&count, HEADER_BYTES);
        let mut new = self.pages.fix_new(PageId(FIRST + number as u32))?;
        let change = Change::Format { kind: PageKind::Heap, store: CELLS, body: &[] };
        journal.change(&mut new, change, Undo::Nothing)?;
        (self.between)()?;
        if number > 0 {
            let mut old = self.pages.fix_exclusive(PageId(FIRST + (number / 2) as u32))?;
            for slot in 0..CELLS_IN_A_PAGE / 2 {
                let moved = old[at(slot)..at(slot) + CELL_BYTES].to_vec();
                put(journal, &mut new, at(slot), &moved, Undo::Page)?;
                (self.between)()?;
                put(journal, &mut old, at(slot), &EMPTY, Undo::Page)?;
                (self.between)()?;
            }
        }
        put(journal, &mut count, HEADER_BYTES, &(number + 1).to_le_bytes(), Undo::Page)?;
        (self.between)()?;
        journal.end_nested(begun)
    }

    /// A nested action: a cell moves to another page that has room.
    pub fn shift(&self, journal: &mut impl PageLog, key: u64, first: u64) -> Result<(), Error> {
        let (Some(from), Some(to)) = (self.find(key, 0)?, self.find(0, first)?) else { return Ok(()) };
        if from.0 == to.0 {
            return Ok(());
        }
        let begun = journal.begin_nested();
        let (mut source, mut target) = (self.pages.fix_exclusive(from.0)?, self.pages.fix_exclusive(to.0)?);
        let moved = source[at(from.1)..at(from.1) + CELL_BYTES].to_vec();
        put(journal, &mut target, at(to.1), &moved, Undo::Page)?;
        (self.between)()?;
        put(journal, &mut source, at(from.1), &EMPTY, Undo::Page)?;
        (self.between)()?;
        journal.end_nested(begun)
    }

    fn insert(&self, journal: &mut impl PageLog, key: u64, value: u64, first: u64) -> Result<(), Error> {
        let place = match self.find(0, first)? {
            Some(place) => place,
            None => {
                self.grow(journal)?;
                self.find(0, first)?.expect("there is room now")
            }
        };
        put(journal, &mut self.pages.fix_exclusive(place.0)?, at(place.1), &cell(key, value), Undo::Logical)
    }

    /// Sets a cell or a register; `None` removes the cell. `first` says where to look for room first.
    pub fn set(&self, journal: &mut impl PageLog, key: u64, value: Option<u64>, first: u64) -> Result<(), Error> {
        if key >= FIRST_REGISTER {
            let at = HEADER_BYTES + 8 * (key - FIRST_REGISTER) as usize;
            let value = value.unwrap_or(0).to_le_bytes();
            return put(journal, &mut self.pages.fix_exclusive(REGISTERS)?, at, &value, Undo::Page);
        }
        match (self.find(key, 0)?, value) {
            (Some((page, slot)), value) => {
                let new = value.map_or(EMPTY, |value| cell(key, value));
                put(journal, &mut self.pages.fix_exclusive(page)?, at(slot), &new, Undo::Logical)
            }
            (None, Some(value)) => self.insert(journal, key, value, first),
            (None, None) => Ok(()),
        }
    }

    pub fn hint(&self, journal: &mut impl PageLog, value: u64) -> Result<(), Error> {
        put(journal, &mut self.pages.fix_exclusive(HINT)?, HEADER_BYTES, &value.to_le_bytes(), Undo::Nothing)
    }

    /// All there is.
    pub fn contents(&self) -> Result<BTreeMap<u64, u64>, Error> {
        let mut contents = BTreeMap::new();
        for number in 0..self.count()? {
            let id = PageId(FIRST + number as u32);
            let page = self.pages.fix_shared(id)?;
            assert_eq!((page::id(&page), page::store(&page)), (id, CELLS));
            for slot in 0..CELLS_IN_A_PAGE {
                let key = u64_at(&page, at(slot));
                let before = (key != 0).then(|| contents.insert(key, u64_at(&page, at(slot) + 8))).flatten();
                assert_eq!(before, None, "cell {key} is there twice");
            }
        }
        let registers = self.pages.fix_shared(REGISTERS)?;
        for number in 0..REGISTER_COUNT {
            contents.insert(FIRST_REGISTER + number, u64_at(&registers, HEADER_BYTES + 8 * number as usize));
        }
        Ok(contents)
    }
}

impl<P: Pages> Undoer for Cells<'_, P> {
    fn undo(&mut self, journal: &mut impl PageLog, store: StoreId, _: PageId, change: Change<'_>) -> Result<(), Error> {
        assert_eq!(store, CELLS);
        let Change::Bytes { old, new, .. } = change else { panic!("{change:?} is not logical") };
        let number = |bytes: &[u8], at: usize| u64_at(bytes, at);
        let (key, value) = if old == EMPTY { (number(new, 0), None) } else { (number(old, 0), Some(number(old, 8))) };
        if old != EMPTY && new != EMPTY || value.is_none() {
            assert!(self.find(key, 0)?.is_some(), "cell {key} is there, wherever");
        } else {
            assert!(self.find(key, 0)?.is_none(), "cell {key} is gone");
        }
        self.set(journal, key, value, key)
    }
}
