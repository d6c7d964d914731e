//! Every named stack runs the mixes and ends in the same state as the full one.

use glassbox::stacks::{StackConfig, StackDatabase, StackName};
use glassbox::{Error, Procedure, Record};
use glassbox_workloads::tpcc::{Call, Inputs, Kind, Mix, Remote, Scale, Settings, Sink, catalog, population};

/// Fills a database.
struct Fill<'a>(&'a StackDatabase);

impl Sink for Fill<'_> {
    type Error = Error;

    fn row<R: Record>(&mut self, row: &R) -> Result<(), Error> {
        self.0.insert_unlogged(row)
    }
}

/// Calls procedures and counts those that abort.
struct Calls<'a>(&'a StackDatabase, usize);

impl Call for Calls<'_> {
    type Answer = ();

    fn call<P: Procedure>(&mut self, kind: Kind, procedure: P) {
        match self.0.call(&procedure) {
            Ok(_) => {}
            Err(Error::Aborted(_)) if kind == Kind::NewOrder => self.1 += 1,
            Err(error) => panic!("{}: {error}", kind.name()),
        }
    }
}

/// The digests before and after a run, and how many calls aborted.
fn run(stack: StackName, mix: Mix, calls: usize) -> (u64, u64, usize) {
    let directory = tempfile::tempdir().unwrap();
    let scale = Scale::small(2);
    let config = StackConfig { memory_bytes: 64 << 20, forced: false, sessions: 3, ..StackConfig::default() };
    let database = StackDatabase::open(stack, Some(directory.path()), config, catalog()).unwrap();
    population::items(&scale, 1, &mut Fill(&database)).unwrap();
    (1..=scale.warehouses).for_each(|w_id| population::warehouse(&scale, 1, w_id, &mut Fill(&database)).unwrap());
    let before = database.digest().unwrap();
    let remote = Remote { order_lines: 10.0, payments: 30.0 };
    let settings = Settings { mix, remote, load_seed: 1, ..Settings::new(scale) };
    let (mut inputs, mut runner) = (Inputs::new(&settings, 7), Calls(&database, 0));
    (0..calls).for_each(|_| inputs.next().give(&mut runner));
    let aborted = runner.1;
    assert_eq!(database.verify(), Vec::<String>::new(), "{stack}");
    (before, database.digest().unwrap(), aborted)
}

#[test]
fn every_stack_comes_to_the_state_of_the_full_one() {
    for (mix, calls) in [(Mix::LookingGlass, 300), (Mix::Full, 400)] {
        let full = run(StackName::Full, mix, calls);
        assert_ne!(full.0, full.1, "the run changed something");
        assert!(mix != Mix::Full || full.2 > 0, "some calls abort");
        for stack in &StackName::ALL[1..] {
            assert_eq!(run(*stack, mix, calls), full, "{stack}: {}", stack.what());
        }
    }
}

#[test]
fn a_digest_tells_databases_apart() {
    let two = run(StackName::Bare, Mix::LookingGlass, 200);
    let other = run(StackName::Bare, Mix::LookingGlass, 201);
    assert_eq!(two.0, other.0);
    assert_ne!(two.1, other.1);
}
