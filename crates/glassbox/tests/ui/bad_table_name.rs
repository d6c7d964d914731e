//! A table name that is no name.
use glassbox::Record;

#[derive(Record, Clone, Copy)]
#[record(table = "two words", key = id)]
struct Item {
    id: u32,
}

fn main() {}
