//! Inserting records behind the others of a page: nearly always, and many under one latch.

use super::change::HeapChange;
use super::file::HeapFile;
use super::slotted;
use crate::classic::change::{Change, Journal, Undo};
use crate::classic::ids::{PageId, Rid};
use crate::classic::pages::{ExclusivePage, Pages};
use crate::error::Error;

impl HeapFile {
    /// Inserts records that stand one behind the other, as many of them as come behind those of the page that is
    /// inserted to now; `placed` is told where each is. As [`HeapFile::insert`], but all under one latch; what is left
    /// is to be inserted so.
    ///
    /// # Errors
    /// As for [`HeapFile::insert`].
    pub(crate) fn append<P: Pages, J: Journal>(
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
    pub(super) fn append_one<J: Journal>(
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
