//! An enum whose values have fields.
use glassbox::record::Column;

#[derive(Column, Debug, Clone, Copy, PartialEq)]
enum Payment {
    Cash,
    Card(u64),
}

fn main() {}
