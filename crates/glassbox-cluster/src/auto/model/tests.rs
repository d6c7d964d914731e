//! The model against the paper's numbers and against its own invariants.

use super::*;

/// Table 2, and the simulator's values for what it leaves out.
fn of_the_paper() -> (Statistics, Times) {
    let times = Times {
        single_us: 64.0,
        keeping: 73.0 / 64.0,
        locking: 0.132,
        fragment_us: 45.0,
        decide_us: 10.0,
        stopped_us: 20.0,
        undo_us: 9.0,
        message_us: 11.4,
    };
    (Statistics { round_trip_us: 120.0, ..Statistics::default() }, times)
}

fn rate(scheme: SchemeKind, change: impl Fn(&mut Statistics)) -> f64 {
    let (mut load, times) = of_the_paper();
    change(&mut load);
    predict(scheme, &load, &times).per_second
}

fn near(value: f64, expected: f64, percent: f64) {
    assert!((value / expected - 1.0).abs() < percent / 100.0, "{value} is not {expected}");
}

#[test]
fn the_ends_of_the_curves_are_those_of_section_6() {
    for scheme in SchemeKind::LOW_OVERHEAD.into_iter().filter(|scheme| *scheme != SchemeKind::ForcedLocking) {
        near(rate(scheme, |_| ()), 2e6 / 64.0, 0.1);
    }
    near(rate(SchemeKind::Blocking, |load| load.several = 1.0), 1e6 / 211.0, 2.0);
    near(rate(SchemeKind::Speculation, |load| load.several = 1.0), 1e6 / 91.2, 0.1);
    near(rate(SchemeKind::Locking, |load| load.several = 1.0), 1e6 / (1.132 * 45.0 + 10.0), 1.0);
    near(rate(SchemeKind::ForcedLocking, |_| ()), 2e6 / (1.132 * 73.0), 0.1);
}

#[test]
fn the_schemes_are_in_the_papers_order() {
    let ordered = |best: SchemeKind, change: fn(&mut Statistics)| {
        let others = [SchemeKind::Blocking, SchemeKind::Speculation, SchemeKind::Locking];
        for other in others.into_iter().filter(|other| *other != best) {
            assert!(rate(best, change) > rate(other, change), "{best:?}, {other:?}");
        }
    };
    ordered(SchemeKind::Speculation, |load| load.several = 0.1);
    ordered(SchemeKind::Speculation, |load| load.several = 0.4);
    ordered(SchemeKind::Locking, |load| load.several = 1.0);
    ordered(SchemeKind::Locking, |load| (load.several, load.rounds) = (0.3, 2.0));
    ordered(SchemeKind::Locking, |load| (load.several, load.several_aborts) = (0.4, 0.2));
    ordered(SchemeKind::Speculation, |load| (load.several, load.hottest) = (0.4, 0.8));
}

#[test]
fn terms_and_limits_add_up() {
    let (load, times) = of_the_paper();
    for several in [0.0, 0.02, 0.3, 1.0] {
        let load = Statistics { several, several_aborts: 0.05, rounds: 1.5, hottest: 0.3, ..load };
        for scheme in SchemeKind::ALL {
            let it = predict(scheme, &load, &times);
            let least = it.limits.iter().map(|limit| limit.per_second).fold(f64::INFINITY, f64::min);
            near(it.per_second, least, 1.0);
            assert!(it.terms.iter().all(|term| term.us >= 0.0 && term.us.is_finite()), "{it:?}");
        }
    }
}
