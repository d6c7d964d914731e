//! Which version of a row a scan saw that did not return it.
//!
//! Adya (1999, §4.3) lets a predicate-based read select one version of *every* row of the table, unborn and dead ones
//! among them; those that match are returned. Of a row that was not returned, the result says only that the version
//! selected does not match. In the order of the versions, those that do not match stand in runs between those that do,
//! and within a run all are the same to the predicate. So the question is which run was seen:
//!
//! - one run (the row only ever entered, or only ever left): that one, exactly;
//! - several: it is not known. What holds whichever it was is that the reader comes after the writer who began the
//!   *first* run, and before the one who ended the *last*. To add an edge for a run that may not have been seen would
//!   find anomalies where there are none.
//!
//! A check that takes real time into account knows more: a run that was over before the reader asked, or began after
//! it was answered, was not seen. In a history without long pauses this leaves one run of nearly every row. Should it
//! leave none, then what the reader did not see was there all the time, and the latest run that had begun gives the
//! cycle that says so.

use super::history::{History, Transaction};
use super::orders::Version;

/// What a row that was not seen says about the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unseen {
    /// The version that made the row not match: its writer comes before.
    pub made_so: Option<Version>,
    /// The version that made it match next: its writer comes after.
    pub next: Option<Version>,
}

/// Consecutive versions that do not match, by place.
#[derive(Debug, Clone, Copy)]
struct Run {
    first: usize,
    last: usize,
}

/// For one row and one reader that did not see it; with `history`, by real time too.
pub fn unseen(
    versions: &[Version],
    matches: impl Fn(&Option<u8>) -> bool,
    history: Option<&History>,
    reader: u32,
) -> Unseen {
    let mut runs = Vec::new();
    for (at, version) in versions.iter().enumerate() {
        match runs.last_mut() {
            _ if matches(&version.rank) => {}
            Some(Run { last, .. }) if *last + 1 == at => *last = at,
            _ => runs.push(Run { first: at, last: at }),
        }
    }
    if let Some(history) = history {
        narrow(&mut runs, versions, history, reader);
    }
    let (first, last) = (runs.first(), runs.last());
    Unseen {
        made_so: first.map(|run| versions[run.first]),
        next: last.and_then(|run| versions.get(run.last + 1)).copied(),
    }
}

fn narrow(runs: &mut Vec<Run>, versions: &[Version], history: &History, reader: u32) {
    let Some(reader) = history.get(reader).filter(|_| runs.len() > 1) else { return };
    let begun =
        |run: &Run| writer(history, versions.get(run.first)).is_none_or(|it| it.invoked_ns <= reader.completed_ns);
    let over =
        |run: &Run| writer(history, versions.get(run.last + 1)).is_some_and(|it| it.completed_ns < reader.invoked_ns);
    let possible: Vec<_> = runs.iter().copied().filter(|run| begun(run) && !over(run)).collect();
    if possible.is_empty() {
        let latest = runs.iter().copied().rfind(|run| begun(run)).unwrap_or(runs[0]);
        *runs = vec![latest];
    } else {
        *runs = possible;
    }
}

fn writer<'a>(history: &'a History, version: Option<&Version>) -> Option<&'a Transaction> {
    history.get(version?.value.writer())
}
