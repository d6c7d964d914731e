//! A log that tells what is appended, and who waits for it.

use std::sync::Arc;

use super::describe::change;
use super::trace::{self, Trace};
use crate::classic::change::{Change, Undo};
use crate::classic::engine::log_ahead::LogAhead;
use crate::classic::stack::StackLogs;
use crate::classic::wal::forms::{Device, Logs, Wal, WalDevice};
use crate::classic::wal::record::{Body, LogRecord};
use crate::error::Error;
use crate::io::Files;
use crate::log::{Log, Lsn};

/// See the file.
pub struct TracedLog(Wal);

/// What a session appends with.
pub struct TracedDevice(WalDevice);

impl Logs for TracedLog {
    type Device = TracedDevice;

    fn device(&self) -> Result<TracedDevice, Error> {
        Ok(TracedDevice(self.0.device()?))
    }

    fn wait(&self, lsn: Lsn) -> Result<(), Error> {
        trace::with(|trace| {
            let durable = self.0.0.durable() >= lsn;
            match trace.last_up_to(lsn) {
                _ if durable => trace.add("answer", "what it may have read is durable already"),
                Some(number) => trace.add("force", &format!("the log up to {number}")),
                None => trace.add("force", "the log up to what it may have read"),
            }
        });
        self.0.wait(lsn)
    }

    fn force(&self, lsn: Lsn) -> Result<(), Error> {
        self.0.force(lsn)
    }
}

impl Device for TracedDevice {
    const RECORDS: bool = true;

    fn appended(&self) -> Lsn {
        self.0.appended()
    }

    fn append(&mut self, record: &[u8]) -> Result<Lsn, Error> {
        let lsn = self.0.append(record)?;
        trace::with(|trace| note(trace, lsn, record));
        Ok(lsn)
    }
}

fn note(trace: &mut Trace, lsn: Lsn, record: &[u8]) {
    let LogRecord { transaction, previous, body } = LogRecord::decode(record).expect("it was just made");
    let (number, whose) = (trace.number(lsn), trace.transaction(transaction));
    let previous = trace.earlier(previous);
    let decoded = |bytes| Change::decode(bytes).expect("it was just made");
    let (what, more) = match body {
        Body::Update { page, store, undo, nested, change: bytes } => {
            let undo = match undo {
                Undo::Nothing => "redo only",
                Undo::Page => "undo on the page",
                Undo::Logical => "undo by key",
            };
            let nested = if nested { ", nested" } else { "" };
            (change(&trace.names, page, store, &decoded(bytes)), format!("; {undo}{nested}"))
        }
        Body::Compensation { page, undo_next, change: bytes } => {
            let store = trace.names.store_on(page);
            let what = change(&trace.names, page, store, &decoded(bytes));
            (format!("compensation: {what}"), format!("; next to undo {}", trace.earlier(undo_next)))
        }
        Body::NestedEnd { undo_next } => {
            ("end of the nested action".to_owned(), format!("; next to undo {}", trace.earlier(undo_next)))
        }
        Body::Commit => ("commit".to_owned(), String::new()),
        Body::End => ("end, all is undone".to_owned(), String::new()),
        other => (format!("{other:?}"), String::new()),
    };
    trace.add(&format!("log {number}"), &format!("{whose} after {previous}: {what}{more}"));
}

impl StackLogs for TracedLog {
    type Ahead = LogAhead;
    const ON_DISK: bool = true;

    fn open(open: impl FnOnce() -> Result<Log, Error>) -> Result<Self, Error> {
        Ok(Self(Wal::open(open)?))
    }

    fn ahead(&self, files: &Arc<dyn Files>) -> LogAhead {
        self.0.ahead(files)
    }
}
