//! An attribute that does not exist, on the record and within an index.
use glassbox::Record;

#[derive(Record, Clone, Copy)]
#[record(keys = id)]
struct Item {
    id: u32,
}

#[derive(Record, Clone, Copy)]
#[record(key = id, index(name = by_a, column = a))]
struct Other {
    id: u32,
    a: u32,
}

#[derive(Record, Clone, Copy)]
#[record(key = id, access = hash)]
struct Third {
    id: u32,
}

fn main() {}
