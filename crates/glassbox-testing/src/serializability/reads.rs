//! Reads of what was not there to be read: never written, aborted, or overwritten by its writer.
//!
//! - Garbage: what is read was written, by the step that its value names, and was asked for.
//! - G1a: nothing is read of a transaction that aborted (Adya 1999, §4.2.2). To write over a version is to have read
//!   it, so what was built on an aborted version is found too.
//! - G1b: of what a transaction writes several times, others see the last only (Adya 1999, §4.2.3).

use super::anomaly::{Class, Findings};
use super::explain::told;
use super::facts::{Fact, Item, facts, item_of, readings, value_of, writings};
use super::history::{History, Member, Outcome, ReadVersion, Seen, Step, Value};

/// Finds reads of what no step wrote, and rows that a scan did not ask for.
pub fn garbage(history: &History, findings: &mut Findings) {
    for (number, transaction) in history.committed() {
        for reading in readings(transaction) {
            if !exists(history, reading.item, reading.value) {
                findings.add(Class::Garbage, &[number], || {
                    let (item, value) = (reading.item, reading.value);
                    format!("{}\nT{number} saw {value} in {item}, where no transaction wrote it", told(history, number))
                });
            }
        }
        for (_, fact) in facts(transaction) {
            let Fact::Range { predicate, rows } = fact else { continue };
            for row in rows {
                let member = Member { club: predicate.club(), id: row.id };
                let wrong = if !predicate.matches(Some(row.rank)) {
                    "which it did not ask for"
                } else if !has_rank(history, member, row) {
                    "with a rank that it was never given"
                } else {
                    continue;
                };
                findings.add(Class::Garbage, &[number], || {
                    format!("{}\nT{number} scanned {predicate} and was given {row}, {wrong}", told(history, number))
                });
            }
        }
    }
}

/// Finds reads of what an aborted transaction wrote.
pub fn aborted(history: &History, findings: &mut Findings) {
    for (number, transaction) in history.committed() {
        for reading in readings(transaction) {
            let writer = reading.value.writer();
            if history.get(writer).is_some_and(|it| !it.committed()) {
                findings.add(Class::AbortedRead, &[writer, number], || {
                    let (writes, reads) = (told(history, writer), told(history, number));
                    let (item, value) = (reading.item, reading.value);
                    format!("{writes}\n{reads}\nT{number} saw {value} in {item}, but T{writer} aborted")
                });
            }
        }
    }
}

/// Finds versions that were the newest when they were read, although their writer wrote another after them.
pub fn intermediate(history: &History, findings: &mut Findings) {
    for (number, transaction) in history.committed() {
        for reading in readings(transaction).filter(|reading| reading.newest && reading.value.writer() != number) {
            let Some(writer) = history.get(reading.value.writer()) else { continue };
            let later = writings(writer).find(|&(step, item, ..)| item == reading.item && step > reading.value.step());
            if let Some((_, item, _, last)) = later {
                let (by, value) = (reading.value.writer(), reading.value);
                findings.add(Class::IntermediateRead, &[by, number], || {
                    let (writes, reads) = (told(history, by), told(history, number));
                    format!("{writes}\n{reads}\nT{number} saw {value} in {item}, before T{by} wrote {last} there too")
                });
            }
        }
    }
}

/// Whether the step that a value names writes this item, and did if it committed.
fn exists(history: &History, item: Item, value: Value) -> bool {
    // An insert, and the first append, write over nothing.
    if value == Value::INITIAL {
        return true;
    }
    let Some(writer) = history.get(value.writer()) else { return false };
    let step = writer.steps.get(value.step());
    let writes = step.is_some_and(|step| value_of(step) == Some(value) && item_of(step) == Some(item));
    let did = match &writer.outcome {
        Outcome::Committed(seen) => matches!(seen.get(value.step()), Some(Seen::Wrote { .. })),
        Outcome::Aborted | Outcome::Unknown => true,
    };
    writes && did
}

/// Whether the writer of a row gave it the rank that was read; true when that cannot be said.
fn has_rank(history: &History, member: Member, row: &ReadVersion) -> bool {
    if row.value == Value::INITIAL {
        return history.initial.get(&member) == Some(&row.rank);
    }
    let step = history.get(row.value.writer()).and_then(|writer| writer.steps.get(row.value.step()));
    match step {
        Some(Step::Join(_, rank, _) | Step::Rank(_, rank, _)) => *rank == row.rank,
        _ => true,
    }
}
