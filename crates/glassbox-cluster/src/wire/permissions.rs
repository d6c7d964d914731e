//! Who may say what to whom.
//!
//! The machines pass over most of what they should not hear; on a connection it is an error. Somebody who says it is
//! broken or hostile, and nothing else from there should be believed either.

use crate::protocol::address::Address;
use crate::protocol::message::Message;

/// Whether this may be said.
///
/// # Errors
/// Why it may not.
pub fn allowed(from: Address, to: Address, message: &Message) -> Result<(), String> {
    let peers = |a: Address, b: Address| match (a, b) {
        (Address::Replica { partition: a, .. }, Address::Replica { partition: b, .. }) => a == b,
        _ => false,
    };
    let is_replica = matches!(to, Address::Replica { .. });
    // Clients do so under locking and occ only; whoever hears it knows whether that is so.
    let coordinates = !matches!(from, Address::Replica { .. });
    let may = match message {
        Message::Call { .. } => is_replica && matches!(from, Address::Client(_)),
        Message::Submit(_) => matches!((from, to), (Address::Client(_), Address::Coordinator(_))),
        Message::Fragment(fragment) => is_replica && coordinates && fragment.txn.coordinator == from,
        // A coordinator decides about what a client has left.
        Message::Decide { txn, .. } => {
            let inherits = matches!((from, txn.coordinator), (Address::Coordinator(_), Address::Client(_)));
            is_replica && coordinates && (txn.coordinator == from || inherits)
        }
        Message::Result(result) => {
            let own = matches!(from, Address::Replica { partition, .. } if partition == result.partition);
            own && result.txn.coordinator == to
        }
        Message::Answer { .. } => !matches!(from, Address::Client(_)) && matches!(to, Address::Client(_)),
        Message::Replicate { .. } | Message::Held { .. } => peers(from, to),
        Message::AskHeard => is_replica && coordinates,
        Message::HeardSoFar { .. } => matches!(from, Address::Replica { .. }) && !is_replica,
        // Members tell each other and clients what whoever decides it has told one of them.
        Message::Configure(_) => !matches!(from, Address::Client(_)),
        Message::Join { .. } | Message::Rows { .. } | Message::State { .. } => peers(from, to),
        Message::Remember { .. } => peers(from, to),
        Message::Recover(_) | Message::Ended(_) => is_replica && matches!(from, Address::Coordinator(_)),
        Message::Withdrawn(txn) => matches!(from, Address::Replica { .. }) && txn.coordinator == to,
        Message::AskTurn { .. } | Message::Turn(_) => {
            matches!((from, to), (Address::Coordinator(_), Address::Coordinator(_)))
        }
        Message::Recovered(_) => matches!((from, to), (Address::Replica { .. }, Address::Coordinator(_))),
        Message::Left(_) => matches!((from, to), (Address::Replica { .. }, Address::Coordinator(_))),
        Message::Over(_) => matches!(
            (from, to),
            (Address::Client(_), Address::Replica { .. }) | (Address::Replica { .. }, Address::Client(_))
        ),
    };
    if may { Ok(()) } else { Err(format!("{from} must not say this to {to}: {}", name(message))) }
}

fn name(message: &Message) -> &'static str {
    match message {
        Message::Call { .. } => "a call",
        Message::Submit(_) => "a submission",
        Message::Fragment(_) => "a fragment, of a transaction that it does not coordinate",
        Message::Result(_) => "a result, of a partition that it is not",
        Message::Decide { .. } => "a decision, about a transaction that it does not coordinate",
        Message::Answer { .. } => "an answer",
        Message::Replicate { .. } => "an entry of a stream",
        Message::Held { .. } => "that entries are held",
        Message::AskHeard => "a question for decisions",
        Message::HeardSoFar { .. } => "which decisions it heard",
        Message::Configure(_) => "a configuration",
        Message::Join { .. } => "that it joins",
        Message::Rows { .. } => "rows",
        Message::State { .. } => "that these were its rows",
        Message::Remember { .. } => "what goes with its rows",
        Message::Recover(_) => "that it recovers",
        Message::Recovered(_) => "what it knows of transactions",
        Message::Left(_) => "that a client has left something",
        Message::Ended(_) => "that a client's transactions have ended",
        Message::Over(_) => "that a client coordinates no more",
        Message::Withdrawn(_) => "that results do not count, of transactions that are not coordinated here",
        Message::AskTurn { .. } => "that it wants the turn",
        Message::Turn(_) => "whose turn it is",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::address::TxnId;

    #[test]
    fn nobody_decides_about_the_transactions_of_others() {
        let primary = Address::Replica { partition: 0, replica: 0 };
        let decide = |coordinator| Message::Decide { txn: TxnId { coordinator, sequence: 1 }, commit: true };
        let (me, you, central) = (Address::Client(1), Address::Client(2), Address::Coordinator(0));
        assert!(allowed(me, primary, &decide(me)).is_ok());
        assert!(allowed(me, primary, &decide(you)).is_err());
        assert!(allowed(me, primary, &decide(central)).is_err());
        assert!(allowed(central, primary, &decide(central)).is_ok());
        assert!(allowed(me, primary, &Message::Held { sequence: 1 }).is_err());
    }
}
