//! Two indexes of one name.
use glassbox::Record;

#[derive(Record, Clone, Copy)]
#[record(key = id, index(name = by_a, columns = a), index(name = by_a, columns = id))]
struct Item {
    id: u32,
    a: u32,
}

fn main() {}
