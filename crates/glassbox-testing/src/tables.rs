//! Tables of every kind, small enough that histories meet the same rows again and again.
//!
//! Ordered and point access, partitioned and replicated, keys of one word, of two, and of bytes, unique and other
//! indexes, columns that may be empty. A number `k` stands for a key and a number `v` for a value, so that one
//! generator serves all tables.

use std::ops::ControlFlow;

use glassbox::procedure::{KeySet, Mode, Stop, Transaction};
use glassbox::record::{Bytes, Decimal, Direction, Prefix, Text};
use glassbox::{Catalog, Record};

/// Ordered, a key of one word, both kinds of index with the partition's column in front.
#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(table = "person", key = (town, id), partition_by = town,
         index(name = by_color, columns = (town, color)), index(name = by_mail, columns = (town, mail), unique))]
pub struct Person {
    pub town: u16,
    pub id: u32,
    pub color: Option<u8>,
    pub mail: u16,
    pub plain: u32,
    pub name: Option<Text<12>>,
}

/// Point access; an index that is on all partitions.
#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(table = "thing", key = id, access = point, index(name = by_group, columns = group))]
pub struct Thing {
    pub id: u64,
    pub group: u8,
    pub plain: u32,
    pub price: Decimal<2>,
    pub filler: Bytes<40>,
}

/// Replicated, a key of two words, a unique index over all rows.
#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(table = "code", key = (kind, number), replicated, index(name = by_value, columns = value, unique))]
pub struct Code {
    pub kind: Text<8>,
    pub number: u32,
    pub value: u16,
    pub plain: u32,
}

/// Ordered, a key of bytes, partitioned by its last column.
#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(table = "note", key = (topic, place), partition_by = place, index(name = by_size, columns = size))]
pub struct Note {
    pub topic: Text<20>,
    pub place: i16,
    pub size: i32,
    pub plain: u32,
    pub text: Option<Text<30>>,
}

/// What an engine assigned: the model cannot know it, but it must be the same after every recovery.
#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(table = "stamp", key = id)]
pub struct Stamp {
    pub id: u32,
    pub random: u64,
    pub more: u64,
    pub at: glassbox::record::Timestamp,
}

/// Comes to a database that is there already.
#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(table = "late", key = id)]
pub struct Late {
    pub id: u32,
    pub plain: u32,
}

/// The first tables, then `late` ones too if asked for.
pub fn catalog(late: bool) -> Catalog {
    let catalog = Catalog::new().table::<Person>().table::<Thing>().table::<Code>().table::<Note>().table::<Stamp>();
    let catalog = if late { catalog.table::<Late>() } else { catalog };
    crate::procedures::add_to(catalog)
}

/// A table that steps can use.
pub trait TestRow: Record + std::fmt::Debug + PartialEq {
    fn key_of(k: u32) -> Self::Key;
    fn make(k: u32, v: u32) -> Self;
    /// Changes a column that no index has.
    fn plain(&mut self) -> &mut u32;
    /// Changes what indexes have.
    fn change(&mut self, v: u32);
    /// Scans the primary index, or one of the others (`which`), around `k`.
    fn scan<T: Transaction>(tx: &mut T, around: Around, see: impl FnMut(&Self) -> ControlFlow<()>) -> Result<(), Stop>;
    /// Declares what that scan reads.
    fn declare_scan(set: &mut impl KeySet, around: Around);
}

/// The place of a scan.
#[derive(Debug, Clone, Copy)]
pub struct Around {
    pub k: u32,
    pub v: u32,
    pub direction: Direction,
}

impl TestRow for Person {
    fn key_of(k: u32) -> (u16, u32) {
        ((k % 7) as u16, k / 7)
    }
    fn make(k: u32, v: u32) -> Self {
        let (town, id) = Self::key_of(k);
        let mut row = Self { town, id, color: None, mail: 0, plain: v, name: None };
        row.change(v);
        row
    }
    fn plain(&mut self) -> &mut u32 {
        &mut self.plain
    }
    fn change(&mut self, v: u32) {
        self.color = (!v.is_multiple_of(4)).then_some((v % 4) as u8);
        self.mail = (v % 40) as u16;
        self.name = (!v.is_multiple_of(3)).then(|| Text::new(&format!("n{v}")).unwrap_or_default());
    }
    fn scan<T: Transaction>(tx: &mut T, around: Around, see: impl FnMut(&Self) -> ControlFlow<()>) -> Result<(), Stop> {
        let (town, id) = Self::key_of(around.k);
        match around.v % 6 {
            0 => tx.scan::<Self>(Prefix(town), around.direction, see),
            1 => tx.scan::<Self>((town, id)..(town, id + 5), around.direction, see),
            2 => tx.scan::<Self>((town, id)..=(town + 2, id), around.direction, see),
            3 => tx.scan_index::<PersonByColor>(Prefix(town), around.direction, see),
            4 => tx.scan_index::<PersonByMail>(Prefix(town), around.direction, see),
            _ => tx.scan_index::<PersonByColor>(.., around.direction, see),
        }
    }
    fn declare_scan(set: &mut impl KeySet, around: Around) {
        let (town, _) = Self::key_of(around.k);
        match around.v % 6 {
            0 | 1 | 3 | 4 => set.range::<Self>(Prefix(town), Mode::Read),
            _ => set.whole::<Self>(Mode::Read),
        }
    }
}

impl TestRow for Thing {
    fn key_of(k: u32) -> u64 {
        u64::from(k) << 1
    }
    fn make(k: u32, v: u32) -> Self {
        let price = Decimal::from_units(i64::from(v));
        Self { id: Self::key_of(k), group: (v % 5) as u8, plain: v, price, filler: Bytes([v as u8; 40]) }
    }
    fn plain(&mut self) -> &mut u32 {
        &mut self.plain
    }
    fn change(&mut self, v: u32) {
        self.group = (v % 5) as u8;
    }
    fn scan<T: Transaction>(tx: &mut T, around: Around, see: impl FnMut(&Self) -> ControlFlow<()>) -> Result<(), Stop> {
        let group = (around.v % 5) as u8;
        match around.v % 3 {
            0 => tx.scan_index::<ThingByGroup>(.., around.direction, see),
            1 => tx.scan_index::<ThingByGroup>(Prefix(group), around.direction, see),
            _ => tx.scan_index::<ThingByGroup>((group, 0)..(group + 1, 20), around.direction, see),
        }
    }
    fn declare_scan(set: &mut impl KeySet, _around: Around) {
        set.whole::<Self>(Mode::Read);
    }
}

impl TestRow for Code {
    fn key_of(k: u32) -> (Text<8>, u32) {
        (Text::new(["", "a", "ab", "b"][(k % 4) as usize]).unwrap_or_default(), k / 4)
    }
    fn make(k: u32, v: u32) -> Self {
        let (kind, number) = Self::key_of(k);
        Self { kind, number, value: (v % 200) as u16, plain: v }
    }
    fn plain(&mut self) -> &mut u32 {
        &mut self.plain
    }
    fn change(&mut self, v: u32) {
        self.value = (v % 200) as u16;
    }
    fn scan<T: Transaction>(tx: &mut T, around: Around, see: impl FnMut(&Self) -> ControlFlow<()>) -> Result<(), Stop> {
        match around.v % 3 {
            0 => tx.scan::<Self>(Prefix(Self::key_of(around.k).0), around.direction, see),
            1 => tx.scan::<Self>(Self::key_of(around.k).., around.direction, see),
            _ => tx.scan_index::<CodeByValue>(50..150, around.direction, see),
        }
    }
    fn declare_scan(set: &mut impl KeySet, _around: Around) {
        set.whole::<Self>(Mode::Read);
    }
}

impl TestRow for Note {
    fn key_of(k: u32) -> (Text<20>, i16) {
        (Text::new(&format!("topic {}", k / 5)).unwrap_or_default(), (k % 5) as i16 - 2)
    }
    fn make(k: u32, v: u32) -> Self {
        let (topic, place) = Self::key_of(k);
        let text = (v % 2 == 1).then(|| Text::new(&format!("text {v}")).unwrap_or_default());
        Self { topic, place, size: (v % 9) as i32 - 4, plain: v, text }
    }
    fn plain(&mut self) -> &mut u32 {
        &mut self.plain
    }
    fn change(&mut self, v: u32) {
        self.size = (v % 9) as i32 - 4;
    }
    fn scan<T: Transaction>(tx: &mut T, around: Around, see: impl FnMut(&Self) -> ControlFlow<()>) -> Result<(), Stop> {
        match around.v % 3 {
            0 => tx.scan::<Self>(Prefix(Self::key_of(around.k).0), around.direction, see),
            1 => tx.scan::<Self>(.., around.direction, see),
            _ => tx.scan_index::<NoteBySize>(Prefix((around.v % 9) as i32 - 4), around.direction, see),
        }
    }
    fn declare_scan(set: &mut impl KeySet, _around: Around) {
        set.whole::<Self>(Mode::Read);
    }
}
