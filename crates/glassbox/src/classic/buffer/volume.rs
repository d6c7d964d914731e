//! The file of pages: page `n` begins at byte `n` times the size of a page.
//!
//! The file grows by steps, written with zeros: a force of overwritten bytes has no metadata to write.
//!
//! *Every page in memory has room in the file.* The room is made when a page is new, not when it is written: so on a
//! full disk a transaction that needs a new page is refused, and each page that is dirty can be written.

use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::classic::ids::PageId;
use crate::classic::page;
use crate::error::Error;
use crate::io::{File, Files, IoError, ReadRequest};

/// The file's name.
pub(crate) const PAGES: &str = "pages";
/// The file doubles until a step has this many bytes.
const MAX_STEP_BYTES: u64 = 64 << 20;
const LEAST_STEP_BYTES: u64 = 256 << 10;

/// See the file.
pub(super) struct Volume {
    file: Box<dyn File>,
    page_bytes: usize,
    /// Length of the file.
    bytes: AtomicU64,
    /// End of the last page with room.
    used: AtomicU64,
    growing: Mutex<()>,
    /// Whether a page that was never written is read as zeros.
    recovering: AtomicBool,
}

impl Volume {
    /// Opens the file.
    ///
    /// # Errors
    /// When that fails.
    pub fn open(files: &dyn Files, page_bytes: usize) -> Result<Self, Error> {
        let file = files.open_direct(PAGES)?;
        let found = file.len()?;
        // The last growth may have been interrupted.
        let bytes = found.next_multiple_of(page_bytes as u64);
        if bytes != found {
            file.set_len(bytes)?;
        }
        let (bytes, used) = (AtomicU64::new(bytes), AtomicU64::new(0));
        Ok(Self { file, page_bytes, bytes, used, growing: Mutex::default(), recovering: AtomicBool::new(false) })
    }

    /// See [`BufferPool::set_recovering`](super::BufferPool::set_recovering).
    pub fn set_recovering(&self, recovering: bool) {
        self.recovering.store(recovering, Ordering::Relaxed);
    }

    /// Reads a page.
    ///
    /// # Errors
    /// When that fails, or the page is damaged or was never written.
    pub fn read(&self, id: PageId, bytes: &mut [u8]) -> Result<(), Error> {
        let got = self.file.read_at(bytes, self.offset(id));
        self.complete(id, bytes, got)
    }

    /// Reads pages, at the same time where the system can; gives each the result that [`Volume::read`] would.
    pub fn read_many<'a>(&self, pages: impl Iterator<Item = (PageId, &'a mut [u8])>) -> Vec<Result<(), Error>> {
        let (ids, mut reads): (Vec<_>, Vec<_>) =
            pages.map(|(id, bytes)| (id, ReadRequest::new(self.offset(id), bytes))).unzip();
        self.file.read_many(&mut reads);
        ids.into_iter().zip(reads).map(|(id, read)| self.complete(id, read.buffer, read.result)).collect()
    }

    /// Checks a page that was read.
    fn complete(&self, id: PageId, bytes: &mut [u8], got: Result<usize, IoError>) -> Result<(), Error> {
        let got = got?;
        bytes[got..].fill(0);
        match problem(id, bytes) {
            None => Ok(()),
            Some(_) if self.recovering.load(Ordering::Relaxed) && bytes.iter().all(|byte| *byte == 0) => Ok(()),
            Some(problem) => {
                let problem = if got < bytes.len() { format!("page {id} lies behind its end") } else { problem };
                Err(Error::Damaged { file: self.file.path().display().to_string(), offset: self.offset(id), problem })
            }
        }
    }

    /// Writes consecutive, sealed pages. Not forced.
    ///
    /// # Errors
    /// When that fails; then the contents of the file at their positions are unknown.
    pub fn write(&self, first: PageId, pages: &[u8]) -> Result<(), IoError> {
        let (offset, end) = (self.offset(first), self.offset(first) + pages.len() as u64);
        self.grow(end, end)?;
        self.file.write_at(pages, offset)
    }

    /// Makes room in the file for a page that may be new.
    ///
    /// # Errors
    /// When the file cannot grow; then nothing has changed.
    pub fn make_room(&self, id: PageId) -> Result<(), Error> {
        let end = self.offset(id) + self.page_bytes as u64;
        self.used.fetch_max(end, Ordering::Relaxed);
        self.grow(end, end).map_err(|cause| Error::NoRoom { cause: Arc::new(cause) })
    }

    /// Grows the file before its room is used up, so that no transaction waits for this. After a failure, a transaction
    /// that needs the room retries.
    pub fn grow_ahead(&self) {
        let (used, bytes) = (self.used.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed));
        if used > bytes.saturating_sub(step(bytes) / 2) {
            let _ = self.grow(bytes + 1, bytes);
        }
    }

    /// Forces all writes.
    ///
    /// # Errors
    /// When that fails; the contents of the disk are unknown then.
    pub fn force(&self) -> Result<(), IoError> {
        self.file.sync_data()
    }

    /// Grows the file by a step if it is shorter than `needed`; by less on a full disk, but at least to `least`.
    fn grow(&self, needed: u64, least: u64) -> Result<(), IoError> {
        if needed <= self.bytes.load(Ordering::Relaxed) {
            return Ok(());
        }
        // Nothing panics while it is held.
        let _growing = self.growing.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = self.bytes.load(Ordering::Relaxed);
        if needed <= bytes {
            return Ok(());
        }
        let page_bytes = self.page_bytes as u64;
        let wanted = needed.max(bytes + step(bytes)).next_multiple_of(page_bytes);
        let grown = match self.file.preallocate(wanted) {
            Err(e) if e.kind() == ErrorKind::StorageFull => self.file.preallocate(least).map(|()| least),
            other => other.map(|()| wanted),
        }?;
        // A full disk may have taken more than was asked for at last, in part.
        self.bytes.store(grown.max(self.file.len()? / page_bytes * page_bytes), Ordering::Relaxed);
        Ok(())
    }

    fn offset(&self, id: PageId) -> u64 {
        u64::from(id.0) * self.page_bytes as u64
    }
}

/// The next growth of a file of this many bytes.
fn step(bytes: u64) -> u64 {
    bytes.clamp(LEAST_STEP_BYTES, MAX_STEP_BYTES)
}

/// Reads all pages of the file, as it is after [`repair`](super::repair), and gives every one to `damaged` that is
/// neither whole nor was never written; says how many pages there are. Bytes behind the last whole page are none: there
/// growing was cut short.
///
/// # Errors
/// When the file cannot be read.
pub(crate) fn check_file(files: &dyn Files, page_bytes: usize, mut damaged: impl FnMut(Error)) -> Result<u64, Error> {
    let file = files.open(PAGES)?;
    let pages = file.len()? / page_bytes as u64;
    let mut bytes = vec![0; page_bytes];
    for number in 0..pages {
        let offset = number * page_bytes as u64;
        file.read_exact_at(&mut bytes, offset)?;
        let problem = u32::try_from(number).map_or(Some("no page can be here".to_owned()), |number| {
            if bytes.iter().all(|byte| *byte == 0) { None } else { problem(PageId(number), &bytes) }
        });
        if let Some(problem) = problem {
            damaged(Error::Damaged { file: file.path().display().to_string(), offset, problem });
        }
    }
    Ok(pages)
}

/// The fault in a page's bytes as read; `None` if there is none.
pub(super) fn problem(id: PageId, bytes: &[u8]) -> Option<String> {
    if page::is_sealed(bytes) {
        let found = page::id(bytes);
        return (found != id).then(|| format!("where page {id} belongs, there is page {found}"));
    }
    let never = bytes.iter().all(|byte| *byte == 0);
    Some(if never { format!("page {id} was never written") } else { format!("the checksum of page {id} is wrong") })
}
