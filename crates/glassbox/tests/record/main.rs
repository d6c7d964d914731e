//! What a record promises: its stored layout, the order of its keys, the keys within bounds, and its values.

mod bounds;
mod keys;
mod layout;
mod values;

use glassbox::{Record, record::*};

/// A record with a column of every type.
#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(
    table = "every",
    key = (a, e),
    partition_by = e,
    access = point,
    index(name = by_text, columns = (l, a)),
    index(name = by_time, columns = (e, k), unique),
    index(name = by_a, columns = (e, a)),
)]
struct Every {
    a: u8,
    b: u16,
    c: u32,
    d: u64,
    e: i8,
    f: i16,
    g: i32,
    h: i64,
    i: bool,
    j: Decimal<2>,
    k: Timestamp,
    l: Text<4>,
    m: Bytes<3>,
    n: Option<u16>,
    r#type: Option<Text<2>>,
}

/// Everything left to its default.
#[derive(Record, Clone, Copy)]
#[record(key = id)]
struct OrderLine {
    id: u64,
}

#[derive(Record, Clone, Copy)]
#[record(key = (id), replicated)]
struct Item {
    id: u32,
}

fn every() -> Every {
    Every {
        a: 0x01,
        b: 0x0203,
        c: 0x0405_0607,
        d: 0x0809_0a0b_0c0d_0e0f,
        e: -1,
        f: -2,
        g: -3,
        h: -4,
        i: true,
        j: Decimal::from_units(150),
        k: Timestamp::from_micros(1_000_000),
        l: Text::new("née").unwrap(),
        m: Bytes([0, 255, 7]),
        n: Some(0x0102),
        r#type: None,
    }
}
