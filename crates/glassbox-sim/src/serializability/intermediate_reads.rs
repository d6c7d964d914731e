//! G1b: of what a transaction writes several times, others see the last only (Adya 1999, §4.2.3).

use super::anomaly::{Class, Findings};
use super::explain::told;
use super::facts::{readings, writings};
use super::history::History;

/// Finds versions that were the newest when they were read, although their writer wrote another after them.
pub fn find(history: &History, findings: &mut Findings) {
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
