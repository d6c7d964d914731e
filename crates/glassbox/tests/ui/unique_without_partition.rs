//! Unique indexes that say nothing of the column that decides the partition: named, and by default the key's first.
use glassbox::Record;

#[derive(Record, Clone, Copy)]
#[record(key = (town, id), partition_by = id, index(name = by_mail, columns = (town, mail), unique))]
struct Person {
    town: u16,
    id: u32,
    mail: u64,
}

#[derive(Record, Clone, Copy)]
#[record(key = id, index(name = by_a, columns = a, unique), index(name = by_b, columns = b, unique))]
struct Other {
    id: u32,
    a: u32,
    b: u32,
}

/// With the column that decides the partition the index would not contain the whole key.
#[derive(Record, Clone, Copy)]
#[record(key = (town, id), index(name = by_mail, columns = mail, unique))]
struct Within {
    town: u16,
    id: u32,
    mail: u64,
}

/// Replicated: every partition has all rows.
#[derive(Record, Clone, Copy)]
#[record(key = id, replicated, index(name = by_a, columns = a, unique))]
struct Fine {
    id: u32,
    a: u32,
}

fn main() {}
