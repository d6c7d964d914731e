//! What can be set.

/// What a request for a record locks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Granularity {
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
    pub(crate) granularity: Granularity,
    /// Whether pages can be locked. If not, requests for pages lock the store, and a record needs no intent on its
    /// page: one lock less for each.
    pub(crate) lock_pages: bool,
    /// At how many locks in one store a lock of the whole is tried; 0 for never.
    pub(crate) escalate_store_at: u32,
    /// At how many record locks in one page a lock of the page is tried; 0 for never.
    pub(crate) escalate_page_at: u32,
    /// How long a request waits at most.
    pub(crate) timeout_ns: Option<u64>,
    /// How many waits are remembered.
    pub(crate) waits_kept: usize,
    /// For tests that must fail: on records, S and X are granted beside each other, so transactions read what others
    /// have not committed. A checker of serializability that does not notice this is worth nothing.
    pub(crate) broken_s_beside_x: bool,
}

impl Default for LockConfig {
    fn default() -> Self {
        Self {
            partitions: 64,
            granularity: Granularity::Record,
            lock_pages: true,
            escalate_store_at: 1_000,
            escalate_page_at: 0,
            timeout_ns: None,
            waits_kept: 32,
            broken_s_beside_x: false,
        }
    }
}
