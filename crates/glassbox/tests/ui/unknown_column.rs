//! Columns that do not exist, in the key, in an index, and as partitioning.
use glassbox::Record;

#[derive(Record, Clone, Copy)]
#[record(key = (w_id, ident))]
struct Item {
    w_id: u16,
    id: u32,
}

#[derive(Record, Clone, Copy)]
#[record(key = id, partition_by = warehouse, index(name = by_name, columns = (name, id)))]
struct Other {
    w_id: u16,
    id: u32,
}

fn main() {}
