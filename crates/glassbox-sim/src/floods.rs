//! Transactions so large that trees get more leaves, and so many deletes that they lose them again.
//!
//! Histories meet the same few rows again and again, which fit on a page or two. On an engine of pages that leaves out
//! what is hardest to get back: splits, pages given back, new roots. So now and then a flood of rows comes, far from
//! the keys that the other steps use, and goes again; sometimes it is rolled back at its very end.

use crate::dice::Dice;
use crate::history::{Op, ProcedureForm};
use crate::steps::{KEYS, Kind, RowOperation};

/// Keys of floods, behind those of all other steps: more than two leaves of 4 KiB take.
const FLOODED: u64 = 300;
/// Steps of the largest.
const MAX_STEPS: u64 = 180;
/// The table with the widest keys; see [`RowOperation::run`].
const TABLE: u8 = 3;

impl Op {
    /// A flood, or its going: all steps insert, or all delete, keys that follow each other.
    pub fn flood(dice: &mut Dice) -> Self {
        let kind = if dice.one_in(2) { Kind::TryInsert } else { Kind::Delete };
        Self::flood_of(dice, kind)
    }

    /// A flood of this kind of step.
    pub fn flood_of(dice: &mut Dice, kind: Kind) -> Self {
        let (first, count) = (dice.below(FLOODED), 20 + dice.below(MAX_STEPS - 20));
        let step = |dice: &mut Dice, at: u64| {
            let k = (KEYS + (first + at) % FLOODED) as u32;
            RowOperation { kind, table: TABLE, k, v: dice.below(1_000) as u32 }
        };
        let mut steps: Vec<_> = (0..count).map(|at| step(dice, at)).collect();
        if dice.one_in(4) {
            steps.push(RowOperation { kind: Kind::Abort, ..steps[0] });
        }
        Self::Call(ProcedureForm::Anytime, steps)
    }
}
