//! A value whose number has more than a byte, which is all that is stored.
use glassbox::record::Column;

#[derive(Column, Debug, Clone, Copy, PartialEq)]
enum Status {
    Found = 200,
    Moved = 301,
}

#[derive(Column, Debug, Clone, Copy, PartialEq)]
#[repr(i8)]
enum Sign {
    Minus = -1,
    Plus = 1,
}

fn main() {}
