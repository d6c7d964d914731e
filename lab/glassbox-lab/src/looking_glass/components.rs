//! The attribution of instructions: to the engine's components, by their files; to the calls that a transaction makes,
//! by functions.

use super::ladder::USEFUL;
use crate::count::{CallMap, PartMap};
use crate::figures::Colour;

/// The components, by the files of inlined functions.
pub(super) const COMPONENTS: PartMap = PartMap {
    list: &[
        ("B-tree keys", &["glassbox/src/classic/tree/keys", "glassbox/src/classic/tree/schema_keys"]),
        (
            "B-trees",
            &[
                "glassbox/src/classic/tree",
                "glassbox/src/partitioned/storage/memory/btree",
                "glassbox-kernels/src/tree",
                "glassbox-kernels/src/node",
            ],
        ),
        (
            "logging",
            &[
                "glassbox/src/classic/wal",
                "glassbox/src/classic/engine/log_ahead",
                "glassbox/src/classic/change",
                "glassbox/src/log/",
                "/crc32c-",
            ],
        ),
        ("locking", &["glassbox/src/classic/lock"]),
        ("latching", &["glassbox/src/classic/latch"]),
        ("directory", &["glassbox/src/classic/directory", "glassbox/src/classic/engine/stores"]),
        (
            "buffer pool",
            &["glassbox/src/classic/buffer", "glassbox/src/classic/page/pages", "glassbox/src/classic/page/any_pages"],
        ),
        (
            "records on pages",
            &["glassbox/src/classic/heap", "glassbox/src/classic/space", "glassbox/src/classic/page/mod"],
        ),
        (
            "hash tables",
            &["glassbox/src/partitioned/storage/memory/hash", "glassbox/src/partitioned/storage/memory/dense"],
        ),
        ("records by pointer", &["glassbox/src/partitioned/storage/memory/", "glassbox/src/partitioned/storage/table"]),
        ("prefetching", &["glassbox/src/partitioned/prefetch", "glassbox/src/partitioned/lookups"]),
        (
            "sessions and transactions",
            &["glassbox/src/classic/", "glassbox/src/partitioned/", "glassbox/src/research/stacks/"],
        ),
        ("rows' form and keys", &["glassbox/src/record/", "glassbox-workloads/src/tpcc/schema/"]),
        ("procedures", &["glassbox-workloads/src/"]),
        ("kernel", &["glassbox-kernels/src/"]),
        ("rest of the engine", &["glassbox/src/"]),
    ],
    others: "client and others",
};

/// The calls of the paper's Figure 4.
pub(super) const CALLS: CallMap = CallMap {
    list: &[
        (
            "begin",
            &[
                ("glassbox/src/classic/engine/sessions", "take"),
                ("glassbox/src/classic/engine/sessions", "try_at"),
                ("glassbox/src/partitioned/transaction/mod", "with"),
            ],
        ),
        (
            "B-tree lookup",
            &[
                ("glassbox/src/classic/transaction/mod", "find"),
                ("glassbox/src/classic/transaction/mod", "find_at"),
                ("glassbox/src/classic/transaction/mod", "find_key"),
                ("glassbox/src/classic/tree/tree", "guess"),
                ("glassbox/src/classic/tree/tree", "prefetch"),
                ("glassbox/src/classic/transaction/entries", "step"),
                ("glassbox/src/partitioned/prefetch", "prefetch"),
                ("glassbox/src/partitioned/transaction/find", "find"),
                ("glassbox/src/partitioned/transaction/find", "look_up"),
                ("glassbox/src/partitioned/held", "table_of"),
                ("glassbox/src/partitioned/transaction/batches", "turn"),
                ("glassbox/src/partitioned/transaction/batches", "take"),
                ("glassbox/src/partitioned/transaction/batches", "skip_to"),
                ("glassbox/src/partitioned/transaction/batches", "out_of_turn"),
                ("glassbox/src/partitioned/transaction/find", "take"),
            ],
        ),
        (
            "pin / unpin",
            &[("glassbox/src/classic/transaction/mod", "read"), ("glassbox/src/classic/heap/file", "prefetch")],
        ),
        (
            "update record",
            &[
                ("glassbox/src/classic/transaction/mod", "change_row"),
                ("glassbox/src/classic/transaction/mod", "write"),
                ("glassbox/src/classic/transaction/mod", "write_stored"),
                ("glassbox/src/partitioned/transaction/change", "update_plain"),
                ("glassbox/src/partitioned/transaction/change", "update_keeping"),
            ],
        ),
        (
            "create record",
            &[
                ("glassbox/src/classic/transaction/mod", "put"),
                ("glassbox/src/classic/transaction/mod", "put_stored"),
                ("glassbox/src/partitioned/storage/table", "place"),
                ("glassbox/src/partitioned/storage/memory/rows", "stage"),
                ("glassbox/src/partitioned/storage/memory/rows", "admit"),
            ],
        ),
        (
            "insert index",
            &[
                ("glassbox/src/classic/transaction/entries", "enter"),
                ("glassbox/src/classic/transaction/entries", "enter_key"),
                ("glassbox/src/classic/transaction/batches", "enter_each"),
                ("glassbox/src/partitioned/storage/table", "insert_primary"),
                ("glassbox/src/partitioned/storage/table", "index_run"),
                ("glassbox/src/partitioned/storage/indexes", "insert_secondary"),
            ],
        ),
        (
            "commit",
            &[
                ("glassbox/src/classic/engine/run", "commit"),
                ("glassbox/src/classic/engine/sessions", "drop"),
                ("glassbox/src/classic/", "wait"),
            ],
        ),
    ],
    others: "procedure",
};

/// The calls with their colours, in the order of the bars from the bottom.
pub(super) const CALL_COLOURS: [(&str, Colour); 8] = [
    ("procedure", USEFUL),
    ("begin", Colour(0xb6, 0xbd, 0xc7)),
    ("B-tree lookup", Colour(0x4e, 0x79, 0xa7)),
    ("pin / unpin", Colour(0x76, 0xb7, 0xb2)),
    ("update record", Colour(0x59, 0xa1, 0x4f)),
    ("create record", Colour(0xed, 0xc9, 0x48)),
    ("insert index", Colour(0xf2, 0x8e, 0x2b)),
    ("commit", Colour(0xe1, 0x57, 0x59)),
];

/// The calls' names, in the order of the bars.
pub(super) fn call_names() -> impl Iterator<Item = &'static str> {
    CALL_COLOURS.iter().map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_and_calls_name_what_exists() {
        assert_eq!(COMPONENTS.stale_files(), [""; 0]);
        assert_eq!(CALLS.stale_functions(), [("", ""); 0]);
    }
}
