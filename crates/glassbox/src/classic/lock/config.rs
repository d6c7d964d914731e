//! Settings of a lock manager.

/// Lock granularity: the object that a request for a record locks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LockGranularity {
    /// The record.
    #[default]
    Record,
    /// Its page, as in Berkeley DB.
    Page,
    /// Its store.
    #[cfg_attr(not(test), expect(dead_code, reason = "a database is opened with one of the other two"))]
    Store,
}

/// Settings of a lock manager.
#[derive(Clone, Debug)]
pub(crate) struct LockConfig {
    /// Parts of the lock table, each with a latch of its own; a power of two.
    pub(crate) partitions: usize,
    /// The lock granularity of stores without one of their own.
    pub(crate) granularity: LockGranularity,
    /// Whether pages can be locked. If not, requests for pages lock the store, and a record needs no intent on its
    /// page: one lock less for each.
    pub(crate) lock_pages: bool,
    /// Number of locks in one store at which escalation to the store is attempted; 0: never.
    pub(crate) escalate_store_at: u32,
    /// Number of record locks in one page at which escalation to the page is attempted; 0: never.
    pub(crate) escalate_page_at: u32,
    /// Lock timeout.
    pub(crate) timeout_ns: Option<u64>,
    /// Time between searches for deadlocks by each owner that waits; `None`: when its wait begins.
    pub(crate) detect_every_ns: Option<u64>,
    /// Number of waits kept for reports.
    pub(crate) waits_kept: usize,
    /// For tests of the serializability checker, which must detect this: S on a record goes with U and X, so
    /// transactions read uncommitted changes.
    pub(crate) broken_s_beside_x: bool,
}

impl Default for LockConfig {
    fn default() -> Self {
        Self {
            partitions: 64,
            granularity: LockGranularity::Record,
            lock_pages: true,
            escalate_store_at: 1_000,
            escalate_page_at: 0,
            timeout_ns: None,
            detect_every_ns: None,
            waits_kept: 32,
            broken_s_beside_x: false,
        }
    }
}
