//! Every named stack, under a history of all that a transaction can do, comes to the state of the full one.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use glassbox::io::Dice;
use glassbox::procedure::Aborts;
use glassbox::record::{Direction, Text};
use glassbox::research::stacks::{StackConfig, StackDatabase, StackName};
use glassbox::{Catalog, Error, Procedure, Record, Stop, Transaction};

#[derive(Record, Clone, Copy)]
#[record(table = "thing", key = (shelf, id), index(name = by_name, columns = (name, shelf, id)))]
struct Thing {
    shelf: u8,
    id: u32,
    count: i64,
    name: Text<12>,
}

#[derive(Record, Clone, Copy)]
#[record(table = "seen", key = id)]
struct Seen {
    id: u64,
    sum: i64,
}

/// A number that has little to do with its argument.
fn mix(seed: u64) -> u64 {
    Dice(seed).roll()
}

/// Some changes, drawn from a seed; with `aborts` it takes all of them back, which only [`Step`] may.
fn change<T: Transaction>(tx: &mut T, seed: u64, aborts: bool) -> Result<i64, Stop> {
    let mut sum = 0_i64;
    for turn in 0..6 {
        let dice = mix(seed * 8 + turn);
        let (shelf, id) = ((dice >> 8) as u8 % 3, (dice >> 16) as u32 % 200);
        let name = Text::new(&format!("n{}", dice >> 24 & 15)).expect("it is short");
        match dice % 5 {
            0 | 1 => match tx.get::<Thing>(&(shelf, id))? {
                None => tx.insert(&Thing { shelf, id, count: sum, name })?,
                Some(thing) => sum += thing.count,
            },
            2 if dice & 64 == 0 => {
                let keys = [(shelf, id), (shelf, id + 1), (shelf, id)];
                tx.update_each::<Thing, _>(keys.into_iter().zip(1..), |at, thing| {
                    (thing.count, thing.name) = (thing.count + at, name);
                })?;
                tx.get_each::<Thing, _>(keys.into_iter().zip(1..), |at, thing| {
                    sum += thing.map_or(at, |thing| at * thing.count);
                    Ok(())
                })?;
            }
            2 => {
                let counted = tx.update::<Thing, _>(&(shelf, id), |thing| {
                    (thing.count, thing.name) = (thing.count + 1, name);
                    thing.count
                })?;
                sum += counted.unwrap_or(0);
            }
            3 => sum += i64::from(tx.delete::<Thing>(&(shelf, id))?),
            _ => {
                let direction = if dice & 32 == 0 { Direction::Forward } else { Direction::Backward };
                let mut left = 5;
                tx.scan::<Thing>((shelf, id)..=(shelf, id + 30), direction, |thing| {
                    (sum, left) = (sum * 3 + i64::from(thing.id) + thing.count, left - 1);
                    if left > 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                })?;
            }
        }
        sum %= 1 << 40;
    }
    tx.insert_each([seed, seed | 1 << 20, seed | 1 << 20 | 1 << 30].map(|id| Seen { id, sum }))?;
    if aborts { Err(Stop::abort(7, "as drawn")) } else { Ok(sum) }
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Step {
    seed: u64,
}

impl Procedure for Step {
    const NAME: &'static str = "step";
    type Output = i64;

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<i64, Stop> {
        change(tx, self.seed, mix(self.seed).is_multiple_of(4))
    }
}

/// The same, and never aborts; but if the first access says that the key is there already.
#[derive(serde::Serialize, serde::Deserialize)]
struct Certain {
    seed: u64,
    again: bool,
    late: bool,
}

impl Procedure for Certain {
    const NAME: &'static str = "certain";
    const ABORTS: Aborts = Aborts::BeforeFirstWrite;
    type Output = i64;

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<i64, Stop> {
        if self.again {
            tx.insert_each([self.seed, self.seed | 1 << 40].map(|id| Seen { id, sum: 0 }))?;
        }
        change(tx, self.seed + 1, self.late)
    }
}

fn open(stack: StackName, directory: &std::path::Path) -> StackDatabase {
    let config = StackConfig::default().with_memory_bytes(8 << 20).with_forced(false).with_sessions(2);
    let catalog = Catalog::new().table::<Thing>().table::<Seen>().procedure::<Step>().procedure::<Certain>();
    let catalog = catalog.procedure::<Panic<false>>().procedure::<Panic<true>>();
    let database = StackDatabase::open(stack, Some(directory), config, catalog).unwrap();
    for id in 0..300 {
        let thing = Thing { shelf: id as u8 % 3, id: id * 7 % 200, count: 0, name: Text::new("loaded").unwrap() };
        match database.insert_unlogged(&thing) {
            Ok(()) | Err(Error::DuplicateKey(_)) => {}
            Err(error) => panic!("{stack}: {error}"),
        }
    }
    database
}

/// All answers, and the digest in the end.
fn history(stack: StackName) -> (Vec<Option<i64>>, u64) {
    let directory = tempfile::tempdir().unwrap();
    let database = open(stack, directory.path());
    let mut answers = Vec::new();
    for seed in (10..1500).step_by(3) {
        let mut note = |answer| match answer {
            Ok(answer) => answers.push(Some(answer)),
            Err(Error::Aborted(_) | Error::DuplicateKey(_)) => answers.push(None),
            Err(error) => panic!("{stack}: {error}"),
        };
        note(database.call(&Step { seed }));
        // Its first insertion meets the row of the step, if that was not rolled back.
        note(database.call(&Certain { seed, again: seed % 2 == 0, late: false }));
    }
    assert_eq!(database.verify(), Vec::<String>::new(), "{stack}");
    (answers, database.digest().unwrap())
}

#[test]
fn every_stack_answers_as_the_full_one_and_ends_as_it_does() {
    let full = history(StackName::Full);
    assert!(full.0.iter().any(Option::is_none) && full.0.iter().any(Option::is_some));
    for stack in &StackName::ALL[1..] {
        assert_eq!(history(*stack), full, "{stack}: {}", stack.what());
    }
}

#[test]
fn a_broken_promise_stops_every_stack() {
    let broken = Certain { seed: 10, again: false, late: true };
    for stack in [StackName::Full, StackName::NoPool, StackName::NoPages, StackName::Bare] {
        let directory = tempfile::tempdir().unwrap();
        let stripped = open(stack, directory.path());
        assert!(matches!(stripped.call(&broken), Err(Error::BrokenPromise(_))), "{stack}");
        assert!(matches!(stripped.call(&Step { seed: 13 }), Err(Error::Stopped { .. })), "{stack}");
        let directory = tempfile::tempdir().unwrap();
        let stripped = open(stack, directory.path());
        let panicked = catch_unwind(AssertUnwindSafe(|| stripped.call(&Panic::<true>)));
        assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&"as wanted"), "{stack}");
        assert!(matches!(stripped.call(&Step { seed: 13 }), Err(Error::Stopped { .. })), "{stack}");
    }
}

/// Inserts, and panics; `PROMISES`: though it promises not to.
#[derive(serde::Serialize, serde::Deserialize)]
struct Panic<const PROMISES: bool>;

impl<const PROMISES: bool> Procedure for Panic<PROMISES> {
    const NAME: &'static str = if PROMISES { "promise and panic" } else { "panic" };
    const ABORTS: Aborts = if PROMISES { Aborts::Never } else { Aborts::Anytime };
    type Output = ();

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
        tx.insert(&Seen { id: 1, sum: 0 })?;
        panic!("as wanted");
    }
}

#[test]
fn a_panic_goes_on_and_leaves_every_stack_as_it_was() {
    for stack in StackName::ALL {
        let directory = tempfile::tempdir().unwrap();
        let database = open(*stack, directory.path());
        let before = database.digest().unwrap();
        for _ in 0..3 {
            let panicked = catch_unwind(AssertUnwindSafe(|| database.call(&Panic::<false>)));
            assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&"as wanted"), "{stack}");
        }
        assert_eq!(database.digest().unwrap(), before, "{stack}");
        let answer = database.call(&Step { seed: 13 });
        assert!(matches!(answer, Ok(_) | Err(Error::Aborted(_) | Error::DuplicateKey(_))), "{stack}: {answer:?}");
    }
}

#[test]
fn a_stack_that_needs_a_directory_says_so() {
    let catalog = || Catalog::new().table::<Seen>();
    let open = |stack| StackDatabase::open(stack, None, StackConfig::default(), catalog());
    assert!(matches!(open(StackName::Full), Err(Error::Config(_))));
    assert!(open(StackName::NoDiskLog).is_ok());
}

#[test]
fn a_setting_that_a_stack_cannot_have_is_refused() {
    let usual = || StackConfig::default().with_memory_bytes(8 << 20);
    let too_much = usize::MAX / 2;
    for (config, named) in [
        (usual().with_sessions(0), "sessions is 0: it must be 1 to 1024"),
        (usual().with_sessions(1025), "sessions is 1025: it must be 1 to 1024"),
        (usual().with_memory_bytes(0), "memory_bytes is 0: it must be "),
        (usual().with_memory_bytes(too_much), &format!("memory_bytes is {too_much}: it must be ")),
        (usual().with_sessions(1024), "memory_bytes is 8388608: it must be "),
        (usual().with_log_buffer_bytes(0), "log_buffer_bytes is 0: it must be a power of two"),
        (usual().with_log_buffer_bytes(100_000), "log_buffer_bytes is 100000: it must be a power of two"),
        (usual().with_log_buffer_bytes(4096), "log_buffer_bytes is 4096: it must be at least "),
    ] {
        for stack in [StackName::Full, StackName::LargePages, StackName::NoPool, StackName::Bare] {
            let directory = tempfile::tempdir().unwrap();
            let catalog = Catalog::new().table::<Seen>();
            let error = StackDatabase::open(stack, Some(directory.path()), config.clone(), catalog).err().unwrap();
            assert!(matches!(error, Error::Config(_)), "{stack}: {error}");
            assert!(error.to_string().contains(named), "{stack}: {error}");
            assert_eq!(directory.path().read_dir().unwrap().count(), 0, "{stack}: no file was made");
        }
    }
}
