//! The manifest: the one file that describes the contents of a database directory.
//!
//! It is small and replaced as a whole: written under another name, forced, renamed over the old one, the directory
//! forced. So there is always exactly one, old or new. Its content is JSON, for people and tools, after a header of 24
//! bytes:
//!
//! ```text
//! magic "GLASSBOX"   format u32   CRC32C of the content u32   length of the content u64   content
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::io::Files;
use crate::log::{ExpectedLog, Lsn};
use crate::record::{TableSchema, layout};

/// Its name in the database's directory.
pub(crate) const MANIFEST: &str = "manifest";
pub(crate) const TEMPORARY: &str = "manifest.new";
const MAGIC: &[u8; 8] = b"GLASSBOX";
/// The newest format. A manifest that the first one can say has that, so that older programs read it.
const FORMAT: u32 = 2;
const FIRST_FORMAT: u32 = 1;
const HEADER: usize = 8 + 4 + 4 + 8;

/// What a database directory holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Random, so that files of two databases cannot be mixed up.
    pub database_id: u128,
    /// The version of the schema.
    #[serde(default = "first_version", skip_serializing_if = "is_first_version")]
    pub schema_version: u32,
    /// Tables; a table's number in the log and in checkpoints is its index here, for ever.
    pub tables: Vec<TableSchema>,
    /// Procedures; a procedure's number in the log is its index here, for ever. A new version is a new entry.
    pub procedures: Vec<ProcedureEntry>,
    /// The newest complete checkpoint.
    pub checkpoint: Option<CheckpointEntry>,
    /// The log position at which reading begins.
    pub log_start: u64,
    /// False until the log of a new database has been created.
    pub log_created: bool,
    /// The log ends here or later: its end when the database was last closed. 0: not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub log_end: u64,
    /// The number of replacements of the manifest. The log's blocks contain it, so that an older copy is found. 0:
    /// written by a program that did not count.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub generation: u64,
    /// The names of the classic engine's stores of tables, by the number of the table, where they are not the table's:
    /// rows that were converted are in stores of their own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stores: BTreeMap<u16, String>,
    /// The pages of the classic engine; `None` for the partitioned one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<VolumeEntry>,
    /// The format of the file: as long as there may be files that only programs with this format know, whatever the
    /// tables are now.
    #[serde(skip)]
    pub(crate) format: u32,
    /// The owner of the [`Journal`](crate::research::journal::Journal); `None` for a database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal_of: Option<String>,
}

/// The pages of a database of the classic engine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeEntry {
    /// Size of a page in bytes.
    pub page_bytes: u32,
    /// The log position after the first record of the last checkpoint; 0: there was none.
    pub checkpoint: u64,
    /// Whether a bulk load is running: if it does not end, the volume is created from scratch.
    pub loading: bool,
    /// The LSN of page 0 at the last checkpoint: an older copy of the file has a lower one. 0: not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stamp: u64,
    /// The number of the batch in the doublewrite file at the last checkpoint. 0: not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub batch: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

const FIRST_VERSION: u32 = 1;

fn first_version() -> u32 {
    FIRST_VERSION
}

fn is_first_version(version: &u32) -> bool {
    *version == FIRST_VERSION
}

/// A procedure of a catalog, as a manifest and a summary name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcedureEntry {
    /// [`Procedure::NAME`](crate::procedure::Procedure::NAME).
    pub name: String,
    /// [`Procedure::VERSION`](crate::procedure::Procedure::VERSION).
    pub version: u32,
}

/// A complete checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointEntry {
    /// Its file.
    pub file: String,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Rows in it.
    pub rows: u64,
    /// The checksum of its header and of the headers of its blocks, which contain those of the rows: another file of
    /// this name has another checksum. `None`: written by a program that did not store it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<u32>,
}

/// A number that no other database has.
fn random_id() -> u128 {
    use std::hash::{BuildHasher, RandomState};
    let part = || u128::from(RandomState::new().hash_one(std::process::id()));
    part() << 64 | part()
}

impl Manifest {
    /// The name of the classic engine's stores of a table.
    pub(crate) fn store_of(&self, number: usize) -> &str {
        self.stores.get(&(number as u16)).map_or(&self.tables[number].name, |name| name)
    }

    /// The log position of the last checkpoint. The log may be needed from before it, for transactions that ran then.
    pub(crate) fn last_checkpoint(&self) -> u64 {
        self.volume.as_ref().map_or(0, |volume| volume.checkpoint).max(self.log_start)
    }

    /// The manifest of a new database, without tables.
    pub(crate) fn new() -> Self {
        Self {
            database_id: random_id(),
            schema_version: FIRST_VERSION,
            tables: Vec::new(),
            procedures: Vec::new(),
            checkpoint: None,
            log_start: 0,
            log_created: false,
            log_end: 0,
            generation: 1,
            stores: BTreeMap::new(),
            volume: None,
            format: FIRST_FORMAT,
            journal_of: None,
        }
    }

    /// The facts about the log.
    pub(crate) fn expected_log(&self) -> ExpectedLog {
        let &Self { database_id, log_start, log_end, generation, .. } = self;
        ExpectedLog { database_id, from: Lsn(log_start), end: Lsn(log_end), generation, file: MANIFEST }
    }

    /// Reads the manifest; `None` when there is none.
    pub(crate) fn read(files: &dyn Files) -> Result<Option<Self>, Error> {
        Self::read_file(files, MANIFEST)
    }

    /// Reads a manifest from the file of this name; `None` when there is none.
    pub(crate) fn read_file(files: &dyn Files, name: &str) -> Result<Option<Self>, Error> {
        if !files.exists(name)? {
            return Ok(None);
        }
        let file = files.open(name)?;
        let mut bytes = vec![0; file.len()? as usize];
        file.read_exact_at(&mut bytes, 0)?;
        let damaged = |offset, problem: &str| Error::Damaged {
            file: file.path().display().to_string(),
            offset,
            problem: problem.to_owned(),
        };
        let (header, content) = bytes.split_at_checked(HEADER).ok_or_else(|| damaged(0, "it is too short"))?;
        if header[..8] != *MAGIC {
            return Err(damaged(0, "it does not begin as a manifest does"));
        }
        let format = u32::from_le_bytes(header[8..12].try_into().expect("4 bytes"));
        if !(FIRST_FORMAT..=FORMAT).contains(&format) {
            let file = file.path().display().to_string();
            return Err(Error::WrongFormat { file, offset: 8, found: format, known: FORMAT });
        }
        if u64::from_le_bytes(header[16..24].try_into().expect("8 bytes")) != content.len() as u64 {
            return Err(damaged(16, "its length is not what it says"));
        }
        if u32::from_le_bytes(header[12..16].try_into().expect("4 bytes")) != crc32c::crc32c(content) {
            return Err(damaged(HEADER as u64, "its checksum does not match"));
        }
        let mut manifest: Self =
            serde_json::from_slice(content).map_err(|error| damaged(HEADER as u64, &error.to_string()))?;
        manifest.format = format;
        if let Some(bytes) = manifest.volume.as_ref().map(|volume| volume.page_bytes)
            && (!bytes.is_power_of_two() || !(4 << 10..=32 << 10).contains(&bytes))
        {
            return Err(damaged(HEADER as u64, &format!("it speaks of pages of {bytes} bytes")));
        }
        for table in &manifest.tables {
            layout::check(table).map_err(|problem| damaged(HEADER as u64, &problem))?;
        }
        Ok(Some(manifest))
    }

    /// The format that it needs.
    pub(crate) fn format(&self) -> u32 {
        let is_first = is_first_version(&self.schema_version) && self.tables.iter().all(layout::is_of_first_format);
        let needed = if is_first { FIRST_FORMAT } else { FORMAT };
        needed.max(self.format)
    }

    /// Replaces the manifest.
    pub(crate) fn write(&self, files: &dyn Files) -> Result<(), Error> {
        let content = serde_json::to_vec_pretty(self).expect("a manifest is plain data");
        let mut bytes = Vec::with_capacity(HEADER + content.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&self.format().to_le_bytes());
        bytes.extend_from_slice(&crc32c::crc32c(&content).to_le_bytes());
        bytes.extend_from_slice(&(content.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&content);
        if files.exists(TEMPORARY)? {
            files.remove(TEMPORARY)?;
        }
        let file = files.create(TEMPORARY)?;
        file.write_at(&bytes, 0)?;
        file.sync_data()?;
        files.rename(TEMPORARY, MANIFEST)?;
        files.sync_directory("")?;
        Ok(())
    }
}
