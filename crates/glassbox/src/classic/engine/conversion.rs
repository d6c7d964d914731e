//! Rows of an earlier version of a table: converted into stores of their own, from which they are read from then on.
//!
//! All of it is logged, and nothing of it counts before the manifest names the stores: an opening that is interrupted
//! leaves the former ones as they were.

use std::borrow::Cow;

use crate::classic::heap::HeapFile;
use crate::classic::ids::Rid;
use crate::classic::page::pages::Pages;
use crate::classic::space::SpaceMap;
use crate::classic::stack::{Session, Stack};
use crate::error::Error;
use crate::record::layout::encode;
use crate::record::{IndexSchema, RowConversion, TableSchema, digest};

/// A table as the manifest has it.
#[derive(Clone, Copy)]
pub(crate) struct StoredTable<'a> {
    pub(crate) schema: &'a TableSchema,
    /// The name of its stores.
    pub(crate) store: &'a str,
    /// How its rows become those of the present version; `None`: they stay as they are.
    pub(crate) conversion: Option<&'a RowConversion>,
}

impl<'a> StoredTable<'a> {
    /// A table whose rows stay as they are.
    pub(crate) fn kept(schema: &'a TableSchema, store: &'a str) -> Self {
        Self { schema, store, conversion: None }
    }

    /// Whether its rows have kept the promise of a unique index.
    pub(super) fn keeps_unique(&self, index: &IndexSchema) -> bool {
        self.conversion.is_none() && self.schema.keeps_unique(index)
    }
}

/// The name of a store that the user did not choose: a digest of it, if it is too long for the directory.
pub(crate) fn store_name(name: String) -> String {
    // A number may follow it, `~2`.
    const MAX_BYTES: usize = 52;
    if name.len() <= MAX_BYTES { name } else { format!("#{:016x}", digest(0, name.as_bytes())) }
}

/// Inserts the converted rows of a heap file into another one, which is new. They are never rolled back, but for those
/// of a crash: a heap file counts only once the manifest names it.
pub(super) fn convert<S: Stack>(
    (pages, space): (&S::Pages, &SpaceMap<S::Pages>),
    session: &mut Session<S>,
    (from, to): (&HeapFile, &HeapFile),
    conversion: &RowConversion,
) -> Result<(), Error> {
    let mut rows = Vec::new();
    from.scan(pages, |rid, _| {
        rows.push(rid);
        Ok(())
    })?;
    let mut converted = Vec::new();
    for some in rows.chunks(ROWS_AT_ONCE) {
        for rid in some {
            converted.clear();
            let read = from.read(pages, *rid, |row| conversion.row(row, &mut converted))?;
            read.expect("it was scanned just now");
            let placed = to.insert(pages, space, &mut session.journal, &converted, |_| true)?;
            placed.expect("every place is admitted");
        }
        session.journal.commit()?;
    }
    Ok(())
}

/// The keys of all rows of a heap file in an index of the present version, in their order.
pub(super) fn sorted_keys<P: Pages>(
    pages: &P,
    heap: &HeapFile,
    (schema, columns): (&TableSchema, &[usize]),
    conversion: Option<&RowConversion>,
) -> Result<Vec<(Vec<u8>, Rid)>, Error> {
    let mut rows = Vec::new();
    heap.scan(pages, |rid, row| {
        let mut key = Vec::new();
        encode(schema, columns, &present_row(row, conversion), &mut key);
        rows.push((key, rid));
        Ok(())
    })?;
    rows.sort_unstable();
    Ok(rows)
}

/// Rows that are converted by one transaction.
const ROWS_AT_ONCE: usize = 1_000;

/// A stored row as the present version has it.
pub(super) fn present_row<'a>(row: &'a [u8], conversion: Option<&RowConversion>) -> Cow<'a, [u8]> {
    let Some(conversion) = conversion else { return Cow::Borrowed(row) };
    let mut present = Vec::new();
    conversion.row(row, &mut present);
    Cow::Owned(present)
}
