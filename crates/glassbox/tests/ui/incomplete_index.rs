//! An index without a name, and one without columns.
use glassbox::Record;

#[derive(Record, Clone, Copy)]
#[record(key = id, index(columns = id))]
struct Item {
    id: u32,
}

#[derive(Record, Clone, Copy)]
#[record(key = id, index(name = by_id))]
struct Other {
    id: u32,
}

fn main() {}
