//! The same on the engine: a loaded database runs the mixes and stays consistent.

use glassbox::{Config, Database, Error, Procedure};
use glassbox_workloads::tpcc::{Call, Inputs, Kind, Mix, Remote, Scale, Settings, catalog, conditions, load};

/// Calls procedures and counts what commits.
struct Calls<'a>(&'a Database, [u64; 5]);

impl Call for Calls<'_> {
    type Answer = ();

    fn call<P: Procedure>(&mut self, kind: Kind, procedure: P) {
        match self.0.call(&procedure) {
            Ok(_) => self.1[kind as usize] += 1,
            Err(Error::Aborted(_)) if kind == Kind::NewOrder => {}
            Err(error) => panic!("{}: {error}", kind.name()),
        }
    }
}

fn run(mix: Mix, partitions: usize) {
    let scale = Scale::small(3);
    let database = Database::in_memory(Config { partitions, ..Config::default() }, catalog()).unwrap();
    let bulk = database.bulk_load().unwrap();
    load(&scale, 1, 2, || &bulk, |_| ()).unwrap();
    bulk.finish().unwrap();
    let remote = Remote { order_lines: 5.0, payments: 30.0 };
    let settings = Settings { mix, remote, load_seed: 1, ..Settings::new(scale) };
    std::thread::scope(|scope| {
        for client in 0..2 {
            let (database, settings) = (&database, &settings);
            scope.spawn(move || {
                let (mut inputs, mut calls) = (Inputs::new(settings, client), Calls(database, [0; 5]));
                (0..2_000).for_each(|_| inputs.next().give(&mut calls));
                assert!(calls.1.iter().sum::<u64>() > 1_950, "{:?}", calls.1);
            });
        }
    });
    for report in database.transaction(|tx| conditions::check_all(tx, &scale)).unwrap() {
        assert!(report.holds(), "{report}");
    }
}

#[test]
fn the_full_mix_on_one_partition() {
    run(Mix::Full, 1);
}

#[test]
fn the_full_mix_on_three_partitions() {
    run(Mix::Full, 3);
}

#[test]
fn the_looking_glass_mix_on_two_partitions() {
    run(Mix::LookingGlass, 2);
}
