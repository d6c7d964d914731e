//! Contents: every row of every table, read the same way from an engine and from the model.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use glassbox::procedure::{Stop, Transaction};
use glassbox::record::{Direction, OrderedRecord, Record};
use glassbox::{Database, Error};

use crate::ModelDatabase;
use crate::tables::{Code, Late, Note, Person, Stamp, ThingByGroup};

/// The stored rows of each table, sorted.
pub type Contents = BTreeMap<&'static str, Vec<Vec<u8>>>;

fn add<R: Record>(contents: &mut Contents, row: &R) {
    let mut bytes = vec![0; R::ROW_WIDTH];
    row.store(&mut bytes);
    contents.entry(R::TABLE).or_default().push(bytes);
}

fn add_all<R: OrderedRecord, T: Transaction>(tx: &mut T, contents: &mut Contents) -> Result<(), Stop> {
    tx.scan::<R>(.., Direction::Forward, |row| {
        add(contents, row);
        ControlFlow::Continue(())
    })
}

/// What the model knows too.
pub fn contents<T: Transaction>(tx: &mut T) -> Result<Contents, Stop> {
    let mut contents = Contents::new();
    add_all::<Person, T>(tx, &mut contents)?;
    add_all::<Code, T>(tx, &mut contents)?;
    add_all::<Note, T>(tx, &mut contents)?;
    tx.scan_index::<ThingByGroup>(.., Direction::Forward, |row| {
        add(&mut contents, row);
        ControlFlow::Continue(())
    })?;
    contents.values_mut().for_each(|rows| rows.sort());
    Ok(contents)
}

/// The table that a database may not have yet.
pub fn late<T: Transaction>(tx: &mut T) -> Result<Contents, Stop> {
    let mut contents = Contents::new();
    add_all::<Late, T>(tx, &mut contents)?;
    Ok(contents)
}

/// What only an engine knows.
pub fn stamps<T: Transaction>(tx: &mut T) -> Result<Contents, Stop> {
    let mut contents = Contents::new();
    add_all::<Stamp, T>(tx, &mut contents)?;
    Ok(contents)
}

pub fn of_engine(database: &Database) -> Result<Contents, Error> {
    database.transaction(|tx| contents(tx))
}

pub fn of_model(model: &mut ModelDatabase) -> Contents {
    model.transaction(|tx| contents(tx)).unwrap_or_default()
}

/// The first difference, for people.
pub fn difference(engine: &Contents, wanted: &Contents) -> Option<String> {
    let tables: std::collections::BTreeSet<_> = engine.keys().chain(wanted.keys()).collect();
    tables.into_iter().find_map(|table| {
        let none = Vec::new();
        let (is, should) = (engine.get(table).unwrap_or(&none), wanted.get(table).unwrap_or(&none));
        let extra = is.iter().filter(|row| !should.contains(row)).count();
        let missing = should.iter().filter(|row| !is.contains(row)).count();
        (is != should).then(|| {
            format!(
                "table {table}: {} rows where {} should be; {extra} are wrong, {missing} are missing",
                is.len(),
                should.len()
            )
        })
    })
}
