//! There is one order of the versions of an item, for those who write and for all who read.
//!
//! Elle compares the lists that were read with each other: one must be the beginning of the other. Here an append
//! says where, so it is enough to compare every list with the writers' word: two lists that differ in a place cannot
//! both agree with it.

use super::anomaly::{Class, Findings};
use super::explain::told;
use super::facts::{readings, version_written};
use super::history::{History, Value};

/// Finds values that stand elsewhere than where their writers put them.
pub fn find(history: &History, findings: &mut Findings) {
    for (number, transaction) in history.committed() {
        for reading in readings(transaction) {
            let (item, value, version) = (reading.item, reading.value, reading.version);
            let written = if value == Value::INITIAL { Some(0) } else { version_written(history, item, value) };
            let Some(written) = written.filter(|written| *written != version) else { continue };
            let writer = value.writer();
            let both = [writer, number];
            let who = if writer == 0 { &both[1..] } else { &both[..] };
            findings.add(Class::IncompatibleOrder, who, || {
                let mut text: String = who.iter().map(|number| told(history, *number) + "\n").collect();
                let by =
                    if writer == 0 { "it was there before as".to_owned() } else { format!("T{writer} wrote it as") };
                text += &format!("T{number} saw {value} as version {version} of {item}, but {by} version {written}");
                text
            });
        }
    }
}
