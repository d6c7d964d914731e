//! Steps: what a random transaction does, as data that travels in a procedure's arguments.
//!
//! Each step leaves a number in the answer, a digest of every row that it saw in order; so equal answers mean that
//! every single result was equal.

use std::ops::ControlFlow;

use glassbox::procedure::{KeySet, Stop, Transaction};
use glassbox::record::{Direction, Record};
use serde::{Deserialize, Serialize};

use crate::dice::Dice;
use crate::tables::{Around, Code, Note, Person, TestRow, Thing};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    Get,
    /// Changes what no index has.
    Plain,
    /// Changes what indexes have: may be refused.
    Change,
    Insert,
    /// Inserts, and goes on if that is refused.
    TryInsert,
    Delete,
    Scan,
    Abort,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowOperation {
    pub kind: Kind,
    pub table: u8,
    pub k: u32,
    pub v: u32,
}

/// Keys of each table, and so how often histories meet a row again.
pub const KEYS: u64 = 60;

impl RowOperation {
    /// One of `kinds` on any table.
    pub fn random(dice: &mut Dice, kinds: &[Kind]) -> Self {
        let kind = kinds[dice.below(kinds.len() as u64) as usize];
        Self { kind, table: dice.below(4) as u8, k: dice.below(KEYS) as u32, v: dice.below(1_000) as u32 }
    }

    pub fn run<T: Transaction>(&self, tx: &mut T) -> Result<u64, Stop> {
        match self.table {
            0 => self.on::<Person, T>(tx),
            1 => self.on::<Thing, T>(tx),
            2 => self.on::<Code, T>(tx),
            _ => self.on::<Note, T>(tx),
        }
    }

    pub fn declare(&self, set: &mut impl KeySet) {
        match self.table {
            0 => self.declare_on::<Person>(set),
            1 => self.declare_on::<Thing>(set),
            2 => self.declare_on::<Code>(set),
            _ => self.declare_on::<Note>(set),
        }
    }

    fn around(&self) -> Around {
        let direction = if self.v.is_multiple_of(2) { Direction::Forward } else { Direction::Backward };
        Around { k: self.k, v: self.v / 2, direction }
    }

    fn on<R: TestRow, T: Transaction>(&self, tx: &mut T) -> Result<u64, Stop> {
        let key = R::key_of(self.k);
        Ok(match self.kind {
            Kind::Get => tx.get::<R>(&key)?.map_or(0, |row| digest(1, row)),
            Kind::Plain => tx.update::<R, _>(&key, |row| bump(row.plain(), self.v))?.map_or(0, |v| 1 + u64::from(v)),
            Kind::Change => tx.update::<R, _>(&key, |row| row.change(self.v))?.map_or(0, |()| 1),
            Kind::Insert => tx.insert(&R::make(self.k, self.v)).map(|()| 1)?,
            Kind::TryInsert => match tx.insert(&R::make(self.k, self.v)) {
                Ok(()) => 1,
                Err(Stop::DuplicateKey(_)) => 0,
                Err(stop) => return Err(stop),
            },
            Kind::Delete => u64::from(tx.delete::<R>(&key)?),
            Kind::Scan => {
                let (mut seen, mut left) = (7, 1 + self.v % 30);
                R::scan(tx, self.around(), |row| {
                    seen = digest(seen, row);
                    left -= 1;
                    if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                })?;
                seen
            }
            Kind::Abort => return Err(Stop::abort(self.v, "a step says so")),
        })
    }

    fn declare_on<R: TestRow>(&self, set: &mut impl KeySet) {
        let key = R::key_of(self.k);
        match self.kind {
            Kind::Get => set.read::<R>(&key),
            Kind::Plain | Kind::Change | Kind::Delete => set.write::<R>(&key),
            Kind::Insert | Kind::TryInsert => set.insert::<R>(&key),
            Kind::Scan => R::declare_scan(set, self.around()),
            Kind::Abort => {}
        }
    }
}

fn bump(value: &mut u32, by: u32) -> u32 {
    *value = value.wrapping_add(by);
    *value
}

/// Adds a row to a digest that depends on the order.
pub fn digest<R: Record>(before: u64, row: &R) -> u64 {
    let mut bytes = vec![0; R::ROW_WIDTH];
    row.store(&mut bytes);
    bytes.iter().fold(before, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3).rotate_left(5))
}

pub fn run_all<T: Transaction>(steps: &[RowOperation], tx: &mut T) -> Result<Vec<u64>, Stop> {
    steps.iter().map(|step| step.run(tx)).collect()
}
