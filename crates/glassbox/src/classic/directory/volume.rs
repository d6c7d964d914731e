//! What a volume is, as its first page says; and the header of the directory's pages, of which that is the first.
//!
//! ```text
//! offset  bytes
//!     24      8  magic "GBVOLUME"
//!     32      4  format: 1
//!     36      4  bytes of a page
//!     40     16  database id
//!     56      4  next page of the directory; 0: none
//!     60      2  entries n
//!     62      2  zero
//!     64    80n  entries
//! ```

use super::change::NEXT;
use crate::classic::change::{Change, PageLog, Undo};
use crate::classic::ids::{PageId, StoreId};
use crate::classic::page::pages::Pages;
use crate::classic::page::{self, HEADER_BYTES, PageKind, u32_at};
use crate::classic::space::SpaceMap;
use crate::error::Error;

/// The volume's own page.
pub(crate) const VOLUME_PAGE: PageId = PageId(0);

const MAGIC: [u8; 8] = *b"GBVOLUME";
const FORMAT: u32 = 1;
const FORMAT_AT: usize = 32;
const IDENTITY_BYTES: usize = NEXT - HEADER_BYTES;

/// What a volume says that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VolumeIdentity {
    /// Bytes of a page.
    pub(crate) page_bytes: usize,
    /// The database that it belongs to.
    pub(crate) database_id: u128,
}

impl VolumeIdentity {
    /// Reads it from the beginning of page 0: 56 bytes are enough, so it can be read from the file before the page
    /// size is known.
    ///
    /// # Errors
    /// When this is no volume, or one of another format.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Error> {
        let damaged = |problem: &str| page::damaged(VOLUME_PAGE, 0, problem);
        if bytes.len() < NEXT || bytes[HEADER_BYTES..FORMAT_AT] != MAGIC {
            return Err(damaged("the file does not begin as a volume does"));
        }
        let found = u32_at(bytes, FORMAT_AT);
        if found != FORMAT {
            let (file, offset) = ("pages".to_owned(), FORMAT_AT as u64);
            return Err(Error::WrongFormat { file, offset, found, known: FORMAT });
        }
        let page_bytes = u32_at(bytes, 36) as usize;
        let database_id = u128::from_le_bytes(bytes[40..56].try_into().expect("16 bytes"));
        Ok(Self { page_bytes, database_id })
    }

    /// Compares it with what is expected.
    ///
    /// # Errors
    /// When the volume is of another database, or has other pages.
    pub(crate) fn check(&self, expected: VolumeIdentity) -> Result<(), Error> {
        if self.database_id != expected.database_id {
            let problem = format!(
                "is of database {:032x}, but the manifest is of {:032x}; put back the file that belongs here",
                self.database_id, expected.database_id
            );
            return Err(Error::Directory { path: "pages".to_owned(), problem });
        }
        if self.page_bytes != expected.page_bytes {
            return Err(Error::Config(format!(
                "the volume's pages have {} bytes, not {}; the size is chosen when a database is made",
                self.page_bytes, expected.page_bytes
            )));
        }
        Ok(())
    }

    /// What a page of the directory holds behind the header when it is new.
    pub(super) fn body(&self) -> [u8; IDENTITY_BYTES] {
        let mut body = [0; IDENTITY_BYTES];
        body[..8].copy_from_slice(&MAGIC);
        body[8..12].copy_from_slice(&FORMAT.to_le_bytes());
        body[12..16].copy_from_slice(&u32::try_from(self.page_bytes).expect("at most 32 KiB").to_le_bytes());
        body[16..].copy_from_slice(&self.database_id.to_le_bytes());
        body
    }
}

/// Makes the volume's own page, with an empty directory, and the first page of the space map, on pages that hold
/// nothing yet.
///
/// # Errors
/// When a page cannot be fixed or logged.
pub(crate) fn create_volume<P: Pages, J: PageLog>(
    pages: &P,
    space: &SpaceMap<impl Pages>,
    journal: &mut J,
    database_id: u128,
) -> Result<(), Error> {
    let identity = VolumeIdentity { page_bytes: pages.page_bytes(), database_id };
    let mut page = pages.fix_new(VOLUME_PAGE)?;
    let format = Change::Format { kind: PageKind::Volume, store: StoreId::VOLUME, body: &identity.body() };
    journal.change(&mut page, format, Undo::Nothing)?;
    drop(page);
    space.create(journal)
}

/// Whether this is a page of the directory.
pub(super) fn check(at: PageId, page: &[u8]) -> Result<(), Error> {
    match page::kind(page) {
        Some(PageKind::Volume) => Ok(()),
        _ => Err(page::damaged(at, page.len(), "a page of the directory should be here")),
    }
}
