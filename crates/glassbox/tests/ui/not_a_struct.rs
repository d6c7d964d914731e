//! Shapes that are no row.
use glassbox::Record;

#[derive(Record, Clone, Copy)]
#[record(key = id)]
enum Item {
    One,
}

#[derive(Record, Clone, Copy)]
#[record(key = id)]
union Other {
    id: u32,
}

#[derive(Record, Clone, Copy)]
#[record(key = id)]
struct Pair(u32, u32);

fn main() {}
