//! Histories that contradict themselves.
use glassbox::Record;
use glassbox::record::Text;

#[derive(Record, Clone, Copy)]
#[record(key = id, was("old", 1))]
struct FirstVersion {
    id: u64,
}

#[derive(Record, Clone, Copy)]
#[record(key = id, dropped("z", i32))]
struct NoVersion {
    id: u64,
}

#[derive(Record, Clone, Copy)]
#[record(key = id, dropped("z", i32, size = 4, at = 3))]
struct UnknownAttribute {
    id: u64,
}

#[derive(Record, Clone, Copy)]
#[record(key = id)]
struct NoLiteral {
    id: u64,
    #[record(added = 2, default = None)]
    maybe: Option<u32>,
}

#[derive(Record, Clone, Copy)]
#[record(key = id, was("old", 3), was("older", 2), dropped("y", i32, default = 0, at = 5))]
#[record(dropped("x", i32, added = 5, default = 0, at = 5), dropped("w", i32, added = 2, at = 5))]
struct Item {
    #[record(added = 2, default = 0)]
    id: u64,
    #[record(added = 2)]
    count: u32,
    #[record(default = "none")]
    text: Text<8>,
    #[record(added = 4, default = 0, was("number", 4))]
    total: u32,
}

fn main() {}
