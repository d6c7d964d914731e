//! Unique indexes that contain the primary key, and so enforce nothing.
use glassbox::Record;
use glassbox::record::Text;

#[derive(Record, Clone, Copy)]
#[record(key = id, index(name = by_mail, columns = (id, mail), unique))]
struct Customer {
    id: u32,
    mail: Text<40>,
}

#[derive(Record, Clone, Copy)]
#[record(key = (town, id), replicated)]
#[record(index(name = by_id, columns = (id, town), unique), index(name = by_both, columns = (a, id, b, town), unique))]
struct Other {
    town: u16,
    id: u32,
    a: u8,
    b: Option<u8>,
}

fn main() {}
