//! Random work: transactions beside each other, with savepoints, rollbacks, promises; pages written and checkpoints
//! made at any moment.

use std::collections::BTreeSet;

use super::cells::{FIRST_REGISTER, REGISTER_COUNT};
use super::world::{Changes, Model, Promised, World, locks};
use crate::classic::wal::forms::{Logs, WalDevice};
use crate::classic::wal::transaction::{Savepoint, Suspended, TransactionLog};
use crate::error::Error;
use crate::io::Dice;
use crate::log::Lsn;

const SESSIONS: usize = 3;
const CELLS: u64 = 24;

/// A session's transaction.
struct Session {
    journal: TransactionLog<WalDevice>,
    changes: Changes,
    locked: BTreeSet<u64>,
    savepoints: Vec<(Savepoint, Changes)>,
}

/// Works `steps` steps or until the world stops; `model` is told what happens, before it can be known.
pub fn work(world: &mut World, model: &mut Model, dice: &mut Dice, steps: u64) -> Result<(), Error> {
    let mut sessions = Vec::new();
    for _ in 0..SESSIONS {
        let journal = world.journal()?;
        sessions.push(Session { journal, changes: Changes::new(), locked: BTreeSet::new(), savepoints: Vec::new() });
    }
    let mut waiting: Vec<(u64, Suspended)> = Vec::new();
    for _ in 0..steps {
        match dice.below(20) {
            0 => world.checkpoint()?,
            1 | 2 => world.write_pages(dice)?,
            3 => decide(world, model, dice, &mut waiting)?,
            _ => {
                let at = dice.below(SESSIONS as u64) as usize;
                let mut taken: BTreeSet<u64> = sessions.iter().flat_map(|it| it.locked.iter().copied()).collect();
                taken.extend(waiting.iter().flat_map(|(name, _)| model.promised[name].changes.keys().copied()));
                step(world, model, dice, &mut sessions[at], &taken, &mut waiting)?;
            }
        }
    }
    Ok(())
}

fn step(
    world: &World,
    model: &mut Model,
    dice: &mut Dice,
    session: &mut Session,
    taken: &BTreeSet<u64>,
    waiting: &mut Vec<(u64, Suspended)>,
) -> Result<(), Error> {
    let Session { journal, changes, locked, savepoints } = session;
    match dice.below(24) {
        0 | 1 => {
            let lsn = journal.commit()?;
            committed(world, model, dice, lsn, std::mem::take(changes))?;
        }
        2 => {
            changes.clear();
            world.with_cells(|cells| journal.abort(&world.pages, cells))?;
        }
        3 if waiting.len() < 2 && !changes.is_empty() => {
            // A change, so that it has a number, which is the coordinator's name for it.
            world.with_cells(|cells| cells.hint(journal, 0))?;
            let name = journal.transaction().0;
            let prepared = journal.prepare(&name.to_le_bytes(), &locks(changes))?;
            let changes = std::mem::take(changes);
            model.promised.insert(name, Promised { changes, prepared, committed: None, aborted: false });
            if dice.below(2) == 0 {
                world.logs.wait(prepared)?;
                model.durable = prepared;
            }
            waiting.push((name, journal.suspend()?));
        }
        4 | 5 => {
            savepoints.push((journal.savepoint(), changes.clone()));
            return Ok(());
        }
        6 => {
            if !savepoints.is_empty() {
                savepoints.truncate(1 + dice.below(savepoints.len() as u64) as usize);
                let (to, before) = savepoints.last().expect("one at least");
                changes.clone_from(before);
                world.with_cells(|cells| journal.roll_back(*to, &world.pages, cells))?;
            }
            return Ok(());
        }
        7 => return world.with_cells(|cells| cells.hint(journal, dice.roll())),
        8 => return world.with_cells(|cells| cells.shift(journal, 1 + dice.below(CELLS), dice.below(9))),
        choice => {
            let register = choice > 19;
            let key = if register { FIRST_REGISTER + dice.below(REGISTER_COUNT) } else { 1 + dice.below(CELLS) };
            if !taken.contains(&key) || locked.contains(&key) {
                let value = (register || dice.below(3) > 0).then(|| dice.roll());
                locked.insert(key);
                changes.insert(key, value);
                return world.with_cells(|cells| cells.set(journal, key, value, dice.below(9)));
            }
            return Ok(());
        }
    }
    // The transaction is over, or out of this session.
    locked.clear();
    savepoints.clear();
    Ok(())
}

fn committed(world: &World, model: &mut Model, dice: &mut Dice, lsn: Lsn, changes: Changes) -> Result<(), Error> {
    // Without a record the transaction changed nothing: it removed cells that were absent. They are back if the crash
    // loses the commit that removed them.
    if lsn != Lsn::NONE {
        model.commits.push((lsn, changes));
    }
    if dice.below(2) == 0 {
        world.logs.wait(lsn)?;
        model.durable = model.durable.max(lsn);
    }
    Ok(())
}

/// The coordinator says what becomes of a promise.
fn decide(world: &World, model: &mut Model, dice: &mut Dice, waiting: &mut Vec<(u64, Suspended)>) -> Result<(), Error> {
    if waiting.is_empty() {
        return Ok(());
    }
    let (name, suspended) = waiting.remove(dice.below(waiting.len() as u64) as usize);
    let promised = model.promised.get_mut(&name).expect("it was promised");
    let mut journal = world.journal()?;
    journal.resume(suspended);
    if dice.below(2) == 0 {
        promised.aborted = true;
        return world.with_cells(|cells| journal.abort(&world.pages, cells));
    }
    let lsn = journal.commit()?;
    promised.committed = Some(lsn);
    let changes = promised.changes.clone();
    committed(world, model, dice, lsn, changes)
}
