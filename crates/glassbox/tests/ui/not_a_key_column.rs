//! A key of a column that has no order.
use glassbox::{Record, record::*};

#[derive(Clone, Copy, PartialEq)]
struct Blob;

impl Column for Blob {
    const TYPE: ColumnType = ColumnType::Bytes(0);
    const WIDTH: usize = 0;
    fn store(&self, _: &mut [u8]) {}
    fn load(_: &[u8]) -> Result<Self, BadColumn> {
        Ok(Self)
    }
}

#[derive(Record, Clone, Copy)]
#[record(key = (id, blob))]
struct Item {
    id: u32,
    blob: Blob,
}

fn main() {}
