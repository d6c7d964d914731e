//! A coordinator and two databases in a two-phase commit, stopped at every operation of the files: a transfer is made
//! in both or in neither, as the coordinator decided.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use glassbox::config::ClassicConfig;
use glassbox::io::{Crash, Faults, MemoryFiles, RealClock};
use glassbox::record::Direction;
use glassbox::research::ConfigHooks;
use glassbox::{Catalog, Config, Database, Error, Procedure, Record, Stop, Transaction};
use glassbox_testing::dice::{Dice, long, seed};
use serde::{Deserialize, Serialize};

#[derive(Record, Clone, Copy)]
#[record(table = "account", key = id, index(name = by_group, columns = (group, balance)))]
struct Account {
    id: u64,
    group: u64,
    balance: i64,
}

/// A transfer that has arrived, or left.
#[derive(Record, Clone, Copy)]
#[record(table = "transfer", key = number)]
struct Transfer {
    number: u64,
    amount: i64,
}

/// A database's part of a transfer.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Part {
    number: u64,
    account: u64,
    amount: i64,
}

impl Procedure for Part {
    const NAME: &'static str = "part";
    type Output = ();

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
        let Self { number, account, amount } = *self;
        tx.insert(&Transfer { number, amount })?;
        let left = tx.update::<Account, _>(&account, |row| {
            row.balance += amount;
            row.balance
        })?;
        match left {
            Some(0..) => Ok(()),
            _ => Err(Stop::abort(1, "not enough")),
        }
    }
}

/// Between each two lies one that no transfer changes, so that what waits for its decision is not in the way of others:
/// the entry behind a changed one is locked, too.
const ACCOUNTS: u64 = 8;
const TRANSFERS: u64 = 20;
const FIRST_BALANCE: i64 = 30;

fn open(files: &MemoryFiles) -> Result<Database, Error> {
    let classic = ClassicConfig::default().with_page_bytes(4096).with_pool_bytes(0).with_sessions(2);
    let config = Config::classic(classic).with_segment_bytes(16 << 10).with_log_buffer_bytes(64 << 10);
    // The same operations each time.
    let config = config.with_log_threads(false).with_checkpoint_log_bytes(0);
    let catalog = Catalog::new().table::<Account>().table::<Transfer>().procedure::<Part>();
    Database::open_files(Arc::new(files.clone()), Box::new(RealClock::new()), config, catalog)
}

/// What the coordinator knows, which survives.
#[derive(Default)]
struct Coordinator {
    begun: u64,
    /// Transfers that both have prepared.
    committed: BTreeSet<u64>,
    /// Transfers whose outcome both were told, and have acknowledged.
    ended: BTreeSet<u64>,
}

fn name(number: u64) -> String {
    format!("transfer {number}")
}

impl Coordinator {
    /// Transfers until one of the two fails, which ends as after a crash. Several wait for their decisions at a time.
    fn transfer(&mut self, both: &[&Database; 2], dice: &mut Dice) -> Result<(), Error> {
        let mut waiting = Vec::new();
        while self.begun < TRANSFERS {
            self.begun += 1;
            let number = self.begun;
            // At most one waits on an account.
            let account = number % (ACCOUNTS / 2) * 2;
            if let Some(at) = waiting.iter().position(|(_, of)| *of == account) {
                self.decide(both, waiting.remove(at).0)?;
            }
            let amount = dice.below(40) as i64 - 20;
            let parts = [-amount, amount].map(|amount| Part { number, account, amount });
            let mut votes = 0;
            for (database, part) in both.iter().zip(parts) {
                match database.prepare(&name(number), &part) {
                    Ok(()) => votes += 1,
                    Err(Error::Aborted(_)) => {}
                    Err(error) => return Err(error),
                }
            }
            if votes == 2 {
                self.committed.insert(number);
            }
            waiting.push((number, account));
            match dice.below(6) {
                0 => both[dice.below(2) as usize].checkpoint()?,
                1..=3 if waiting.len() > 1 => {
                    let at = dice.below(waiting.len() as u64) as usize;
                    self.decide(both, waiting.remove(at).0)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Tells both the outcome of a transfer.
    fn decide(&mut self, both: &[&Database; 2], number: u64) -> Result<(), Error> {
        for database in both {
            let told = match self.committed.contains(&number) {
                true => database.commit_prepared(&name(number)),
                false => database.roll_back_prepared(&name(number)),
            };
            match told {
                // It aborted there, or was told before.
                Ok(()) | Err(Error::NotPrepared { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        self.ended.insert(number);
        Ok(())
    }

    /// After a restart: ends what is in doubt, and compares the two with what was decided.
    fn check(&mut self, files: [&MemoryFiles; 2], what: &str) -> usize {
        let both = files.map(|files| open(files).unwrap_or_else(|error| panic!("{what}: {error}")));
        let mut in_doubt = 0;
        for database in &both {
            assert_eq!(database.verify(), Vec::<String>::new(), "{what}, in doubt");
            for transaction in database.prepared() {
                let number: u64 = transaction.name.strip_prefix("transfer ").unwrap().parse().unwrap();
                assert!(!self.ended.contains(&number), "{what}: {number} was ended");
                in_doubt += 1;
            }
        }
        for number in 1..=self.begun {
            self.decide(&[&both[0], &both[1]], number).unwrap();
        }
        let mut sum = 0;
        for database in &both {
            let (mut found, mut balances) = (BTreeSet::new(), 0);
            for number in 1..=self.begun {
                if database.transaction(|tx| Ok(tx.get::<Transfer>(&number)?.is_some())).unwrap() {
                    found.insert(number);
                }
            }
            for account in 0..ACCOUNTS {
                let read = database.transaction(|tx| Ok(tx.get::<Account>(&account)?.map(|row| row.balance)));
                balances += read.unwrap().unwrap_or(0);
            }
            let scanned = database.transaction(|tx| {
                let mut scanned = 0;
                tx.scan_index::<AccountByGroup>(.., Direction::Forward, |row| {
                    scanned += row.balance;
                    ControlFlow::Continue(())
                })?;
                Ok(scanned)
            });
            assert_eq!((&found, scanned.unwrap()), (&self.committed, balances), "{what}");
            assert_eq!((database.verify(), database.prepared().len()), (Vec::new(), 0), "{what}");
            sum += balances;
        }
        assert_eq!(sum, 2 * ACCOUNTS as i64 * FIRST_BALANCE, "{what}");
        in_doubt
    }
}

/// The files of a database with its accounts.
fn filled() -> MemoryFiles {
    let files = MemoryFiles::new();
    let database = open(&files).unwrap();
    let insert = |id| Account { id, group: id, balance: FIRST_BALANCE };
    database.transaction(|tx| (0..ACCOUNTS).try_for_each(|id| tx.insert(&insert(id)))).unwrap();
    database.close().unwrap();
    files.after_kill()
}

/// Transfers with the files of the first database stopped at an operation. Ends where nothing is stopped.
fn stopped_at(dice_seed: u64, stop: u64, mode: Crash, seen: &mut [usize; 3]) -> bool {
    let (files, mut dice) = ([filled(), filled()], Dice(dice_seed));
    let mut coordinator = Coordinator::default();
    let what = format!("seed {dice_seed}, stop at {stop}, {mode:?}");
    let opened = files.each_ref().map(|files| open(files).unwrap());
    files[0].set_faults(Faults { stop_at: Some(files[0].operations() + stop), ..Faults::default() });
    let ended = coordinator.transfer(&[&opened[0], &opened[1]], &mut dice);
    let was_stopped = files[0].is_stopped();
    assert_eq!(ended.is_err(), was_stopped, "{what}: {ended:?}");
    // The second one was well: its process dies, or its machine.
    let found = [files[0].after_crash(mode, stop), files[1].after_crash(Crash::Lost, stop)];
    // Recovery is stopped, too, and begun again.
    let image = found[0].after_kill();
    image.set_faults(Faults { stop_at: Some(stop % 40), ..Faults::default() });
    drop(open(&image));
    let found = [image.after_crash(mode, stop + 1), found[1].after_kill()];
    seen[0] += coordinator.committed.len();
    seen[1] += coordinator.check([&found[0], &found[1]], &what);
    seen[2] += 1;
    was_stopped
}

#[test]
fn a_transfer_is_made_in_both_databases_or_in_neither() {
    let first = seed(1);
    for mode in [Crash::Lost, Crash::Kept, Crash::Torn] {
        let mut seen = [0; 3];
        for dice_seed in first..first + if long() { 100 } else { 3 } {
            let mut stop = 0;
            while stopped_at(dice_seed, stop, mode, &mut seen) {
                stop += 1;
            }
        }
        let [committed, in_doubt, points] = seen;
        println!("{mode:?}: {points} points, {committed} transfers committed, {in_doubt} parts in doubt");
        assert!(points > 150 && committed > 5 * points && in_doubt > points, "{seen:?}");
    }
}
