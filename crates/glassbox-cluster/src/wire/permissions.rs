//! Which party may send which message to which.
//!
//! The state machines ignore most messages that they should not receive; on a connection such a message is an error.
//! Its sender is broken or hostile, and nothing else from there is trustworthy either.

use crate::protocol::address::{Address, COORDINATOR};
use crate::protocol::message::Message;

/// Whether a party may send this message.
///
/// # Errors
/// Why it may not.
pub fn allowed(from: Address, to: Address, message: &Message) -> Result<(), String> {
    let is_replica = matches!(to, Address::Replica { .. });
    let reports = matches!((from, to), (Address::Replica { .. }, Address::Coordinator(_)));
    let instructs = is_replica && matches!(from, Address::Coordinator(_));
    // Clients coordinate under locking and OCC only; the receiver knows whether that is so.
    let coordinates = !matches!(from, Address::Replica { .. });
    let may = match message {
        Message::Recovered(_)
        | Message::SessionOrphaned(_)
        | Message::Waits(_)
        | Message::Executed(..)
        | Message::ExecutedOwn(_)
        | Message::Present(_) => reports,
        Message::Returned { .. } => from.is_member() && matches!(to, Address::Coordinator(_)),
        Message::Inputs(_)
        | Message::WriteCheckpoint
        | Message::Recover(_)
        | Message::SessionForgotten(_)
        | Message::Placed { .. }
        | Message::Withheld { .. }
        | Message::Probe => instructs,
        Message::Call { .. } | Message::Reconnoitre(_) => is_replica && matches!(from, Address::Client(_)),
        Message::Submit(_) => matches!((from, to), (Address::Client(_), Address::Coordinator(_))),
        Message::Fragment(fragment) => is_replica && coordinates && is_same(fragment.txn.coordinator, from),
        // A coordinator decides the transactions that a client left.
        Message::Decide { txn, .. } => {
            let inherits = matches!((from, txn.coordinator), (Address::Coordinator(_), Address::Client(_)));
            is_replica && coordinates && (is_same(txn.coordinator, from) || inherits)
        }
        Message::Result(result) => {
            let own = matches!(from, Address::Replica { partition, .. } if partition == result.partition);
            own && is_same(result.txn.coordinator, to)
        }
        Message::Answer { .. } => !matches!(from, Address::Client(_)) && matches!(to, Address::Client(_)),
        Message::PartialAnswer { .. } => matches!((from, to), (Address::Replica { .. }, Address::Client(_))),
        Message::Replicate { .. } | Message::Ack { .. } => peers(from, to),
        Message::QueryAcks => is_replica && coordinates,
        Message::DecisionAcks { .. } => matches!(from, Address::Replica { .. }) && !is_replica,
        // Members pass on the configuration of the operator to each other and to clients.
        Message::Configure(_) => !matches!(from, Address::Client(_)),
        Message::Rows { .. } => is_replica && peers(from, to),
        Message::Join { .. }
        | Message::Remember { .. }
        | Message::State { .. }
        | Message::Arrived { .. }
        | Message::NoRows { .. } => peers(from, to),
        Message::Withdrawn(txn) => matches!(from, Address::Replica { .. }) && is_same(txn.coordinator, to),
        Message::AskTurn { .. } | Message::Turn(_) | Message::Agreement { .. } => {
            matches!((from, to), (Address::Coordinator(_), Address::Coordinator(_)))
        }
        Message::Deadlock(txn) => matches!(from, Address::Coordinator(_)) && txn.coordinator == to,
        Message::ResumeAfter(_) => from.is_member() && to.is_member(),
        Message::Stop { .. } => is_replica && from.is_member(),
        Message::Unlink | Message::SentUpTo(_) => is_replica && matches!(from, Address::Replica { .. }),
        Message::Checkpointed(_) => matches!(from, Address::Replica { .. }) && to.is_member(),
        // Under a deterministic scheme the participants of a transaction communicate; the receiver knows whether that
        // is so.
        Message::Exchange(exchange) => {
            is_replica && matches!(from, Address::Replica { partition, .. } if partition == exchange.from)
        }
        Message::Reconnoitred(result) => from.partition() == Some(result.partition) && matches!(to, Address::Client(_)),
        Message::SessionOver(_) => matches!(
            (from, to),
            (Address::Client(_), Address::Replica { .. }) | (Address::Replica { .. }, Address::Client(_))
        ),
    };
    if may { Ok(()) } else { Err(format!("{from} must not send this to {to}: {}", name(message))) }
}

/// Whether two parties are of one group.
fn peers(a: Address, b: Address) -> bool {
    match (a, b) {
        (Address::Replica { partition: a, .. }, Address::Replica { partition: b, .. }) => a == b,
        // A sequencer and its hot backups; the receiver knows whether they are.
        (Address::Coordinator(_), Address::Coordinator(_)) => true,
        _ => false,
    }
}

/// Whether a party may have this name in transactions that it coordinates. Where a coordinator is elected, they have
/// one name; the receiver knows which member it is.
fn is_same(coordinator: Address, party: Address) -> bool {
    coordinator == party || coordinator == COORDINATOR && matches!(party, Address::Coordinator(_))
}

fn name(message: &Message) -> &'static str {
    match message {
        Message::Call { .. } => "a call",
        Message::Submit(_) => "a submission",
        Message::Fragment(_) => "a fragment, of a transaction that it does not coordinate",
        Message::Result(_) => "a result, of another partition",
        Message::Decide { .. } => "a decision, about a transaction that it does not coordinate",
        Message::Answer { .. } | Message::PartialAnswer { .. } => "an answer",
        Message::Replicate { .. } => "an entry of a stream",
        Message::Ack { .. } => "an acknowledgement of entries",
        Message::QueryAcks => "a request for acknowledgements",
        Message::DecisionAcks { .. } => "the number of received decisions",
        Message::Configure(_) => "a configuration",
        Message::Agreement { .. } => "a message of the agreement on the log",
        Message::Withheld { .. } => "a refusal of a place",
        Message::Returned { .. } => "a restarted member's request for a place",
        Message::Probe => "a question how it is",
        Message::Present(_) => "a report how it is",
        Message::Placed { .. } => "the place of a restarted replica",
        Message::Join { .. } => "a request to join",
        Message::Rows { .. } => "rows",
        Message::State { .. } => "the end of its rows",
        Message::Arrived { .. } => "a report of rows that have arrived",
        Message::NoRows { .. } => "a report that it has no rows",
        Message::SentUpTo(_) => "the end of a part of its rows and votes",
        Message::Remember { .. } => "the state besides its rows",
        Message::Recover(_) => "a request for undecided transactions",
        Message::Recovered(_) => "a report about transactions",
        Message::SessionOrphaned(_) => "the end of a client's session with undecided transactions",
        Message::SessionForgotten(_) => "the outcome of a client's session",
        Message::SessionOver(_) => "the end of a client's session",
        Message::Withdrawn(_) => "a withdrawal of results, of transactions that are not coordinated here",
        Message::AskTurn { .. } => "a request for the turn",
        Message::Turn(_) => "the turn",
        Message::Waits(_) => "a report of a wait",
        Message::Deadlock(_) => "a request to restart a transaction that is not coordinated there",
        Message::Inputs(_) => "inputs of the log",
        Message::WriteCheckpoint => "a request for a checkpoint",
        Message::Stop { .. } => "an order to stop",
        Message::Unlink => "the end of an exchange with another replica set",
        Message::Executed(..) | Message::ExecutedOwn(_) => "the digests of an epoch",
        Message::ResumeAfter(_) => "a request for inputs and rows",
        Message::Checkpointed(_) => "a report of its checkpoint",
        Message::Exchange(_) => "rows or a vote, of another partition",
        Message::Reconnoitre(_) => "a request for a reconnaissance",
        Message::Reconnoitred(_) => "a reconnaissance, of another partition",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::address::TxnId;

    #[test]
    fn a_party_decides_only_transactions_that_it_coordinates() {
        let primary = Address::Replica { partition: 0, replica: 0 };
        let decide = |coordinator| Message::Decide { txn: TxnId { coordinator, sequence: 1 }, commit: true };
        let (me, you, central) = (Address::Client(1), Address::Client(2), Address::Coordinator(0));
        assert!(allowed(me, primary, &decide(me)).is_ok());
        assert!(allowed(me, primary, &decide(you)).is_err());
        assert!(allowed(me, primary, &decide(central)).is_err());
        assert!(allowed(central, primary, &decide(central)).is_ok());
        assert!(allowed(me, primary, &Message::Ack { sequence: 1 }).is_err());
    }
}
