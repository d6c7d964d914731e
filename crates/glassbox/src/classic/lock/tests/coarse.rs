//! Scenarios: one lock that stands for many.

use super::super::{LockConfig, LockGranularity};
use super::script::play;

#[test]
fn many_records_become_one_store() {
    let config = || LockConfig { escalate_store_at: 2, ..LockConfig::default() };
    let manager = play(
        config(),
        "t1 S 1.1.0        granted
         t1 S 1.2.0        granted
         t1 S 1.3.0        granted
         t1 holds          IS all, S 1
         t1 S 1.4.0        granted
         t2 try X 1.9.0    would block
         t2 try S 1.9.0    granted
         t1 X 1.4.0        granted
         t1 holds          IX all, SIX 1, IX 1.4, X 1.4.0",
    );
    assert_eq!(manager.counters().escalations, 1);
    play(
        config(),
        "t1 X 1.1.0        granted
         t1 S 1.end        granted
         t1 S 2.3.0        granted
         t1 S 1.3.0        granted
         t1 holds          IX all, X 1, IS 2, IS 2.3, S 2.3.0",
    );
}

#[test]
fn who_is_in_the_way_puts_a_lock_of_the_whole_off() {
    let manager = play(
        LockConfig { escalate_store_at: 2, ..LockConfig::default() },
        "t1 X 1.1.0        granted
         t1 X 1.1.1        granted
         t2 S 1.9.0        granted
         t1 X 1.1.2        granted
         t1 holds          IX all, IX 1, IX 1.1, X 1.1.0, X 1.1.1, X 1.1.2
         t2 end            done
         t1 X 1.1.3        granted
         t1 holds          IX all, IX 1, IX 1.1, X 1.1.0, X 1.1.1, X 1.1.2, X 1.1.3
         t1 X 1.1.4        granted
         t1 holds          IX all, X 1",
    );
    assert_eq!(manager.counters().escalations, 1);
}

#[test]
fn many_records_become_one_page() {
    play(
        LockConfig { escalate_store_at: 4, escalate_page_at: 2, ..LockConfig::default() },
        "t1 S 1.1.0        granted
         t1 S 1.1.1        granted
         t1 S 1.2.0        granted
         t1 S 1.1.2        granted
         t1 holds          IS all, IS 1, S 1.1, IS 1.2, S 1.2.0
         t1 X 1.1.2        granted
         t1 holds          IX all, IX 1, SIX 1.1, IS 1.2, X 1.1.2, S 1.2.0
         t2 try X 1.1.0    would block
         t2 try S 1.2.0    granted",
    );
}

#[test]
fn a_released_record_does_not_count() {
    play(
        LockConfig { escalate_store_at: 2, ..LockConfig::default() },
        "t1 S 1.1.0        granted
         t1 S 1.2.0        granted
         t1 release 1.2.0  done
         t1 S 1.2.1        granted
         t1 holds          IS all, IS 1, IS 1.1, IS 1.2, S 1.1.0, S 1.2.1",
    );
}

#[test]
fn pages_or_stores_stand_for_their_records() {
    play(
        LockConfig { granularity: LockGranularity::Page, escalate_store_at: 2, ..LockConfig::default() },
        "t1 S 1.1.0        granted
         t1 S 1.1.1        granted
         t1 X 1.end        granted
         t1 holds          IX all, IX 1, S 1.1, X 1.end
         t2 try X 1.1.9    would block
         t2 try S 1.1.9    granted
         t2 end            done
         t1 S 1.2.0        granted
         t1 holds          IX all, X 1",
    );
    play(
        LockConfig { granularity: LockGranularity::Store, ..LockConfig::default() },
        "t1 S 1.1.0        granted
         t1 X 2.end        granted
         t1 holds          IX all, S 1, X 2
         t1 X! 1.1.0       granted
         t1 holds          IX all, S 1, X 2
         t2 S 1.1.0        granted
         t2 S 2.1.0        waits
         t1 end            done; t2 granted",
    );
}

#[test]
fn who_locks_a_store_for_a_record_needs_no_intent_on_it_first() {
    // With an intent each, t1 and t2 would wait for each other.
    play(
        LockConfig { granularity: LockGranularity::Store, ..LockConfig::default() },
        "t1 X 1.1.0        granted
         t2 X 1.2.0        waits
         t1 end            done; t2 granted
         t2 holds          IX all, X 1",
    );
}

#[test]
fn without_locks_of_pages_records_need_none() {
    play(
        LockConfig { lock_pages: false, escalate_store_at: 2, ..LockConfig::default() },
        "t1 S 1.1.0        granted
         t1 holds          IS all, IS 1, S 1.1.0
         t1 S 1.1.1        granted
         t1 S 1.1.2        granted
         t1 holds          IS all, S 1
         t2 S 2.1          granted
         t2 holds          IS all, S 2",
    );
}
