//! Planted anomalies of rows and predicates, each found by its name and explained.

use glassbox_testing::serializability::Class;

use crate::build::{
    NOTHING, append, committed, delete, history, insert, is, is_in_real_time, is_right, member, ranks, read, row, scan,
    timed, update, v,
};

#[test]
fn right() {
    let (ann, bob, eve) = (member(1, 1), member(1, 2), member(1, 3));
    is_right(&history(
        [(ann, 3), (bob, 5)],
        [
            committed(0, [scan(1, [row(1, 3, 0, NOTHING), row(2, 5, 0, NOTHING)]), insert(eve, 4, v(1, 1))]),
            committed(
                1,
                [ranks(1, 3, 4, [row(1, 3, 0, NOTHING), row(3, 4, 1, v(1, 1))]), delete(ann, v(2, 1), 1, NOTHING)],
            ),
            committed(0, [update(bob, 3, v(3, 0), 1, NOTHING), ranks(1, 3, 3, [row(2, 3, 1, v(3, 0))])]),
            committed(1, [scan(1, [row(2, 3, 1, v(3, 0)), row(3, 4, 1, v(1, 1))])]),
        ],
    ));
}

#[test]
fn not_asked_for() {
    let all = [committed(0, [ranks(1, 3, 4, [row(1, 5, 0, NOTHING)])])];
    is(&history([(member(1, 1), 5)], all), Class::Garbage, "not-asked-for");
}

#[test]
fn own_insert_unseen_by_a_scan() {
    let all = [committed(0, [insert(member(1, 1), 3, v(1, 0)), ranks(1, 3, 3, [])])];
    is(&history([], all), Class::Internal, "own-insert-unseen-by-a-scan");
}

#[test]
fn lost_update() {
    let ann = member(1, 1);
    let all = [committed(0, [update(ann, 4, v(1, 0), 1, NOTHING)]), committed(1, [delete(ann, v(2, 0), 1, NOTHING)])];
    is(&history([(ann, 3)], all), Class::LostUpdate, "lost-update-of-a-row");
}

/// Each counts the members of the other's club and joins its own.
#[test]
fn write_skew_by_inserts() {
    let all = [
        committed(0, [scan(1, []), insert(member(2, 7), 3, v(1, 1))]),
        committed(1, [scan(2, []), insert(member(1, 8), 3, v(2, 1))]),
    ];
    is(&history([], all), Class::G2, "write-skew-by-inserts");
}

/// Moved into a range of the index by an update, unseen; what else its writer did is seen.
#[test]
fn entered_by_an_update() {
    let all = [
        committed(0, [update(member(1, 1), 5, v(1, 0), 1, NOTHING), append(1, v(1, 1), 1, NOTHING)]),
        committed(1, [ranks(1, 4, 6, []), read(1, [v(1, 1)])]),
    ];
    is(&history([(member(1, 1), 1)], all), Class::GSinglePredicate, "entered-by-an-update");
}

/// Not seen any more, although what else its writer did is not seen yet.
#[test]
fn left_by_a_delete() {
    let all = [
        committed(0, [delete(member(1, 1), v(1, 0), 1, NOTHING), append(1, v(1, 1), 1, NOTHING)]),
        committed(1, [scan(1, []), read(1, [])]),
    ];
    is(&history([(member(1, 1), 1)], all), Class::GSingle, "left-by-a-delete");
}

/// Two scans of one transaction that differ.
#[test]
fn scanned_twice() {
    let all = [
        committed(0, [scan(1, []), scan(1, [row(7, 3, 1, v(2, 0))])]),
        committed(1, [insert(member(1, 7), 3, v(2, 0))]),
    ];
    is(&history([], all), Class::GSinglePredicate, "scanned-twice");
}

/// Who did not see a row that came and went may have been before or after. If all overlap both may be; if not, neither.
#[test]
fn came_and_went() {
    let (ann, value) = (member(1, 7), v(1, 0));
    let all = |ns| {
        [
            timed(0, 10..20, [insert(ann, 3, value)]),
            timed(1, 50..60, [delete(ann, v(2, 0), 2, value)]),
            timed(2, ns, [scan(1, [])]),
        ]
    };
    is_right(&history([], all(5..30)));
    is_right(&history([], all(30..55)));
    is_in_real_time(&history([], all(30..40)), Class::GSinglePredicate, "came-and-went");
}
