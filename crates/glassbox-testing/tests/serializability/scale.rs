//! Histories of a hundred thousand transactions: right ones, ones with a single mistake, and ones that are wrong all
//! over.

use glassbox_testing::serializability::history::{Form, History, List, Outcome, Seen, Step, Transaction, Value};
use glassbox_testing::serializability::{Class, check};

const TRANSACTIONS: u32 = 100_000;
/// Elements of each list.
const LENGTH: u32 = 16;

/// Each transaction appends one element, and reads the list as it was so many transactions before, by `late`. Each
/// overlaps with the next.
fn history(late: impl Fn(u32) -> u32) -> History {
    let transaction = |number: u32| {
        let list = List { form: Form::Rows, number: number / LENGTH };
        let begin = (number / LENGTH * LENGTH).max(1);
        let value = |number| if number < begin { Value::INITIAL } else { Value::new(number, 1) };
        let seen = (begin..number.saturating_sub(late(number))).map(value).collect();
        let wrote = Seen::Wrote { version: number - begin + 1, over: value(number - 1) };
        let at = u64::from(number) * 10;
        Transaction {
            client: number % 2,
            invoked_ns: at,
            completed_ns: at + 15,
            steps: vec![Step::Read(list), Step::Append(list, Value::new(number, 1))],
            outcome: Outcome::Committed(vec![Seen::Values(seen), wrote]),
        }
    };
    History { transactions: (1..=TRANSACTIONS).map(transaction).collect(), ..History::default() }
}

#[test]
fn right() {
    let report = check(&history(|_| 0));
    assert!(report.is_strictly_serializable(), "{report}");
    assert!(report.edges > 3 * u64::from(TRANSACTIONS), "{report}");
}

#[test]
fn one_mistake() {
    // Transaction 50,010 is among the last of its list, and misses two before it.
    let report = check(&history(|number| 2 * u32::from(number == 50_010)));
    assert_eq!(report.classes(), [Class::GSingle], "{report}");
    assert_eq!(report.anomalies[0].transactions, [50_008, 50_009, 50_010], "{report}");
}

#[test]
fn mistakes_everywhere() {
    let report = check(&history(|number| number % 5));
    assert_eq!(report.classes(), [Class::GSingle], "{report}");
    assert_eq!(report.anomalies[0].transactions.len(), 2, "{report}");
}
