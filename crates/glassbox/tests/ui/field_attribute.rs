//! An attribute on a field.
use glassbox::Record;

#[derive(Record, Clone, Copy)]
#[record(key = id)]
struct Item {
    #[record(key)]
    id: u32,
}

fn main() {}
