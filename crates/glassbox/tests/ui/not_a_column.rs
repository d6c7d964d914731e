//! A field whose type is no column.
use glassbox::Record;

#[derive(Record, Clone, Copy)]
#[record(key = id)]
struct Item {
    id: u32,
    price: std::time::Duration,
}

fn main() {}
