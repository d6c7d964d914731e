//! A record with a parameter.
use glassbox::{Record, record::*};

#[derive(Record, Clone, Copy)]
#[record(key = id)]
struct Item<const N: usize> {
    id: u32,
    name: Text<N>,
}

fn main() {}
