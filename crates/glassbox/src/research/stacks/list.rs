//! The stacks that have a name: what is in each, in the order of Figure 7 of "OLTP Through the Looking Glass"
//! (Harizopoulos et al., SIGMOD 2008). This is the whole list; everything else about them is made from it.

/// Calls a macro with the list. A row: type name, printed name, description; then its components: keys, log, locks,
/// latch, lookup of stores, KiB of a page, page access, sessions. A stack without pages has no log of page changes, no
/// locks or latches on pages and no stores of pages, so its row names its sessions only.
macro_rules! named_stacks {
    ($with:ident) => {
        $with! {
            // The ladder: each has one component less than the one before.
            Full "full" "everything" [SchemaKeys Wal LockManager ReadWriteLatch Uncached 8 Pool SessionPool];
            IntegerKeys "integer-keys" "keys compared as integers"
                [IntegerKeys Wal LockManager ReadWriteLatch Uncached 8 Pool SessionPool];
            NoDiskLog "no-disk-log" "then log records made, but not written"
                [IntegerKeys Discarded LockManager ReadWriteLatch Uncached 8 Pool SessionPool];
            NoLog "no-log" "then no log records"
                [IntegerKeys Lsns LockManager ReadWriteLatch Uncached 8 Pool SessionPool];
            NoLsn "no-lsn" "then no log sequence numbers"
                [IntegerKeys Nothing LockManager ReadWriteLatch Uncached 8 Pool SessionPool];
            NoLocks "no-locks" "then no locks" [IntegerKeys Nothing NoLocks ReadWriteLatch Uncached 8 Pool SessionPool];
            NoLatches "no-latches" "then no latches" [IntegerKeys Nothing NoLocks NoLatch Uncached 8 Pool SessionPool];
            NoDirectory "no-directory" "then no lookup of stores"
                [IntegerKeys Nothing NoLocks NoLatch HeldEntry 8 Pool SessionPool];
            LargePages "large-pages" "then pages of 32 KiB"
                [IntegerKeys Nothing NoLocks NoLatch HeldEntry 32 Pool SessionPool];
            NoPool "no-pool" "then no buffer pool"
                [IntegerKeys Nothing NoLocks NoLatch HeldEntry 32 InMemory SessionPool];
            NoPages "no-pages" "then no pages: records by pointer" [SessionPool];
            Bare "bare" "then no sessions" [OneSession];
            // The other order: latches before locks.
            LatchesFirst "latches-first" "no latches, but locks; else as no-locks"
                [IntegerKeys Nothing LockManager NoLatch Uncached 8 Pool SessionPool];
            // The full stack without one component each. Without keys by schema it is `IntegerKeys`; without the log's
            // disk:
            WithoutDiskLog "without-disk-log" "full, but log records are not written"
                [SchemaKeys Discarded LockManager ReadWriteLatch Uncached 8 Pool SessionPool];
            WithoutLog "without-log" "full, but no log records"
                [SchemaKeys Lsns LockManager ReadWriteLatch Uncached 8 Pool SessionPool];
            WithoutLsn "without-lsn" "full, but neither log records nor their numbers"
                [SchemaKeys Nothing LockManager ReadWriteLatch Uncached 8 Pool SessionPool];
            WithoutLocks "without-locks" "full, but no locks"
                [SchemaKeys Wal NoLocks ReadWriteLatch Uncached 8 Pool SessionPool];
            WithoutLatches "without-latches" "full, but no latches"
                [SchemaKeys Wal LockManager NoLatch Uncached 8 Pool SessionPool];
            CachedDirectory "cached-directory" "full, but stores once found are remembered"
                [SchemaKeys Wal LockManager ReadWriteLatch Cached 8 Pool SessionPool];
            WithoutDirectory "without-directory" "full, but stores are not looked up"
                [SchemaKeys Wal LockManager ReadWriteLatch HeldEntry 8 Pool SessionPool];
            WithLargePages "with-large-pages" "full, but pages of 32 KiB"
                [SchemaKeys Wal LockManager ReadWriteLatch Uncached 32 Pool SessionPool];
            WithoutPool "without-pool" "full, but no buffer pool"
                [SchemaKeys Wal LockManager ReadWriteLatch Uncached 8 InMemory SessionPool];
            WithoutSessions "without-sessions" "full, but one session"
                [SchemaKeys Wal LockManager ReadWriteLatch Uncached 8 Pool OneSession];
            // The full stack with other sizes of pages.
            PagesOf4Kib "pages-of-4-kib" "full, but pages of 4 KiB"
                [SchemaKeys Wal LockManager ReadWriteLatch Uncached 4 Pool SessionPool];
            PagesOf16Kib "pages-of-16-kib" "full, but pages of 16 KiB"
                [SchemaKeys Wal LockManager ReadWriteLatch Uncached 16 Pool SessionPool];
        }
    };
}
pub(crate) use named_stacks;

use super::engine::NamedStack;
use super::records::Records;
use crate::classic::{Engine, Stack};

/// The forms of components under the list's names.
mod forms {
    pub(super) use crate::classic::directory::{Cached, HeldEntry, Uncached};
    pub(super) use crate::classic::engine::sessions::{OneSession, SessionPool};
    pub(super) use crate::classic::latch::{NoLatch, ReadWriteLatch};
    pub(super) use crate::classic::lock::{LockManager, NoLocks};
    pub(super) use crate::classic::stack::Session;
    pub(super) use crate::classic::stack::{AheadOf, InMemory, Pool};
    pub(super) use crate::classic::tree::{IntegerKeys, SchemaKeys};
    use crate::classic::wal::forms::NoLog;
    pub(super) use crate::classic::wal::forms::{Discarded, Wal};

    /// LSNs without log records.
    pub(super) type Lsns = NoLog<true>;
    /// Neither log records nor LSNs.
    pub(super) type Nothing = NoLog<false>;
}

macro_rules! implement {
    ($($name:ident $called:literal $what:literal [$($components:tt)*];)*) => {
        $(
            #[doc = concat!("The stack `", $called, "`: ", $what, ".")]
            #[doc = threads!($name $($components)*)]
            pub enum $name {}
            implement_one!($name $($components)*);
        )*
    };
}

/// Says in a stack's documentation whether threads can share its database, with an example that shows it. A stack has a
/// neighbour that differs only in locks or latches and can be shared; so these are the reason where it cannot.
macro_rules! threads {
    ($name:ident $key:ident $log:ident LockManager ReadWriteLatch $at:ident $kib:literal $pages:ident SessionPool) => {
        shared_example!($name, "Threads can share its database", "")
    };
    ($name:ident $keys:ident $log:ident $locks:ident NoLatch $($others:tt)*) => {
        shared_example!($name, "Without latches, threads cannot share its database", "compile_fail,E0277")
    };
    ($name:ident $keys:ident $log:ident NoLocks $($others:tt)*) => {
        shared_example!($name, "Without locks, threads cannot share its database", "compile_fail,E0277")
    };
    ($name:ident $($others:tt)*) => {
        shared_example!(
            $name,
            "With one session or without pages, threads cannot share its database",
            "compile_fail,E0277"
        )
    };
}

macro_rules! shared_example {
    ($name:ident, $what:literal, $tag:literal) => {
        concat!(
            "\n\n",
            $what,
            ":\n\n```",
            $tag,
            "\nfn shared<T: Sync>() {}\nshared::<glassbox::research::stacks::DatabaseOf<glassbox::research::stacks::",
            stringify!($name),
            ">>();\n```"
        )
    };
}

macro_rules! implement_one {
    ($name:ident $keys:ident $log:ident $locks:ident $latch:ident $lookup:ident $kib:literal $access:ident
        $sessions:ident) => {
        impl Stack for $name {
            type Keys = forms::$keys;
            type Logs = forms::$log;
            type Locks = forms::$locks;
            type Latch = forms::$latch;
            type Directory = forms::$lookup;
            type Pages = forms::$access<forms::$latch, forms::AheadOf<$name>>;
            type Sessions = forms::$sessions<forms::Session<$name>>;
            const PAGE_BYTES: usize = $kib << 10;
        }

        impl NamedStack for $name {
            type Engine = Engine<$name>;
        }
    };
    ($name:ident $sessions:ident) => {
        impl NamedStack for $name {
            type Engine = Records<forms::$sessions<()>>;
        }
    };
}
named_stacks!(implement);
