//! The parts that the engine's and the kernels' instructions are divided into.

use crate::count::PartMap;

/// The parts; the last is the calling client, and instructions that belong to no part.
pub(super) const PARTS: PartMap = PartMap {
    list: &[
        (
            "record of the log",
            &[
                "glassbox/src/partitioned/log_records/values",
                "glassbox/src/partitioned/log_records/command",
                "glassbox/src/partitioned/log_records/arguments",
                "glassbox/src/partitioned/log_records/record_buffer",
                "/postcard-",
                "/serde_core-",
                "/serde-",
                "/cobs-",
            ],
        ),
        (
            "rows' form and keys",
            &["glassbox/src/record/", "glassbox-workloads/src/tpcc/schema/", "glassbox-kernels/src/keys"],
        ),
        (
            "procedures",
            &[
                "glassbox-workloads/src/",
                "glassbox-kernels/src/procedures",
                "glassbox-kernels/src/fields",
                "glassbox-kernels/src/store",
            ],
        ),
        ("declared set", &["glassbox/src/procedure/"]),
        ("prefetching", &["glassbox/src/partitioned/prefetch", "glassbox/src/partitioned/lookups"]),
        (
            "B+-trees",
            &[
                "glassbox/src/partitioned/storage/memory/btree",
                "glassbox-kernels/src/tree",
                "glassbox-kernels/src/node",
            ],
        ),
        ("hash tables", &["glassbox/src/partitioned/storage/memory/hash", "glassbox-kernels/src/hash"]),
        (
            "rows",
            &["glassbox/src/partitioned/storage/memory/", "glassbox-kernels/src/memory", "glassbox-kernels/src/rows"],
        ),
        (
            "undo and snapshot",
            &["glassbox/src/partitioned/transaction/undo", "glassbox/src/partitioned/storage/snapshot"],
        ),
        (
            "tables",
            &[
                "glassbox/src/partitioned/storage/table",
                "glassbox/src/partitioned/storage/any_table",
                "glassbox/src/partitioned/partition.",
            ],
        ),
        (
            "transaction",
            &["glassbox/src/partitioned/transaction", "glassbox/src/partitioned/run.", "glassbox/src/answer"],
        ),
        ("log", &["glassbox/src/log/", "/crc32c-"]),
        ("engine and token", &["glassbox/src/partitioned/"]),
        ("clock and files", &["glassbox/src/io/"]),
        ("database and ticket", &["glassbox/src/"]),
    ],
    others: "client and others",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_names_files_that_exist() {
        assert_eq!(PARTS.stale_files(), [""; 0]);
    }

    #[test]
    fn files_belong_to_the_first_part_that_fits() {
        let part = |path: &str| PARTS.of_file(path).map(|part| PARTS.names().nth(part).unwrap());
        let engine = |file: &str| part(&format!("/home/me/glassbox/crates/glassbox/src/{file}"));
        assert_eq!(engine("partitioned/storage/memory/btree/tree.rs"), Some("B+-trees"));
        assert_eq!(engine("partitioned/storage/memory/rows.rs"), Some("rows"));
        assert_eq!(engine("partitioned/prefetch.rs"), Some("prefetching"));
        assert_eq!(engine("partitioned/something_new.rs"), Some("engine and token"));
        assert_eq!(engine("log/ring.rs"), Some("log"));
        assert_eq!(engine("database/ticket.rs"), Some("database and ticket"));
        assert_eq!(part("crates/glassbox-workloads/src/tpcc/schema/goods.rs"), Some("rows' form and keys"));
        assert_eq!(part("/x/crates/glassbox-workloads/src/tpcc/new_order.rs"), Some("procedures"));
        assert_eq!(part("/x/crates/glassbox-kernels/src/tree.rs"), Some("B+-trees"));
        assert_eq!(part("/x/crates/glassbox-lab/src/limits/engine.rs"), Some("client and others"));
        assert_eq!(part("/c/registry/src/index/postcard-1.1.3/src/ser/mod.rs"), Some("record of the log"));
        assert_eq!(part("/c/registry/src/index/smallvec-1.16.5/src/lib.rs"), None);
        assert_eq!(part("/rustc/5980/library/core/src/ptr/mod.rs"), None);
    }
}
