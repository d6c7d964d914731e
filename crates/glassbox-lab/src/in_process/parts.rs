//! To what an instruction belongs on the way.

use crate::count::Parts;

/// The parts; the last is whoever calls, and what could not be charged to anybody.
pub(super) const PARTS: Parts = Parts {
    list: &[
        ("procedures", &["glassbox-workloads/src/tpcc/", "glassbox-workloads/src/micro"]),
        ("encoding and decoding", &["/postcard-", "/serde_core-", "/serde-", "/cobs-", "glassbox-workloads/src/up_to"]),
        ("carrying values", &["glassbox/src/partitioned/shard/carried"]),
        ("routing", &["glassbox/src/partitioned/shard/route", "glassbox/src/shard", "glassbox-cluster/src/client/"]),
        ("client", &["glassbox-cluster/src/run/client"]),
        ("queues", &["glassbox-cluster/src/run/", "glassbox-cluster/src/protocol/outbox"]),
        ("machine", &["glassbox-cluster/src/"]),
        ("running on a shard", &["glassbox/src/partitioned/shard/"]),
        (
            "rows, indexes, keys",
            &["glassbox/src/partitioned/memory/", "glassbox/src/record/", "glassbox/src/partitioned/table"],
        ),
        ("running", &["glassbox/src/"]),
    ],
    others: "caller and others",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_is_told_from_the_run() {
        let part = |file: &str| {
            let path = format!("/home/me/crates/{file}");
            PARTS.of_file(&path).map(|part| PARTS.names().nth(part).unwrap())
        };
        assert_eq!(part("glassbox-cluster/src/run/cluster.rs"), Some("queues"));
        assert_eq!(part("glassbox-cluster/src/run/client.rs"), Some("client"));
        assert_eq!(part("glassbox-cluster/src/participant/store.rs"), Some("machine"));
        assert_eq!(part("glassbox/src/partitioned/shard/route.rs"), Some("routing"));
        assert_eq!(part("glassbox/src/partitioned/token.rs"), Some("running"));
    }
}
