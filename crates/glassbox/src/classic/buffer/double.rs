//! The doublewrite file: each page is written there first, so that no crash leaves it torn.
//!
//! Problem: a disk writes sectors atomically, not pages. A crash while a page is written in place can leave half of the
//! old and half of the new one, and the log cannot repair that: its records are changes of a page, not its contents.
//! Here a batch of pages is written to a file of its own, `pages.double`, and forced; then in place, and forced; only
//! then may the file be used for the next batch. So at any moment each page is whole in one of the two places. Two
//! forces for a batch cost little compared with logging whole pages, the other remedy, needed at every first change
//! after a checkpoint (PostgreSQL, `full_page_writes`; the file is InnoDB's doublewrite buffer).
//!
//! [`repair`] restores a page from its image if the page in place is invalid. It uses images of the last batch only: an
//! earlier one may be older than the page that it would repair, and the log for the changes since may be truncated. The
//! header lists them, by page and checksum. If the header itself was torn, the batch was not forced and none of its
//! pages was written in place.

use super::volume::{self, PAGES};
use crate::classic::ids::PageId;
use crate::classic::page::{is_page_size, u32_at, u64_at};
use crate::error::Error;
use crate::io::{File, Files};

/// The file's name.
pub(crate) const DOUBLE: &str = "pages.double";
/// Bytes before the first image.
pub(super) const HEADER_BYTES: usize = 4096;
/// Maximum number of images in a header.
pub(super) const MAX_IMAGES: usize = (HEADER_BYTES - IMAGES) / IMAGE;

const MAGIC: &[u8; 8] = b"GBDOUBLE";
const FORMAT: u32 = 1;
const FORMAT_AT: usize = 8;
const CHECKSUM: usize = 12;
const PAGE_BYTES: usize = 16;
const COUNT: usize = 20;
const BATCH: usize = 24;
const IMAGES: usize = 32;
const IMAGE: usize = 8;

/// Encodes the header of a batch: for each image, its page and the checksum with which it begins.
pub(super) fn encode_header(
    header: &mut [u8],
    page_bytes: usize,
    batch: u64,
    images: impl ExactSizeIterator<Item = (PageId, u32)>,
) {
    assert!(images.len() <= MAX_IMAGES && header.len() == HEADER_BYTES);
    header.fill(0);
    header[..8].copy_from_slice(MAGIC);
    header[FORMAT_AT..][..4].copy_from_slice(&FORMAT.to_le_bytes());
    header[PAGE_BYTES..][..4].copy_from_slice(&(page_bytes as u32).to_le_bytes());
    header[COUNT..][..4].copy_from_slice(&(images.len() as u32).to_le_bytes());
    header[BATCH..][..8].copy_from_slice(&batch.to_le_bytes());
    for (at, (page, checksum)) in images.enumerate() {
        let entry = &mut header[IMAGES + at * IMAGE..][..IMAGE];
        entry[..4].copy_from_slice(&page.0.to_le_bytes());
        entry[4..].copy_from_slice(&checksum.to_le_bytes());
    }
    let sum = crc32c::crc32c(&header[PAGE_BYTES..]);
    header[CHECKSUM..][..4].copy_from_slice(&sum.to_le_bytes());
}

/// A decoded header.
pub(super) struct DoublewriteHeader {
    pub page_bytes: usize,
    pub batch: u64,
    pub images: Vec<(PageId, u32)>,
}

/// Reads a header; `None` when it was not written whole.
///
/// # Errors
/// When it is whole and invalid, or was written by another program.
pub(super) fn decode_header(header: &[u8], file: &str) -> Result<Option<DoublewriteHeader>, Error> {
    if header.len() != HEADER_BYTES
        || header[..8] != *MAGIC
        || u32_at(header, CHECKSUM) != crc32c::crc32c(&header[PAGE_BYTES..])
    {
        return Ok(None);
    }
    let found = u32_at(header, FORMAT_AT);
    if found != FORMAT {
        let (file, offset) = (file.to_owned(), FORMAT_AT as u64);
        return Err(Error::WrongFormat { file, offset, found, known: FORMAT });
    }
    let (page_bytes, count) = (u32_at(header, PAGE_BYTES) as usize, u32_at(header, COUNT) as usize);
    if !is_page_size(page_bytes) || count > MAX_IMAGES {
        let problem = format!("its header speaks of {count} pages of {page_bytes} bytes");
        return Err(Error::Damaged { file: file.to_owned(), offset: 0, problem });
    }
    let entry = |at: usize| &header[IMAGES + at * IMAGE..][..IMAGE];
    let images = (0..count).map(|at| (PageId(u32_at(entry(at), 0)), u32_at(entry(at), 4))).collect();
    Ok(Some(DoublewriteHeader { page_bytes, batch: u64_at(header, BATCH), images }))
}

/// Reads the header of the file, if there is a whole one.
pub(super) fn read_header(double: &dyn File) -> Result<Option<DoublewriteHeader>, Error> {
    let mut header = vec![0; HEADER_BYTES];
    let got = double.read_at(&mut header, 0)?;
    decode_header(&header[..got], &double.path().display().to_string())
}

/// Restores pages torn by a crash; returns their number. It must run before any other read of the pages. It is
/// repeatable, also after a crash during a repair. The file must contain `batch` or a later one: the log may begin
/// after images of an earlier one.
///
/// # Errors
/// When a read or write fails, or the file is another program's or an older copy.
pub(crate) fn repair(files: &dyn Files, batch: u64) -> Result<u64, Error> {
    if !files.exists(DOUBLE)? || !files.exists(PAGES)? {
        return Ok(0);
    }
    let (double, pages) = (files.open(DOUBLE)?, files.open(PAGES)?);
    let Some(DoublewriteHeader { page_bytes, batch: found, images }) = read_header(&*double)? else { return Ok(0) };
    if found < batch {
        let problem = format!("it is an older copy: it holds batch {found}, but batch {batch} had been written to it");
        return Err(Error::Damaged { file: double.path().display().to_string(), offset: BATCH as u64, problem });
    }
    let (mut image, mut in_place) = (vec![0; page_bytes], vec![0; page_bytes]);
    let mut repaired = 0;
    for (at, (id, checksum)) in images.into_iter().enumerate() {
        let got = double.read_at(&mut image, (HEADER_BYTES + at * page_bytes) as u64)?;
        let is_of_this_batch = got == page_bytes && u32_at(&image, 0) == checksum;
        if !is_of_this_batch || volume::problem(id, &image).is_some() {
            continue;
        }
        let offset = u64::from(id.0) * page_bytes as u64;
        let got = pages.read_at(&mut in_place, offset)?;
        if got == page_bytes && volume::problem(id, &in_place).is_none() {
            continue;
        }
        pages.write_at(&image, offset)?;
        repaired += 1;
    }
    // Also without a repair: the pages read may be only in the system's cache, and their images will be overwritten.
    pages.sync_data()?;
    Ok(repaired)
}
