//! An attribute given twice.
use glassbox::Record;

#[derive(Record, Clone, Copy)]
#[record(key = id, key = id)]
struct Item {
    id: u32,
}

fn main() {}
