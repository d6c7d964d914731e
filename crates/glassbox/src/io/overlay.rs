//! A directory of files whose writes stay in memory.
//!
//! Problem: a database that was not closed must be recovered before it can be inspected, and recovery writes. An
//! inspection must leave every byte as it is, and must work on read-only media. A copy of the directory would need as
//! much room as the database, and time accordingly. So writes stay in memory, in blocks, over a base that is only read:
//! a read returns the latest written block, or the bytes of the base if there is none. So only recovery's changes use
//! memory. Zeros after the end of a file need none, so preallocation is free.
//!
//! Creations, removals and renames stay in memory as well. A force does nothing: no change survives.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{ErrorKind, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{DirectoryLock, File, Files, IoError};

/// Bytes of a block.
const BLOCK_BYTES: u64 = 4096;

/// Files whose writes stay in memory, over base files that stay as they are.
pub struct Overlay {
    base: Arc<dyn Files>,
    /// Files opened, created or renamed, by name; `None`: removed.
    names: Mutex<BTreeMap<String, Option<Arc<OverlayNode>>>>,
}

/// A file, whatever its name.
struct OverlayNode {
    /// `None` for a file created here.
    base: Option<Box<dyn File>>,
    path: PathBuf,
    written: Mutex<WrittenRange>,
}

/// Differences from the base.
struct WrittenRange {
    bytes: u64,
    /// Bytes of the base that were not truncated.
    base_bytes: u64,
    blocks: HashMap<u64, Box<[u8]>>,
}

/// An open file. Like the system's it follows the file, not the name.
struct Handle(Arc<OverlayNode>);

fn whole<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while it is held.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Overlay {
    /// An overlay without changes.
    pub fn new(base: Arc<dyn Files>) -> Self {
        Self { base, names: Mutex::default() }
    }

    fn node(&self, name: &str) -> Result<Arc<OverlayNode>, IoError> {
        let mut names = whole(&self.names);
        match names.get(name) {
            Some(Some(node)) => return Ok(Arc::clone(node)),
            Some(None) => return Err(IoError::new(Path::new(name), "open", ErrorKind::NotFound)),
            None => {}
        }
        let base = self.base.open(name)?;
        let (path, bytes) = (base.path().to_path_buf(), base.len()?);
        let written = Mutex::new(WrittenRange { bytes, base_bytes: bytes, blocks: HashMap::new() });
        let node = Arc::new(OverlayNode { base: Some(base), path, written });
        names.insert(name.to_owned(), Some(Arc::clone(&node)));
        Ok(node)
    }
}

impl Files for Overlay {
    fn open(&self, name: &str) -> Result<Box<dyn File>, IoError> {
        Ok(Box::new(Handle(self.node(name)?)))
    }

    fn create(&self, name: &str) -> Result<Box<dyn File>, IoError> {
        if self.exists(name)? {
            return Err(IoError::new(Path::new(name), "create", ErrorKind::AlreadyExists));
        }
        let written = Mutex::new(WrittenRange { bytes: 0, base_bytes: 0, blocks: HashMap::new() });
        let node = Arc::new(OverlayNode { base: None, path: name.into(), written });
        whole(&self.names).insert(name.to_owned(), Some(Arc::clone(&node)));
        Ok(Box::new(Handle(node)))
    }

    fn remove(&self, name: &str) -> Result<(), IoError> {
        if !self.exists(name)? {
            return Err(IoError::new(Path::new(name), "remove", ErrorKind::NotFound));
        }
        whole(&self.names).insert(name.to_owned(), None);
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), IoError> {
        let node = self.node(from)?;
        let mut names = whole(&self.names);
        names.insert(from.to_owned(), None);
        names.insert(to.to_owned(), Some(node));
        Ok(())
    }

    fn list(&self, directory: &str) -> Result<Vec<String>, IoError> {
        let mut all: BTreeSet<String> = self.base.list(directory)?.into_iter().collect();
        for (name, node) in whole(&self.names).iter() {
            if name.rsplit_once('/').map_or("", |(parent, _)| parent) == directory {
                if node.is_some() {
                    all.insert(name.clone())
                } else {
                    all.remove(name)
                };
            }
        }
        Ok(all.into_iter().collect())
    }

    fn exists(&self, name: &str) -> Result<bool, IoError> {
        let known = whole(&self.names).get(name).map(Option::is_some);
        known.map_or_else(|| self.base.exists(name), Ok)
    }

    fn create_directory(&self, _: &str) -> Result<(), IoError> {
        Ok(())
    }

    fn sync_directory(&self, _: &str) -> Result<(), IoError> {
        Ok(())
    }

    fn lock(&self) -> Result<DirectoryLock, IoError> {
        self.base.lock()
    }
}

impl OverlayNode {
    /// Fills `buffer`, which does not reach beyond the end nor into the next block.
    fn read_piece(&self, written: &WrittenRange, buffer: &mut [u8], offset: u64) -> Result<(), IoError> {
        let (block, within) = (offset / BLOCK_BYTES, (offset % BLOCK_BYTES) as usize);
        if let Some(bytes) = written.blocks.get(&block) {
            buffer.copy_from_slice(&bytes[within..within + buffer.len()]);
            return Ok(());
        }
        let in_base = (written.base_bytes.saturating_sub(offset)).min(buffer.len() as u64) as usize;
        buffer[in_base..].fill(0);
        match &self.base {
            Some(base) if in_base > 0 => base.read_exact_at(&mut buffer[..in_base], offset),
            _ => Ok(()),
        }
    }

    /// Writes within one block.
    fn write_piece(&self, written: &mut WrittenRange, data: &[u8], offset: u64) -> Result<(), IoError> {
        let (block, within) = (offset / BLOCK_BYTES, (offset % BLOCK_BYTES) as usize);
        if !written.blocks.contains_key(&block) {
            let mut bytes = vec![0; BLOCK_BYTES as usize].into_boxed_slice();
            self.read_piece(written, &mut bytes, block * BLOCK_BYTES)?;
            written.blocks.insert(block, bytes);
        }
        let bytes = written.blocks.get_mut(&block).expect("it was just made");
        bytes[within..within + data.len()].copy_from_slice(data);
        written.bytes = written.bytes.max(offset + data.len() as u64);
        Ok(())
    }
}

/// How many bytes from `offset` on belong to one block, at most `most`.
fn piece(offset: u64, most: usize) -> usize {
    most.min((BLOCK_BYTES - offset % BLOCK_BYTES) as usize)
}

impl File for Handle {
    fn path(&self) -> &Path {
        &self.0.path
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, IoError> {
        let written = whole(&self.0.written);
        let got = written.bytes.saturating_sub(offset).min(buffer.len() as u64) as usize;
        let mut done = 0;
        while done < got {
            let at = offset + done as u64;
            let end = done + piece(at, got - done);
            self.0.read_piece(&written, &mut buffer[done..end], at)?;
            done = end;
        }
        Ok(got)
    }

    fn write_parts_at(&self, parts: &mut [IoSlice<'_>], offset: u64) -> Result<(), IoError> {
        let mut written = whole(&self.0.written);
        let mut at = offset;
        for part in parts.iter() {
            let mut rest = &part[..];
            while !rest.is_empty() {
                let (now, after) = rest.split_at(piece(at, rest.len()));
                self.0.write_piece(&mut written, now, at)?;
                at += now.len() as u64;
                rest = after;
            }
        }
        Ok(())
    }

    fn sync_data(&self) -> Result<(), IoError> {
        Ok(())
    }

    fn len(&self) -> Result<u64, IoError> {
        Ok(whole(&self.0.written).bytes)
    }

    fn set_len(&self, bytes: u64) -> Result<(), IoError> {
        let mut written = whole(&self.0.written);
        if bytes < written.bytes {
            written.base_bytes = written.base_bytes.min(bytes);
            written.blocks.retain(|block, _| block * BLOCK_BYTES < bytes);
            if let Some(last) = written.blocks.get_mut(&(bytes / BLOCK_BYTES)) {
                last[(bytes % BLOCK_BYTES) as usize..].fill(0);
            }
        }
        written.bytes = bytes;
        Ok(())
    }

    fn preallocate(&self, bytes: u64) -> Result<(), IoError> {
        let mut written = whole(&self.0.written);
        written.bytes = written.bytes.max(bytes);
        Ok(())
    }
}
