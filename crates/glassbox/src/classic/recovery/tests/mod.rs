//! Histories with crashes: at every write and force, within recovery too, and again. After each, the database holds
//! what was committed and durable, and nothing else.

mod cells;
mod damage;
mod order;
mod store;
mod work;
mod world;

use work::work;
use world::{Model, Recovered, World};

use crate::error::Error;
use crate::io::{Crash, Dice, Faults, MemoryFiles};

const STEPS: u64 = 120;

/// What there was for recovery to do.
#[derive(Default)]
struct Seen {
    redone: u64,
    losers: usize,
    in_doubt: usize,
    unfinished: usize,
}

impl Seen {
    fn count(&mut self, recovered: &Recovered) {
        self.redone += recovered.redone;
        self.losers += recovered.losers;
        self.in_doubt += recovered.in_doubt.len();
        self.unfinished += recovered.unfinished;
    }
}

/// A database that is made, then works until the operation `stop` or to the end.
fn run(files: &MemoryFiles, seed: u64, stop: Option<u64>) -> (Model, Result<(), Error>) {
    let mut world = World::create(files).unwrap();
    let stop_at = stop.map(|stop| files.operations() + stop);
    files.set_faults(Faults { stop_at, ..Faults::default() });
    let mut model = Model::new();
    let done = work(&mut world, &mut model, &mut Dice(seed), STEPS);
    (model, done)
}

/// Recovers what a crash left, crashing `deep` times in it at random operations.
fn recover(found: &MemoryFiles, mode: Crash, deep: u64, dice: &mut Dice, what: &str) -> Recovered {
    let mut files = found.after_kill();
    let end = World::log_end(&files).unwrap();
    for _ in 0..deep {
        files.set_faults(Faults { stop_at: Some(dice.below(30)), ..Faults::default() });
        let recovered = World::recover(&files, dice);
        assert!(recovered.is_ok() || files.is_stopped(), "{what}: {}", recovered.err().unwrap());
        files = files.after_crash(mode, dice.roll());
    }
    let recovered = World::recover(&files, dice).unwrap_or_else(|error| panic!("{what}: {error}"));
    Recovered { end, ..recovered }
}

fn crash_everywhere(mode: Crash, seeds: std::ops::Range<u64>) {
    let seen = &mut Seen::default();
    for seed in seeds {
        let count = {
            let files = MemoryFiles::new();
            let (_, done) = run(&files, seed, None);
            done.unwrap();
            files.operations()
        };
        for stop in 0..count {
            let files = MemoryFiles::new();
            let (mut model, done) = run(&files, seed, Some(stop));
            if done.is_ok() {
                break;
            }
            let mut dice = Dice(seed ^ stop << 32);
            let mut found = files.after_crash(mode, stop);
            // Recover, work on, crash again.
            for deep in [3, 0, 1] {
                let what = format!("{mode:?}, seed {seed}, stop {stop}, {deep} deep");
                let mut recovered = recover(&found, mode, deep, &mut dice, &what);
                seen.count(&recovered);
                model.check(&mut recovered, &mut dice, &what);
                let mut world = recovered.world;
                let stop_at = Some(world.files.operations() + dice.below(60));
                world.files.set_faults(Faults { stop_at, ..Faults::default() });
                let done = work(&mut world, &mut model, &mut dice, STEPS);
                assert!(done.is_ok() || world.files.is_stopped(), "{what}: {}", done.err().unwrap());
                found = world.files.after_crash(mode, stop);
            }
        }
    }
    let Seen { redone, losers, in_doubt, unfinished } = *seen;
    println!("{mode:?}: {redone} redone, {losers} losers, {in_doubt} in doubt, {unfinished} in a nested action");
    assert!(redone > 1000 && losers > 100 && in_doubt > 20 && unfinished > 20, "the histories are too tame");
}

#[test]
fn crash_at_every_operation_lost() {
    crash_everywhere(Crash::Lost, 0..4);
}

#[test]
fn crash_at_every_operation_kept() {
    crash_everywhere(Crash::Kept, 4..8);
}

#[test]
fn crash_at_every_operation_torn() {
    crash_everywhere(Crash::Torn, 8..12);
}
