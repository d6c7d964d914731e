//! The smallest program on a stack that makes use of every component, to be looked at for its symbols.

use std::ops::ControlFlow;

use glassbox::{Catalog, Procedure, Record, Stop, Transaction, record::Direction};

/// A row.
#[derive(Record, Clone, Copy)]
#[record(table = "counter", key = id)]
pub struct Counter {
    id: u32,
    value: u64,
}

/// Counts, or begins to.
#[derive(serde::Serialize, serde::Deserialize)]
pub struct Count {
    /// Which counter.
    pub id: u32,
}

impl Procedure for Count {
    const NAME: &'static str = "count";
    type Output = u64;

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<u64, Stop> {
        tx.delete::<Counter>(&(self.id + 1))?;
        let counted = tx.update::<Counter, _>(&self.id, |counter| counter.value += 1)?;
        if counted.is_none() {
            tx.insert(&Counter { id: self.id, value: 1 })?;
        }
        let mut sum = 0;
        tx.scan::<Counter>(.., Direction::Forward, |counter| {
            sum += counter.value;
            ControlFlow::Continue(())
        })?;
        Ok(sum)
    }
}

/// Its tables and procedures.
pub fn catalog() -> Catalog {
    Catalog::new().table::<Counter>().procedure::<Count>()
}

/// The program, on this stack.
macro_rules! on {
    ($stack:ident) => {
        fn main() -> Result<(), glassbox::Error> {
            use glassbox::research::stacks;

            let directory = std::env::args().nth(1).expect("an empty directory");
            let config = stacks::StackConfig::default().with_memory_bytes(1 << 23);
            let path = Some(std::path::Path::new(&directory));
            let db = stacks::DatabaseOf::<stacks::$stack>::open(path, &config, &counter::catalog())?;
            for _ in 0..3 {
                println!("{}", db.call(&counter::Count { id: 7 })?);
            }
            Ok(())
        }
    };
}
pub(crate) use on;
