//! Scenarios: what is locked, and who is granted when.

use std::sync::Arc;

use super::super::name::PackedName;
use super::super::owner::{By, LockWaiter, WaitState};
use super::super::table::{LockPartition, Wanted};
use super::super::{Duration, LockConfig, LockMode, LockName};
use super::script::play;
use crate::classic::ids::StoreId;
use crate::io::ManualClock;

#[test]
fn a_record_is_locked_with_intents_above() {
    play(
        LockConfig::default(),
        "t1 S 1.7.0        granted
         t1 holds          IS all, IS 1, IS 1.7, S 1.7.0
         t1 X 1.7.1        granted
         t1 holds          IX all, IX 1, IX 1.7, S 1.7.0, X 1.7.1
         t1 U 2.end        granted
         t1 holds          IX all, IX 1, IX 2, IX 1.7, S 1.7.0, X 1.7.1, U 2.end
         t2 S 1.7.0        granted
         t2 try S 1.7.1    would block
         t2 try X 1        would block
         t2 end            done
         t1 end            done
         t1 holds          nothing",
    );
}

#[test]
fn a_lock_above_covers_what_is_below() {
    play(
        LockConfig::default(),
        "t1 S 1            granted
         t1 S 1.7.0        granted
         t1 S 1.end        granted
         t1 holds          IS all, S 1
         t1 X 1.7.0        granted
         t1 holds          IX all, SIX 1, IX 1.7, X 1.7.0
         t2 try S 1.7.1    granted
         t2 try S 1.7.0    would block
         t2 end            done
         t1 X 1            granted
         t1 X 1.8.0        granted
         t1 X all          granted
         t1 X 2.8.0        granted
         t1 holds          X all, X 1, IX 1.7, X 1.7.0",
    );
}

#[test]
fn a_new_request_does_not_overtake_a_waiting_one() {
    play(
        LockConfig::default(),
        "t1 S 1.7.0        granted
         t2 X 1.7.0        waits
         t3 S 1.7.0        waits
         t4 try S 1.7.0    would block
         t1 S 1.7.0        granted
         t1 end            done; t2 granted
         t2 end            done; t3 granted
         t4 try S 1.7.0    granted",
    );
}

#[test]
fn those_who_go_together_are_granted_together() {
    play(
        LockConfig::default(),
        "t1 X 1.7.0        granted
         t2 S 1.7.0        waits
         t3 S 1.7.0        waits
         t4 X 1.7.0        waits
         t5 S 1.7.0        waits
         t1 end            done; t2 granted; t3 granted
         t2 end            done
         t3 end            done; t4 granted
         t4 end            done; t5 granted",
    );
}

#[test]
fn conversions_go_before_who_waits() {
    play(
        LockConfig::default(),
        "t1 S 1.7.0        granted
         t2 S 1.7.0        granted
         t3 X 1.7.0        waits
         t1 X 1.7.0        waits
         t2 end            done; t1 granted
         t1 end            done; t3 granted",
    );
}

#[test]
fn conversions_that_go_together_pass_each_other() {
    play(
        LockConfig::default(),
        "t1 IS 1           granted
         t2 IS 1           granted
         t3 IX 1           granted
         t1 S 1            waits
         t2 X 1            waits
         t3 end            done; t1 granted
         t1 end            done; t2 granted",
    );
}

#[test]
fn u_is_granted_beside_s_but_not_the_other_way() {
    play(
        LockConfig::default(),
        "t1 S 1.7.0        granted
         t2 U 1.7.0        granted
         t3 S 1.7.0        waits
         t4 try U 1.7.0    would block
         t2 X 1.7.0        waits
         t1 end            done; t2 granted
         t2 end            done; t3 granted",
    );
}

#[test]
fn a_momentary_lock_waits_and_is_not_kept() {
    play(
        LockConfig::default(),
        "t1 X! 1.7.0       granted
         t1 holds          IX all, IX 1, IX 1.7
         t2 S 1.7.0        granted
         t1 X! 1.7.0       waits
         t3 S 1.7.0        waits
         t2 end            done; t1 granted; t3 granted
         t1 holds          IX all, IX 1, IX 1.7
         t3 end            done
         t1 S 1.7.0        granted
         t1 X! 1.7.0       granted
         t2 S 1.7.0        granted
         t1 X! 1.7.0       waits
         t3 S 1.7.0        waits
         t2 end            done; t1 granted; t3 granted
         t1 holds          IX all, IX 1, IX 1.7, S 1.7.0
         t3 try X! 1.7.0   would block",
    );
}

#[test]
fn a_read_lock_can_be_released_before_the_end() {
    play(
        LockConfig::default(),
        "t1 S 1.7.0        granted
         t1 X 1.7.1        granted
         t2 X 1.7.0        waits
         t1 release 1      done
         t1 release 1.7.1  done
         t1 release 1.7.0  done; t2 granted
         t1 holds          IX all, IX 1, IX 1.7, X 1.7.1
         t1 release 1.8.0  done",
    );
}

#[test]
fn the_broken_manager_grants_s_beside_x() {
    play(
        LockConfig { broken_s_beside_x: true, ..LockConfig::default() },
        "t1 X 1.7.0        granted
         t2 S 1.7.0        granted
         t3 try X 1.7.0    would block
         t4 X 1.8.0        granted
         t3 S 1            waits
         t1 end            done
         t4 end            done; t3 granted",
    );
}

#[test]
fn the_broken_manager_lets_no_reader_wait_for_a_lock_that_becomes_x() {
    play(
        LockConfig { broken_s_beside_x: true, ..LockConfig::default() },
        "t1 U 1.7.0        granted
         t2 S 1.7.0        granted
         t1 X 1.7.0        granted
         t3 S 1.7.0        granted",
    );
}

#[test]
fn a_conversion_makes_no_other_request_grantable() {
    // If U were refused beside IS, t2 would have to be granted when t1 converts.
    play(
        LockConfig::default(),
        "t1 IS 1           granted
         t2 try U 1        granted
         t2 end            done
         t1 S 1            granted
         t2 U 1            granted",
    );
}

#[test]
fn a_momentary_lock_is_not_held_until_its_owner_wakes() {
    let mut partition = LockPartition::new(false);
    let key = PackedName::of(LockName::End(StoreId(1)));
    let by = |owner| By { owner, place: 0 };
    let (momentary, commit) = ([Duration::Momentary; 2], [Duration::Momentary, Duration::Commit]);
    for durations in [momentary, commit] {
        let reader = partition.request(key, key.hash(), by(1), LockMode::S).expect("the name is free");
        let waiters: [Arc<LockWaiter>; 2] = Default::default();
        for (owner, (duration, waiter)) in durations.into_iter().zip(&waiters).enumerate() {
            partition.enqueue(key, key.hash(), by(2 + owner as u32), Wanted { mode: LockMode::X, duration }, waiter);
        }
        partition.release(reader);
        let ends = waiters.map(|waiter| waiter.sleep(None, &ManualClock::default()));
        assert_eq!(ends, [WaitState::Granted; 2], "{durations:?}");
        let is_free = durations == momentary;
        assert_eq!(partition.would_grant(key, key.hash(), LockMode::X), is_free, "{durations:?}");
        assert_eq!(partition.names(), usize::from(!is_free), "{durations:?}");
    }
}

#[test]
fn a_momentary_conversion_is_not_held_until_its_owner_wakes() {
    let mut partition = LockPartition::new(false);
    let key = PackedName::of(LockName::End(StoreId(1)));
    let mut reader = |owner| partition.request(key, key.hash(), By { owner, place: 0 }, LockMode::S).unwrap();
    let (first, second) = (reader(1), reader(2));
    let waiter = Arc::<LockWaiter>::default();
    partition.enqueue_conversion(first, Wanted { mode: LockMode::X, duration: Duration::Momentary }, &waiter);
    partition.release(second);
    assert_eq!(waiter.sleep(None, &ManualClock::default()), WaitState::Granted);
    assert!(partition.would_grant(key, key.hash(), LockMode::S), "the first still reads, and no more");
    assert!(!partition.would_grant(key, key.hash(), LockMode::X));
    partition.release(first);
    assert_eq!(partition.names(), 0);
}
