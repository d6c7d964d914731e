//! Tables for the tests of the tools, with a column of every type.

use std::path::Path;

use glassbox::Record;
use glassbox::record::{Bytes, Decimal, Text, Timestamp};

#[derive(Record, Clone, Copy)]
#[record(table = "thing", key = (side, id), partition_by = id)]
#[record(index(name = by_name, columns = (name, id), unique))]
pub struct Thing {
    pub id: u32,
    pub side: i16,
    pub name: Text<8>,
    pub price: Decimal<2>,
    pub seen: Option<Timestamp>,
    pub good: bool,
    pub code: Bytes<3>,
}

#[derive(Record, Clone, Copy)]
#[record(table = "note", key = id, replicated, access = point)]
pub struct Note {
    pub id: u8,
    pub text: Text<16>,
}

pub fn name(text: &str) -> Text<8> {
    Text::new(text).unwrap()
}

/// A thing whose other columns follow from its number; the price is in hundredths.
pub fn thing(side: i16, id: u32, price: i64) -> Thing {
    Thing {
        id,
        side,
        name: name(&format!("n{id}")),
        price: Decimal::from_units(price),
        seen: (id == 2).then_some(Timestamp::from_micros(1_709_210_096_000_007)),
        good: id != 3,
        code: Bytes([id as u8, 0xab, 0]),
    }
}

/// A note with characters that need escapes.
pub fn note() -> Note {
    Note { id: 1, text: Text::new("a \"b\", c").unwrap() }
}

/// All files of a database, with their contents.
pub fn snapshot(path: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for directory in ["", "log", "checkpoint"] {
        let Ok(entries) = std::fs::read_dir(path.join(directory)) else { continue };
        for entry in entries.map(Result::unwrap) {
            if entry.file_type().unwrap().is_file() {
                files.push((entry.path().display().to_string(), std::fs::read(entry.path()).unwrap()));
            }
        }
    }
    files.sort();
    files
}
