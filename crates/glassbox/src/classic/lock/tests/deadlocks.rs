//! Scenarios: who gives up, in deadlocks and after too long.

use super::super::{LockConfig, WaitEnd};
use super::script::play;

#[test]
fn of_two_conversions_to_x_one_gives_up() {
    play(
        LockConfig::default(),
        "t1 work 9         done
         t2 work 5         done
         t1 S 1.7.0        granted
         t2 S 1.7.0        granted
         t1 X 1.7.0        waits
         t2 X 1.7.0        deadlock
         t2 holds          IX all, IX 1, IX 1.7, S 1.7.0
         t2 end            done; t1 granted",
    );
}

#[test]
fn the_victim_may_be_one_who_waits_already() {
    play(
        LockConfig::default(),
        "t1 work 5         done
         t2 work 9         done
         t1 X 1.7.0        granted
         t2 X 1.7.1        granted
         t1 X 1.7.1        waits
         t2 X 1.7.0        waits; t1 deadlock
         t1 end            done; t2 granted",
    );
}

#[test]
fn of_three_in_a_circle_the_one_with_the_least_work_gives_up() {
    play(
        LockConfig::default(),
        "t1 work 7         done
         t2 work 3         done
         t3 work 5         done
         t1 X 1.1.0        granted
         t2 X 1.2.0        granted
         t3 X 1.3.0        granted
         t1 X 1.2.0        waits
         t2 X 1.3.0        waits
         t3 X 1.1.0        waits; t2 deadlock
         t2 end            done; t1 granted
         t1 end            done; t3 granted",
    );
}

#[test]
fn with_equal_work_the_highest_number_gives_up() {
    play(
        LockConfig::default(),
        "t1 X 1.1.0        granted
         t2 X 1.2.0        granted
         t3 X 1.3.0        granted
         t3 X 1.1.0        waits
         t2 X 1.3.0        waits
         t1 X 1.2.0        waits; t3 deadlock
         t3 end            done; t2 granted
         t2 end            done; t1 granted",
    );
}

#[test]
fn one_wait_may_close_several_circles() {
    let manager = play(
        LockConfig::default(),
        "t1 work 9         done
         t1 X 1.1.0        granted
         t2 S 1.2.0        granted
         t3 S 1.2.0        granted
         t2 X 1.1.0        waits
         t3 S 1.1.0        waits
         t1 X 1.2.0        waits; t2 deadlock; t3 deadlock
         t2 end            done
         t3 end            done; t1 granted",
    );
    assert_eq!(manager.counters().deadlocks, 2);
}

#[test]
fn a_circle_may_go_through_the_order_of_a_queue() {
    // t3 could share with t1, but must not pass t2, which waits for t1, which waits for t3.
    play(
        LockConfig::default(),
        "t1 S 1.1.0        granted
         t3 X 1.2.0        granted
         t2 X 1.1.0        waits
         t1 S 1.2.0        waits
         t3 S 1.1.0        deadlock
         t3 end            done; t1 granted
         t1 end            done; t2 granted",
    );
}

#[test]
fn who_gives_up_in_a_queue_lets_those_behind_through() {
    play(
        LockConfig::default(),
        "t1 work 9         done
         t2 work 1         done
         t1 S 1.1.0        granted
         t2 X 1.2.0        granted
         t2 X 1.1.0        waits
         t3 S 1.1.0        waits
         t1 X 1.2.0        waits; t2 deadlock; t3 granted
         t2 end            done; t1 granted",
    );
}

#[test]
fn who_waits_too_long_gives_up() {
    let manager = play(
        LockConfig { timeout_ns: Some(5_000_000), ..LockConfig::default() },
        "t1 S 1.7.0        granted
         t2 X 1.7.0        waits
         pass 3            nothing
         t3 S 1.7.0        waits
         pass 2            t2 timeout; t3 granted
         t2 holds          IX all, IX 1, IX 1.7
         t2 S 1.7.0        granted",
    );
    let counters = manager.counters();
    assert_eq!((counters.waits, counters.timeouts, counters.deadlocks), (2, 1, 0));
    assert_eq!(counters.waited_ns, 7_000_000);
    let ends: Vec<_> = manager.waits().iter().map(|wait| (wait.owner, wait.end)).collect();
    assert!(ends.contains(&(1, WaitEnd::Timeout)) && ends.contains(&(2, WaitEnd::Granted)), "{ends:?}");
}

#[test]
fn a_deadlock_stays_until_it_is_searched_for() {
    let manager = play(
        LockConfig { detect_every_ns: Some(5_000_000), ..LockConfig::default() },
        "t1 X 1.1.0        granted
         t2 X 1.2.0        granted
         t1 X 1.2.0        waits
         t2 X 1.1.0        waits
         pass 3            nothing
         pass 2            t2 deadlock
         t2 end            done; t1 granted",
    );
    assert_eq!(manager.counters().deadlocks, 1);
}

#[test]
fn what_was_waited_for_is_reported() {
    let manager = play(
        LockConfig { waits_kept: 3, ..LockConfig::default() },
        "t1 S 1.7.0        granted
         t2 S 1.7.0        granted
         t3 X 1.7.0        waits
         t4 S 1.7.0        waits
         t1 X 1.7.0        waits
         t2 X 1.7.0        deadlock
         t2 end            done; t1 granted
         t1 end            done; t3 granted
         t5 S 2            granted
         t1 X 2            waits
         t5 end            done; t1 granted
         t3 end            done; t4 granted",
    );
    let told: Vec<String> = manager.waits().iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "owner 2 waited 0.000 ms for X on record 7.0 of store 1, \
             after owner 0 (holds S), owner 1 (holds S): granted",
            "owner 0 waited 0.000 ms for X on store 2, after owner 4 (holds S): granted",
            "owner 3 waited 0.000 ms for S on record 7.0 of store 1, after owner 2 (ahead, waits for X): granted",
        ]
    );
    assert_eq!((manager.counters().waits, manager.counters().deadlocks), (5, 1));
}
