//! To what an instruction belongs: the engine's components, by their files; the calls that a transaction makes, by
//! functions.

use crate::count::{Calls, Parts};

/// The components, by the inlined functions that an instruction belongs to.
pub(super) const COMPONENTS: Parts = Parts {
    list: &[
        ("B-tree keys", &["glassbox/src/classic/tree/keys", "glassbox/src/classic/tree/schema_keys"]),
        (
            "B-trees",
            &[
                "glassbox/src/classic/tree",
                "glassbox-lab/src/limits/kernel/tree",
                "glassbox-lab/src/limits/kernel/node",
            ],
        ),
        (
            "logging",
            &[
                "glassbox/src/classic/wal",
                "glassbox/src/classic/log_ahead",
                "glassbox/src/classic/change",
                "glassbox/src/classic/undo",
                "glassbox/src/log/",
                "/crc32c-",
            ],
        ),
        ("locking", &["glassbox/src/classic/lock"]),
        ("latching", &["glassbox/src/classic/latch"]),
        ("directory", &["glassbox/src/classic/directory", "glassbox/src/classic/stores"]),
        (
            "buffer pool",
            &["glassbox/src/classic/buffer", "glassbox/src/classic/pages", "glassbox/src/classic/any_pages"],
        ),
        (
            "records on pages",
            &["glassbox/src/classic/heap", "glassbox/src/classic/space", "glassbox/src/classic/page."],
        ),
        ("sessions and transactions", &["glassbox/src/classic/", "glassbox/src/stacks/"]),
        ("rows' form and keys", &["glassbox/src/record/", "glassbox-workloads/src/tpcc/schema/"]),
        ("procedures", &["glassbox-workloads/src/"]),
        ("kernel", &["glassbox-lab/src/limits/kernel/"]),
        ("rest of the engine", &["glassbox/src/"]),
    ],
    others: "client and others",
};

/// The calls of the paper's Figure 4.
pub(super) const CALLS: Calls = Calls {
    list: &[
        ("begin", &[("glassbox/src/classic/sessions", "take"), ("glassbox/src/classic/sessions", "try_at")]),
        (
            "B-tree lookup",
            &[
                ("glassbox/src/classic/transaction", "find"),
                ("glassbox/src/classic/transaction", "find_at"),
                ("glassbox/src/classic/transaction", "find_key"),
                ("glassbox/src/classic/tree/find", "guess"),
                ("glassbox/src/classic/tree/find", "prefetch"),
                ("glassbox/src/classic/access", "step"),
            ],
        ),
        (
            "pin / unpin",
            &[("glassbox/src/classic/transaction", "read"), ("glassbox/src/classic/heap/file", "prefetch")],
        ),
        (
            "update record",
            &[
                ("glassbox/src/classic/transaction", "change_row"),
                ("glassbox/src/classic/transaction", "write"),
                ("glassbox/src/classic/transaction", "write_stored"),
            ],
        ),
        (
            "create record",
            &[("glassbox/src/classic/transaction", "put"), ("glassbox/src/classic/transaction", "put_stored")],
        ),
        (
            "insert index",
            &[
                ("glassbox/src/classic/entries", "enter"),
                ("glassbox/src/classic/entries", "enter_key"),
                ("glassbox/src/classic/insert_each", "enter_each"),
            ],
        ),
        (
            "commit",
            &[
                ("glassbox/src/classic/run", "commit"),
                ("glassbox/src/classic/sessions", "drop"),
                ("glassbox/src/classic/", "wait"),
            ],
        ),
    ],
    others: "procedure",
};
