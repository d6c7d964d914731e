//! The files of the log: the current segments, and spare files for the next ones.
//!
//! A segment is `log/<first LSN, 16 hex digits>.log`; a spare, a file ready to become one, is
//! `log/spare-<number>.log`. The contents of a spare mean nothing. A crash may follow each step below, and is harmless:
//!
//! - A new segment is a spare whose header is written and forced *before* it is renamed, and whose name is forced
//!   before the log says that it continues there. So a segment with a name has a valid header, and a log that continues
//!   finds the segment. A segment that has its name, but into which the log does not continue yet, is empty, and the
//!   next opening makes it a spare again.
//! - An old segment is renamed to a spare, and the rename is forced, *before* anything is written to it: otherwise a
//!   crash could restore the old name with a new header.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::format::{SECTOR_BYTES, Segment};
use super::lsn::Lsn;
use crate::io::{File, Files, IoError};

/// Bytes of a new file that are forced at once.
const ZEROS_BYTES: u64 = 4 << 20;

/// The directory of the log, within the database's.
pub(crate) const DIRECTORY: &str = "log";

/// Name of the segment that begins at `first`.
pub(super) fn segment_name(first: Lsn) -> String {
    format!("{DIRECTORY}/{:016x}.log", first.0)
}

fn spare_name(number: u64) -> String {
    format!("{DIRECTORY}/spare-{number:016x}.log")
}

/// Kind of a file in the log's directory, by its name.
pub(super) enum Named {
    Segment(Lsn),
    Spare(u64),
    Other,
}

pub(super) fn parse_name(name: &str) -> Named {
    let number = |digits: &str| {
        let lower = digits.len() == 16 && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if lower { u64::from_str_radix(digits, 16).ok() } else { None }
    };
    let Some(stem) = name.strip_prefix("log/").and_then(|rest| rest.strip_suffix(".log")) else {
        return Named::Other;
    };
    match stem.strip_prefix("spare-") {
        Some(digits) => number(digits).map_or(Named::Other, Named::Spare),
        None => number(stem).map_or(Named::Other, |first| Named::Segment(Lsn(first))),
    }
}

/// Whether a log has files of this name, from the database's directory.
pub(crate) fn is_log_file(name: &str) -> bool {
    !matches!(parse_name(name), Named::Other)
}

/// The segments of an open log.
pub(super) struct Segments {
    files: Arc<dyn Files>,
    database_id: u128,
    segment_bytes: u64,
    /// Number of spares kept for reuse.
    spare_segments: usize,
    /// Whether [`Segments::adopt`] keeps every spare: recovery may need them to roll back.
    keeps_all: bool,
    lists: Mutex<Lists>,
}

#[derive(Default)]
struct Lists {
    /// First LSNs of the segments, oldest first; the last is being written.
    chain: VecDeque<Lsn>,
    /// Names of files that are ready.
    spares: Vec<String>,
    next_spare: u64,
}

impl Segments {
    pub fn new(files: Arc<dyn Files>, database_id: u128, segment_bytes: u64, spare_segments: usize) -> Self {
        let lists = Mutex::default();
        Self { files, database_id, segment_bytes, spare_segments, keeps_all: false, lists }
    }

    /// Sets whether every spare found is kept until the log is truncated.
    pub fn keep_all(self, keeps_all: bool) -> Self {
        Self { keeps_all, ..self }
    }

    /// Takes over the files in the directory: the segments `chain`, in whose last one the log ends; the later, `empty`
    /// segments, which become spares; and the spares that have the right size.
    pub fn adopt(&self, chain: &[Lsn], empty: &[Lsn]) -> Result<(), IoError> {
        for name in self.files.list(DIRECTORY)? {
            let Named::Spare(number) = parse_name(&name) else { continue };
            let mut lists = self.lists();
            lists.next_spare = lists.next_spare.max(number + 1);
            lists.spares.push(name);
        }
        let found = std::mem::take(&mut self.lists().spares);
        for name in found {
            self.keep_or_remove(name)?;
        }
        self.lists().chain.extend(chain);
        for &first in empty {
            let spare = self.new_spare_name();
            self.files.rename(&segment_name(first), &spare)?;
            self.keep_or_remove(spare)?;
        }
        self.files.sync_directory(DIRECTORY)
    }

    fn keep_or_remove(&self, name: String) -> Result<(), IoError> {
        let fits = self.files.open(&name)?.len()? == self.segment_bytes;
        if fits && (self.keeps_all || self.spares() < self.spare_segments.max(1)) {
            self.lists().spares.push(name);
            return Ok(());
        }
        self.files.remove(&name)
    }

    /// Size of new segments.
    pub fn segment_bytes(&self) -> u64 {
        self.segment_bytes
    }

    /// Number of spares ready.
    pub fn spares(&self) -> usize {
        self.lists().spares.len()
    }

    /// Makes a spare ready if none is. Takes as long as writing a segment full of zeros.
    pub fn prepare(&self) -> Result<(), IoError> {
        if self.spares() == 0 {
            let name = self.make_spare()?;
            self.lists().spares.push(name);
        }
        Ok(())
    }

    /// Makes one more spare ready, in addition to existing ones.
    pub fn prepare_another(&self) -> Result<(), IoError> {
        let name = self.make_spare()?;
        self.lists().spares.push(name);
        Ok(())
    }

    fn make_spare(&self) -> Result<String, IoError> {
        let name = self.new_spare_name();
        // Past the system's cache: the zeros are overwritten before they are read.
        let made = self.files.create(&name).and_then(|_| self.files.open_direct(&name)).and_then(|file| {
            // In pieces, because the log's own forces queue after this one in the file system.
            let mut at = 0;
            while at < self.segment_bytes {
                at = self.segment_bytes.min(at + ZEROS_BYTES);
                file.preallocate(at)?;
                file.sync_data()?;
            }
            Ok(())
        });
        if let Err(error) = made {
            // On a full disk, half a spare would only waste room. If the removal fails too, the next opening removes
            // it.
            let _ = self.files.remove(&name);
            return Err(error);
        }
        Ok(name)
    }

    /// Begins the segment at `first`; its header and name are forced before this returns. The flag says whether a spare
    /// was ready.
    pub fn begin(&self, first: Lsn, epoch: u64) -> Result<(Box<dyn File>, bool), IoError> {
        let ready = self.lists().spares.pop();
        let was_ready = ready.is_some();
        let spare = ready.map_or_else(|| self.make_spare(), Ok)?;
        let (database_id, segment_bytes) = (self.database_id, self.segment_bytes);
        let header = Segment { database_id, first_lsn: first, segment_bytes, epoch }.encode();
        let mut sector = [0; SECTOR_BYTES as usize];
        sector[..header.len()].copy_from_slice(&header);
        let file = self.files.open(&spare)?;
        file.write_at(&sector, 0)?;
        file.sync_data()?;
        drop(file);
        let name = segment_name(first);
        self.files.rename(&spare, &name)?;
        self.files.sync_directory(DIRECTORY)?;
        self.lists().chain.push_back(first);
        // Opened again so that messages contain its new name.
        Ok((self.files.open(&name)?, was_ready))
    }

    /// Makes spares of the segments that end at or before `below`, except the one being written. At least as many
    /// spares are kept as this makes: the log may need that many until the next truncation.
    pub fn truncate(&self, below: Lsn) -> Result<(), IoError> {
        let mut freed = Vec::new();
        {
            let mut lists = self.lists();
            while lists.chain.get(1).is_some_and(|&next| next <= below) {
                freed.extend(lists.chain.pop_front());
            }
        }
        if freed.is_empty() {
            return Ok(());
        }
        let max_spares = self.spare_segments.max(freed.len());
        let mut spares = Vec::new();
        // Oldest first: a crash in between must not leave a hole.
        for first in freed {
            let name = segment_name(first);
            if self.files.open(&name)?.len()? == self.segment_bytes {
                let spare = self.new_spare_name();
                self.files.rename(&name, &spare)?;
                spares.push(spare);
            } else {
                self.files.remove(&name)?;
            }
        }
        self.files.sync_directory(DIRECTORY)?;
        let surplus: Vec<_> = {
            let mut lists = self.lists();
            lists.spares.append(&mut spares);
            let surplus = lists.spares.len().saturating_sub(max_spares);
            lists.spares.drain(..surplus).collect()
        };
        surplus.iter().try_for_each(|name| self.files.remove(name))
    }

    fn new_spare_name(&self) -> String {
        let mut lists = self.lists();
        lists.next_spare += 1;
        spare_name(lists.next_spare - 1)
    }

    fn lists(&self) -> MutexGuard<'_, Lists> {
        // Every change of the lists is one call, so a panic elsewhere leaves them consistent.
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
