//! Files that lie about forces: what a checker must notice. A file layer below a database that keeps its promises only
//! as long as it is told the truth.

use std::io::IoSlice;
use std::path::Path;

use glassbox::io::{DirectoryLock, File, Files, IoError, MemoryFiles};

/// Which forces do nothing, although they say that they did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lie {
    /// Of files whose names begin so.
    Files(&'static str),
    /// Of this directory: names that come, change or go.
    Directory(&'static str),
}

/// Files that tell this lie.
pub struct LyingFiles(pub MemoryFiles, pub Lie);

struct LyingFile(Box<dyn File>, bool);

impl LyingFiles {
    fn file(&self, name: &str, file: Box<dyn File>) -> Box<dyn File> {
        let lies = matches!(self.1, Lie::Files(beginning) if name.starts_with(beginning));
        Box::new(LyingFile(file, lies))
    }
}

impl Files for LyingFiles {
    fn open(&self, name: &str) -> Result<Box<dyn File>, IoError> {
        Ok(self.file(name, self.0.open(name)?))
    }
    fn create(&self, name: &str) -> Result<Box<dyn File>, IoError> {
        Ok(self.file(name, self.0.create(name)?))
    }
    fn remove(&self, name: &str) -> Result<(), IoError> {
        self.0.remove(name)
    }
    fn rename(&self, from: &str, to: &str) -> Result<(), IoError> {
        self.0.rename(from, to)
    }
    fn list(&self, directory: &str) -> Result<Vec<String>, IoError> {
        self.0.list(directory)
    }
    fn exists(&self, name: &str) -> Result<bool, IoError> {
        self.0.exists(name)
    }
    fn create_directory(&self, directory: &str) -> Result<(), IoError> {
        self.0.create_directory(directory)
    }
    fn sync_directory(&self, directory: &str) -> Result<(), IoError> {
        let lies = matches!(self.1, Lie::Directory(about) if about == directory);
        if lies { Ok(()) } else { self.0.sync_directory(directory) }
    }
    fn lock(&self) -> Result<DirectoryLock, IoError> {
        self.0.lock()
    }
}

impl File for LyingFile {
    fn path(&self) -> &Path {
        self.0.path()
    }
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, IoError> {
        self.0.read_at(buffer, offset)
    }
    fn write_parts_at(&self, parts: &mut [IoSlice<'_>], offset: u64) -> Result<(), IoError> {
        self.0.write_parts_at(parts, offset)
    }
    fn sync_data(&self) -> Result<(), IoError> {
        if self.1 { Ok(()) } else { self.0.sync_data() }
    }
    fn len(&self) -> Result<u64, IoError> {
        self.0.len()
    }
    fn set_len(&self, bytes: u64) -> Result<(), IoError> {
        self.0.set_len(bytes)
    }
    fn preallocate(&self, bytes: u64) -> Result<(), IoError> {
        self.0.preallocate(bytes)
    }
}
