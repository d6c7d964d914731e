//! What happens in this thread, as lines.
//!
//! Indented lines stand under latches: each fixed page indents the lines that follow, until it is released.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::describe::Names;
use crate::classic::ids::{PageId, TxnId};
use crate::log::Lsn;

thread_local! {
    static TRACE: RefCell<Option<Trace>> = const { RefCell::new(None) };
}

/// The events so far.
#[derive(Default)]
pub struct Trace {
    pub names: Names,
    lines: Vec<String>,
    latched: usize,
    /// The numbers that records are told by: in the order of the log, from 1.
    records: BTreeMap<Lsn, usize>,
    transactions: Vec<TxnId>,
}

impl Trace {
    /// Adds a line: what was done, and to what.
    pub fn add(&mut self, verb: &str, what: &str) {
        let indent = 2 * (self.latched + 1);
        self.lines.push(format!("{:indent$}{verb:<8}{what}", "").trim_end().to_owned());
    }

    /// How many pages are fixed.
    pub fn latched(&self) -> usize {
        self.latched
    }

    /// The number of the record that ends here; it is the newest if it has none yet.
    pub fn number(&mut self, lsn: Lsn) -> usize {
        let next = self.records.len() + 1;
        *self.records.entry(lsn).or_insert(next)
    }

    /// How an earlier record is told: those of before are not counted.
    pub fn earlier(&self, lsn: Lsn) -> String {
        self.records.get(&lsn).map_or("none".to_owned(), usize::to_string)
    }

    /// The last record that ends here or before, if any of those told does.
    pub fn last_up_to(&self, lsn: Lsn) -> Option<usize> {
        self.records.range(..=lsn).next_back().map(|(_, number)| *number)
    }

    /// How a transaction is told.
    pub fn transaction(&mut self, transaction: TxnId) -> String {
        let known = self.transactions.iter().position(|known| *known == transaction);
        let at = known.unwrap_or_else(|| {
            self.transactions.push(transaction);
            self.transactions.len() - 1
        });
        format!("T{}", at + 1)
    }
}

/// Begins a trace.
pub fn begin(names: Names) {
    TRACE.set(Some(Trace { names, ..Trace::default() }));
}

/// Ends it: its lines.
pub fn end() -> Vec<String> {
    TRACE.take().expect("one was begun").lines
}

/// Notes something, if there is a trace.
pub fn with(note: impl FnOnce(&mut Trace)) {
    TRACE.with_borrow_mut(|trace| trace.as_mut().map(note));
}

/// A statement begins.
pub fn say(statement: &str) {
    with(|trace| trace.lines.push(statement.to_owned()));
}

/// A page was fixed; `how` is the latch's mode.
pub fn fixed(how: &str, id: PageId, bytes: Option<&[u8]>) {
    with(|trace| {
        let page = bytes.map_or_else(|| format!("new page {id}"), |bytes| trace.names.page(id, bytes));
        trace.add(&format!("fix {how}"), &page);
        trace.latched += 1;
    });
}

/// A page is let go.
pub fn unfixed(id: PageId, bytes: &[u8]) {
    with(|trace| {
        trace.latched -= 1;
        let page = trace.names.page(id, bytes);
        trace.add("unfix", &page);
    });
}
