//! Runs a history: several clients at once, each noting what it asked and what it was told.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use super::executor::{Executor, Submission};
use super::history::{Form, History, List, Outcome, Predicate, Step, Transaction};
use super::rows::first_members;
use super::workload::{HistorySettings, Planner};

/// Steps of the transactions before and after the history.
const STEPS_AT_ONCE: usize = 64;

/// Maximum number of attempts to read the same lists.
const READINGS: usize = 100;

/// Runs clients until all transactions are done, then reads everything once more, so that versions that no transaction
/// read in time are seen too. The executor must be empty.
///
/// # Errors
/// When the engine fails.
pub fn run(executor: &(impl Executor + ?Sized), settings: &HistorySettings) -> Result<History, String> {
    let founding: Vec<_> = (0..settings.clubs()).map(Step::Found).collect();
    for steps in founding.chunks(STEPS_AT_ONCE) {
        match executor.execute(Submission::Closure, steps)? {
            Outcome::Committed(_) => {}
            Outcome::Aborted | Outcome::Unknown => {
                return Err("the first members of the clubs are there already, or something failed".to_owned());
            }
        }
    }
    let initial = (0..settings.clubs()).flat_map(first_members).collect();
    let (next, clock) = (AtomicU32::new(1), Instant::now());
    let clients: Vec<_> = std::thread::scope(|scope| {
        let start = |client| {
            let (next, clock) = (&next, &clock);
            scope.spawn(move || run_client(executor, settings, client, next, clock))
        };
        let clients: Vec<_> = (0..settings.clients).map(start).collect();
        clients.into_iter().map(|client| client.join().map_err(|_| "a client panicked".to_owned())?).collect()
    });
    let mut numbered = clients.into_iter().collect::<Result<Vec<_>, String>>()?.concat();
    numbered.sort_by_key(|(number, _)| *number);
    let mut transactions: Vec<_> = numbered.into_iter().map(|(_, transaction)| transaction).collect();
    read_all(executor, settings, &clock, &mut transactions)?;
    Ok(History { transactions, initial })
}

fn now_ns(clock: &Instant) -> u64 {
    clock.elapsed().as_nanos() as u64
}

fn run_client(
    executor: &(impl Executor + ?Sized),
    settings: &HistorySettings,
    client: usize,
    next: &AtomicU32,
    clock: &Instant,
) -> Result<Vec<(u32, Transaction)>, String> {
    let mut planner = Planner::new(settings, client);
    let mut done = Vec::new();
    loop {
        // Only the numbers must differ: nothing else is passed on with them.
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number > settings.transactions {
            return Ok(done);
        }
        let (way, steps) = planner.plan(number);
        let transaction = run_one(executor, client as u32, clock, way, steps);
        let transaction = transaction.inspect_err(|_| {
            // The others need not go on.
            next.store(settings.transactions + 1, Ordering::Relaxed);
        })?;
        planner.learn(&transaction.steps, &transaction.outcome);
        done.push((number, transaction));
    }
}

fn run_one(
    executor: &(impl Executor + ?Sized),
    client: u32,
    clock: &Instant,
    way: Submission,
    steps: Vec<Step>,
) -> Result<Transaction, String> {
    let invoked_ns = now_ns(clock);
    let outcome = executor.execute(way, &steps)?;
    Ok(Transaction { client, invoked_ns, completed_ns: now_ns(clock), steps, outcome })
}

fn read_all(
    executor: &(impl Executor + ?Sized),
    settings: &HistorySettings,
    clock: &Instant,
    transactions: &mut Vec<Transaction>,
) -> Result<(), String> {
    let lists = (0..settings.lists())
        .flat_map(|number| [Form::Rows, Form::Packed].map(|form| Step::Read(List { form, number })));
    let clubs = (0..settings.clubs()).map(|club| Step::Scan(Predicate::Members { club }));
    let steps: Vec<_> = lists.chain(clubs).collect();
    for steps in steps.chunks(STEPS_AT_ONCE) {
        let client = settings.clients as u32;
        // Reading does no harm, so it is repeated until there is an answer.
        let read = || run_one(executor, client, clock, Submission::Closure, steps.to_vec());
        let has_read = |it: &Result<Transaction, String>| it.as_ref().map_or(true, Transaction::committed);
        let answered = std::iter::repeat_with(read).take(READINGS).find(has_read);
        transactions.push(answered.ok_or("nothing can be read after the history")??);
    }
    Ok(())
}
