//! The tables of the histories, and what each step does to them.

use std::ops::ControlFlow;

use glassbox::procedure::{Abort, KeySet, Mode, Stop, Transaction};
use glassbox::record::{Bytes, Direction, Prefix};
use glassbox::{Catalog, Record};

use super::history::{Form, List, Member, Predicate, ReadVersion, Seen, Step, Value};

/// One element of a list whose form is [`Form::Rows`].
#[derive(Record, Clone, Copy, Debug)]
#[record(table = "list_element", key = (list, position), partition_by = list)]
pub struct Element {
    /// Of this list.
    pub list: u32,
    /// From 1 on.
    pub position: u32,
    /// The value appended.
    pub value: u64,
}

/// A list whose form is [`Form::Packed`].
#[derive(Record, Clone, Copy, Debug)]
#[record(table = "packed_list", key = list)]
pub struct Packed {
    /// Which.
    pub list: u32,
    /// Elements.
    pub length: u32,
    /// Their values, eight bytes each.
    pub values: Bytes<PACKED_BYTES>,
}

/// A member of a club.
#[derive(Record, Clone, Copy, Debug)]
#[record(table = "member", key = (club, id), partition_by = club, index(name = by_rank, columns = (club, rank)))]
pub struct Membership {
    /// Of this club.
    pub club: u32,
    /// Who.
    pub id: u64,
    /// What the predicates ask for.
    pub rank: u8,
    /// Changes so far.
    pub version: u32,
    /// The value of the last change.
    pub value: u64,
}

/// Bytes that a packed list has for its values.
const PACKED_BYTES: usize = 320;
/// Most elements of a list.
pub(super) const MAX_ELEMENTS: u32 = PACKED_BYTES as u32 / 8;
/// The ranks of a club's first members.
pub const FIRST_RANKS: [u8; 6] = [1, 2, 4, 5, 7, 8];

/// The first members of a club. Their ids lie far apart, so that others come between them.
pub fn first_members(club: u32) -> impl Iterator<Item = (Member, u8)> {
    (1_u64..).zip(FIRST_RANKS).map(move |(number, rank)| (Member { club, id: number.reverse_bits() }, rank))
}

/// Adds the tables.
pub fn add_to(catalog: Catalog) -> Catalog {
    catalog.table::<Element>().table::<Packed>().table::<Membership>()
}

/// Runs one step.
///
/// # Errors
/// What the transaction says, and the abort that a step asks for.
pub fn run<T: Transaction>(step: &Step, tx: &mut T) -> Result<Seen, Stop> {
    match *step {
        Step::Append(List { form: Form::Rows, number }, value) => append_row(tx, number, value),
        Step::Append(List { form: Form::Packed, number }, value) => append_packed(tx, number, value),
        Step::Read(list) => read_list(tx, list).map(Seen::Values),
        Step::Join(Member { club, id }, rank, value) => {
            tx.insert(&Membership { club, id, rank, version: 1, value: value.0 })?;
            Ok(Seen::Wrote { version: 1, over: Value::INITIAL })
        }
        Step::Rank(Member { club, id }, rank, value) => {
            let over = tx.update::<Membership, _>(&(club, id), |row| {
                let over = Value(row.value);
                (row.rank, row.value) = (rank, value.0);
                row.version += 1;
                (row.version, over)
            })?;
            Ok(over.map_or(Seen::Nothing, |(version, over)| Seen::Wrote { version, over }))
        }
        Step::Leave(Member { club, id }, _) => {
            let last = tx.get_for_update::<Membership>(&(club, id))?.copied();
            let Some(last) = last else { return Ok(Seen::Nothing) };
            if !tx.delete::<Membership>(&(club, id))? {
                return Err(Stop::abort(2, "the row that was read is not there"));
            }
            Ok(Seen::Wrote { version: last.version + 1, over: Value(last.value) })
        }
        Step::Look(Member { club, id }) => {
            Ok(Seen::Rows(tx.get::<Membership>(&(club, id))?.map(row_of).into_iter().collect()))
        }
        Step::Scan(predicate) => scan(tx, predicate).map(Seen::Rows),
        Step::Found(club) => {
            for (Member { club, id }, rank) in first_members(club) {
                tx.insert(&Membership { club, id, rank, version: 0, value: Value::INITIAL.0 })?;
            }
            Ok(Seen::Nothing)
        }
        Step::Abort => Err(Stop::Abort(Abort { code: 1, message: "a step says so".into() })),
    }
}

/// Declares what a step touches.
pub fn declare(step: &Step, set: &mut impl KeySet) {
    match *step {
        Step::Append(List { form: Form::Rows, number }, _) => set.range::<Element>(Prefix(number), Mode::Insert),
        Step::Append(List { form: Form::Packed, number }, _) => set.write::<Packed>(&number),
        Step::Read(List { form: Form::Rows, number }) => set.range::<Element>(Prefix(number), Mode::Read),
        Step::Read(List { form: Form::Packed, number }) => set.read::<Packed>(&number),
        Step::Join(Member { club, id }, ..) => set.insert::<Membership>(&(club, id)),
        Step::Rank(Member { club, id }, ..) | Step::Leave(Member { club, id }, _) => {
            set.write::<Membership>(&(club, id));
        }
        Step::Look(Member { club, id }) => set.read::<Membership>(&(club, id)),
        Step::Scan(predicate) => set.range::<Membership>(Prefix(predicate.club()), Mode::Read),
        Step::Found(club) => first_members(club).for_each(|(it, _)| set.insert::<Membership>(&(it.club, it.id))),
        Step::Abort => {}
    }
}

fn append_row<T: Transaction>(tx: &mut T, list: u32, value: Value) -> Result<Seen, Stop> {
    let last = tx.first::<Element>(Prefix(list), Direction::Backward)?;
    let (position, over) = last.map_or((1, Value::INITIAL), |last| (last.position + 1, Value(last.value)));
    if position > MAX_ELEMENTS {
        return Ok(Seen::Nothing);
    }
    tx.insert(&Element { list, position, value: value.0 })?;
    Ok(Seen::Wrote { version: position, over })
}

fn append_packed<T: Transaction>(tx: &mut T, list: u32, value: Value) -> Result<Seen, Stop> {
    let appended = tx.update::<Packed, _>(&list, |row| {
        let over = row.elements().last().unwrap_or(Value::INITIAL);
        if row.length == MAX_ELEMENTS {
            return None;
        }
        row.put(value);
        Some((row.length, over))
    })?;
    match appended {
        Some(Some((version, over))) => Ok(Seen::Wrote { version, over }),
        Some(None) => Ok(Seen::Nothing),
        None => {
            let mut row = Packed { list, length: 0, values: Bytes::default() };
            row.put(value);
            tx.insert(&row)?;
            Ok(Seen::Wrote { version: 1, over: Value::INITIAL })
        }
    }
}

impl Packed {
    fn elements(&self) -> impl Iterator<Item = Value> {
        let (values, _) = self.values.0.as_chunks::<8>();
        values.iter().take(self.length as usize).map(|bytes| Value(u64::from_le_bytes(*bytes)))
    }

    fn put(&mut self, value: Value) {
        let at = 8 * self.length as usize;
        self.values.0[at..at + 8].copy_from_slice(&value.0.to_le_bytes());
        self.length += 1;
    }
}

fn read_list<T: Transaction>(tx: &mut T, list: List) -> Result<Vec<Value>, Stop> {
    match list.form {
        Form::Packed => Ok(tx.get::<Packed>(&list.number)?.map_or_else(Vec::new, |row| row.elements().collect())),
        Form::Rows => {
            let mut values = Vec::new();
            tx.scan::<Element>(Prefix(list.number), Direction::Forward, |row| {
                values.push(Value(row.value));
                ControlFlow::Continue(())
            })?;
            Ok(values)
        }
    }
}

fn row_of(row: &Membership) -> ReadVersion {
    ReadVersion { id: row.id, rank: row.rank, version: row.version, value: Value(row.value) }
}

fn scan<T: Transaction>(tx: &mut T, predicate: Predicate) -> Result<Vec<ReadVersion>, Stop> {
    let mut rows = Vec::new();
    let see = |row: &Membership| {
        rows.push(row_of(row));
        ControlFlow::Continue(())
    };
    match predicate {
        Predicate::Members { club } => tx.scan::<Membership>(Prefix(club), Direction::Forward, see)?,
        Predicate::Ranks { club, from, to } => {
            // The index ends with the primary key.
            let range = (club, from, u64::MIN)..=(club, to, u64::MAX);
            // Both kinds of locks are to meet all others.
            if from.is_multiple_of(2) {
                tx.scan_index::<MembershipByRank>(range, Direction::Forward, see)?;
            } else {
                tx.scan_index_for_update::<MembershipByRank>(range, Direction::Forward, see)?;
            }
        }
    }
    Ok(rows)
}
