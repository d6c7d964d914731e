//! Questions, which wait for their answers: for those who look after a cluster and do nothing else with their link.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::link::{Letter, Link};
use crate::address::Address;
use crate::wire::{Answer, Question};

/// Asks, and waits for the answer. Messages that come meanwhile are lost.
///
/// # Errors
/// When there is none before `until`.
pub fn ask(link: &mut impl Link, to: Address, question: Question, until: Instant) -> Result<Answer, String> {
    ask_all(link, [(to, question)], until).remove(&to).expect("everybody asked has an answer")
}

/// Asks several at once, and waits for all answers.
pub(super) fn ask_all(
    link: &mut impl Link,
    questions: impl IntoIterator<Item = (Address, Question)>,
    until: Instant,
) -> BTreeMap<Address, Result<Answer, String>> {
    // What came before is no answer to what is asked now.
    while link.receive(Duration::ZERO).is_some() {}
    let reached: BTreeSet<_> = link.everybody().into_iter().collect();
    let (mut answers, mut open) = (BTreeMap::new(), BTreeSet::new());
    for (to, question) in questions {
        let is_here = reached.contains(&to);
        let missing = if is_here { "it does not answer" } else { "it cannot be reached" };
        answers.insert(to, Err(format!("{to}: {missing}")));
        if is_here {
            link.question(to, question);
            open.insert(to);
        }
    }
    link.flush();
    while !open.is_empty() {
        let left = until.saturating_duration_since(Instant::now());
        let (from, answer) = match link.receive(left) {
            Some(Letter::Answer(from, answer)) => (from, Ok(answer)),
            Some(Letter::Gone(from, why)) => (from, Err(format!("{from} is gone: {why}"))),
            None if left.is_zero() => break,
            _ => continue,
        };
        if open.remove(&from) {
            answers.insert(from, answer);
        }
    }
    answers
}
