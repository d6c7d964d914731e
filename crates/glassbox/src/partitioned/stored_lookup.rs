//! Rows looked up by keys whose types are known to this table only, for other partitions.

use super::shard::Lookup;
use super::table::Table;
use crate::record::{Direction, EncodedKey, Index, IndexVisitor, Key, Record};

impl<R: Record> Table<R> {
    /// See [`AnyTable::find_stored`](super::any_table::AnyTable::find_stored).
    pub(super) fn find_stored(&self, lookup: &Lookup, out: &mut Vec<u8>) -> bool {
        match lookup {
            Lookup::Key(key) => {
                let Some(key) = key_of::<R::Encoded>(key, R::Key::WIDTH) else { return false };
                if let Some(id) = self.find(key) {
                    store(self.rows.get(id), out);
                }
                true
            }
            Lookup::Range { index: None, low, high } => {
                let ends = (key_of(low, R::Key::WIDTH), key_of(high, R::Key::WIDTH));
                let ((Some(low), Some(high)), false) = (ends, Self::POINT) else { return false };
                for (_, id) in self.tree.range(&low, &high, Direction::Forward) {
                    store(self.rows.get(id), out);
                }
                true
            }
            Lookup::Range { index: Some(index), low, high } => {
                let mut find = FindByIndex { table: self, index: usize::from(*index), low, high, out, known: false };
                R::each_index(&mut find);
                find.known
            }
        }
    }
}

fn key_of<E: EncodedKey>(bytes: &[u8], width: usize) -> Option<E> {
    (bytes.len() == width).then(|| E::from_bytes(bytes))
}

fn store<R: Record>(row: &R, out: &mut Vec<u8>) {
    let at = out.len();
    out.resize(at + R::ROW_WIDTH, 0);
    row.store(&mut out[at..]);
}

struct FindByIndex<'a, R: Record> {
    table: &'a Table<R>,
    index: usize,
    low: &'a [u8],
    high: &'a [u8],
    out: &'a mut Vec<u8>,
    known: bool,
}

impl<R: Record> IndexVisitor<R> for FindByIndex<'_, R> {
    fn visit<I: Index<Record = R>>(&mut self) {
        if I::POSITION != self.index {
            return;
        }
        let ends = (key_of(self.low, I::Key::WIDTH), key_of(self.high, I::Key::WIDTH));
        let (Some(low), Some(high)) = ends else { return };
        self.known = true;
        for (_, id) in self.table.index_tree::<I>().range(&low, &high, Direction::Forward) {
            store(self.table.rows.get(id), self.out);
        }
    }
}
