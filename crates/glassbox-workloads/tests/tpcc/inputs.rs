//! Random numbers, names and inputs have the distributions of the specification.

use glassbox_workloads::tpcc::random::{Constants, Random, last_name, nurand};
use glassbox_workloads::tpcc::{Customers, Home, Input, Inputs, Kind, Mix, Remote, Scale, Settings};

/// Whether `count` of `all` is `percent` of them, give or take five standard deviations.
fn about(count: u64, all: u64, percent: f64) -> bool {
    let (expected, share) = (all as f64 * percent / 100.0, percent / 100.0);
    (count as f64 - expected).abs() <= 5.0 * (all as f64 * share * (1.0 - share)).sqrt()
}

#[test]
fn last_names_are_three_syllables() {
    assert_eq!(last_name(0), "BARBARBAR");
    assert_eq!(last_name(371), "PRICALLYOUGHT");
    assert_eq!(last_name(40), "BARPRESBAR");
    assert_eq!(last_name(999), "EINGEINGEING");
    let names: std::collections::BTreeSet<_> = (0..1000).map(last_name).collect();
    assert_eq!(names.len(), 1000);
}

#[test]
fn nurand_follows_its_definition() {
    let mut random = Random::new(1);
    let (samples, mut counts) = (300_000, [0_u64; 1000]);
    (0..samples).for_each(|_| counts[nurand(&mut random, 255, 123, 0, 999) as usize] += 1);
    // The exact distribution, by enumerating both uniform parts.
    let mut exact = [0_u64; 1000];
    for a in 0..256_usize {
        for x in 0..1000 {
            exact[((a | x) + 123) % 1000] += 1;
        }
    }
    for (count, exact) in counts.into_iter().zip(exact) {
        assert!(about(count, samples, exact as f64 / 2_560.0), "{count} against {exact} of 256,000");
    }
    for (a, low, high) in [(1023, 1, 3000), (8191, 1, 100_000), (1023, 1, 30), (8191, 1, 1000)] {
        let within = (0..10_000).map(|_| nurand(&mut random, a, 77, low, high)).all(|n| (low..=high).contains(&n));
        assert!(within);
    }
}

#[test]
fn constants_of_run_and_load_differ_as_they_must() {
    for seed in 0..2_000 {
        let (load, run) = (Constants::for_load(seed), Constants::for_run(seed, seed * 31));
        let delta = load.c_last.abs_diff(run.c_last);
        assert!((65..=119).contains(&delta) && delta != 96 && delta != 112, "{load:?} {run:?}");
        assert!(run.c_last <= 255 && run.c_id <= 1023 && run.ol_i_id <= 8191);
    }
}

#[test]
fn strings_have_their_lengths_and_characters() {
    let mut random = Random::new(3);
    let mut lengths = [0_u64; 51];
    for _ in 0..10_000 {
        let text = random.a_string::<50>(26, 50);
        assert!(text.as_str().bytes().all(|byte| byte.is_ascii_alphanumeric()));
        lengths[text.len()] += 1;
    }
    assert!(lengths[..26].iter().all(|&count| count == 0));
    assert!(lengths[26..].iter().all(|&count| about(count, 10_000, 4.0)), "{lengths:?}");
    assert!(random.zip().as_str().ends_with("11111"));
    assert_eq!(random.n_string::<16>(16, 16).as_str().parse::<u64>().map(|_| ()), Ok(()));
    let originals = (0..20_000).filter(|_| random.data().as_str().contains("ORIGINAL")).count() as u64;
    assert!(about(originals, 20_000, 10.0), "{originals} of 20,000");
}

#[test]
fn the_full_mix_has_the_specifications_shares() {
    let scale = Scale::full(10);
    let mut inputs = Inputs::new(&Settings::new(scale), 0);
    let (mut kinds, mut lines, mut remote_lines, mut unused) = ([0_u64; 5], 0, 0, 0);
    let (mut by_name, mut remote_payments, mut line_counts) = (0, 0, [0_u64; 16]);
    for _ in 0..100_000 {
        let input = inputs.next();
        kinds[input.kind() as usize] += 1;
        match input {
            Input::NewOrder(order) => {
                lines += order.lines.len() as u64;
                line_counts[order.lines.len()] += 1;
                remote_lines += order.lines.iter().filter(|line| line.supply_w_id != order.w_id).count() as u64;
                unused += u64::from(order.lines.iter().any(|line| line.i_id == scale.items + 1));
                assert!((1..=3_000).contains(&order.c_id) && (1..=10).contains(&order.d_id));
                assert!(order.lines.iter().all(|line| (1..=10).contains(&line.quantity)));
                assert!(order.lines.iter().all(|line| (1..=10).contains(&line.supply_w_id)));
            }
            Input::Payment(payment) => {
                by_name += u64::from(matches!(payment.customer, Customers::Last(_)));
                remote_payments += u64::from(payment.c_w_id != payment.w_id);
                assert!((100..=500_000).contains(&payment.amount.units()));
                assert!(payment.c_w_id != payment.w_id || payment.c_d_id == payment.d_id);
            }
            Input::OrderStatus(_) => {}
            Input::Delivery(delivery) => assert!((1..=10).contains(&delivery.carrier_id)),
            Input::StockLevel(asked) => assert!((10..=20).contains(&asked.threshold)),
        }
    }
    assert_eq!(kinds, [45_000, 43_000, 4_000, 4_000, 4_000]);
    assert!(about(remote_lines, lines, 1.0), "{remote_lines} of {lines}");
    assert!(about(unused, kinds[0], 1.0), "{unused} unused");
    assert!(about(by_name, kinds[1], 60.0), "{by_name} by name");
    assert!(about(remote_payments, kinds[1], 15.0), "{remote_payments} remote");
    assert!(line_counts[5..].iter().all(|&count| about(count, kinds[0], 100.0 / 11.0)), "{line_counts:?}");
}

#[test]
fn remote_shares_homes_and_clients_are_as_set() {
    let remote = Remote { order_lines: 10.0, payments: 0.0 };
    let settings =
        Settings { remote, mix: Mix::NewOrderOnly, home: Home::Between(2, 3), ..Settings::new(Scale::full(4)) };
    let (mut inputs, mut lines, mut away) = (Inputs::new(&settings, 0), 0, 0);
    for _ in 0..10_000 {
        let Input::NewOrder(order) = inputs.next() else { panic!("only New-Orders") };
        assert!((2..=3).contains(&order.w_id));
        lines += order.lines.len() as u64;
        away += order.lines.iter().filter(|line| line.supply_w_id != order.w_id).count() as u64;
    }
    assert!(about(away, lines, 10.0), "{away} of {lines}");
    let first = |client| Inputs::new(&settings, client).next();
    assert_eq!(first(1), first(1));
    assert_ne!(first(1), first(2));

    let alone = Settings { home: Home::Terminal(1, 7), ..Settings::new(Scale::full(1)) };
    let mut inputs = Inputs::new(&alone, 0);
    for _ in 0..1_000 {
        if let Input::Payment(payment) = inputs.next() {
            assert_eq!((payment.w_id, payment.d_id, payment.c_w_id, payment.c_d_id), (1, 7, 1, 7));
        }
    }
    assert_eq!(Kind::ALL.map(Kind::name)[0], "New-Order");
}
