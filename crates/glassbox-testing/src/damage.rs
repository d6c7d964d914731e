//! Damage: one thing changed in the files of a closed database, and what opening it may then say.
//!
//! Either an error that names a file, or a database whose contents are right. Never a panic, never other contents.

use std::sync::Arc;

use glassbox::io::{Files, MemoryFiles};
use glassbox::research::inspect::{Inspector, Moment};
use glassbox::{Architecture, Config, Error};

use crate::check::{Contents, difference, of_engine};
use crate::history::open;

/// All files, sorted by name.
pub fn names(files: &MemoryFiles) -> Vec<String> {
    ["", "log", "checkpoint"].iter().flat_map(|directory| files.list(directory).unwrap_or_default()).collect()
}

/// The bytes of a file.
///
/// # Panics
/// When there is none.
pub fn bytes_of(files: &MemoryFiles, name: &str) -> Vec<u8> {
    let file = files.open(name).expect("it was listed");
    let mut bytes = vec![0; file.len().expect("it is open") as usize];
    file.read_exact_at(&mut bytes, 0).expect("it has that length");
    bytes
}

/// Replaces a file's bytes.
///
/// # Panics
/// When the files have faults.
pub fn replace(files: &MemoryFiles, name: &str, bytes: &[u8]) {
    if files.exists(name).expect("no faults") {
        files.remove(name).expect("no faults");
    }
    files.create(name).and_then(|file| file.write_at(bytes, 0)).expect("no faults");
}

/// What opening a damaged database came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The contents are right.
    Right,
    /// The error's text.
    Refused(String),
}

/// Opens a damaged database.
///
/// # Errors
/// When it opens with other contents, or the error names none of `files`.
pub fn judge(damaged: &MemoryFiles, config: &Config, right: &Contents, name: &str) -> Result<Verdict, String> {
    let database = match open(damaged, config.clone(), true) {
        Err(error) => return refused(&error, name),
        Ok(database) => database,
    };
    let wrong = database.verify();
    // Pages are read when they are needed.
    let on_demand = config.architecture == Architecture::Classic;
    if let Some(first) = wrong.first() {
        let named = on_demand && wrong.iter().any(|wrong| wrong.contains(name));
        return if named { Ok(Verdict::Refused(first.clone())) } else { Err(format!("verify: {wrong:?}")) };
    }
    let found = of_engine(&database).map_err(|error| format!("reading: {error}"))?;
    difference(&found, right).map_or(Ok(Verdict::Right), Err)
}

/// Lets the tools look into a damaged database, without the procedures' code: of a log with calls they see no rows, and
/// only whether it is whole.
///
/// # Errors
/// When they find other rows, or name none of `files`.
pub fn inspect(damaged: &MemoryFiles, right: &Contents, name: &str) -> Result<Verdict, String> {
    let files: Arc<dyn Files> = Arc::new(damaged.clone());
    let inspector = match Inspector::open_files(files, "manifest") {
        Err(error) => return refused(&error, name),
        Ok(inspector) => inspector,
    };
    let verified = match inspector.verify() {
        Err(error) => return refused(&error, name),
        Ok(verified) => verified,
    };
    if let Some(wrong) = verified.wrong.first() {
        let named = verified.wrong.iter().any(|wrong| wrong.contains(name));
        return if named {
            Ok(Verdict::Refused(wrong.clone()))
        } else {
            Err(format!("it does not name {name}: {wrong}"))
        };
    }
    if verified.calls > 0 {
        return Ok(Verdict::Right);
    }
    for table in &inspector.manifest().tables {
        let found = inspector.contents(&table.name, Moment::Now).map_err(|error| error.to_string())?;
        let mut rows: Vec<_> = found.rows().map(<[u8]>::to_vec).collect();
        rows.sort();
        if right.get(&*table.name).is_some_and(|right| *right != rows) {
            return Err(format!("the tools see other rows in table {}", table.name));
        }
    }
    Ok(Verdict::Right)
}

fn refused(error: &Error, name: &str) -> Result<Verdict, String> {
    let text = error.to_string();
    // When the log's end is gone, pages are what tells.
    let too_new = name.starts_with("log/") && text.contains("pages") && text.contains("do not belong together");
    if text.contains(name) || too_new {
        Ok(Verdict::Refused(text))
    } else {
        Err(format!("the error does not name {name}: {text}"))
    }
}
