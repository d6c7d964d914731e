//! What the sessions of the classic engine do now.
//!
//! ```text
//! session 0  reads page 5121 of table `stock`
//! session 1  waits for row 3.1 of table `stock`, behind session 0
//! session 2  runs
//! ```

use std::fmt;

use serde::Serialize;

use super::explain::in_words;
use crate::classic;
use crate::classic::ids::StoreId;

/// A session, and what it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SessionState {
    /// Its number.
    pub session: u32,
    /// What it does.
    pub does: SessionActivity,
}

/// What a session does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SessionActivity {
    /// Nothing: it has no transaction.
    Idle,
    /// It runs a transaction.
    Runs,
    /// It reads a page from disk, or waits for another session that reads it; of a batch, its first page.
    Reads {
        /// Its number.
        page: u32,
        /// The table for which it is read, its indexes included: "table `stock`". `None` if the engine reads it for
        /// itself, as when it rolls back.
        of: Option<String>,
    },
    /// It waits for a lock.
    Waits {
        /// The object of the lock: "row 3.1 of table `stock`", with page and slot.
        on: String,
        /// Number of the transaction that waits; 0 if it has changed nothing yet, and so has no number.
        transaction: u64,
        /// The first session in the way; `None` if it has just gone, or is none.
        behind: Option<u32>,
        /// The name of the prepared transaction in the way, if one is.
        behind_prepared: Option<String>,
    },
}

impl SessionState {
    /// All sessions, in the order of their numbers. Each is looked at by itself, so together they may never have been
    /// so.
    pub(crate) fn all(engine: &classic::Engine) -> Vec<Self> {
        let (waiting, reading) = engine.waits_and_reads();
        let of = |(session, is_idle): (u32, bool)| {
            let does = if is_idle {
                SessionActivity::Idle
            } else if let Some(read) = reading.iter().find(|read| read.session == session) {
                let of = (read.table != StoreId::VOLUME).then(|| engine.store_in_words(read.table));
                SessionActivity::Reads { page: read.page.0, of }
            } else if let Some(wait) = waiting.iter().find(|wait| wait.owner == session) {
                let on = in_words(engine, wait.name);
                let behind_prepared = wait.behind.and_then(|owner| engine.prepared_of(owner));
                let behind = wait.behind.filter(|_| behind_prepared.is_none());
                SessionActivity::Waits { on, transaction: wait.txn.0, behind, behind_prepared }
            } else {
                SessionActivity::Runs
            };
            Self { session, does }
        };
        engine.idle_sessions().into_iter().enumerate().map(|(at, is_idle)| of((at as u32, is_idle))).collect()
    }
}

impl fmt::Display for SessionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "session {:<3}  ", self.session)?;
        match &self.does {
            SessionActivity::Idle => f.write_str("is idle"),
            SessionActivity::Runs => f.write_str("runs"),
            SessionActivity::Reads { page, of: None } => write!(f, "reads page {page}"),
            SessionActivity::Reads { page, of: Some(of) } => write!(f, "reads page {page} of {of}"),
            SessionActivity::Waits { on, behind_prepared: Some(name), .. } => {
                write!(f, "waits for {on}, behind prepared transaction `{name}`")
            }
            SessionActivity::Waits { on, behind: Some(behind), .. } => {
                write!(f, "waits for {on}, behind session {behind}")
            }
            SessionActivity::Waits { on, .. } => write!(f, "waits for {on}"),
        }
    }
}
