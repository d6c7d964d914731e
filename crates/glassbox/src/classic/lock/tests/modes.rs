//! The tables of modes against their laws, and against the book's.

use super::super::mode::LockMode::{self, IS, IX, S, SIX, U, X};

/// Whether `wanted` can be granted beside `held`.
pub(super) fn goes(wanted: LockMode, held: LockMode) -> bool {
    wanted.conflicts() & held.bit() == 0
}

fn all<const N: usize>() -> impl Iterator<Item = [LockMode; N]> {
    let count = LockMode::ALL.len().pow(N as u32);
    (0..count).map(|number| std::array::from_fn(|place| LockMode::ALL[number / 6_usize.pow(place as u32) % 6]))
}

#[test]
fn what_goes_together_is_as_in_the_book_but_for_u_beside_is() {
    let rows = [
        // Held: IS, IX, S, SIX, U, X.
        (IS, [true, true, true, true, false, false]),
        (IX, [true, true, false, false, false, false]),
        (S, [true, false, true, false, false, false]),
        (SIX, [true, false, false, false, false, false]),
        (U, [true, false, true, false, false, false]),
        (X, [false, false, false, false, false, false]),
    ];
    for (wanted, row) in rows {
        assert_eq!(LockMode::ALL.map(|held| goes(wanted, held)), row, "{wanted:?}");
    }
}

#[test]
fn only_u_beside_readers_depends_on_who_came_first() {
    for [a, b] in all() {
        let one_way = matches!((a, b), (U, S | IS) | (S | IS, U));
        assert_eq!(goes(a, b) != goes(b, a), one_way, "{a:?} and {b:?}");
    }
}

#[test]
fn the_supremum_is_one() {
    for [a] in all() {
        assert_eq!(a.supremum(a), a);
        assert_eq!(a.supremum(X), X);
        assert_eq!(IS.supremum(a), a);
    }
    for [a, b] in all() {
        assert_eq!(a.supremum(b), b.supremum(a), "{a:?} and {b:?}");
        let above: Vec<LockMode> =
            LockMode::ALL.into_iter().filter(|upper| upper.covers(a) && upper.covers(b)).collect();
        let least = above.iter().filter(|upper| above.iter().all(|other| other.covers(**upper)));
        assert_eq!(least.copied().collect::<Vec<_>>(), [a.supremum(b)], "{a:?} and {b:?}");
    }
    for [a, b, c] in all() {
        assert_eq!(a.supremum(b).supremum(c), a.supremum(b.supremum(c)), "{a:?}, {b:?}, {c:?}");
    }
}

#[test]
fn a_stronger_mode_goes_with_less() {
    for [weak, strong, other] in all() {
        if strong.covers(weak) {
            assert!(!goes(other, strong) || goes(other, weak), "{other:?} beside {strong:?}, not beside {weak:?}");
            assert!(!goes(strong, other) || goes(weak, other), "{strong:?} beside {other:?}, not {weak:?}");
            assert!(!weak.covers_below(other) || strong.covers_below(other));
        }
    }
}

#[test]
fn a_covering_mode_excludes_every_conflicting_mode_below() {
    for [held, below, others] in all() {
        // Another who wants `others` below must hold the intent for it beside `held`.
        let let_in = goes(others.intent(), held);
        if held.covers_below(below) && let_in {
            assert!(goes(others, below) || goes(below, others), "{held:?} covers {below:?}, lets in {others:?}");
        }
    }
    for [mode] in all() {
        assert!(mode.intent().covers(IS) && !mode.intent().covers(S));
        assert_eq!(mode.intent().covers(IX), matches!(mode, IX | SIX | U | X));
    }
}
