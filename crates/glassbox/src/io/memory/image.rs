//! The state of [`MemoryFiles`](super::MemoryFiles): the visible state, the forced state, and the changes between them.

use std::collections::{BTreeMap, BTreeSet};

use super::dice::Dice;

/// The unit that a disk writes atomically.
const SECTOR_BYTES: u64 = 512;

/// The state of unforced changes after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// Unforced changes are lost.
    Lost,
    /// All changes are kept.
    Kept,
    /// Each write that was not forced is kept, lost, or kept for some of its 512-byte sectors; each creation, removal
    /// and rename is kept or lost, and if it is lost, so are the later ones of its names.
    Torn,
}

/// An unforced change of one file.
#[derive(Clone)]
pub(super) enum FileChange {
    Write { offset: u64, data: Vec<u8> },
    SetLen(u64),
}

impl FileChange {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            FileChange::Write { offset, data } => {
                let from = *offset as usize;
                let to = from + data.len();
                if bytes.len() < to {
                    bytes.resize(to, 0);
                }
                bytes[from..to].copy_from_slice(data);
            }
            FileChange::SetLen(length) => bytes.resize(*length as usize, 0),
        }
    }

    /// Applies the part of this change that a torn write leaves.
    fn apply_torn(&self, bytes: &mut Vec<u8>, dice: &mut Dice) {
        let fate = dice.below(3);
        match (fate, self) {
            (0, _) => {}
            (2, FileChange::Write { offset, data }) => {
                let mut done = 0;
                while done < data.len() {
                    let at = offset + done as u64;
                    let rest = SECTOR_BYTES - at % SECTOR_BYTES;
                    let end = data.len().min(done + rest as usize);
                    if dice.below(2) == 0 {
                        FileChange::Write { offset: at, data: data[done..end].to_vec() }.apply(bytes);
                    }
                    done = end;
                }
            }
            _ => self.apply(bytes),
        }
    }
}

/// One file, whatever its name.
#[derive(Clone, Default)]
pub(super) struct FileNode {
    pub current: Vec<u8>,
    synced: Vec<u8>,
    unsynced: Vec<FileChange>,
}

impl FileNode {
    pub fn change(&mut self, change: FileChange) {
        change.apply(&mut self.current);
        self.unsynced.push(change);
    }

    pub fn sync(&mut self) {
        for change in self.unsynced.drain(..) {
            change.apply(&mut self.synced);
        }
    }

    /// A force failed: the system treats the unwritten changes as written.
    pub fn forget_unsynced(&mut self) {
        self.unsynced.clear();
    }

    fn after_crash(&self, mode: Crash, dice: &mut Dice) -> FileNode {
        let mut bytes = self.synced.clone();
        match mode {
            Crash::Lost => {}
            Crash::Kept => bytes.clone_from(&self.current),
            Crash::Torn => self.unsynced.iter().for_each(|change| change.apply_torn(&mut bytes, dice)),
        }
        FileNode { current: bytes.clone(), synced: bytes, unsynced: Vec::new() }
    }
}

/// An unforced change of a directory.
#[derive(Clone)]
pub(super) enum DirectoryEntry {
    Create { name: String, node: usize },
    Remove { name: String },
    Rename { from: String, to: String },
}

impl DirectoryEntry {
    fn apply(&self, names: &mut BTreeMap<String, usize>) {
        match self {
            DirectoryEntry::Create { name, node } => {
                names.insert(name.clone(), *node);
            }
            DirectoryEntry::Remove { name } => {
                names.remove(name);
            }
            DirectoryEntry::Rename { from, to } => {
                if let Some(node) = names.remove(from) {
                    names.insert(to.clone(), node);
                }
            }
        }
    }

    fn directory(&self) -> &str {
        let [name, _] = self.names();
        directory_of(name)
    }

    /// The names that it changes; one twice where it changes only one.
    fn names(&self) -> [&str; 2] {
        match self {
            DirectoryEntry::Create { name, .. } | DirectoryEntry::Remove { name } => [name, name],
            DirectoryEntry::Rename { from, to } => [from, to],
        }
    }
}

/// The part of a name before the last `/`.
pub(super) fn directory_of(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// All files and names.
#[derive(Default)]
pub(super) struct Image {
    pub nodes: Vec<FileNode>,
    pub names: BTreeMap<String, usize>,
    synced_names: BTreeMap<String, usize>,
    unsynced: Vec<DirectoryEntry>,
}

impl Image {
    pub fn change(&mut self, entry: DirectoryEntry) {
        entry.apply(&mut self.names);
        self.unsynced.push(entry);
    }

    pub fn sync_directory(&mut self, directory: &str) {
        let names = &mut self.synced_names;
        self.unsynced.retain(|entry| {
            let forced = entry.directory() == directory;
            if forced {
                entry.apply(names);
            }
            !forced
        });
    }

    /// Bytes of all files that have a name.
    pub fn bytes(&self) -> u64 {
        self.names.values().map(|&node| self.nodes[node].current.len() as u64).sum()
    }

    pub fn after_crash(&self, mode: Crash, seed: u64) -> Image {
        let mut dice = Dice(seed);
        let mut names = self.synced_names.clone();
        let mut lost = BTreeSet::new();
        for entry in &self.unsynced {
            let follows_lost = entry.names().iter().any(|name| lost.contains(name));
            let is_kept = match mode {
                Crash::Lost => false,
                Crash::Kept => true,
                Crash::Torn => dice.below(2) == 0 && !follows_lost,
            };
            if is_kept {
                entry.apply(&mut names);
            } else {
                lost.extend(entry.names());
            }
        }
        let named: BTreeSet<usize> = names.values().copied().collect();
        let mut node = |(at, node): (usize, &FileNode)| {
            let found = node.after_crash(mode, &mut dice);
            if named.contains(&at) { found } else { FileNode::default() }
        };
        let nodes = self.nodes.iter().enumerate().map(&mut node).collect();
        Image { nodes, synced_names: names.clone(), names, unsynced: Vec::new() }
    }

    /// A copy for a new process, which has no file open: without the bytes of files that no name can refer to.
    pub fn after_kill(&self) -> Image {
        let created = self.unsynced.iter().filter_map(|entry| match entry {
            DirectoryEntry::Create { node, .. } => Some(*node),
            DirectoryEntry::Remove { .. } | DirectoryEntry::Rename { .. } => None,
        });
        let named: BTreeSet<usize> =
            self.names.values().chain(self.synced_names.values()).copied().chain(created).collect();
        let node =
            |(at, node): (usize, &FileNode)| if named.contains(&at) { node.clone() } else { FileNode::default() };
        Image {
            nodes: self.nodes.iter().enumerate().map(node).collect(),
            names: self.names.clone(),
            synced_names: self.synced_names.clone(),
            unsynced: self.unsynced.clone(),
        }
    }
}
