//! An option of an option, plain and behind an alias.
use glassbox::Record;

type Maybe = Option<u8>;

#[derive(Record, Clone, Copy)]
#[record(key = id)]
struct Item {
    id: u32,
    size: Option<Option<u8>>,
}

#[derive(Record, Clone, Copy)]
#[record(key = id)]
struct Other {
    id: u32,
    size: Option<Maybe>,
}

fn main() {}
