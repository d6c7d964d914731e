//! [`MemoryFiles`]: the traits over an image, with counted operations and injected faults.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::file::MemoryFile;
use super::image::{Crash, DirectoryEntry, FileNode, Image, directory_of};
use crate::io::{DirectoryLock, File, Files, IoError};

/// Faults to inject, by the number of the operation. Operations are counted from 0: every write, resize, force,
/// creation, removal, rename and force of a directory. The default has no faults.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// A crash at the operation of this number: it and all later operations, also reads, fail.
    pub stop_at: Option<u64>,
    /// The force of this number (counted from 0, files and directories together) fails, once. As on a real system, the
    /// changes that it should have forced stay visible, and no later force makes them durable.
    pub fail_force: Option<u64>,
    /// From the operation of this number on, writes that make a file longer and creations fail: the disk is full.
    pub full_from: Option<u64>,
    /// A write that would make all files together longer than this many bytes fails: the disk is full.
    pub capacity_bytes: Option<u64>,
    /// Every operation that changes something fails.
    pub read_only: bool,
}

/// A directory of files in memory. Clones share it.
#[derive(Clone, Default)]
pub struct MemoryFiles {
    world: Arc<Mutex<World>>,
}

#[derive(Default)]
pub(super) struct World {
    pub image: Image,
    pub faults: Faults,
    operations: u64,
    forces: u64,
    pub stopped: bool,
    locked: bool,
}

/// Kind of a counted operation.
#[derive(PartialEq)]
pub(super) enum OperationKind {
    Change,
    Force,
}

impl World {
    /// Counts an operation. `Ok(true)`: it happens. `Ok(false)`: the crash happens during it.
    pub fn count(&mut self, kind: &OperationKind) -> Result<bool, io::Error> {
        self.alive()?;
        let number = self.operations;
        self.operations += 1;
        if self.faults.stop_at == Some(number) {
            self.stopped = true;
            return Ok(false);
        }
        if self.faults.read_only && *kind == OperationKind::Change {
            return Err(ErrorKind::ReadOnlyFilesystem.into());
        }
        if *kind == OperationKind::Force {
            let force = self.forces;
            self.forces += 1;
            if self.faults.fail_force == Some(force) {
                return Err(io::Error::other("injected fault"));
            }
        }
        Ok(true)
    }

    pub fn alive(&self) -> Result<(), io::Error> {
        if self.stopped { Err(stopped()) } else { Ok(()) }
    }

    /// Whether the disk was full before the operation that was counted last.
    pub fn is_full(&self) -> bool {
        self.faults.full_from.is_some_and(|from| self.operations > from)
    }

    fn find(&self, name: &str) -> Result<usize, io::Error> {
        self.image.names.get(name).copied().ok_or_else(|| ErrorKind::NotFound.into())
    }
}

pub(super) fn stopped() -> io::Error {
    io::Error::other("stopped")
}

impl MemoryFiles {
    /// An empty directory without faults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the faults to inject; the count of operations continues.
    pub fn set_faults(&self, faults: Faults) {
        self.world().faults = faults;
    }

    /// Operations counted so far: see [`Faults`].
    pub fn operations(&self) -> u64 {
        self.world().operations
    }

    /// Forces counted so far, of files and directories.
    pub fn forces(&self) -> u64 {
        self.world().forces
    }

    /// Crashes now: every later operation fails.
    pub fn stop(&self) {
        self.world().stopped = true;
    }

    /// Whether the crash has happened.
    pub fn is_stopped(&self) -> bool {
        self.world().stopped
    }

    /// The files as found after a crash of the machine now, as another instance: without faults, counting from 0.
    pub fn after_crash(&self, mode: Crash, seed: u64) -> MemoryFiles {
        Self::of(self.world().image.after_crash(mode, seed))
    }

    /// The files as found after a crash of the process alone: all changes are visible, and unforced ones are still
    /// unforced.
    pub fn after_kill(&self) -> MemoryFiles {
        Self::of(self.world().image.after_kill())
    }

    fn of(image: Image) -> MemoryFiles {
        MemoryFiles { world: Arc::new(Mutex::new(World { image, ..World::default() })) }
    }

    pub(super) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a change of names and applies it if `entry` allows it.
    fn change(
        &self,
        name: &str,
        operation: &'static str,
        entry: impl FnOnce(&mut World) -> Result<DirectoryEntry, io::Error>,
    ) -> Result<(), IoError> {
        let mut world = self.world();
        let made = world.count(&OperationKind::Change).and_then(|goes_on| {
            let entry = entry(&mut world)?;
            world.image.change(entry);
            if goes_on { Ok(()) } else { Err(stopped()) }
        });
        made.map_err(|e| IoError::new(Path::new(name), operation, e))
    }

    fn handle(&self, name: &str, node: usize) -> Box<dyn File> {
        Box::new(MemoryFile { files: self.clone(), node, path: PathBuf::from(name) })
    }
}

impl Files for MemoryFiles {
    fn open(&self, name: &str) -> Result<Box<dyn File>, IoError> {
        let world = self.world();
        let node = world.alive().and_then(|()| world.find(name));
        let node = node.map_err(|e| IoError::new(Path::new(name), "open", e))?;
        Ok(self.handle(name, node))
    }

    fn create(&self, name: &str) -> Result<Box<dyn File>, IoError> {
        let mut node = 0;
        self.change(name, "create", |world| {
            if world.image.names.contains_key(name) {
                return Err(ErrorKind::AlreadyExists.into());
            }
            if world.is_full() {
                return Err(ErrorKind::StorageFull.into());
            }
            node = world.image.nodes.len();
            world.image.nodes.push(FileNode::default());
            Ok(DirectoryEntry::Create { name: name.to_string(), node })
        })?;
        Ok(self.handle(name, node))
    }

    fn remove(&self, name: &str) -> Result<(), IoError> {
        self.change(name, "remove", |world| {
            world.find(name)?;
            Ok(DirectoryEntry::Remove { name: name.to_string() })
        })
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), IoError> {
        assert_eq!(directory_of(from), directory_of(to), "a rename stays in its directory");
        self.change(from, "rename", |world| {
            world.find(from)?;
            Ok(DirectoryEntry::Rename { from: from.to_string(), to: to.to_string() })
        })
    }

    fn list(&self, directory: &str) -> Result<Vec<String>, IoError> {
        let world = self.world();
        world.alive().map_err(|e| IoError::new(Path::new(directory), "list", e))?;
        Ok(world.image.names.keys().filter(|name| directory_of(name) == directory).cloned().collect())
    }

    fn exists(&self, name: &str) -> Result<bool, IoError> {
        let world = self.world();
        world.alive().map_err(|e| IoError::new(Path::new(name), "look for", e))?;
        Ok(world.image.names.contains_key(name))
    }

    fn create_directory(&self, directory: &str) -> Result<(), IoError> {
        // Directories are only parts of names here; they exist at once and for good.
        self.world().alive().map_err(|e| IoError::new(Path::new(directory), "create directory", e))
    }

    fn sync_directory(&self, directory: &str) -> Result<(), IoError> {
        let mut world = self.world();
        let forced =
            world.count(&OperationKind::Force).and_then(|goes_on| if goes_on { Ok(()) } else { Err(stopped()) });
        forced.map_err(|e| IoError::new(Path::new(directory), "force directory", e))?;
        world.image.sync_directory(directory);
        Ok(())
    }

    fn lock(&self) -> Result<DirectoryLock, IoError> {
        let mut world = self.world();
        let error = |e| IoError::new(Path::new("LOCK"), "lock", e);
        world.alive().map_err(error)?;
        if world.locked {
            let message = "the database is open in this process; close it there first";
            return Err(error(io::Error::new(ErrorKind::WouldBlock, message)));
        }
        world.locked = true;
        Ok(DirectoryLock::new(Locked(self.clone())))
    }
}

struct Locked(MemoryFiles);

impl Drop for Locked {
    fn drop(&mut self) {
        self.0.world().locked = false;
    }
}
