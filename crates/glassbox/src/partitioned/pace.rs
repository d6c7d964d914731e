//! How fast a checkpoint is written while transactions run.

use std::time::Duration;

use crate::io::Clock;
use crate::log::Lsn;

/// While transactions run, writing rests after each force for so many times as long as it worked; when the log grows
/// faster than that lets it come to its end, for fewer.
const REST: u32 = 9;
const REST_WHEN_LATE: u32 = 3;
/// For so long it rests at a time.
const SLICE: Duration = Duration::from_millis(10);
/// A longer slice was mostly waiting, for a disk or a partition.
const MAX_WORKED: Duration = Duration::from_millis(100);

/// The log that a checkpoint is to make shorter.
pub(crate) struct Growth<'a> {
    /// Where it ends now.
    pub(crate) lsn_now: &'a dyn Fn() -> Lsn,
    /// Bytes by which it may grow until the checkpoint is there.
    pub(crate) most: u64,
}

/// Leaves the processor and the disk to transactions, as long as there are some.
pub(super) struct Pace<'a> {
    clock: &'a dyn Clock,
    log: &'a Growth<'a>,
    pub(super) began: Lsn,
    /// Bytes of all rows.
    all: u64,
    last: Lsn,
    since_ns: u64,
}

impl<'a> Pace<'a> {
    /// A checkpoint of that many bytes of rows, as they were at this place of the log.
    pub(super) fn new(clock: &'a dyn Clock, log: &'a Growth<'a>, began: Lsn, all: u64) -> Self {
        Self { clock, log, began, all, last: began, since_ns: clock.monotonic_ns() }
    }

    /// So many bytes are written.
    pub(super) fn rest(&mut self, written: u64) {
        let worked = Duration::from_nanos(self.clock.monotonic_ns() - self.since_ns).min(MAX_WORKED);
        let mut now = (self.log.lsn_now)();
        let mut rested = Duration::ZERO;
        // Looking again and again whether there are still transactions, and whether it has become late.
        while now != self.last {
            let all = worked * if self.is_late(now, written) { REST_WHEN_LATE } else { REST };
            let slice = all.saturating_sub(rested).min(SLICE);
            if slice.is_zero() {
                break;
            }
            std::thread::sleep(slice);
            rested += slice;
            (self.last, now) = (now, (self.log.lsn_now)());
        }
        (self.last, self.since_ns) = (now, self.clock.monotonic_ns());
    }

    /// Whether more of the log's share is used than of the rows is written.
    fn is_late(&self, now: Lsn, written: u64) -> bool {
        let grown = u128::from(now.0 - self.began.0);
        grown * u128::from(self.all) > u128::from(self.log.most) * u128::from(written)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::io::ManualClock;

    #[test]
    fn it_is_late_when_the_log_grew_by_more_of_its_share_than_is_written_of_the_rows() {
        let clock = ManualClock::default();
        let late = |most, grown: u64, written| {
            let log = Growth { lsn_now: &|| Lsn(0), most };
            Pace::new(&clock, &log, Lsn(1_000), 8 << 20).is_late(Lsn(1_000 + grown), written)
        };
        assert!(!late(1 << 20, 512 << 10, 4 << 20));
        assert!(late(1 << 20, (512 << 10) + 1, 4 << 20));
        assert!(!late(u64::MAX, 1 << 60, 1 << 20), "the log has room");
    }
    #[test]
    fn it_rests_as_long_as_there_are_transactions_and_never_for_long() {
        let looks = |grows_until: u64, most| {
            let (clock, looks) = (ManualClock::default(), Cell::new(0));
            let lsn_now = || {
                looks.set(looks.get() + 1);
                Lsn(1_000 + looks.get().min(grows_until))
            };
            let log = Growth { lsn_now: &lsn_now, most };
            let mut pace = Pace::new(&clock, &log, Lsn(1_000), 8 << 20);
            // The disk did not answer.
            clock.advance_ns(60_000_000_000);
            pace.rest(1 << 20);
            looks.get()
        };
        assert_eq!(looks(1, u64::MAX), 2, "no other transaction");
        assert_eq!(looks(5, u64::MAX), 6);
        assert_eq!(looks(u64::MAX, u64::MAX), 1 + 90);
        assert_eq!(looks(u64::MAX, 1), 1 + 30, "late");
    }
}
