//! A key of more than 128 bytes.
use glassbox::{Record, record::*};

#[derive(Record, Clone, Copy)]
#[record(key = (id, name))]
struct Item {
    id: u32,
    name: Text<125>,
}

fn main() {}
