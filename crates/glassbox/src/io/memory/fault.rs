//! Injected faults.

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
