//! A key of nine columns, and an index that the primary key makes as long.
use glassbox::Record;

#[derive(Record, Clone, Copy)]
#[record(key = (a, b, c, d, e, f, g, h, i))]
struct Item {
    a: u8, b: u8, c: u8, d: u8, e: u8, f: u8, g: u8, h: u8, i: u8,
}

#[derive(Record, Clone, Copy)]
#[record(key = (a, b, c, d), index(name = by_e, columns = (e, f, g, h, i)))]
struct Other {
    a: u8, b: u8, c: u8, d: u8, e: u8, f: u8, g: u8, h: u8, i: u8,
}

fn main() {}
