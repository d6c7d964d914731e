//! Scans of a table without order, and of one that is not known to have one.
use std::ops::ControlFlow;

use glassbox::record::Direction;
use glassbox::{Record, Stop, Transaction};

#[derive(Record, Clone, Copy)]
#[record(key = id, access = point)]
struct Account {
    id: u64,
}

fn all(tx: &mut impl Transaction) -> Result<(), Stop> {
    tx.scan::<Account>(.., Direction::Forward, |_| ControlFlow::Continue(()))
}

fn first(tx: &mut impl Transaction) -> Result<Option<Account>, Stop> {
    tx.first::<Account>(.., Direction::Forward)
}

fn all_of<R: Record>(tx: &mut impl Transaction) -> Result<(), Stop> {
    tx.scan::<R>(.., Direction::Forward, |_| ControlFlow::Continue(()))
}

fn main() {}
