//! Planted anomalies of lists, each found by its name and explained.

use glassbox_testing::serializability::Class;

use crate::build::{NOTHING, aborted, append, committed, history, is, is_in_real_time, is_right, read, timed, v};

#[test]
fn right() {
    is_right(&history(
        [],
        [
            committed(0, [append(1, v(1, 0), 1, NOTHING), append(1, v(1, 1), 2, v(1, 0))]),
            committed(1, [read(1, []), append(2, v(2, 1), 1, NOTHING)]),
            aborted(1, [append(1, v(3, 0), 3, v(1, 1))]),
            committed(0, [read(1, [v(1, 0), v(1, 1)]), append(1, v(4, 1), 3, v(1, 1)), read(2, [v(2, 1)])]),
        ],
    ));
}

#[test]
fn garbage() {
    let reader = committed(0, [read(1, [v(7, 0)])]);
    is(&history([], [reader]), Class::Garbage, "garbage");
}

#[test]
fn own_writes_unseen() {
    let forgetful = committed(0, [append(1, v(1, 0), 1, NOTHING), read(1, [])]);
    is(&history([], [forgetful]), Class::Internal, "own-writes-unseen");
}

#[test]
fn aborted_read() {
    let all = [aborted(0, [append(1, v(1, 0), 1, NOTHING)]), committed(1, [read(1, [v(1, 0)])])];
    is(&history([], all), Class::AbortedRead, "aborted-read");
}

#[test]
fn built_on_what_was_aborted() {
    let all = [aborted(0, [append(1, v(1, 0), 1, NOTHING)]), committed(1, [append(1, v(2, 0), 2, v(1, 0))])];
    is(&history([], all), Class::AbortedRead, "built-on-what-was-aborted");
}

#[test]
fn intermediate_read() {
    let all = [
        committed(0, [append(1, v(1, 0), 1, NOTHING), append(1, v(1, 1), 2, v(1, 0))]),
        committed(1, [read(1, [v(1, 0)])]),
    ];
    is(&history([], all), Class::IntermediateRead, "intermediate-read");
}

#[test]
fn lost_update() {
    let all = [
        committed(0, [append(1, v(1, 0), 1, NOTHING)]),
        committed(1, [append(1, v(2, 0), 1, NOTHING)]),
        committed(2, [read(1, [v(2, 0)])]),
    ];
    is(&history([], all), Class::LostUpdate, "lost-update");
}

#[test]
fn duplicate() {
    let all = [committed(0, [append(1, v(1, 0), 1, NOTHING)]), committed(1, [read(1, [v(1, 0), v(1, 0)])])];
    is(&history([], all), Class::LostUpdate, "duplicate");
}

#[test]
fn incompatible_orders() {
    let all = [
        committed(0, [append(1, v(1, 0), 1, NOTHING)]),
        committed(1, [append(1, v(2, 0), 2, v(1, 0))]),
        committed(2, [read(1, [v(1, 0), v(2, 0)])]),
        committed(3, [read(1, [v(2, 0), v(1, 0)])]),
    ];
    is(&history([], all), Class::IncompatibleOrder, "incompatible-orders");
}

#[test]
fn dirty_write() {
    let all = [
        committed(0, [append(1, v(1, 0), 1, NOTHING), append(2, v(1, 1), 2, v(2, 0))]),
        committed(1, [append(2, v(2, 0), 1, NOTHING), append(1, v(2, 1), 2, v(1, 0))]),
    ];
    is(&history([], all), Class::G0, "dirty-write");
}

#[test]
fn circular_information() {
    let all = [
        committed(0, [append(1, v(1, 0), 1, NOTHING), read(2, [v(2, 0)])]),
        committed(1, [append(2, v(2, 0), 1, NOTHING), read(1, [v(1, 0)])]),
    ];
    is(&history([], all), Class::G1c, "circular-information");
}

/// Two updates of another transaction, of which only the later was seen.
#[test]
fn one_anti_dependency() {
    let all = [
        committed(0, [append(1, v(1, 0), 1, NOTHING), append(2, v(1, 1), 1, NOTHING)]),
        committed(1, [read(1, []), read(2, [v(1, 1)])]),
    ];
    is(&history([], all), Class::GSingle, "one-anti-dependency");
}

/// Write skew.
#[test]
fn anti_dependencies() {
    let all = [
        committed(0, [read(1, []), append(2, v(1, 1), 1, NOTHING)]),
        committed(1, [read(2, []), append(1, v(2, 1), 1, NOTHING)]),
    ];
    is(&history([], all), Class::G2Item, "anti-dependencies");
}

/// The two writers are concurrent, so either may be the first, but the readers do not agree which. (Snapshot isolation
/// allows it not; two copies that get the writes in different orders do it.)
#[test]
fn long_fork() {
    let all = [
        committed(0, [append(1, v(1, 0), 1, NOTHING)]),
        committed(1, [append(2, v(2, 0), 1, NOTHING)]),
        committed(2, [read(1, [v(1, 0)]), read(2, [])]),
        committed(3, [read(1, []), read(2, [v(2, 0)])]),
    ];
    is(&history([], all), Class::G2Item, "long-fork");
}

#[test]
fn stale_read() {
    let all = [
        timed(0, 0..10, [append(1, v(1, 0), 1, NOTHING)]),
        timed(1, 15..16, [append(9, v(2, 0), 1, NOTHING)]),
        timed(2, 20..30, [read(1, [])]),
    ];
    is_in_real_time(&history([], all), Class::GSingle, "stale-read");
    // Answered at the moment in which the other asked, it need not have been seen.
    let all = [timed(0, 0..10, [append(1, v(1, 0), 1, NOTHING)]), timed(1, 10..30, [read(1, [])])];
    is_right(&history([], all));
}

/// A cycle of three, with barriers between the two that real time orders. (It never needs real time twice: of two such
/// edges of a cycle, one leads on to where the other does.)
#[test]
fn seen_in_the_wrong_order() {
    let all = [
        timed(0, 0..10, [append(1, v(1, 0), 1, NOTHING)]),
        timed(3, 12..15, [read(9, [])]),
        timed(3, 17..18, [read(9, [])]),
        timed(1, 20..30, [append(2, v(4, 0), 1, NOTHING)]),
        timed(2, 5..40, [read(1, []), read(2, [v(4, 0)])]),
    ];
    is_in_real_time(&history([], all), Class::GSingle, "seen-in-the-wrong-order");
}
