//! Messages that no frame can carry: the call ends with an error, and the connection stays.
//!
//! A frame has a maximum payload. Without this, a larger message would end its connection, and with it every other call
//! of the client. A message is encoded where it is sent, so its size is known there, and only one that is large is
//! looked at:
//!
//! - arguments of more than [`MAX_ARGUMENT_BYTES`] are refused by the client, and nothing is sent;
//! - a participant whose output is too large votes against the transaction;
//! - the output of a call on one partition is encoded after the commit, and so are the outputs of all participants
//!   together: the client receives an error that says that the call was committed.

use glassbox::research::shard::{Call, DeclaredKeys, Failure};

use crate::protocol::address::Address;
use crate::protocol::input::MAX_ARGUMENT_BYTES;
use crate::protocol::message::{
    Fragment, FragmentEnd, FragmentResult, Message, Outcome, Packet, ReconnaissanceEnd, ReconnaissanceResult,
};
use crate::wire::MAX_PAYLOAD_BYTES;

/// The consequence of a message that is too large.
#[derive(Debug, PartialEq)]
pub(super) enum Oversized {
    /// This one is sent instead.
    Instead(Packet),
    /// This one is the answer, and nothing is sent.
    Back(Packet),
}

/// The consequence of a message of this encoded size; `None`: it is sent.
#[inline]
pub(super) fn oversized(to: Address, packet: &Packet, bytes: usize) -> Option<Oversized> {
    if bytes <= MAX_ARGUMENT_BYTES {
        return None;
    }
    look(to, packet, bytes)
}

#[cold]
fn look(to: Address, packet: &Packet, bytes: usize) -> Option<Oversized> {
    let Packet { epoch, ref message } = *packet;
    let back = |message| Some(Oversized::Back(Packet { epoch, message }));
    let refused = |failure| Outcome::Failed(Box::new(failure));
    match message {
        Message::Call { id, call } => back(Message::Answer { id: *id, outcome: refused(too_large(call, bytes)?) }),
        Message::Reconnoitre(request) => {
            back(Message::Answer { id: request.id, outcome: refused(too_large(&request.call, bytes)?) })
        }
        Message::Submit(submission) => {
            let failure = too_large(&submission.call, bytes)?;
            back(Message::Answer { id: submission.id, outcome: refused(failure) })
        }
        Message::Fragment(fragment) => {
            let failure = too_large(&fragment.call, bytes)?;
            let Fragment { txn, round, .. } = **fragment;
            let partition = to.partition()?;
            let after = None;
            let received = 0;
            let end = FragmentEnd::Failed(Box::new(failure));
            back(Message::Result(Box::new(FragmentResult { txn, round, partition, end, after, received })))
        }
        _ if bytes <= MAX_PAYLOAD_BYTES => None,
        message => Some(Oversized::Instead(Packet { epoch, message: without_output(message, bytes)? })),
    }
}

/// The refusal of a call whose arguments are too large, or which has too many rows of other partitions.
fn too_large(call: &Call, bytes: usize) -> Option<Failure> {
    let of_arguments = call.arguments.bytes().len();
    if of_arguments > MAX_ARGUMENT_BYTES {
        let limit = MAX_ARGUMENT_BYTES as u64;
        return Some(Failure::ArgumentsTooLarge { bytes: of_arguments as u64, limit });
    }
    (bytes > MAX_PAYLOAD_BYTES).then(|| of_message(bytes))
}

/// The refusal of a call for which other partitions have to send more rows than a message has room for.
fn of_message(bytes: usize) -> Failure {
    Failure::ArgumentsTooLarge { bytes: bytes as u64, limit: MAX_PAYLOAD_BYTES as u64 }
}

/// The message without the output that makes it too large.
fn without_output(message: &Message, bytes: usize) -> Option<Message> {
    let failure = |is_committed| {
        Box::new(Failure::OutputTooLarge { bytes: bytes as u64, limit: MAX_PAYLOAD_BYTES as u64, is_committed })
    };
    Some(match message {
        Message::Answer { id, outcome: Outcome::Done(_) } => {
            Message::Answer { id: *id, outcome: Outcome::Failed(failure(true)) }
        }
        Message::PartialAnswer { id, attempt, outcome: Outcome::Done(_) } => {
            let outcome = Outcome::Failed(failure(true));
            Message::PartialAnswer { id: *id, attempt: *attempt, outcome }
        }
        Message::Result(result) if matches!(result.end, FragmentEnd::Done(_) | FragmentEnd::Found(_)) => {
            let FragmentResult { txn, round, partition, after, received, .. } = **result;
            let end = FragmentEnd::Failed(match result.end {
                FragmentEnd::Found(_) => Box::new(of_message(bytes)),
                _ => failure(false),
            });
            Message::Result(Box::new(FragmentResult { txn, round, partition, end, after, received }))
        }
        // The whole partition is locked instead.
        Message::Reconnoitred(result) => {
            let ReconnaissanceResult { id, round, partition, .. } = **result;
            let keys = DeclaredKeys::none();
            let end = ReconnaissanceEnd::Unknown;
            Message::Reconnoitred(Box::new(ReconnaissanceResult { id, round, partition, keys, end }))
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use glassbox::record::Timestamp;

    use super::*;
    use crate::protocol::address::TxnId;

    const TO: Address = Address::Replica { partition: 3, replica: 0 };

    fn packet(message: Message) -> (Packet, usize) {
        let packet = Packet { epoch: 7, message };
        let bytes = postcard::to_allocvec(&packet).unwrap().len();
        (packet, bytes)
    }

    /// Case 41: one limit for arguments, before anything is sent.
    #[test]
    fn arguments_over_the_limit_are_refused_by_the_client() {
        let of = |bytes: usize| {
            let call = Call { procedure: 0, arguments: vec![1; bytes].into(), now: Timestamp::default(), seed: 0 };
            let (packet, bytes) = packet(Message::Call { id: 9, call });
            oversized(TO, &packet, bytes)
        };
        assert_eq!((of(100), of(MAX_ARGUMENT_BYTES)), (None, None));
        let bytes = MAX_ARGUMENT_BYTES as u64 + 1;
        let failure = Failure::ArgumentsTooLarge { bytes, limit: MAX_ARGUMENT_BYTES as u64 };
        let outcome = Outcome::Failed(Box::new(failure));
        let answer = Packet { epoch: 7, message: Message::Answer { id: 9, outcome } };
        assert_eq!(of(MAX_ARGUMENT_BYTES + 1), Some(Oversized::Back(answer)));
    }

    /// Case 41: a participant has not committed, and votes against it; an answer says that it was committed.
    #[test]
    fn an_output_over_the_limit_is_refused_before_the_commit_or_reported_as_committed() {
        let output = || glassbox::research::shard::Output::from(vec![1; MAX_PAYLOAD_BYTES]);
        let instead = |message| {
            let (packet, bytes) = packet(message);
            match oversized(TO, &packet, bytes) {
                Some(Oversized::Instead(packet)) => packet.message,
                other => panic!("{other:?}"),
            }
        };
        let txn = TxnId { coordinator: Address::Coordinator(0), sequence: 1 };
        let end = FragmentEnd::Done(output());
        let result = FragmentResult { txn, round: 0, partition: 3, end, after: None, received: 2 };
        match instead(Message::Result(Box::new(result))) {
            Message::Result(result) => assert!(
                matches!(&result.end, FragmentEnd::Failed(why)
                    if matches!(**why, Failure::OutputTooLarge { is_committed: false, .. })),
                "{result:?}"
            ),
            other => panic!("{other:?}"),
        }
        match instead(Message::Answer { id: 9, outcome: Outcome::Done(smallvec::smallvec![(0, output())]) }) {
            Message::Answer { id: 9, outcome: Outcome::Failed(why) } => {
                assert!(matches!(*why, Failure::OutputTooLarge { is_committed: true, .. }));
            }
            other => panic!("{other:?}"),
        }
    }
}
