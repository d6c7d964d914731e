//! Targets that read one record of the log, or one row.

use super::{AllArgumentTypes, Every, every, touch};
use crate::Record;
use crate::partitioned::{CommandHead, ProcedureKind, RowId, TableKind};
use crate::procedure::{PartitionSet, partition_of};
use crate::record::{EncodedKey, Key};
use crate::research::inspect::{Contents, Value, apply_record};

fn stored(row: &Every) -> Vec<u8> {
    let mut bytes = vec![0; Every::ROW_WIDTH];
    row.store(&mut bytes);
    bytes
}

/// Row changes, done by the engine and by the tools on the same rows: where neither objects, they come to the same.
pub(super) fn changes(bytes: &[u8]) {
    let mut table = (TableKind::of::<Every>().create)(0, 1 << 20, &mut Default::default()).expect("it is small");
    let mut contents = [Contents::new(&Every::SCHEMA)];
    for number in 0..20 {
        let row = stored(&every(number));
        table.load(&row, &|_| true).expect("they differ");
        contents[0].insert(&row).expect("they differ");
    }
    let mine = |placement: Option<u64>| placement.is_none_or(|placement| partition_of(placement, 1) == 0);
    // Replay looks ahead first, as far as it goes: it may not mind what it sees, must end each operation where it ends,
    // and what it finds may be another row, or none, when its turn comes.
    let (mut rest, mut ends, mut asked) = (bytes, Vec::new(), Vec::new());
    while let Some((&[operation, 0, 0], operand)) = rest.split_first_chunk()
        && let Some((place, after)) = table.ask_for_place(operation, operand, &mine)
    {
        asked.extend(place);
        ends.push(after);
        rest = after;
    }
    let mut found = asked.into_iter().map(|place| table.ask_for_row(place).unwrap_or(RowId::NONE)).collect();
    let (mut rest, mut ends) = (bytes, ends.into_iter());
    let mut engine_objects = false;
    while let Some((&[operation, low, high], operand)) = rest.split_first_chunk() {
        let known = u16::from_le_bytes([low, high]) == 0;
        match known.then(|| table.apply(operation, operand, &mine, &mut found)) {
            Some(Ok(after)) => {
                assert_eq!(ends.next(), Some(after));
                rest = after;
            }
            _ => {
                engine_objects = true;
                break;
            }
        }
    }
    let tools_object = apply_record(&[Every::SCHEMA], &mut contents, bytes).is_err();
    if engine_objects || tools_object || !rest.is_empty() {
        return;
    }
    table.verify().expect("indexes agree with their table");
    // Two rows may share a unique key in between for the tools, for the engine never.
    assert_eq!(contents[0].verify(), Vec::<String>::new());
    let mut rows = Vec::new();
    table.begin_snapshot();
    while !table.snapshot_slice(1 << 20, &mut rows) {}
    let mut found: Vec<_> = rows.chunks(Every::ROW_WIDTH).collect();
    let mut wanted: Vec<_> = contents[0].rows().collect();
    found.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(found, wanted);
}

pub(super) fn change_seeds() -> Vec<Vec<u8>> {
    let insert = [&[1, 0, 0][..], &stored(&every(30))].concat();
    let mut key = Vec::new();
    every(3).key().encode::<<Every as Record>::Encoded>().for_bytes(<Every as Record>::Key::WIDTH, |bytes| {
        key.extend_from_slice(bytes);
    });
    let mut values = vec![0; Every::ROW_WIDTH];
    let (columns, width) = every(5).store_changes(&Every { a: every(5).a, e: every(5).e, ..every(3) }, &mut values);
    let update = [&[2, 0, 0][..], &key, &columns.to_le_bytes()[..2], &values[..width]].concat();
    let delete = [&[3, 0, 0][..], &key].concat();
    vec![[&insert[..], &update, &delete].concat(), insert, update, delete]
}

/// A call: head and arguments. What can be read is written again as it was understood.
pub(super) fn command(bytes: &[u8]) {
    let Some((_, arguments)) = bytes.split_first().and_then(|(kind, rest)| CommandHead::split(*kind, rest)) else {
        return;
    };
    let routed = (ProcedureKind::of::<AllArgumentTypes>().route)(arguments, 4);
    let Ok(call) = postcard::from_bytes::<AllArgumentTypes>(arguments) else {
        assert!(routed.is_err());
        return;
    };
    assert!(routed.is_ok_and(|held| held.is_some_and(|held| held.difference(PartitionSet::all(4)).is_empty())));
    let again = postcard::to_stdvec(&call).expect("it is plain data");
    assert_eq!(postcard::from_bytes::<AllArgumentTypes>(&again), Ok(call));
}

pub(super) fn command_seeds() -> Vec<Vec<u8>> {
    let encode = |number| [&[0; 18][..], &postcard::to_stdvec(&touch(number)).expect("it is plain data")].concat();
    (0..8).map(encode).collect()
}

/// A row, then a set of columns and their values: the engine and the tools agree on what is a row, and a row is stored
/// as it was read.
pub(super) fn row(bytes: &[u8]) {
    let Some((row, rest)) = bytes.split_at_checked(Every::ROW_WIDTH) else {
        assert!(Every::load(bytes).is_err());
        return;
    };
    let loaded = Every::load(row);
    let valid = Every::SCHEMA.columns.iter().all(|column| Value::read(column, row).is_ok());
    assert_eq!(loaded.is_ok(), valid);
    let Ok(mut loaded) = loaded else { return };
    assert_eq!(stored(&loaded), row);
    let key = loaded.key().encode::<<Every as Record>::Encoded>();
    key.for_bytes(<Every as Record>::Key::WIDTH, |bytes| {
        assert!(<Every as Record>::Encoded::from_bytes(bytes) == key);
    });
    let Some((columns, values)) = rest.split_first_chunk() else { return };
    if let Ok(read) = loaded.load_changes(u64::from_le_bytes(*columns), values) {
        assert!(read <= values.len());
        assert_eq!(Every::load(&stored(&loaded)).as_ref(), Ok(&loaded));
    }
}

pub(super) fn row_seeds() -> Vec<Vec<u8>> {
    let mut values = vec![0; Every::ROW_WIDTH];
    let (columns, width) = every(9).store_changes(&every(2), &mut values);
    let rows = (0..8).map(|number| [&stored(&every(number))[..], &columns.to_le_bytes(), &values[..width]].concat());
    rows.collect()
}
