//! A record that is not Copy.
use glassbox::Record;

#[derive(Record, Clone)]
#[record(key = id)]
struct Item {
    id: u32,
}

fn main() {}
