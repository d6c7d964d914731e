//! A machine of any kind, as whoever drives it sees it.

use glassbox::shard::Shard;

use crate::address::Address;
use crate::backup::Backup;
use crate::coordinator::Coordinator;
use crate::message::Message;
use crate::outbox::Outbox;
use crate::partition::Partition;
use crate::wire::{Answer, Question};

/// Bytes of rows in one answer.
const ROWS_BYTES: usize = 1 << 20;

/// One of a cluster's machines.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "a process has a few of them")]
pub enum Machine {
    /// A partition's primary.
    Primary(Partition),
    /// A backup.
    Backup(Backup),
    /// The coordinator.
    Coordinator(Coordinator),
}

impl Machine {
    /// A message arrives.
    pub fn handle(&mut self, from: Address, message: Message, now_us: u64, out: &mut Outbox) {
        match self {
            Self::Primary(partition) => partition.handle(from, message, out),
            Self::Backup(backup) => backup.handle(from, message, out),
            Self::Coordinator(coordinator) => match message {
                Message::Submit(submission) => coordinator.submit(from, submission, now_us, out),
                Message::HeardSoFar(heard) => coordinator.heard(from, heard),
                Message::Result(result) => {
                    for end in coordinator.hears(result, now_us, out) {
                        out.send(end.client, Message::Answer { id: end.id, outcome: end.outcome });
                    }
                }
                _ => {}
            },
        }
    }

    /// Does one thing that waited and can be done now; whether there was one. To be called, when nothing has arrived,
    /// until it says `false`.
    pub fn proceed(&mut self, out: &mut Outbox) -> bool {
        match self {
            Self::Primary(partition) => partition.proceed(out),
            Self::Backup(_) | Self::Coordinator(_) => false,
        }
    }

    /// The rows, if it has any.
    pub fn shard(&mut self) -> Option<&mut Shard> {
        match self {
            Self::Primary(partition) => Some(partition.shard()),
            Self::Backup(backup) => Some(backup.shard()),
            Self::Coordinator(_) => None,
        }
    }

    /// What is under way here, or went wrong; `None`: nothing.
    pub fn unfinished(&self) -> Option<String> {
        match self {
            Self::Primary(partition) => (!partition.is_idle()).then(|| "something is under way".to_owned()),
            Self::Backup(backup) => backup.lost().map(|why| format!("it does not follow any more: {why}")),
            Self::Coordinator(coordinator) => {
                let pending = coordinator.pending();
                (pending > 0).then(|| format!("{pending} transactions are not decided"))
            }
        }
    }

    /// Answers who looks after the cluster.
    pub fn answer(&mut self, question: Question) -> Answer {
        match question {
            Question::State => {
                let unfinished = self.unfinished();
                let digest = self.shard().map(|shard| shard.verify().map(|()| shard.digest()));
                Answer::State { unfinished, digest }
            }
            Question::Rows { table, from } => {
                let rows = self.shard().and_then(|shard| shard.stored(table, from, ROWS_BYTES));
                rows.map_or(Answer::Nothing, |(replicated, rows, next)| Answer::Rows { replicated, rows, next })
            }
        }
    }
}
