//! What goes wrong, and when.

/// Faults to come, by the number of the operation. Operations are counted from 0: every write, resize, force, creation,
/// removal, rename and force of a directory. The default is a world without faults.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// The world stops at the operation of this number: it and everything after it, reads too, fails.
    pub stop_at: Option<u64>,
    /// The force of this number (counted from 0, files and directories together) fails, once. As on a real system, what
    /// it should have forced is seen as before and forced by no later force.
    pub fail_force: Option<u64>,
    /// From the operation of this number on, writes that make a file longer and creations fail: the disk is full.
    pub full_from: Option<u64>,
    /// A write that would make all files together longer than this many bytes fails: the disk is full.
    pub capacity_bytes: Option<u64>,
    /// Everything that changes something fails.
    pub read_only: bool,
}

/// What a machine finds after it stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// Nothing that was not forced.
    Lost,
    /// Everything that was written.
    Kept,
    /// Each write that was not forced is kept, lost, or kept for some of its 512-byte sectors; each creation, removal
    /// and rename is kept or lost, and if it is lost, so are the later ones of its names.
    Torn,
}
