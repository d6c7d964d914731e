//! A record without a key.
use glassbox::Record;

#[derive(Record, Clone, Copy)]
struct Item {
    id: u32,
}

fn main() {}
