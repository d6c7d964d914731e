//! Waits for locks, in a user's terms: tables and indexes instead of stores.
//!
//! The first question about a slow conventional engine is which transaction waited for which, and for what. The lock
//! manager keeps the latest waits; this file gives them as data, and prints each as one line:
//!
//! ```text
//! transaction 71 waited 1.250 ms for X on row 3.1 of table `stock`, behind transaction 69 (holds S): granted
//! ```

use std::fmt;

use serde::Serialize;

use crate::classic::{self, LockName, Wait, WaitEnd};

/// A wait for a lock that has ended. Lock modes have their usual names: IS, IX, S, SIX, U, X.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LockWait {
    /// Number of the transaction that waited; 0 if it had changed nothing yet, and so had no number.
    pub transaction: u64,
    /// Number of its session.
    pub session: u32,
    /// The requested mode.
    pub wanted: String,
    /// The mode already held, if any.
    pub held: Option<String>,
    /// The object of the lock: "row 3.1 of table `stock`", with page and slot.
    pub on: String,
    /// The first of the sessions with conflicting locks or earlier requests when the wait began.
    pub behind: Vec<LockHolder>,
    /// Number of further sessions in the way.
    pub more_behind: u32,
    /// Duration of the wait, nanoseconds.
    pub waited_ns: u64,
    /// Of this, time in which a transaction in the way, directly or through others, read the disk, nanoseconds.
    pub disk_ns: u64,
    /// The read with the largest part of that time.
    pub disk_read: Option<ReadInTheWay>,
    /// How the wait ended.
    pub end: LockWaitEnd,
}

/// A read of the disk by a transaction that held locks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReadInTheWay {
    /// Number of the transaction; 0 if it had changed nothing, and so had no number, or if that was not learnt.
    pub transaction: u64,
    /// Number of the page.
    pub page: u32,
    /// Its table or index: "table `stock`".
    pub of: String,
}

/// A session whose lock or earlier request delayed the wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LockHolder {
    /// Number of its transaction; 0 if it had none, or if it had never waited itself: the number is learnt at a wait.
    pub transaction: u64,
    /// Number of its session; above all of these, that of a prepared transaction.
    pub session: u32,
    /// The mode that it held; `None`: only its request was earlier in the queue.
    pub held: Option<String>,
    /// The mode that it waited for, if it waited too.
    pub wanted: Option<String>,
}

/// How a wait for a lock ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LockWaitEnd {
    /// The lock was granted.
    Granted,
    /// The transaction was the victim of a deadlock, and was restarted.
    Deadlock,
    /// The lock timeout passed, and the transaction was restarted.
    Timeout,
}

impl LockWait {
    /// The waits that the engine still holds, oldest first.
    pub(crate) fn last(engine: &classic::Engine) -> Vec<Self> {
        engine.lock_waits().iter().map(|wait| Self::of(engine, wait)).collect()
    }

    fn of(engine: &classic::Engine, wait: &Wait) -> Self {
        let behind = wait.blockers.iter().flatten().map(|it| LockHolder {
            transaction: it.txn.0,
            session: it.blocker.owner,
            held: it.blocker.held.map(|mode| format!("{mode:?}")),
            wanted: it.blocker.wanted.map(|mode| format!("{mode:?}")),
        });
        Self {
            transaction: wait.txn.0,
            session: wait.owner,
            wanted: format!("{:?}", wait.wanted),
            held: wait.held.map(|mode| format!("{mode:?}")),
            on: in_words(engine, wait.name),
            behind: behind.collect(),
            more_behind: wait.more_blockers,
            waited_ns: wait.waited_ns,
            disk_ns: wait.disk.ns,
            disk_read: wait.disk.longest.map(|(txn, read)| ReadInTheWay {
                transaction: txn.0,
                page: read.page.0,
                of: engine.store_in_words(read.store),
            }),
            end: match wait.end {
                WaitEnd::Granted => LockWaitEnd::Granted,
                WaitEnd::Deadlock => LockWaitEnd::Deadlock,
                WaitEnd::Timeout => LockWaitEnd::Timeout,
            },
        }
    }
}

pub(super) fn in_words(engine: &classic::Engine, name: LockName) -> String {
    match name {
        LockName::Volume => "the whole database".to_owned(),
        LockName::Store(store) => engine.store_in_words(store),
        LockName::Page(store, page) => format!("page {page} of {}", engine.store_in_words(store)),
        LockName::Record(store, rid) => format!("row {rid} of {}", engine.store_in_words(store)),
        LockName::End(store) => format!("the end of {}", engine.store_in_words(store)),
    }
}

/// A transaction, by its number if that is known.
fn who(f: &mut fmt::Formatter<'_>, transaction: u64, session: u32) -> fmt::Result {
    if transaction == 0 { write!(f, "session {session}") } else { write!(f, "transaction {transaction}") }
}

impl fmt::Display for LockHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        who(f, self.transaction, self.session)?;
        match (&self.held, &self.wanted) {
            (Some(held), Some(wanted)) => write!(f, " (holds {held}, waits for {wanted})"),
            (Some(held), None) => write!(f, " (holds {held})"),
            (None, Some(wanted)) => write!(f, " (ahead, waits for {wanted})"),
            (None, None) => Ok(()),
        }
    }
}

impl fmt::Display for LockWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        who(f, self.transaction, self.session)?;
        write!(f, " waited {:.3} ms for {} on {}", self.waited_ns as f64 / 1e6, self.wanted, self.on)?;
        if let Some(held) = &self.held {
            write!(f, ", of which it held {held}")?;
        }
        for (at, holder) in self.behind.iter().enumerate() {
            write!(f, "{}{holder}", if at == 0 { ", behind " } else { ", " })?;
        }
        if self.more_behind > 0 {
            write!(f, " and {} more", self.more_behind)?;
        }
        if let Some(read) = &self.disk_read {
            let (ms, page, of) = (self.disk_ns as f64 / 1e6, read.page, &read.of);
            let who = if read.transaction == 0 { "it".to_owned() } else { format!("transaction {}", read.transaction) };
            write!(f, "; {ms:.3} ms of it because {who} was reading page {page} of {of}")?;
        }
        f.write_str(match self.end {
            LockWaitEnd::Granted => ": granted",
            LockWaitEnd::Deadlock => ": given up, to end a deadlock",
            LockWaitEnd::Timeout => ": given up, it took too long",
        })
    }
}
