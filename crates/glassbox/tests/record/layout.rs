//! The stored row: golden bytes, the schema that describes them, round trips, changes, and bytes that are no row.

use proptest::prelude::*;

use super::*;

#[rustfmt::skip]
const GOLDEN: [u8; 68] = [
    0x01,                                           // a: u8
    0x03, 0x02,                                     // b: u16
    0x07, 0x06, 0x05, 0x04,                         // c: u32
    0x0f, 0x0e, 0x0d, 0x0c, 0x0b, 0x0a, 0x09, 0x08, // d: u64
    0xff,                                           // e: i8
    0xfe, 0xff,                                     // f: i16
    0xfd, 0xff, 0xff, 0xff,                         // g: i32
    0xfc, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // h: i64
    0x01,                                           // i: bool
    0x96, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, // j: Decimal<2>, 150 units
    0x40, 0x42, 0x0f, 0x00, 0x00, 0x00, 0x00, 0x00, // k: Timestamp, microseconds
    b'n', 0xc3, 0xa9, b'e',                         // l: Text<4>
    0x00, 0xff, 0x07,                               // m: Bytes<3>
    0x01, 0x02, 0x01,                               // n: Option<u16>, some
    0x00, 0x00, 0x00,                               // type: Option<Text<2>>, none
    // Up to here the row; what follows shows that nothing is written past it.
    0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa,
];
const WIDTH: usize = GOLDEN.len() - 8;

fn stored(row: &Every) -> Vec<u8> {
    let mut bytes = vec![0xee; Every::ROW_WIDTH];
    row.store(&mut bytes);
    bytes
}

#[test]
fn a_row_is_stored_column_by_column_in_little_endian() {
    assert_eq!(Every::ROW_WIDTH, WIDTH);
    let mut bytes = [0xaa; GOLDEN.len()];
    every().store(&mut bytes[..WIDTH]);
    assert_eq!(bytes, GOLDEN);
    assert_eq!(Every::load(&GOLDEN[..WIDTH]), Ok(every()));
}

#[test]
fn the_schema_describes_the_layout() {
    let schema = Every::SCHEMA;
    assert_eq!((schema.name.as_ref(), Every::TABLE, schema.row_width), ("every", "every", WIDTH));
    let mut offset = 0;
    for column in schema.columns.iter() {
        assert_eq!(column.offset, offset, "{}", column.name);
        offset += column.width;
    }
    assert_eq!(offset, WIDTH);
    let last = &schema.columns[14];
    assert_eq!((last.name.as_ref(), &last.kind, last.nullable), ("type", &ColumnType::Text(2), true));
    assert_eq!(schema.columns[9].kind, ColumnType::Decimal(2));
    assert_eq!((schema.key.as_ref(), schema.partition_by, schema.access), (&[0, 4][..], Some(4), Access::Point));
    let indexes: Vec<_> =
        schema.indexes.iter().map(|index| (index.name.as_ref(), index.columns.to_vec(), index.unique)).collect();
    let expected = [("by_text", vec![11, 0, 4], false), ("by_time", vec![4, 10], true), ("by_a", vec![4, 0], false)];
    assert_eq!(indexes, expected);
    let json = serde_json::to_string(&schema).unwrap();
    assert_eq!(serde_json::from_str::<TableSchema>(&json).unwrap(), schema);
}

#[test]
fn what_is_not_said_has_a_default() {
    assert_eq!((OrderLine::TABLE, OrderLine::PLACEMENT, OrderLine::ACCESS), ("order_line", Some(0), Access::Ordered));
    assert_eq!((Item::TABLE, Item::PLACEMENT, Item::INDEXES), ("item", None, 0));
    let (key, encoded): (u64, u64) = (OrderLine { id: 3 }.key(), OrderLine { id: 3 }.key().encode());
    assert_eq!((key, encoded), (3, 3));
    assert!(!std::ptr::eq(Item::table_id(), OrderLine::table_id()));
    assert!(std::ptr::eq(Item::table_id(), Item::table_id()));
}

#[test]
fn indexes_are_visited_in_order_and_end_with_the_primary_key() {
    struct Names(Vec<(&'static str, usize, bool, Option<usize>)>);
    impl IndexVisitor<Every> for Names {
        fn visit<I: Index<Record = Every>>(&mut self) {
            self.0.push((I::NAME, I::POSITION, I::UNIQUE, I::PLACEMENT));
        }
    }
    let mut names = Names(Vec::new());
    Every::each_index(&mut names);
    let expected = [("by_text", 0, false, Some(2)), ("by_time", 1, true, Some(0)), ("by_a", 2, false, Some(0))];
    assert_eq!(names.0, expected);
    assert_eq!((Every::INDEXES, Every::PLACEMENT), (3, Some(1)));
    let row = every();
    assert_eq!(EveryByText::key(&row), (row.l, 1, -1));
    assert_eq!(EveryByTime::key(&row), (-1, row.k));
    assert_eq!(EveryByA::key(&row), (-1, 1));
}

#[test]
fn bytes_that_are_no_row_are_named() {
    let short = Every::load(&GOLDEN[..WIDTH - 1]).unwrap_err();
    assert_eq!(short.to_string(), "row of table `every` has 59 bytes where 60 are needed");
    let mut bytes = GOLDEN;
    bytes[30] = 2;
    let bad = Every::load(&bytes[..WIDTH]).unwrap_err();
    assert_eq!(bad.to_string(), "column `i` of table `every` is not a valid bool (0 or 1)");
    // A missing value is all zeros: equal rows have equal bytes.
    bytes = GOLDEN;
    bytes[WIDTH - 1] = 1;
    assert!(matches!(Every::load(&bytes[..WIDTH]), Err(BadRow::Column { column: "type", .. })));
    let mut row = every();
    let unknown = row.load_changes(1 << 15, &[]).unwrap_err();
    assert_eq!(unknown.to_string(), "change of table `every` names columns it does not have");
    let short = row.load_changes(0b11, &[9, 9]).unwrap_err();
    assert_eq!(short, BadRow::Width { table: "every", found: 2, expected: 3 });
}

#[test]
#[should_panic = "a row of table `every` is stored in 60 bytes, not 61"]
fn storing_into_another_width_panics() {
    every().store(&mut [0; WIDTH + 1]);
}

#[test]
fn only_changed_columns_are_stored() {
    let before = every();
    let after = Every { b: 7, n: None, ..before };
    let mut out = [0xaa; WIDTH];
    assert_eq!(after.store_changes(&before, &mut out), (1 << 1 | 1 << 13, 5));
    assert_eq!(out[..6], [7, 0, 0, 0, 0, 0xaa]);
    assert_eq!(before.store_changes(&before, &mut out), (0, 0));
}

fn rows() -> impl Strategy<Value = Every> {
    let unsigned = (any::<u8>(), any::<u16>(), any::<u32>(), any::<u64>());
    let signed = (any::<i8>(), any::<i16>(), any::<i32>(), any::<i64>());
    let others = (any::<bool>(), any::<i64>(), any::<i64>(), ".{0,6}", any::<[u8; 3]>());
    let options = (any::<Option<u16>>(), proptest::option::of("[a-zé]{0,3}"));
    (unsigned, signed, others, options).prop_map(|((a, b, c, d), (e, f, g, h), (i, j, k, l, m), (n, o))| Every {
        a,
        b,
        c,
        d,
        e,
        f,
        g,
        h,
        i,
        j: Decimal::from_units(j),
        k: Timestamp::from_micros(k),
        l: Text::truncated(&l),
        m: Bytes(m),
        n,
        r#type: o.map(|text| Text::truncated(&text)),
    })
}

/// Rows that differ in a few columns only, none of them of the primary key.
fn neighbours() -> impl Strategy<Value = (Every, Every)> {
    (rows(), rows(), 0..1_u64 << 15).prop_map(|(before, other, changed)| {
        let schema = Every::SCHEMA;
        let changed_columns = schema.columns.iter().enumerate().filter(|(at, _)| changed & (1 << at) != 0);
        let bytes = stored(&other);
        let ranges = changed_columns.map(|(_, column)| &bytes[column.offset..column.offset + column.width]);
        let mut after = before;
        after.load_changes(changed, &ranges.collect::<Vec<_>>().concat()).unwrap();
        (after.a, after.e) = (before.a, before.e);
        (before, after)
    })
}

proptest! {
    #[test]
    fn a_stored_row_loads_as_it_was(row in rows()) {
        prop_assert_eq!(Every::load(&stored(&row)), Ok(row));
    }

    #[test]
    fn changes_turn_before_into_after((before, after) in neighbours()) {
        let mut out = [0; WIDTH];
        let (columns, length) = after.store_changes(&before, &mut out);
        let mut row = before;
        prop_assert_eq!(row.load_changes(columns, &out[..length]), Ok(length));
        prop_assert_eq!(row, after);
        prop_assert_eq!(columns == 0, before == after);
    }

    #[test]
    fn any_bytes_load_or_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..80), columns: u64) {
        // Whatever loads stores as the same bytes: there is one stored form of each row.
        if let Ok(row) = Every::load(&bytes) {
            prop_assert_eq!(stored(&row), bytes.clone());
        }
        let mut row = every();
        let _ = row.load_changes(columns & 0xffff, &bytes);
    }

    #[test]
    fn nearly_right_bytes_load_or_are_refused(at in 0..WIDTH, byte: u8) {
        let mut bytes = GOLDEN[..WIDTH].to_vec();
        bytes[at] = byte;
        if let Ok(row) = Every::load(&bytes) {
            prop_assert_eq!(stored(&row), bytes);
        }
    }
}

/// The row drawn in `docs/formats/row.md`.
#[derive(Record, Clone, Copy)]
#[record(key = (w_id, id))]
struct Drawn {
    w_id: u16,
    id: i8,
    tax: Decimal<4>,
    name: Text<5>,
    manager: Option<u16>,
}

#[test]
#[rustfmt::skip]
fn the_documented_row_is_stored_as_drawn() {
    let (tax, name) = ("0.0825".parse().unwrap(), Text::new("née").unwrap());
    let before = Drawn { w_id: 258, id: -1, tax, name, manager: None };
    let mut bytes = [0; Drawn::ROW_WIDTH];
    before.store(&mut bytes);
    assert_eq!(bytes, [
        0x02, 0x01,
        0xff,
        0x39, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x6e, 0xc3, 0xa9, 0x65, 0x00,
        0x00, 0x00, 0x00,
    ]);
    let after = Drawn { name: Text::new("ned").unwrap(), manager: Some(7), ..before };
    assert_eq!(after.store_changes(&before, &mut bytes), (0b11000, 8));
    assert_eq!(bytes[..8], [0x6e, 0x65, 0x64, 0x00, 0x00, 0x01, 0x07, 0x00]);
    assert_eq!(before.key().encode::<u64>(), 0x01_027f);
    let within = Bounds::<(u16, i8)>::encode::<u64>(&Prefix(258_u16));
    assert_eq!(within, Some(Encoded { low: 0x01_0200, high: 0x01_02ff }));
}
