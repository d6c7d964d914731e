//! Unknown outcomes: a client lost the answer because a part of the engine failed. The lists show what has committed.
//!
//! A value names its transaction and stays in its list, so a transaction has committed if a committed one has read one
//! of its values. Then the places of its values show its appends; what it read is not known. If no value was read, it
//! counts as aborted: all lists are read at the end, so no transaction has seen a value that is in none of them.

use std::collections::BTreeMap;

use super::history::{History, List, Outcome, Seen, Step, Value};
use super::rows::MAX_ELEMENTS;

/// Settles all unknown outcomes; the number of commits among them. Such a transaction may have run after its client had
/// stopped waiting, so it never counts as answered.
///
/// # Errors
/// When a half of a transaction has committed, when one has committed that was to abort, or when one changed members of
/// clubs: a member that is missing does not name the transaction that deleted it.
pub fn settle(history: &mut History) -> Result<usize, String> {
    let lists = longest(history);
    let mut commits = 0;
    for (number, transaction) in (1..).zip(&mut history.transactions) {
        if transaction.outcome != Outcome::Unknown {
            continue;
        }
        let seen: Vec<_> = transaction.steps.iter().map(|step| seen(step, &lists)).collect::<Result<_, _>>()?;
        let is_there = |seen: &Seen| matches!(seen, Seen::Wrote { .. });
        transaction.outcome = if seen.iter().any(is_there) {
            let missing = transaction.steps.iter().zip(&seen).find(|(step, seen)| match step {
                Step::Append(list, _) => !is_there(seen) && lists.get(list).is_none_or(|it| it.len() < ELEMENTS),
                _ => false,
            });
            if let Some((step, _)) = missing {
                return Err(format!("T{number} is there, and its step {step:?} is not"));
            }
            if transaction.steps.contains(&Step::Abort) {
                return Err(format!("T{number} was to abort, and has committed"));
            }
            commits += 1;
            Outcome::Committed(seen)
        } else {
            Outcome::Aborted
        };
        transaction.completed_ns = u64::MAX;
    }
    Ok(commits)
}

const ELEMENTS: usize = MAX_ELEMENTS as usize;

/// The longest list that was read, of each.
fn longest(history: &History) -> BTreeMap<List, Vec<Value>> {
    let mut lists: BTreeMap<List, Vec<Value>> = BTreeMap::new();
    for (_, transaction) in history.committed() {
        for (_, step, seen) in transaction.answers() {
            if let (Step::Read(list), Seen::Values(values)) = (step, seen)
                && lists.get(list).is_none_or(|longest| longest.len() < values.len())
            {
                lists.insert(*list, values.clone());
            }
        }
    }
    lists
}

/// What a step would have answered, as far as the lists say.
fn seen(step: &Step, lists: &BTreeMap<List, Vec<Value>>) -> Result<Seen, String> {
    match step {
        Step::Append(list, value) => {
            let values = lists.get(list).map_or(&[][..], Vec::as_slice);
            let Some(at) = values.iter().position(|it| it == value) else { return Ok(Seen::Nothing) };
            let over = at.checked_sub(1).map_or(Value::INITIAL, |before| values[before]);
            Ok(Seen::Wrote { version: at as u32 + 1, over })
        }
        Step::Read(_) | Step::Look(_) | Step::Scan(_) | Step::Abort => Ok(Seen::Unknown),
        Step::Join(..) | Step::Rank(..) | Step::Leave(..) | Step::Found(_) => {
            Err("members of clubs do not show how a transaction ended; use lists".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::super::history::{Form, Transaction};
    use super::*;

    const LIST: List = List { form: Form::Rows, number: 0 };
    const OTHER: List = List { form: Form::Packed, number: 0 };

    fn transaction(number: u32, steps: &[Step], outcome: Outcome) -> Transaction {
        let at = u64::from(number) * 10;
        Transaction { client: 0, invoked_ns: at, completed_ns: at + 1, steps: steps.to_vec(), outcome }
    }

    fn history(read: [Vec<Value>; 2]) -> History {
        let value = Value::new;
        let appends = |number| [Step::Append(LIST, value(number, 0)), Step::Append(OTHER, value(number, 1))];
        let wrote = |version| Seen::Wrote { version, over: Value::INITIAL };
        let transactions = vec![
            transaction(1, &appends(1), Outcome::Committed(vec![wrote(1), wrote(1)])),
            transaction(2, &[&appends(2)[..], &[Step::Read(LIST)]].concat(), Outcome::Unknown),
            transaction(3, &[Step::Read(LIST), Step::Read(OTHER)], Outcome::Committed(read.map(Seen::Values).into())),
        ];
        History { transactions, ..History::default() }
    }

    #[test]
    fn what_was_read_has_committed() {
        let (first, second) = ([Value::new(1, 0), Value::new(1, 1)], [Value::new(2, 0), Value::new(2, 1)]);
        let mut none = history([vec![first[0]], vec![first[1]]]);
        assert_eq!(settle(&mut none), Ok(0));
        assert!(check(&none).is_strictly_serializable() && none.transactions[1].outcome == Outcome::Aborted);
        let mut both = history([vec![first[0], second[0]], vec![first[1], second[1]]]);
        assert_eq!(settle(&mut both), Ok(1));
        assert!(check(&both).is_strictly_serializable(), "{}", check(&both));
        let half = settle(&mut history([vec![first[0], second[0]], vec![first[1]]])).unwrap_err();
        assert!(half.starts_with("T2 is there"), "{half}");
        // It is before the committed one in one list, and after it in the other.
        let mut apart = history([vec![second[0], first[0]], vec![first[1], second[1]]]);
        assert_eq!(settle(&mut apart), Ok(1));
        assert!(!check(&apart).is_strictly_serializable());
    }

    #[test]
    fn a_commit_of_what_aborts_is_noticed() {
        let [first, second] = [1, 2].map(|number| [Value::new(number, 0), Value::new(number, 1)]);
        let mut history = history([vec![first[0], second[0]], vec![first[1], second[1]]]);
        history.transactions[1].steps.push(Step::Abort);
        assert!(settle(&mut history).unwrap_err().contains("was to abort"));
    }

    #[test]
    fn members_are_refused() {
        let mut history = history([Vec::new(), Vec::new()]);
        let member = super::super::history::Member { club: 0, id: 1 };
        history.transactions[1].steps.push(Step::Leave(member, Value::new(2, 3)));
        assert!(settle(&mut history).is_err());
    }
}
