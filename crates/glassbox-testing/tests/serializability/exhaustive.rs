//! The checker against a search of all serial orders.
//!
//! A few small transactions run step by step in a random interleaving on the reference model, so that some histories
//! are serializable and most are not. All orders of the committed ones are then tried on a new model. If one gives the
//! same answers, the checker must find nothing. If none does, it must find something, but where it cannot know which
//! version a scan did not see; lists leave nothing unknown.

use glassbox_testing::dice::{Dice, long, seed};
use glassbox_testing::serializability::executor::{Executor, Serial, Submission};
use glassbox_testing::serializability::history::{
    Form, History, List, Member, Outcome, Predicate, Step, Transaction, Value,
};
use glassbox_testing::serializability::rows::first_members;
use glassbox_testing::serializability::{Report, check};

const CLUB: u32 = 1;
/// So many, and ten times as many in the long form.
const HISTORIES: u64 = 4_000;

fn list_step(dice: &mut Dice, value: Value) -> Step {
    let form = if dice.one_in(2) { Form::Rows } else { Form::Packed };
    let list = List { form, number: 0 };
    if dice.one_in(2) { Step::Append(list, value) } else { Step::Read(list) }
}

fn club_step(dice: &mut Dice, value: Value) -> Step {
    let rank = dice.below(10) as u8;
    let (who, _) = first_members(CLUB).nth(dice.below(2) as usize).expect("a club has members");
    match dice.below(8) {
        0 => Step::Join(Member { club: CLUB, id: value.0 }, rank, value),
        1 | 2 => Step::Rank(who, rank, value),
        3 => Step::Leave(who, value),
        4 => Step::Look(who),
        5 => Step::Scan(Predicate::Members { club: CLUB }),
        _ => Step::Scan(Predicate::Ranks { club: CLUB, from: rank, to: rank + 3 }),
    }
}

fn new_model() -> Serial {
    let model = Serial::default();
    model.execute(Submission::Closure, &[Step::Found(CLUB)]).expect("the model does not fail");
    model
}

/// Transactions that are not isolated at all: a step of one, a step of another.
fn interleaved(dice: &mut Dice, any_step: fn(&mut Dice, Value) -> Step) -> History {
    let mut transactions = Vec::new();
    for number in 1..=2 + dice.below(3) as u32 {
        let steps = (0..1 + dice.below(3) as usize).map(|at| any_step(dice, Value::new(number, at))).collect();
        let outcome = Outcome::Committed(Vec::new());
        transactions.push(Transaction { client: number, invoked_ns: 0, completed_ns: 0, steps, outcome });
    }
    let (model, mut now) = (new_model(), 1);
    let mut left: Vec<_> = (0..transactions.len()).collect();
    while !left.is_empty() {
        let at = dice.below(left.len() as u64) as usize;
        let transaction: &mut Transaction = &mut transactions[left[at]];
        let Outcome::Committed(seen) = &mut transaction.outcome else { unreachable!("it would not be left") };
        let done =
            model.execute(Submission::Closure, &[transaction.steps[seen.len()]]).expect("the model does not fail");
        let Outcome::Committed(more) = done else { unreachable!("no step aborts") };
        if seen.is_empty() {
            transaction.invoked_ns = now;
        }
        seen.extend(more);
        if seen.len() == transaction.steps.len() {
            transaction.completed_ns = now + 1;
            left.swap_remove(at);
        }
        now += 2;
    }
    History { transactions, initial: first_members(CLUB).collect() }
}

/// Whether some order of the transactions that are left gives their answers: after those in `done`, which do.
fn some_order(history: &History, done: &mut Vec<usize>, real_time: bool) -> bool {
    let all = &history.transactions;
    if done.len() == all.len() {
        return true;
    }
    (0..all.len()).any(|next| {
        let too_early = |other: usize| !done.contains(&other) && all[other].completed_ns < all[next].invoked_ns;
        if done.contains(&next) || real_time && (0..all.len()).any(too_early) {
            return false;
        }
        let model = new_model();
        let gives = |at: &usize| model.execute(Submission::Declared, &all[*at].steps).as_ref() == Ok(&all[*at].outcome);
        done.push(next);
        let found = done.iter().all(gives) && some_order(history, done, real_time);
        done.pop();
        found
    })
}

/// Histories that are serializable, that are not, and of those the ones that were not found out.
#[derive(Debug, Default)]
struct Count {
    right: u64,
    wrong: u64,
    missed: u64,
}

impl Count {
    fn add(&mut self, history: &History, report: &Report, found_right: bool, real_time: bool) {
        if some_order(history, &mut Vec::new(), real_time) {
            self.right += 1;
            assert!(found_right, "there is an order, but: {report}\n{history:#?}");
        } else {
            self.wrong += 1;
            self.missed += u64::from(found_right);
        }
    }
}

fn compare(any_step: fn(&mut Dice, Value) -> Step) -> (Count, Count) {
    let (mut plain, mut strict) = (Count::default(), Count::default());
    let mut dice = Dice(seed(1));
    for _ in 0..if long() { 10 * HISTORIES } else { HISTORIES } {
        let history = interleaved(&mut dice, any_step);
        let report = check(&history);
        plain.add(&history, &report, report.is_serializable(), false);
        strict.add(&history, &report, report.is_strictly_serializable(), true);
    }
    println!("{plain:?}; strictly: {strict:?}");
    assert!(plain.right > 500 && plain.wrong > 500 && strict.wrong > plain.wrong, "{plain:?}; strictly: {strict:?}");
    (plain, strict)
}

#[test]
fn lists() {
    let (plain, strict) = compare(list_step);
    assert_eq!((plain.missed, strict.missed), (0, 0));
}

#[test]
fn clubs() {
    let (plain, strict) = compare(club_step);
    assert!(plain.missed * 25 < plain.wrong && strict.missed * 25 < strict.wrong, "{plain:?}; strictly: {strict:?}");
}

#[test]
fn both() {
    let (plain, strict) =
        compare(|dice, value| if dice.one_in(2) { list_step(dice, value) } else { club_step(dice, value) });
    assert!(plain.missed * 25 < plain.wrong && strict.missed * 25 < strict.wrong, "{plain:?}; strictly: {strict:?}");
}
