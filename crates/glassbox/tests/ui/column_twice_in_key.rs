//! A column twice in a key.
use glassbox::Record;

#[derive(Record, Clone, Copy)]
#[record(key = (id, id))]
struct Item {
    id: u32,
}

fn main() {}
