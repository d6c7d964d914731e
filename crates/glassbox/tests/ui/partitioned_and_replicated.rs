//! Both partitioned and replicated.
use glassbox::Record;

#[derive(Record, Clone, Copy)]
#[record(key = id, partition_by = id, replicated)]
struct Item {
    id: u32,
}

fn main() {}
