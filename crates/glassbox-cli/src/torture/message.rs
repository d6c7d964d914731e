//! The messages from a child to its parent, one line each.

use std::io::{self, Write};
use std::str::FromStr;

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// It has recovered and checked; the number of transactions of each client.
    Ready(Vec<u64>),
    /// A client will send transactions up to this number.
    WillSend(usize, u64),
    /// A client's transactions up to this number are acknowledged.
    Acknowledged(usize, u64),
    /// A check failed.
    Violation(String),
}

impl Message {
    /// Sends it in one write, so that lines of several threads do not interleave.
    pub fn send(&self) -> io::Result<()> {
        let line = match self {
            Self::Ready(counts) => format!("ready {}\n", join(counts)),
            Self::WillSend(client, number) => format!("send {client} {number}\n"),
            Self::Acknowledged(client, number) => format!("done {client} {number}\n"),
            Self::Violation(what) => format!("violation {}\n", what.replace('\n', "; ")),
        };
        let mut out = io::stdout().lock();
        out.write_all(line.as_bytes())?;
        out.flush()
    }
}

/// Numbers as one word.
pub fn join(numbers: &[u64]) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}

/// The inverse of [`join`].
pub fn split(text: &str) -> Option<Vec<u64>> {
    text.split(',').map(|number| number.parse().ok()).collect()
}

impl FromStr for Message {
    type Err = ();

    fn from_str(line: &str) -> Result<Self, ()> {
        let (word, rest) = line.split_once(' ').ok_or(())?;
        let pair = || {
            let (client, number) = rest.split_once(' ')?;
            Some((client.parse().ok()?, number.parse().ok()?))
        };
        match word {
            "ready" => split(rest).map(Self::Ready),
            "send" => pair().map(|(client, number)| Self::WillSend(client, number)),
            "done" => pair().map(|(client, number)| Self::Acknowledged(client, number)),
            "violation" => Some(Self::Violation(rest.to_owned())),
            _ => None,
        }
        .ok_or(())
    }
}
