//! Pages in a file that survives crashes only as far as it was forced; who writes them, and when, is up to the test.
//!
//! A page is one sector, so none is torn.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};

use crate::classic::ids::PageId;
use crate::classic::page;
use crate::classic::page::pages::{ExclusivePage, FixedPage, Pages};
use crate::classic::wal::forms::{Logs, Wal};
use crate::error::Error;
use crate::io::{File, Files, MemoryFiles};
use crate::log::Lsn;

pub const PAGE_BYTES: usize = 512;

/// A page in memory.
struct Frame {
    bytes: Vec<u8>,
    /// Since when it is not on disk as it is here.
    dirty: Option<Lsn>,
}

pub struct DiskPages {
    file: Box<dyn File>,
    frames: RefCell<BTreeMap<PageId, Frame>>,
    /// Pages written and not yet forced, and since when they were dirty.
    unforced: RefCell<BTreeMap<PageId, Lsn>>,
    fixed: RefCell<BTreeSet<PageId>>,
}

impl DiskPages {
    pub fn create(files: &MemoryFiles) -> Result<Self, Error> {
        let file = files.create("pages")?;
        files.sync_directory("")?;
        Ok(Self::of(file))
    }

    pub fn open(files: &MemoryFiles) -> Result<Self, Error> {
        Ok(Self::of(files.open("pages")?))
    }

    fn of(file: Box<dyn File>) -> Self {
        Self { file, frames: RefCell::default(), unforced: RefCell::default(), fixed: RefCell::default() }
    }

    fn load(&self, id: PageId) -> Result<Vec<u8>, Error> {
        if let Some(frame) = self.frames.borrow().get(&id) {
            return Ok(frame.bytes.clone());
        }
        let mut bytes = vec![0; PAGE_BYTES];
        let offset = u64::from(id.0) * PAGE_BYTES as u64;
        self.file.read_at(&mut bytes, offset)?;
        let sound = page::is_sealed(&bytes) && page::id(&bytes) == id || bytes.iter().all(|byte| *byte == 0);
        let problem = "the page's checksum is wrong".into();
        if sound { Ok(bytes) } else { Err(Error::Damaged { file: "pages".into(), offset, problem }) }
    }

    fn fix(&self, id: PageId, bytes: Vec<u8>) -> Fixed<'_> {
        assert!(self.fixed.borrow_mut().insert(id), "page {id} is latched already");
        Fixed { id, bytes, pages: self, changed: None }
    }

    /// What a checkpoint asks for.
    pub fn dirty_pages(&self) -> Vec<(PageId, Lsn)> {
        let mut dirty = self.unforced.borrow().clone();
        for (id, frame) in self.frames.borrow().iter() {
            if let Some(since) = frame.dirty {
                dirty.entry(*id).and_modify(|known| *known = since.min(*known)).or_insert(since);
            }
        }
        dirty.into_iter().collect()
    }

    /// Pages in memory, in order.
    pub fn resident(&self) -> Vec<PageId> {
        self.frames.borrow().keys().copied().collect()
    }

    /// Writes a page if it is dirty, having forced the log as far as the page needs it; then forgets it.
    pub fn write(&self, id: PageId, logs: &Wal) -> Result<(), Error> {
        let mut frames = self.frames.borrow_mut();
        let Some(frame) = frames.get_mut(&id) else { return Ok(()) };
        if let Some(since) = frame.dirty {
            logs.force(page::lsn(&frame.bytes))?;
            page::seal(&mut frame.bytes);
            self.unforced.borrow_mut().entry(id).or_insert(since);
            self.file.write_at(&frame.bytes, u64::from(id.0) * PAGE_BYTES as u64)?;
        }
        frames.remove(&id);
        Ok(())
    }

    pub fn sync(&self) -> Result<(), Error> {
        self.file.sync_data()?;
        self.unforced.borrow_mut().clear();
        Ok(())
    }
}

/// A page that is fixed: a copy, put back when it is unfixed.
pub struct Fixed<'a> {
    id: PageId,
    bytes: Vec<u8>,
    pages: &'a DiskPages,
    changed: Option<Lsn>,
}

impl Deref for Fixed<'_> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl DerefMut for Fixed<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl FixedPage for Fixed<'_> {}

impl ExclusivePage for Fixed<'_> {
    fn id(&self) -> PageId {
        self.id
    }

    fn changed(&mut self, from: Lsn, lsn: Lsn) {
        assert!(from < lsn, "the change lies between {from} and {lsn}");
        page::set_lsn(&mut self.bytes, lsn);
        self.changed.get_or_insert(from);
    }
}

impl Drop for Fixed<'_> {
    fn drop(&mut self) {
        self.pages.fixed.borrow_mut().remove(&self.id);
        if let Some(from) = self.changed {
            let mut frames = self.pages.frames.borrow_mut();
            let dirty = frames.get(&self.id).and_then(|frame| frame.dirty).or(Some(from));
            frames.insert(self.id, Frame { bytes: std::mem::take(&mut self.bytes), dirty });
        }
    }
}

impl Pages for DiskPages {
    type Shared<'a> = Fixed<'a>;
    type Exclusive<'a> = Fixed<'a>;

    fn page_bytes(&self) -> usize {
        PAGE_BYTES
    }

    fn fix_shared(&self, page: PageId) -> Result<Fixed<'_>, Error> {
        self.fix_exclusive(page)
    }

    fn fix_exclusive(&self, page: PageId) -> Result<Fixed<'_>, Error> {
        Ok(self.fix(page, self.load(page)?))
    }

    fn try_fix_shared(&self, page: PageId) -> Result<Option<Fixed<'_>>, Error> {
        self.fix_exclusive(page).map(Some)
    }

    fn try_fix_exclusive(&self, page: PageId) -> Result<Option<Fixed<'_>>, Error> {
        self.fix_exclusive(page).map(Some)
    }

    fn fix_new(&self, page: PageId) -> Result<Fixed<'_>, Error> {
        Ok(self.fix(page, vec![0x5a; PAGE_BYTES]))
    }
}
