//! Failures of a call other than aborts, as data: an embedded database reports them, and a cluster sends them.

use std::any::Any;
use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::panic;
use std::sync::Once;

use serde::{Deserialize, Serialize};

use crate::procedure::{AbortReason, Stop};

/// The panic of a procedure that returns a `Stop` reserved for engines.
pub(crate) const FOREIGN_RETRY: &str = "a procedure kept a `Stop::Retry` of another run and answers it";

/// A panic of a procedure, whose transaction was rolled back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Panicked {
    /// The procedure.
    pub procedure: Cow<'static, str>,
    /// The message of the panic.
    pub message: String,
    /// File and line of the panic, if they are known.
    pub location: Option<String>,
}

/// A run that stopped after a write although its procedure promised that this cannot happen. Undo information for it
/// need not exist, so the database, or the partition of a cluster, stops.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error(
    "procedure \"{procedure}\" {event} after it had written, although it promised ({promise}) that this cannot \
     happen; open the database again to get the state without it, and correct the promise"
)]
pub struct BrokenPromise {
    /// The procedure.
    pub procedure: Cow<'static, str>,
    /// The promise that it broke.
    pub promise: Promise,
    /// How its run stopped.
    pub event: String,
}

/// A promise of a procedure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Promise {
    /// When it may abort: [`Procedure::ABORTS`](crate::Procedure::ABORTS).
    Aborts,
    /// Which keys it touches: [`Procedure::declare`](crate::Procedure::declare).
    Declare,
}

/// Why a call on a shard, or on a cluster of them, could not be run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Failure {
    /// The procedure panicked.
    Panicked(Panicked),
    /// The procedure broke a promise; the partition has stopped.
    BrokenPromise(BrokenPromise),
    /// The partition stopped before.
    Stopped {
        /// Why, and what to do.
        reason: String,
    },
    /// A message violates the protocol.
    Protocol {
        /// The violation.
        problem: String,
    },
    /// The partition is late, and the call was not begun.
    Overloaded {
        /// Its number.
        partition: u8,
        /// When to call again, in microseconds.
        retry_after_us: u32,
    },
    /// The arguments of the call, or the call with the rows of other partitions that it needs, are larger than a
    /// message may be.
    ArgumentsTooLarge {
        /// The size in bytes.
        bytes: u64,
        /// The maximum.
        limit: u64,
    },
    /// The output is larger than a message may be.
    OutputTooLarge {
        /// The size of the message.
        bytes: u64,
        /// The maximum.
        limit: u64,
        /// Whether the transaction was committed.
        is_committed: bool,
    },
}

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Aborts => "`ABORTS`",
            Self::Declare => "`declare`",
        })
    }
}

impl std::error::Error for Panicked {}

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "procedure \"{}\" panicked: {}", self.procedure, self.message)?;
        if let Some(location) = &self.location {
            write!(f, " ({location})")?;
        }
        f.write_str("; the transaction was rolled back")
    }
}

impl Failure {
    /// A failure because of a message that violates the protocol: the problem.
    #[cold]
    pub fn protocol(problem: impl Into<String>) -> Box<Self> {
        Box::new(Self::Protocol { problem: problem.into() })
    }
}

impl Panicked {
    /// The panic that was caught in this thread a moment ago.
    #[cold]
    pub(crate) fn caught(procedure: &'static str, panic: &(dyn Any + Send)) -> Self {
        let message = message_of(panic).unwrap_or("a value that is no text").to_owned();
        // A panic resumed from another thread has no location, and must not get that of an earlier one.
        let noted = LAST_PANIC.take().filter(|noted| noted.message == message);
        Self { procedure: Cow::Borrowed(procedure), message, location: noted.map(|noted| noted.location) }
    }

    /// The event that stopped a run whose changes were not undone.
    pub(crate) fn as_event(&self) -> String {
        let location = self.location.as_ref().map_or_else(String::new, |location| format!(" at {location}"));
        format!("panicked ({}{location})", self.message)
    }
}

impl BrokenPromise {
    /// The event of a run that stopped and was not undone.
    #[cold]
    pub(crate) fn stopped(procedure: &'static str, stop: &Stop) -> Self {
        let (promise, event) = match AbortReason::of(stop.clone()) {
            Ok(reason) => (Promise::Aborts, event_of(&reason)),
            Err(_) => (Promise::Declare, "needed a partition that it had not declared".to_owned()),
        };
        Self { procedure: Cow::Borrowed(procedure), promise, event }
    }

    /// The event of a run that panicked and was not undone.
    #[cold]
    pub(crate) fn panicked(procedure: &'static str, panic: &(dyn Any + Send)) -> Self {
        let panicked = Panicked::caught(procedure, panic);
        Self { event: panicked.as_event(), procedure: panicked.procedure, promise: Promise::Aborts }
    }
}

/// The event of a run that was rolled back for this reason.
pub(crate) fn event_of(reason: &AbortReason) -> String {
    match reason {
        AbortReason::Procedure(abort) => format!("aborted ({abort})"),
        refused => format!("was refused a row ({refused})"),
    }
}

fn message_of(panic: &(dyn Any + Send)) -> Option<&str> {
    panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str))
}

/// The last panic of a thread.
struct Noted {
    message: String,
    location: String,
}

thread_local! {
    static LAST_PANIC: RefCell<Option<Noted>> = const { RefCell::new(None) };
}

/// Installs a panic hook, since only a hook sees a panic's location; the previous hook is called as well.
pub(crate) fn note_places_of_panics() {
    static ONCE: Once = Once::new();
    // Within a panic the hook cannot be changed.
    if std::thread::panicking() {
        return;
    }
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if let Some(location) = info.location() {
                let message = info.payload_as_str().unwrap_or_default().to_owned();
                let location = format!("{}:{}", location.file(), location.line());
                // A thread that is ending has no thread-local storage for it.
                let _ = LAST_PANIC.try_with(|last| last.replace(Some(Noted { message, location })));
            }
            before(info);
        }));
    });
}

#[cfg(test)]
mod tests {
    use std::panic::{catch_unwind, resume_unwind};

    use super::*;

    #[test]
    fn a_caught_panic_has_the_message_and_the_place_of_its_own() {
        note_places_of_panics();
        let index = std::hint::black_box(3);
        let (panic, line) = (catch_unwind(|| [1, 2][index]).unwrap_err(), line!());
        let caught = Panicked::caught("transfer", &*panic);
        assert_eq!(
            caught.to_string(),
            format!(
                "procedure \"transfer\" panicked: index out of bounds: the len is 2 but the index is 3 ({}:{line}); \
                 the transaction was rolled back",
                file!()
            )
        );
        let _ = catch_unwind(|| panic!("one before"));
        let resumed = catch_unwind(|| resume_unwind(Box::new("from elsewhere"))).unwrap_err();
        assert_eq!(
            Panicked::caught("transfer", &*resumed).to_string(),
            "procedure \"transfer\" panicked: from elsewhere; the transaction was rolled back"
        );
    }
}
