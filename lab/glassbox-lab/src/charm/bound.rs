//! The most that two stages can gain (by Little's law).

/// What a workload and a machine have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    /// Sessions.
    pub sessions: f64,
    /// Computation of a transaction, ms.
    pub computation_ms: f64,
    /// Of a fetch stage, as a part of it.
    pub fetch: f64,
    /// Reads of a transaction.
    pub reads: f64,
    /// Time of a read without a queue, ms.
    pub read_ms: f64,
    /// Disks that read at the same time.
    pub disks: f64,
    /// Processors.
    pub processors: f64,
    /// Of the computation, the part under the lock that most transactions need.
    pub hot: f64,
}

impl Load {
    /// Throughput in two stages, divided by that of two-phase locking with one lock that most transactions need:
    /// limited by the sessions, by the disks, by that lock, and by the processors.
    pub(super) fn bound(&self) -> f64 {
        let Self { sessions, computation_ms: c, fetch, reads, read_ms, disks, processors, hot } = *self;
        let locked_ms = c + reads * read_ms;
        let limits = [
            sessions * locked_ms / (c * (1.0 + fetch) + reads * read_ms),
            disks * locked_ms / (reads * read_ms).max(f64::MIN_POSITIVE),
            locked_ms / (c * hot).max(f64::MIN_POSITIVE),
            processors * locked_ms / (c * (1.0 + fetch)).max(f64::MIN_POSITIVE),
        ];
        limits.into_iter().fold(f64::INFINITY, f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::Load;

    #[test]
    fn with_the_papers_constants_the_hot_page_gives_its_figure() {
        // Table 7: 141 and 375 transactions a second at 4 sessions.
        let load = Load {
            sessions: 1e6,
            computation_ms: 2.67,
            fetch: 0.0,
            reads: 0.25,
            read_ms: 17.6,
            disks: 1e6,
            processors: 1e6,
            hot: 1.0,
        };
        assert!((load.bound() - 2.64).abs() < 0.02, "{}", load.bound());
        assert!(Load { sessions: 1.0, ..load }.bound() <= 1.0);
    }
}
