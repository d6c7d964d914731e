//! G1a: nothing is read of a transaction that aborted (Adya 1999, §4.2.2).
//!
//! To write over a version is to have read it, so what was built on an aborted version is found too.

use super::anomaly::{Class, Findings};
use super::explain::told;
use super::facts::readings;
use super::history::History;

/// Finds reads of what an aborted transaction wrote.
pub fn find(history: &History, findings: &mut Findings) {
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
