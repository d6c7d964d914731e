//! Known bugs, injected into messages in flight, which the checkers must detect.

use std::collections::BTreeMap;

use glassbox::research::shard::RemoteReadResult;
use glassbox_cluster::{Address, Entry, Exchange, ExchangeContent, Fragment, FragmentWork, Message};

use super::settings::Bug;
use glassbox_testing::dice::Dice;

/// One message in this many is changed.
const ONE_IN: u64 = 20;

/// Changes messages.
#[derive(Debug, Default)]
pub(super) struct Canary {
    /// The remote rows of the last run of each partition.
    given: BTreeMap<Address, Vec<RemoteReadResult>>,
    /// Whether the input that is to be skipped was skipped.
    has_skipped: bool,
}

impl Canary {
    /// The message as it arrives, or `None`; and an immediate answer, if there is one.
    pub(super) fn change(
        &mut self,
        bug: Bug,
        to: Address,
        message: Message,
        dice: &mut Dice,
    ) -> (Option<Message>, Option<Message>) {
        match (bug, message) {
            (Bug::HalfCommit, Message::Decide { txn, commit: true }) if dice.one_in(ONE_IN) => {
                (Some(Message::Decide { txn, commit: false }), None)
            }
            (Bug::HalfAbort, Message::Decide { txn, commit: false }) if dice.one_in(ONE_IN) => {
                (Some(Message::Decide { txn, commit: true }), None)
            }
            (Bug::MissedWithdrawal, Message::Withdrawn(_))
            | (Bug::MissedSessionEnd, Message::SessionOrphaned(_))
            | (Bug::MissedDeadlock, Message::Deadlock(_)) => (None, None),
            (Bug::LostDecision, Message::Decide { .. }) if dice.one_in(ONE_IN) => (None, None),
            (Bug::ForgottenEntry, Message::Replicate { sequence, entry })
                if matches!(*entry, Entry::Run(_) | Entry::Announce(_)) && dice.one_in(ONE_IN) =>
            {
                (Some(Message::Replicate { sequence, entry: Box::new(Entry::NoOp) }), None)
            }
            (Bug::MissedScheme, Message::Replicate { sequence, entry }) if matches!(*entry, Entry::ChangeScheme(_)) => {
                (Some(Message::Replicate { sequence, entry: Box::new(Entry::NoOp) }), None)
            }
            (Bug::Unordered, Message::Fragment(fragment)) => {
                (Some(Message::Fragment(Box::new(Fragment { place: 0, ..*fragment }))), None)
            }
            (Bug::FalseAck, Message::Replicate { sequence, .. }) => (None, Some(Message::Ack { sequence })),
            (Bug::StaleRows, Message::Fragment(mut fragment)) => {
                if let FragmentWork::Run(given) = &mut fragment.work
                    && !given.is_empty()
                {
                    self.make_stale(to, given);
                }
                (Some(Message::Fragment(fragment)), None)
            }
            (Bug::InputsReordered, Message::Inputs(mut batch)) if dice.one_in(2) => {
                batch.inputs.reverse();
                (Some(Message::Inputs(batch)), None)
            }
            (Bug::SkippedInput, Message::Inputs(mut batch))
                if !self.has_skipped && to == (Address::Replica { partition: 0, replica: 1 }) && batch.epoch > 5 =>
            {
                let own = batch.inputs.iter().position(|input| input.participants.is_single());
                // Of an epoch that it does not execute it reports nothing.
                if let Some(own) = own.filter(|_| batch.inputs.len() > 1) {
                    batch.inputs.remove(own);
                    self.has_skipped = true;
                }
                (Some(Message::Inputs(batch)), None)
            }
            (Bug::FalseClock, Message::Inputs(mut batch)) if batch.inputs.is_empty() && dice.one_in(ONE_IN) => {
                // For four sequencers and less, of the same one.
                batch.epoch += 5 * 12;
                (Some(Message::Inputs(batch)), None)
            }
            (Bug::FalseVote | Bug::LostVote | Bug::StaleExchange, Message::Exchange(exchange)) => {
                (self.change_exchange(bug, to, exchange, dice).map(Message::Exchange), None)
            }
            (_, message) => (Some(message), None),
        }
    }

    /// Changes what a participant sends another one; `None`: it is lost.
    fn change_exchange(
        &mut self,
        bug: Bug,
        to: Address,
        mut exchange: Box<Exchange>,
        dice: &mut Dice,
    ) -> Option<Box<Exchange>> {
        match (bug, &mut exchange.content) {
            (Bug::FalseVote, content @ ExchangeContent::Refusal(_)) if dice.one_in(ONE_IN) => {
                *content = ExchangeContent::Vote;
            }
            (Bug::LostVote, ExchangeContent::Vote | ExchangeContent::Refusal(_)) if dice.one_in(ONE_IN) => return None,
            (Bug::StaleExchange, ExchangeContent::Rows(rows)) => self.make_stale(to, rows),
            _ => {}
        }
        Some(exchange)
    }

    /// Replaces rows by those that the party was sent before.
    fn make_stale(&mut self, to: Address, rows: &mut [RemoteReadResult]) {
        let before = self.given.insert(to, rows.to_vec()).unwrap_or_default();
        for found in rows {
            if let Some(older) = before.iter().find(|older| older.lookup == found.lookup) {
                found.rows.clone_from(&older.rows);
            }
        }
    }
}
