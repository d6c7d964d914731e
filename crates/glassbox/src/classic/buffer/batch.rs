//! A batch of pages on its way to disk: copied and sealed, written twice.

use super::double::{self, DOUBLE, HEADER_BYTES, MAX_IMAGES};
use super::memory::{DISK_ALIGNMENT, Memory};
use super::volume::Volume;
use crate::classic::ids::PageId;
use crate::classic::page;
use crate::error::Error;
use crate::io::{File, Files, IoError};
use crate::log::Lsn;

/// See the file.
pub(super) struct WriteBatch {
    double: Box<dyn File>,
    /// The header of the doublewrite file, and the images behind it.
    memory: Memory,
    page_bytes: usize,
    most: usize,
    /// Of each image, its page and frame.
    pages: Vec<(PageId, usize)>,
    highest_lsn: Lsn,
    /// Number of the batch, by which an older copy of the file is found.
    number: u64,
}

impl WriteBatch {
    /// Opens the doublewrite file; creates it if it is missing, since its contents are not needed between two batches.
    /// Numbers continue from the one in it, or from `number`.
    ///
    /// # Errors
    /// When that fails, or there is no memory for a batch.
    pub fn open(files: &dyn Files, page_bytes: usize, most: usize, number: u64) -> Result<Self, Error> {
        let most = most.clamp(1, MAX_IMAGES);
        let bytes = HEADER_BYTES + most * page_bytes;
        if !files.exists(DOUBLE)? {
            files.create(DOUBLE)?.sync_data()?;
            files.sync_directory("")?;
        }
        let found = double::read_header(&*files.open(DOUBLE)?)?.map_or(0, |header| header.batch);
        let number = number.max(found);
        let double = files.open_direct(DOUBLE)?;
        if double.len()? < bytes as u64 {
            double.set_len(0)?;
            double.preallocate(bytes as u64)?;
            double.sync_data()?;
        }
        let memory = Memory::new(DISK_ALIGNMENT, bytes / DISK_ALIGNMENT)?;
        Ok(Self { double, memory, page_bytes, most, pages: Vec::with_capacity(most), highest_lsn: Lsn::NONE, number })
    }

    /// Whether no more pages fit.
    pub fn is_full(&self) -> bool {
        self.pages.len() == self.most
    }

    /// Copies a page.
    pub fn add(&mut self, id: PageId, frame: usize, bytes: &[u8]) {
        assert!(!self.is_full() && bytes.len() == self.page_bytes && page::id(bytes) == id);
        let at = HEADER_BYTES + self.pages.len() * self.page_bytes;
        let image = &mut self.memory.bytes_mut()[at..at + self.page_bytes];
        image.copy_from_slice(bytes);
        page::seal(image);
        self.highest_lsn = self.highest_lsn.max(page::lsn(bytes));
        self.pages.push((id, frame));
    }

    /// The number of the last batch that was written.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The pages in it, and their frames.
    pub fn pages(&self) -> &[(PageId, usize)] {
        &self.pages
    }

    /// The log position that must be durable before any of them is written.
    pub fn highest_lsn(&self) -> Lsn {
        self.highest_lsn
    }

    /// Writes and forces the images, then the pages in place.
    ///
    /// # Errors
    /// When any of that fails.
    pub fn write(&mut self, volume: &Volume) -> Result<(), IoError> {
        self.number += 1;
        let (page_bytes, number) = (self.page_bytes, self.number);
        let end = HEADER_BYTES + self.pages.len() * page_bytes;
        let (header, images) = self.memory.bytes_mut()[..end].split_at_mut(HEADER_BYTES);
        let named = self.pages.iter().zip(images.chunks_exact(page_bytes));
        double::encode_header(header, page_bytes, number, named.map(|((id, _), image)| (*id, page::u32_at(image, 0))));
        self.double.write_at(&self.memory.bytes_mut()[..end], 0)?;
        self.double.sync_data()?;
        let images = &self.memory.bytes_mut()[HEADER_BYTES..end];
        let mut done = 0;
        for run in self.pages.chunk_by(|one, next| one.0.0 + 1 == next.0.0) {
            let bytes = run.len() * page_bytes;
            volume.write(run[0].0, &images[done..done + bytes])?;
            done += bytes;
        }
        volume.force()
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.pages.clear();
        self.highest_lsn = Lsn::NONE;
    }
}
