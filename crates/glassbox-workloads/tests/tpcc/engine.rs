//! The same on the engines: a loaded database runs the mixes and stays consistent; and one client is answered what the
//! model answers.

use std::sync::Arc;

use glassbox::config::{ClassicConfig, Granularity};
use glassbox::io::{Clock, ManualClock, MemoryFiles};
use glassbox::procedure::{Procedure, Transaction};
use glassbox::record::{Record, Timestamp};
use glassbox::{Config, Database, Error};
use glassbox_testing::ModelDatabase;
use glassbox_workloads::tpcc::schema::{
    Customer, District, History, Item, Order, OrderLine, PlaceName, Stock, StockInfo, Undelivered, Warehouse,
};
use glassbox_workloads::tpcc::{Call, Inputs, Kind, Mix, Remote, Scale, Settings, catalog, conditions, load};

/// Calls procedures and counts what commits.
struct Calls<'a>(&'a Database, [u64; 5]);

impl Call for Calls<'_> {
    type Answer = ();

    fn call<P: Procedure + Copy>(&mut self, kind: Kind, procedure: &P) {
        match self.0.call(procedure) {
            Ok(_) => self.1[kind as usize] += 1,
            Err(Error::Aborted(_)) if kind == Kind::NewOrder => {}
            Err(error) => panic!("{}: {error}", kind.name()),
        }
    }
}

fn partitioned(partitions: usize) -> Database {
    Database::in_memory(Config::default().with_partitions(partitions), catalog()).unwrap()
}

/// On files in memory, with a pool for a part of them.
fn classic(granularity: Granularity, clock: impl Clock + 'static) -> Database {
    let pool = ClassicConfig::default().with_pool_bytes(1 << 20).with_sessions(4).with_granularity(granularity);
    let config = Config::classic(pool).with_segment_bytes(1 << 20).with_log_buffer_bytes(1 << 20);
    Database::open_files(Arc::new(MemoryFiles::new()), Box::new(clock), config, catalog()).unwrap()
}

fn fill(database: &Database, scale: &Scale) {
    let bulk = database.bulk_load().unwrap();
    load(scale, 1, 2, || &bulk).unwrap();
    bulk.finish().unwrap();
}

fn run(mix: Mix, database: &Database) {
    let scale = Scale::small(3);
    fill(database, &scale);
    let remote = Remote { order_lines: 5.0, payments: 30.0 };
    let settings = Settings { mix, remote, load_seed: 1, ..Settings::new(scale) };
    std::thread::scope(|scope| {
        for client in 0..2 {
            let settings = &settings;
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
    run(Mix::Full, &partitioned(1));
}

#[test]
fn the_full_mix_on_three_partitions() {
    run(Mix::Full, &partitioned(3));
}

#[test]
fn the_looking_glass_mix_on_two_partitions() {
    run(Mix::LookingGlass, &partitioned(2));
}

#[test]
fn the_full_mix_on_the_classic_engine() {
    for granularity in [Granularity::Record, Granularity::Page, Granularity::PageAndLeaf] {
        let database = classic(granularity, ManualClock::default());
        run(Mix::Full, &database);
        assert_eq!(database.verify(), Vec::<String>::new());
    }
}

/// Gives each input to both, at the same time of day.
struct Both<'a> {
    model: &'a mut ModelDatabase,
    database: &'a Database,
    clock: &'a ManualClock,
    aborted: u64,
}

impl Call for Both<'_> {
    type Answer = ();

    fn call<P: Procedure + Copy>(&mut self, kind: Kind, procedure: &P) {
        self.clock.advance_ns(1_000_000);
        // No procedure of TPC-C asks for random numbers.
        let wanted = self.model.run(procedure, Timestamp::from_micros(self.clock.wall_us()), 0);
        match (self.database.call(procedure), wanted) {
            (Ok(found), Ok(wanted)) => {
                assert_eq!(postcard::to_stdvec(&found), postcard::to_stdvec(&wanted), "{}", kind.name());
            }
            (Err(found), Err(wanted)) => {
                assert_eq!(found.abort_reason().unwrap(), wanted, "{}", kind.name());
                self.aborted += 1;
            }
            (found, wanted) => panic!("{}: {:?}, and should {:?}", kind.name(), found.err(), wanted.err()),
        }
    }
}

/// Every row of the model is in the database, and no other.
fn same<R: Record + PartialEq + std::fmt::Debug>(model: &ModelDatabase, database: &Database) {
    let rows = model.rows::<R>();
    let stats = database.stats();
    let usage = stats.tables.iter().find(|usage| usage.table == R::TABLE).unwrap();
    assert_eq!(usage.rows, rows.len() as u64, "rows of {}", R::TABLE);
    for rows in rows.chunks(500) {
        database
            .transaction(|tx| {
                for row in rows {
                    assert_eq!(tx.get::<R>(&row.key())?, Some(row));
                }
                Ok(())
            })
            .unwrap();
    }
}

#[test]
fn the_classic_engine_answers_as_the_model_does() {
    let scale = Scale { customers: 20, ..Scale::small(2) };
    let clock = ManualClock::default();
    let database = &classic(Granularity::Record, clock.clone());
    fill(database, &scale);
    let mut model = crate::common::loaded(&scale, 1, 1);
    let mut both = Both { model: &mut model, database, clock: &clock, aborted: 0 };
    let remote = Remote { order_lines: 10.0, payments: 30.0 };
    let mut inputs = Inputs::new(&Settings { remote, load_seed: 1, ..Settings::new(scale) }, 0);
    (0..2_500).for_each(|_| inputs.next().give(&mut both));
    assert!(both.aborted > 0, "one New-Order in a hundred is rolled back");
    same::<Warehouse>(&model, database);
    same::<District>(&model, database);
    same::<Customer>(&model, database);
    same::<History>(&model, database);
    same::<Order>(&model, database);
    same::<OrderLine>(&model, database);
    same::<Undelivered>(&model, database);
    same::<Item>(&model, database);
    same::<Stock>(&model, database);
    same::<StockInfo>(&model, database);
    same::<PlaceName>(&model, database);
    assert_eq!(database.verify(), Vec::<String>::new());
}
