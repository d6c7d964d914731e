//! The outcome of a call, for its caller.

use glassbox::shard::Output;
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
const UNKNOWN: &str =
    "whoever ran it is gone, so nobody can tell whether it counts: look for what it would have changed";

impl Answered {
    /// The output of a call of this procedure, merged from all participants.
    ///
    /// # Errors
    /// The procedure's abort; an outcome that cannot be decoded.
    pub fn output<P: Procedure>(self) -> Result<P::Output, Error> {
        let bad = |error| Error::Config(format!("the answer of procedure `{}` cannot be read: {error}", P::NAME));
        let read = |output: Output| output.read_or::<P::Output, _>(bad);
        match self.outcome {
            Outcome::Done(mut parts) => {
                if parts.len() == 1
                    && let Some((_, output)) = parts.pop()
                {
                    return read(output);
                }
                let home = parts.iter().position(|(partition, _)| *partition == self.home).unwrap_or(0);
                if parts.is_empty() {
                    return Err(Error::Config("an answer without parts".to_owned()));
                }
                let mut output = read(parts.remove(home).1)?;
                for (_, part) in parts {
                    P::merge(&mut output, read(part)?);
                }
                Ok(output)
            }
            Outcome::Aborted(abort) => Err(Error::Aborted(abort)),
            Outcome::Elsewhere(_) => Err(Error::Config("a call ended on too few partitions".to_owned())),
            Outcome::Failed(why) => Err(Error::Config(why)),
            Outcome::Unknown => Err(Error::Uncertain(UNKNOWN.to_owned())),
        }
    }
}
