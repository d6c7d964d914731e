//! The conversion of stored rows from the schema of an earlier version to the present one.

use super::layout::{columns_in, width_of};
use super::parsed::parse;
use super::schema::{ColumnHistory, ColumnSchema, ColumnType, DroppedColumn, TableHistory, TableSchema, name_in};

/// How the rows of a table become those of another version of it.
#[derive(Debug)]
pub(crate) struct RowConversion {
    old: TableSchema,
    new: TableSchema,
    /// For each column of the new version.
    sources: Vec<ColumnSource>,
}

/// Where the values of a column come from.
#[derive(Debug, PartialEq)]
enum ColumnSource {
    /// The old column at this position.
    Column(usize),
    /// A value, in its stored form, that all rows get.
    Default(Vec<u8>),
}

impl RowConversion {
    /// The conversion of a table that was stored by this version; `None`: rows stay as they are.
    ///
    /// # Errors
    /// When the rows cannot be converted without a loss: the difference, and what to do.
    pub(crate) fn between(
        old: &TableSchema,
        version: u32,
        new: &TableSchema,
        history: &TableHistory,
    ) -> Result<Option<Self>, String> {
        let unchanged = ColumnHistory { added: 1, default: None, was: &[] };
        let histories = history.columns.iter().chain(std::iter::repeat(&unchanged));
        let columns = new.columns.iter().zip(histories);
        let sources = columns.map(|(column, history)| source(old, version, column, history));
        let sources = sources.collect::<Result<Vec<_>, _>>()?;
        for (at, column) in old.columns.iter().enumerate() {
            let is_it = |it: &&DroppedColumn| it.name == column.name && (it.added..it.at).contains(&version);
            let is_dropped = match history.dropped.iter().find(is_it) {
                Some(dropped) => check_type_of_dropped(column, dropped).map(|()| true)?,
                None => false,
            };
            let kept = sources.iter().filter(|source| **source == ColumnSource::Column(at)).count();
            check_fate(&column.name, is_dropped, kept)?;
        }
        let of_key = |at: &usize| {
            sources[*at] == ColumnSource::Column(old.key.get(position_of(&new.key, *at)).copied().unwrap_or(usize::MAX))
        };
        if new.key.len() != old.key.len() || !new.key.iter().all(of_key) {
            return Err("its primary key has other columns; copy the rows into a new table".to_owned());
        }
        let conversion = Self { old: old.clone(), new: new.clone(), sources };
        Ok(Some(conversion).filter(|conversion| conversion.changes_rows() || conversion.moves_rows()))
    }

    /// Whether rows have another stored form than before.
    pub(crate) fn changes_rows(&self) -> bool {
        let is_kept = |(at, source): (usize, &ColumnSource)| {
            let name = |column: &ColumnSchema| ColumnSchema { name: "".into(), ..column.clone() };
            *source == ColumnSource::Column(at) && name(&self.old.columns[at]).is_part_of(&name(&self.new.columns[at]))
        };
        self.old.columns.len() != self.new.columns.len() || !self.sources.iter().enumerate().all(is_kept)
    }

    /// The changes of columns, in words.
    pub(crate) fn steps(&self) -> Vec<String> {
        let mut steps = Vec::new();
        let mut places = Vec::new();
        for (column, source) in self.new.columns.iter().zip(&self.sources) {
            let ColumnSource::Column(at) = *source else {
                steps.push(format!("column `{}` is added", column.name));
                continue;
            };
            places.push(at);
            let old = &self.old.columns[at];
            if old.name != column.name || !is_same_type(old, column) {
                steps.push(format!("column {old} becomes {column}"));
            }
        }
        let dropped = (0..self.old.columns.len()).filter(|at| !places.contains(at));
        steps.extend(dropped.map(|at| format!("column `{}` is dropped", self.old.columns[at].name)));
        if !places.is_sorted() {
            steps.push("columns are in another order".to_owned());
        }
        steps
    }

    /// The earlier version.
    pub(crate) fn former(&self) -> &TableSchema {
        &self.old
    }

    /// The present version.
    pub(crate) fn present(&self) -> &TableSchema {
        &self.new
    }

    /// Appends the present form of a stored row.
    pub(crate) fn row(&self, stored: &[u8], out: &mut Vec<u8>) {
        for (column, source) in self.new.columns.iter().zip(&self.sources) {
            match source {
                ColumnSource::Default(value) => out.extend_from_slice(value),
                ColumnSource::Column(at) => {
                    let old = &self.old.columns[*at];
                    convert(old, column, &stored[old.offset..old.offset + old.width], out);
                }
            }
        }
    }

    /// Appends the present form of an encoded key.
    pub(crate) fn key(&self, mut encoded: &[u8], out: &mut Vec<u8>) {
        for (&old, &new) in self.old.key.iter().zip(&*self.new.key) {
            let old = &self.old.columns[old];
            let (value, rest) = encoded.split_at(old.width);
            convert_encoded(old, &self.new.columns[new], value, out);
            encoded = rest;
        }
    }

    /// Appends the present form of these columns' values, which stand one after the other; the set of the present
    /// columns.
    pub(crate) fn values(&self, columns: u64, values: &[u8], out: &mut Vec<u8>) -> u64 {
        let mut present = 0;
        for (position, (column, source)) in self.new.columns.iter().zip(&self.sources).enumerate() {
            let ColumnSource::Column(at) = *source else { continue };
            if columns & 1 << at == 0 {
                continue;
            }
            let before: usize = columns_in(&self.old, columns & ((1 << at) - 1)).map(|column| column.width).sum();
            let old = &self.old.columns[at];
            convert(old, column, &values[before..before + old.width], out);
            present |= 1 << position;
        }
        present
    }

    /// Whether another column decides the partition of a row than before, or none.
    fn moves_rows(&self) -> bool {
        let of = |schema: &TableSchema| schema.partition_by;
        match (of(&self.old), of(&self.new)) {
            (None, None) => false,
            (Some(old), Some(new)) => self.sources[new] != ColumnSource::Column(old),
            _ => true,
        }
    }
}

/// Whether two columns have values of one type.
fn is_same_type(one: &ColumnSchema, other: &ColumnSchema) -> bool {
    (&one.kind, one.nullable) == (&other.kind, other.nullable)
}

/// Refuses to drop a column of another type than the record says.
fn check_type_of_dropped(stored: &ColumnSchema, dropped: &DroppedColumn) -> Result<(), String> {
    let DroppedColumn { name, kind, nullable, .. } = dropped.clone();
    let width = width_of(&kind) + usize::from(nullable);
    let said = ColumnSchema { name: name.into(), kind, nullable, offset: 0, width };
    if is_widened(stored, &said) {
        return Ok(());
    }
    Err(format!("column {stored} is stored, and the one that is dropped is {said}: say the type that it had"))
}

/// Refuses a stored column that is kept by several columns, by none without being dropped, or though it is dropped.
fn check_fate(name: &str, is_dropped: bool, kept: usize) -> Result<(), String> {
    match (kept, is_dropped) {
        (1, false) | (0, true) => Ok(()),
        (0, false) => Err(format!(
            "column `{name}` is stored but no longer there; if its values are to be lost, say \
             `#[record(dropped(\"{name}\", TYPE, at = VERSION))]`"
        )),
        (_, true) => Err(format!(
            "column `{name}` is dropped, and there is one of that name: say since when, `#[record(added = VERSION, \
             default = …)]`"
        )),
        (_, false) => Err(format!(
            "column `{name}` has become several; if one of them is new, say `#[record(added = VERSION, default = …)]`"
        )),
    }
}

fn position_of(key: &[usize], column: usize) -> usize {
    key.iter().position(|&at| at == column).expect("it is a column of the key")
}

/// Where the values of a column come from.
fn source(
    old: &TableSchema,
    version: u32,
    column: &ColumnSchema,
    history: &ColumnHistory,
) -> Result<ColumnSource, String> {
    let ColumnHistory { added, default, was } = *history;
    if added > version {
        let value = parse(column, default).map_err(|bad| format!("the default of a new column is wrong: {bad}"))?;
        return Ok(ColumnSource::Default(value));
    }
    let name = name_in(version, was, &column.name);
    let Some(at) = old.columns.iter().position(|stored| stored.name == name) else {
        return Err(format!(
            "column `{}` is new; raise the version of the catalog and say `#[record(added = VERSION, default = …)]`, \
             or, if it had another name, `#[record(was(\"NAME\", VERSION))]`",
            column.name
        ));
    };
    if is_widened(&old.columns[at], column) {
        return Ok(ColumnSource::Column(at));
    }
    let stored = &old.columns[at];
    Err(format!(
        "column {stored} now is {column}, which cannot have all of its values; keep the column, and add another one"
    ))
}

/// Whether each value of a column is one of the other, as a number, text or time.
fn is_widened(old: &ColumnSchema, new: &ColumnSchema) -> bool {
    if old.nullable && !new.nullable {
        return false;
    }
    let plain = |column: &ColumnSchema| ColumnSchema {
        name: "".into(),
        nullable: false,
        offset: 0,
        width: width_of(&column.kind),
        kind: column.kind.clone(),
    };
    if plain(old).is_part_of(&plain(new)) {
        return true;
    }
    match (&old.kind, &new.kind) {
        (ColumnType::Text(old), ColumnType::Text(new)) => old <= new,
        (old, new) => match (integer(old), integer(new)) {
            (Some((old_signed, old_bytes)), Some((new_signed, new_bytes))) => {
                old_bytes < new_bytes && (old_signed <= new_signed)
            }
            _ => false,
        },
    }
}

/// Whether an integer has a sign, and its width in bytes.
fn integer(kind: &ColumnType) -> Option<(bool, usize)> {
    let is_signed = match kind {
        ColumnType::U8 | ColumnType::U16 | ColumnType::U32 | ColumnType::U64 | ColumnType::U128 => false,
        ColumnType::I8 | ColumnType::I16 | ColumnType::I32 | ColumnType::I64 | ColumnType::I128 => true,
        _ => return None,
    };
    Some((is_signed, width_of(kind)))
}

/// The value in bytes of a column, without the byte that says whether there is one. Appends that of the present column;
/// if there is no value, also the zeros in its place.
fn value<'a>(old: &ColumnSchema, new: &ColumnSchema, bytes: &'a [u8], out: &mut Vec<u8>) -> Option<&'a [u8]> {
    let is_there = !old.nullable || bytes[0] != 0;
    if new.nullable {
        out.push(u8::from(is_there));
    }
    if !is_there {
        out.resize(out.len() + new.width - 1, 0);
        return None;
    }
    Some(if old.nullable { &bytes[1..] } else { bytes })
}

/// Appends a value in the stored form of the present column.
fn convert(old: &ColumnSchema, new: &ColumnSchema, stored: &[u8], out: &mut Vec<u8>) {
    let end = out.len() + new.width;
    let Some(value) = value(old, new, stored, out) else { return };
    out.extend_from_slice(value);
    let is_negative = integer(&old.kind).is_some_and(|(is_signed, _)| is_signed) && value[value.len() - 1] & 0x80 != 0;
    out.resize(end, if is_negative { 0xff } else { 0 });
}

/// Appends a value of a key, most significant byte first, as the present column has it.
fn convert_encoded(old: &ColumnSchema, new: &ColumnSchema, encoded: &[u8], out: &mut Vec<u8>) {
    let end = out.len() + new.width;
    let Some(value) = value(old, new, encoded, out) else { return };
    let (Some((old_signed, _)), Some((new_signed, _))) = (integer(&old.kind), integer(&new.kind)) else {
        out.extend_from_slice(value);
        return out.resize(end, 0);
    };
    // The sign of a key is flipped, so that negative numbers come first.
    let first = if old_signed { value[0] ^ 0x80 } else { value[0] };
    let fill = if old_signed && first & 0x80 != 0 { 0xff } else { 0 };
    let start = out.len();
    out.resize(end - value.len(), fill);
    out.push(first);
    out.extend_from_slice(&value[1..]);
    if new_signed {
        out[start] ^= 0x80;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Record;
    use crate::record::{Decimal, EncodedKey, Key, Text};

    #[derive(Record, Clone, Copy, Debug, PartialEq)]
    #[record(table = "item", key = (b, a, maybe, name))]
    struct Before {
        a: u16,
        name: Text<3>,
        b: i8,
        gone: u64,
        maybe: Option<i16>,
        price: Decimal<2>,
    }

    #[derive(Record, Clone, Copy, Debug, PartialEq)]
    #[record(table = "article", key = (b, a, maybe, label), was("item", 3))]
    #[record(dropped("gone", u64, at = 4))]
    struct After {
        b: i64,
        a: Option<i32>,
        #[record(added = 3, default = -1.5)]
        rebate: Decimal<1>,
        price: Option<Decimal<2>>,
        maybe: Option<i128>,
        #[record(was("name", 5))]
        label: Text<9>,
        #[record(added = 2)]
        note: Option<Text<4>>,
    }

    fn stored<R: Record>(row: &R) -> Vec<u8> {
        let mut out = vec![0; R::ROW_WIDTH];
        row.store(&mut out);
        out
    }

    fn encoded<R: Record>(row: &R) -> Vec<u8> {
        row.key().encode::<R::Encoded>().for_bytes(<R::Key as Key>::WIDTH, <[u8]>::to_vec)
    }

    #[test]
    fn rows_keys_and_changes_become_those_of_the_present_version() {
        let conversion = RowConversion::between(&Before::SCHEMA, 1, &After::SCHEMA, &After::HISTORY).unwrap().unwrap();
        assert_eq!((After::HISTORY.newest(), name_in(2, After::HISTORY.was, After::TABLE)), (5, "item"));
        let price = Decimal::from_units(-5);
        for (a, b, maybe) in [(7, -3, None), (u16::MAX, i8::MIN, Some(-2)), (0, i8::MAX, Some(i16::MAX))] {
            let name = Text::new("xy").unwrap();
            let before = Before { a, name, b, gone: 9, maybe, price };
            let after = After {
                b: b.into(),
                a: Some(a.into()),
                rebate: Decimal::from_units(-15),
                price: Some(price),
                maybe: maybe.map(i128::from),
                label: Text::new("xy").unwrap(),
                note: None,
            };
            let mut row = Vec::new();
            conversion.row(&stored(&before), &mut row);
            assert_eq!(After::load(&row), Ok(after));
            let mut key = Vec::new();
            conversion.key(&encoded(&before), &mut key);
            assert_eq!(key, encoded(&after));
            // A change of `name`, `gone` and `price`.
            let changed = [&stored(&before)[2..5], &9_u64.to_le_bytes(), &(-5_i64).to_le_bytes()].concat();
            let width: usize = columns_in(conversion.former(), 0b10_1010).map(|column| column.width).sum();
            assert_eq!(width, changed.len());
            let mut values = Vec::new();
            let columns = conversion.values(0b10_1010, &changed, &mut values);
            let mut other = After { price: None, label: Text::new("z").unwrap(), ..after };
            assert_eq!(other.load_changes(columns, &values), Ok(values.len()));
            assert_eq!(other, after);
        }
    }

    #[test]
    fn a_loss_is_refused_with_the_step_to_take() {
        let refused = |change: fn(&mut TableSchema), version| {
            let mut old = Before::SCHEMA;
            change(&mut old);
            RowConversion::between(&old, version, &After::SCHEMA, &After::HISTORY).unwrap_err()
        };
        assert!(refused(|it| it.columns.to_mut()[3].name = "other".into(), 1).contains("dropped(\"other\", TYPE, at"));
        assert!(refused(|it| it.columns.to_mut()[0].name = "c".into(), 1).starts_with("column `a` is new; raise"));
        assert!(refused(|it| it.columns.to_mut()[2].kind = ColumnType::F32, 1).starts_with("column `b` F32 now is"));
        let other_type = refused(|it| it.columns.to_mut()[3].kind = ColumnType::Timestamp, 1);
        assert!(other_type.starts_with("column `gone` Timestamp is stored, and the one that is dropped is `gone` U64"));
        assert!(refused(|it| it.key.to_mut().swap(0, 1), 1).starts_with("its primary key has other columns"));
        // In version 4 the column was gone already, and another one had been added.
        assert!(refused(|_| (), 4).starts_with("column `rebate` is new"));
    }

    #[test]
    fn rows_of_the_same_columns_stay_as_they_are_unless_they_move() {
        let between = |old: &TableSchema| RowConversion::between(old, 1, &Before::SCHEMA, &Before::HISTORY).unwrap();
        assert!(between(&Before::SCHEMA).is_none());
        for partition_by in [None, Some(0)] {
            let other = TableSchema { partition_by, ..Before::SCHEMA };
            let conversion = between(&other).unwrap();
            assert_eq!((conversion.moves_rows(), conversion.changes_rows()), (true, false), "{partition_by:?}");
        }
    }

    #[derive(Record, Clone, Copy)]
    #[record(table = "item", key = id)]
    struct Oldest {
        id: u8,
        x: u8,
    }

    #[derive(Record, Clone, Copy)]
    #[record(table = "item", key = id, dropped("x", u32, added = 3, default = 0, at = 4))]
    struct Newest {
        id: u8,
        #[record(was("x", 2))]
        y: u8,
    }

    /// In version 2 the column `x` became `y`, version 3 added another `x`, and version 4 dropped it.
    #[test]
    fn a_column_that_had_the_name_of_a_dropped_one_is_kept() {
        let conversion = RowConversion::between(&Oldest::SCHEMA, 1, &Newest::SCHEMA, &Newest::HISTORY).unwrap();
        assert!(conversion.is_none_or(|conversion| !conversion.changes_rows()));
    }

    #[test]
    fn each_stored_column_has_one_fate() {
        assert_eq!((check_fate("a", false, 1), check_fate("a", true, 0)), (Ok(()), Ok(())));
        let refused = |is_dropped, kept| check_fate("a", is_dropped, kept).unwrap_err();
        assert!(refused(false, 0).contains("no longer there"));
        assert!(refused(true, 1).contains("is dropped, and there is one of that name"));
        assert!(refused(false, 2).contains("has become several"));
    }
}
