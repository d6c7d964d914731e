//! Inserting a record: which page, and which slot there.
//!
//! Inserting records behind the others of a page: nearly always, and many under one latch.

use super::change::HeapChange;
use super::file::{HeapFile, check_list};
use super::list::{self, ListChange};
use super::room::{TARGETS, TargetPage};
use super::slotted;
use crate::classic::change::{Change, PageLog, Undo};
use crate::classic::ids::{PageId, Rid};
use crate::classic::page::pages::{ExclusivePage, FixedPage, Pages};
use crate::classic::page::{PageKind, miss};
use crate::classic::space::Space;
use crate::error::Error;

/// Pages from the queue that one insert tries before it makes a new one.
const MAX_PAGES_TRIED: usize = 3;
/// Ghosts of a page whose place one insert asks for in vain before it goes on.
const MAX_GHOSTS_TRIED: usize = 8;

/// The result of trying a page.
enum Tried {
    /// The record is there; whether another one fits as well.
    Inserted { rid: Rid, has_room: bool },
    /// The caller wants no place of those that are free.
    Refused,
    /// No record fits.
    Full,
}

impl HeapFile {
    /// Inserts a record and returns its id.
    ///
    /// Before it takes a place, that of a ghost or a new one, it asks `reusable`, while the page is latched: the caller
    /// should lock the record id without waiting, and say whether he could. A place that he refuses is left alone, and
    /// what he locked when he agreed is where the record is. `None`: he refused places in every page that was tried,
    /// also in one that no other transaction knew.
    ///
    /// # Errors
    /// When the volume is full, a page is damaged or cannot be read, or the log does not take it. The transaction must
    /// be rolled back then.
    ///
    /// # Panics
    /// When the record has not the width of the file's records.
    pub(crate) fn insert<P: Pages, S: Space, J: PageLog>(
        &self,
        pages: &P,
        space: &S,
        journal: &mut J,
        record: &[u8],
        mut reusable: impl FnMut(Rid) -> bool,
    ) -> Result<Option<Rid>, Error> {
        assert_eq!(record.len(), self.width(), "records of a heap file have one width");
        for (number, target) in self.room.targets.iter().enumerate() {
            let id = target.page();
            if id == PageId::NONE {
                return self.insert_elsewhere(pages, space, journal, target, record, &mut reusable);
            }
            // Another thread inserts there; the next target is as good. But somewhere one has to wait.
            let fixed = if number + 1 < TARGETS {
                match pages.try_fix_exclusive(id)? {
                    Some(fixed) => fixed,
                    None => continue,
                }
            } else {
                pages.fix_exclusive(id)?
            };
            return match self.try_page(pages, journal, fixed, record, &mut reusable)? {
                Tried::Inserted { rid, has_room } => {
                    if !has_room {
                        target.clear(id);
                    }
                    Ok(Some(rid))
                }
                tried => {
                    target.clear(id);
                    if matches!(tried, Tried::Refused) {
                        self.room.put_back(id);
                    }
                    self.insert_elsewhere(pages, space, journal, target, record, &mut reusable)
                }
            };
        }
        unreachable!("the last target is waited for")
    }

    /// Inserts into a page of the queue, or a new one, and makes it the target.
    fn insert_elsewhere<P: Pages, S: Space, J: PageLog>(
        &self,
        pages: &P,
        space: &S,
        journal: &mut J,
        target: &TargetPage,
        record: &[u8],
        reusable: &mut impl FnMut(Rid) -> bool,
    ) -> Result<Option<Rid>, Error> {
        for _ in 0..MAX_PAGES_TRIED {
            let Some(id) = self.room.take() else { break };
            // Whatever goes wrong, the page stays known.
            let tried = match pages.try_fix_exclusive(id) {
                Ok(Some(fixed)) => self.try_page(pages, journal, fixed, record, reusable),
                Ok(None) => Ok(Tried::Refused),
                Err(error) => Err(error),
            };
            match tried {
                Ok(Tried::Inserted { rid, has_room }) => {
                    if has_room {
                        self.room.set_target(target, id);
                    }
                    return Ok(Some(rid));
                }
                Ok(Tried::Full) => {}
                Ok(Tried::Refused) => self.room.put_back(id),
                Err(error) => {
                    self.room.put_back(id);
                    return Err(error);
                }
            }
        }
        let (id, fixed) = self.grow(pages, space, journal)?;
        let tried = self.try_page(pages, journal, fixed, record, reusable);
        self.room.set_target(target, id);
        match tried? {
            Tried::Inserted { rid, .. } => Ok(Some(rid)),
            Tried::Refused | Tried::Full => Ok(None),
        }
    }

    /// Tries a page that is fixed; lets go of it. Notes it when it is full.
    #[inline(always)]
    fn try_page<P: Pages, J: PageLog>(
        &self,
        pages: &P,
        journal: &mut J,
        mut page: P::Exclusive<'_>,
        record: &[u8],
        reusable: &mut impl FnMut(Rid) -> bool,
    ) -> Result<Tried, Error> {
        let id = page.id();
        self.check(id, &page)?;
        if let Some(rid) = self.append_one(journal, &mut page, record, reusable)? {
            return Ok(Tried::Inserted { rid, has_room: true });
        }
        self.try_last_places(pages, journal, page, record, reusable)
    }

    /// The same for a page with ghosts, or hardly any room.
    #[inline(never)]
    fn try_last_places<P: Pages, J: PageLog>(
        &self,
        pages: &P,
        journal: &mut J,
        mut page: P::Exclusive<'_>,
        record: &[u8],
        reusable: &mut impl FnMut(Rid) -> bool,
    ) -> Result<Tried, Error> {
        let id = page.id();
        let mut tried = Tried::Full;
        match choose(id, &page, record.len(), reusable) {
            Ok(slot) => {
                let change = Change::Heap(HeapChange::Insert { slot, record });
                journal.change_by(&mut page, change, Undo::Page, |page| slotted::insert(page, slot, record))?;
                let has_room = slotted::ghosts(&page) > 0 || slotted::fits_fresh(&page, record.len());
                tried = Tried::Inserted { rid: Rid { page: id, slot }, has_room };
                if has_room {
                    return Ok(tried);
                }
            }
            Err(0) => {}
            Err(_) => return Ok(Tried::Refused),
        }
        self.room.forget(id);
        let place = slotted::list_place(&page);
        drop(page);
        self.log_room(pages, journal, id, place)?;
        Ok(tried)
    }

    /// Makes a new page of the file, and returns it fixed and empty.
    fn grow<'a, P: Pages, S: Space, J: PageLog>(
        &self,
        pages: &'a P,
        space: &S,
        journal: &mut J,
    ) -> Result<(PageId, P::Exclusive<'a>), Error> {
        let begun = journal.begin_nested();
        let mut list_page = self.fix_tail(pages)?;
        let is_full = usize::from(list::entries(&list_page)) >= list::most_entries(list_page.len());
        // All that can fail comes before the first change that others would see if their latches were let go of.
        let id = space.allocate(journal)?;
        let mut page = pages.fix_new(id)?;
        let mut before = None;
        if is_full {
            let next = space.allocate(journal)?;
            let mut new = pages.fix_new(next)?;
            let format = Change::Format { kind: PageKind::HeapPages, store: self.store(), body: &[] };
            journal.change(&mut new, format, Undo::Page)?;
            let link = Change::HeapPages(ListChange::Link { next });
            journal.change(&mut list_page, link, Undo::Page)?;
            before = Some(std::mem::replace(&mut list_page, new));
        }
        let index = list::entries(&list_page);
        let body = slotted::new_body(page.len(), list_page.id(), index);
        let format = Change::Format { kind: PageKind::Heap, store: self.store(), body: &body };
        journal.change(&mut page, format, Undo::Page)?;
        // Its records are stored by this process, until it leaves memory.
        page.note_sound(true);
        let append = Change::HeapPages(ListChange::Append { index, page: id });
        journal.change(&mut list_page, append, Undo::Page)?;
        journal.end_nested(begun)?;
        self.room.set_tail(list_page.id());
        self.room.note_new(id);
        drop(before);
        Ok((id, page))
    }

    /// Fixes the last page of the list.
    fn fix_tail<'a, P: Pages>(&self, pages: &'a P) -> Result<P::Exclusive<'a>, Error> {
        let _reading = miss::reading();
        let mut at = self.room.tail();
        loop {
            let page = pages.fix_exclusive(at)?;
            check_list(self.store(), at, &page)?;
            match list::next(&page) {
                PageId::NONE => return Ok(page),
                next => at = next,
            }
        }
    }
}

/// The slot that a record gets; or else how many free ones the caller refused.
fn choose(id: PageId, page: &[u8], length: usize, reusable: &mut impl FnMut(Rid) -> bool) -> Result<u16, usize> {
    let mut refused = 0;
    if slotted::ghosts(page) > 0 {
        let ghosts = (0..slotted::slots(page)).filter(|number| {
            slotted::slot(page, *number).is_some_and(|slot| slot.is_ghost && slotted::fits_ghost(page, slot, length))
        });
        for slot in ghosts.take(MAX_GHOSTS_TRIED) {
            if reusable(Rid { page: id, slot }) {
                return Ok(slot);
            }
            refused += 1;
        }
    }
    if slotted::fits_fresh(page, length) {
        let slot = slotted::slots(page);
        if reusable(Rid { page: id, slot }) {
            return Ok(slot);
        }
        refused += 1;
    }
    Err(refused)
}

impl HeapFile {
    /// Inserts records that stand one behind the other, as many of them as come behind those of the page that is
    /// inserted to now; `placed` is told where each is. As [`HeapFile::insert`], but all under one latch; what is left
    /// is to be inserted so.
    ///
    /// # Errors
    /// As for [`HeapFile::insert`].
    pub(crate) fn append<P: Pages, J: PageLog>(
        &self,
        pages: &P,
        journal: &mut J,
        records: &[u8],
        mut reusable: impl FnMut(Rid) -> bool,
        mut placed: impl FnMut(Rid),
    ) -> Result<(), Error> {
        let id = self.room.targets[0].page();
        if id == PageId::NONE {
            return Ok(());
        }
        let Some(mut page) = pages.try_fix_exclusive(id)? else { return Ok(()) };
        self.check(id, &page)?;
        for record in records.chunks_exact(self.width()) {
            match self.append_one(journal, &mut page, record, &mut reusable)? {
                Some(rid) => placed(rid),
                None => break,
            }
        }
        Ok(())
    }

    /// Puts a record behind the others of a page that is fixed, if there are no ghosts among them and it leaves room
    /// for one more.
    #[inline(always)]
    pub(super) fn append_one<J: PageLog>(
        &self,
        journal: &mut J,
        page: &mut impl ExclusivePage,
        record: &[u8],
        reusable: &mut impl FnMut(Rid) -> bool,
    ) -> Result<Option<Rid>, Error> {
        let Some(fresh) = slotted::fresh(page, record.len()).filter(|fresh| fresh.leaves_room(record.len())) else {
            return Ok(None);
        };
        let rid = Rid { page: page.id(), slot: fresh.slot };
        if !reusable(rid) {
            return Ok(None);
        }
        let change = Change::Heap(HeapChange::Insert { slot: fresh.slot, record });
        journal.change_by(page, change, Undo::Page, |page| {
            slotted::append(page, fresh, record);
            Ok(())
        })?;
        Ok(Some(rid))
    }
}
