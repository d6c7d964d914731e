//! Procedures that run steps, one for each way in which a procedure can be written.

use glassbox::procedure::{Aborts, Declared, KeySet, Procedure, Stop, Transaction};
use glassbox::{Catalog, record::Decimal};
use serde::{Deserialize, Serialize};

use crate::steps::{RowOperation, run_all};
use crate::tables::{Stamp, Thing};

macro_rules! stepping {
    ($($(#[$doc:meta])* $name:ident, $text:literal, $aborts:ident, $self:ident, $set:ident, $declare:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Serialize, Deserialize)]
        pub struct $name {
            pub steps: Vec<RowOperation>,
        }

        impl Procedure for $name {
            const NAME: &'static str = $text;
            const ABORTS: Aborts = Aborts::$aborts;
            type Output = Vec<u64>;
            fn declare(&$self, $set: &mut impl KeySet) -> Declared {
                $declare
            }
            fn run<T: Transaction>(&self, tx: &mut T) -> Result<Vec<u64>, Stop> {
                run_all(&self.steps, tx)
            }
        }
    )*};
}

fn complete(steps: &[RowOperation], set: &mut impl KeySet) -> Declared {
    steps.iter().for_each(|step| step.declare(set));
    Declared::Complete
}

stepping! {
    /// Declares everything, may abort at any time.
    Anytime, "anytime", Anytime, self, set, complete(&self.steps, set);
    /// Its steps read, but for the last.
    Before, "before", BeforeFirstWrite, self, set, complete(&self.steps, set);
    /// Its steps cannot be refused.
    Never, "never", Never, self, set, complete(&self.steps, set);
    /// Declares nothing and says so.
    Undeclared, "undeclared", Anytime, self, _set, Declared::Unknown;
    /// As [`Undeclared`], with nothing kept to undo it where one partition is all there is.
    UndeclaredNever, "undeclared_never", Never, self, _set, Declared::Unknown;
    /// Declares only its first step, and says that this is all.
    Misdeclared, "misdeclared", Anytime, self, set, complete(&self.steps[..1], set);
}

/// Writes what the engine assigned.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MakeStamp {
    pub id: u32,
}

impl Procedure for MakeStamp {
    const NAME: &'static str = "stamp";
    type Output = ();
    fn declare(&self, set: &mut impl KeySet) -> Declared {
        set.insert::<Stamp>(&self.id);
        Declared::Complete
    }
    fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
        let stamp = Stamp { id: self.id, random: tx.random(), more: tx.random(), at: tx.now() };
        tx.delete::<Stamp>(&self.id)?;
        tx.insert(&stamp)
    }
}

/// Moves units of price between two things.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Move {
    pub from: u64,
    pub to: u64,
    pub units: i64,
}

impl Procedure for Move {
    const NAME: &'static str = "move";
    type Output = i64;
    fn declare(&self, set: &mut impl KeySet) -> Declared {
        set.write::<Thing>(&self.from);
        set.write::<Thing>(&self.to);
        Declared::Complete
    }
    fn run<T: Transaction>(&self, tx: &mut T) -> Result<i64, Stop> {
        let units = Decimal::from_units(self.units);
        tx.update::<Thing, _>(&self.to, |to| to.price += units)?.ok_or(Stop::abort(2, "no such thing"))?;
        let left = tx.update::<Thing, _>(&self.from, |from| {
            from.price -= units;
            from.price
        })?;
        let left = left.ok_or(Stop::abort(2, "no such thing"))?;
        if left < Decimal::ZERO { Err(Stop::abort(1, "not enough")) } else { Ok(left.units()) }
    }
}

pub fn add_to(catalog: Catalog) -> Catalog {
    catalog
        .procedure::<Anytime>()
        .procedure::<Before>()
        .procedure::<Never>()
        .procedure::<Undeclared>()
        .procedure::<UndeclaredNever>()
        .procedure::<Misdeclared>()
        .procedure::<MakeStamp>()
        .procedure::<Move>()
}
