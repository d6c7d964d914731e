//! The files of the log: which there are, which come next, which can be used again.
//!
//! A segment is `log/<first LSN, 16 hex digits>.log`; a file that waits to become one is `log/spare-<number>.log`. What
//! a spare contains means nothing. Each step below may be the last before a crash; what makes that harmless:
//!
//! - A new segment is a spare whose header is written and forced *before* it is renamed, and whose name is forced
//!   before the log says that it continues there. So a segment with a name has a sound header, and a log that continues
//!   finds the segment. One that was named but not yet continued into is empty, and opening makes it a spare again.
//! - An old segment is renamed to a spare, and that is forced, *before* anything is written to it: else a crash could
//!   bring back the old name over a new header.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::format::{SECTOR_BYTES, Segment};
use super::lsn::Lsn;
use crate::io::{File, Files, IoError};

/// As much of a new file is forced at once.
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

/// What the name of a file in the log's directory says.
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

/// The segments of an open log.
pub(super) struct Segments {
    files: Arc<dyn Files>,
    database_id: u128,
    segment_bytes: u64,
    most_spares: usize,
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
    pub fn new(files: Arc<dyn Files>, database_id: u128, segment_bytes: u64, most_spares: usize) -> Self {
        Self { files, database_id, segment_bytes, most_spares, keeps_all: false, lists: Mutex::default() }
    }

    /// Keeps every spare that is found, until the log is truncated.
    pub fn keep_all(self, keeps_all: bool) -> Self {
        Self { keeps_all, ..self }
    }

    /// Takes over what is in the directory: the segments `chain`, of which `open_end` said that the log ends in the
    /// last; later ones are empty and become spares, as do the spares that have the right size.
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
        if fits && (self.keeps_all || self.spares() < self.most_spares.max(1)) {
            self.lists().spares.push(name);
            return Ok(());
        }
        self.files.remove(&name)
    }

    /// Size of new segments.
    pub fn segment_bytes(&self) -> u64 {
        self.segment_bytes
    }

    /// Spares that are ready.
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

    /// Makes one more spare ready, however many are.
    pub fn prepare_another(&self) -> Result<(), IoError> {
        let name = self.make_spare()?;
        self.lists().spares.push(name);
        Ok(())
    }

    fn make_spare(&self) -> Result<String, IoError> {
        let name = self.new_spare_name();
        // Past the system's cache: the zeros are overwritten before they are read.
        let made = self.files.create(&name).and_then(|_| self.files.open_direct(&name)).and_then(|file| {
            // In pieces, because the log's own forces wait behind what is being forced here.
            let mut at = 0;
            while at < self.segment_bytes {
                at = self.segment_bytes.min(at + ZEROS_BYTES);
                file.preallocate(at)?;
                file.sync_data()?;
            }
            Ok(())
        });
        if let Err(error) = made {
            // On a full disk, half a spare would only keep room from others. If this fails too, opening removes it.
            let _ = self.files.remove(&name);
            return Err(error);
        }
        Ok(name)
    }

    /// Begins the segment at `first`: forced, with its name, before this returns. Also says whether a spare was ready.
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
        // Opened again so that messages bear its new name.
        Ok((self.files.open(&name)?, was_ready))
    }

    /// Makes spares of the segments that end at or before `below`. The one being written stays. As many spares are kept
    /// as are made here: until it is truncated next, the log may need so many again.
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
        let most = self.most_spares.max(freed.len());
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
            let surplus = lists.spares.len().saturating_sub(most);
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
        // Every change of the lists is one call: a panic elsewhere leaves them whole.
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
