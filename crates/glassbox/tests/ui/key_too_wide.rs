//! A key of more than 512 bytes.
use glassbox::{Record, record::*};

#[derive(Record, Clone, Copy)]
#[record(key = (id, name))]
struct Item {
    id: u32,
    name: Text<509>,
}

fn main() {}
