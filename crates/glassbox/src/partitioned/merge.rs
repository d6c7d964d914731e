//! A scan over several partitions: one cursor each, the next row always from the one that is furthest behind.

use std::ops::ControlFlow;

use super::memory::BTree;
use super::table::Table;
use crate::record::{Direction, Encoded, EncodedKey, Record};

/// Visits the rows of all `tables` within `range`, in the order of the index that `tree` picks, until `visit` breaks.
pub(crate) fn merge<'a, R: Record, K: EncodedKey>(
    tables: &mut [&'a Table<R>],
    tree: impl Fn(&'a Table<R>) -> &'a BTree<K>,
    range: Encoded<K>,
    direction: Direction,
    mut visit: impl FnMut(&R) -> ControlFlow<()>,
) {
    let mut cursors: Vec<_> =
        tables.iter().map(|&table| (table, tree(table).range(&range.low, &range.high, direction).peekable())).collect();
    loop {
        let keys = cursors.iter_mut().enumerate().filter_map(|(at, (_, rows))| rows.peek().map(|&(key, _)| (key, at)));
        let next = match direction {
            Direction::Forward => keys.min_by_key(|&(key, _)| key),
            Direction::Backward => keys.max_by_key(|&(key, _)| key),
        };
        let Some((_, at)) = next else { return };
        let (table, rows) = &mut cursors[at];
        let (_, id) = rows.next().expect("it was peeked");
        if visit(table.rows.get(id)).is_break() {
            return;
        }
    }
}
