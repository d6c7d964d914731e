//! The outcome of a call, for its caller.

use glassbox::research::shard::Output;
use glassbox::{Error, Procedure};

use crate::protocol::message::Outcome;

/// A call that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The number that [`Router::call`](crate::Router::call) gave it.
    pub id: u64,
    /// The outcome.
    pub outcome: Outcome,
    /// The home partition, whose output is the basis of the result.
    pub home: u8,
}

/// The reason of an unknown outcome.
const UNKNOWN: &str = "the process that ran the call failed before it answered";

impl Answered {
    /// The output of a call of this procedure, merged from all participants.
    ///
    /// # Errors
    /// The abort reason; the failure; an outcome that is unknown or cannot be decoded.
    pub fn output<P: Procedure>(self) -> Result<P::Output, Error> {
        let bad = |problem| Error::Protocol { problem };
        let unreadable = |error| bad(format!("the answer of procedure `{}` cannot be read: {error}", P::NAME));
        let read = |output: Output| output.read_or::<P::Output, _>(unreadable);
        match self.outcome {
            Outcome::Done(mut parts) => {
                if parts.len() == 1
                    && let Some((_, output)) = parts.pop()
                {
                    return read(output);
                }
                let home = parts.iter().position(|(partition, _)| *partition == self.home).unwrap_or(0);
                if parts.is_empty() {
                    return Err(bad("an answer has no parts".to_owned()));
                }
                let mut output = read(parts.remove(home).1)?;
                for (_, part) in parts {
                    P::merge(&mut output, read(part)?);
                }
                Ok(output)
            }
            Outcome::Aborted(reason) => Err(reason.into()),
            Outcome::Elsewhere(_) => Err(bad("a call ended on too few partitions".to_owned())),
            Outcome::Failed(failure) => Err((*failure).into()),
            Outcome::Unknown => Err(Error::OutcomeUnknown { reason: UNKNOWN.to_owned() }),
        }
    }
}
