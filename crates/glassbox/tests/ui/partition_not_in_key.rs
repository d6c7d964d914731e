//! Partitioned by a column that is not in the key.
use glassbox::Record;

#[derive(Record, Clone, Copy)]
#[record(key = id, partition_by = w_id)]
struct Item {
    w_id: u16,
    id: u32,
}

fn main() {}
