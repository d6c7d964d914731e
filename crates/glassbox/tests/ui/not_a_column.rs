//! A field whose type is no column.
use glassbox::Record;

#[derive(Record, Clone, Copy)]
#[record(key = id)]
struct Item {
    id: u32,
    price: f64,
}

fn main() {}
