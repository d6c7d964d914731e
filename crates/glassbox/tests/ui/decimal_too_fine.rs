//! A decimal with more digits than 64 bits have.
use glassbox::{Record, record::*};

#[derive(Record, Clone, Copy)]
#[record(key = id)]
struct Item {
    id: u32,
    price: Decimal<19>,
}

fn main() {}
