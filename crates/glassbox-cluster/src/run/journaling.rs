//! A node and its journal: what the member wants written goes there, and what is on disk the member hears.

use glassbox::shard::Shard;

use super::keeper::Keeper;
use super::node::Node;
use crate::message::Message;
use crate::outbox::{Action, Outbox};
use crate::role::Role;

impl Node {
    /// The same, of a replica with a journal.
    #[must_use]
    pub fn with_journal(mut self, keeper: Keeper) -> Self {
        self.keeper = Some(keeper);
        self
    }

    /// Does with its journal what the member wants; what else it wants is given back.
    #[inline]
    pub(super) fn keep(&mut self, action: Action) -> Option<Action> {
        let (Some(keeper), Some(member)) = (&mut self.keeper, &mut self.member) else { return Some(action) };
        match action {
            Action::Send(to, Message::Replicate { sequence, entry }) if to == self.me => {
                keeper.entry(sequence, *entry);
            }
            Action::Forget => keeper.forget(),
            Action::Base(base) => {
                keeper.base(*base, member.since().unwrap_or_default(), member.configuration());
                if !keeper.makes_base() {
                    member.shard().into_iter().for_each(Shard::unfix);
                }
            }
            other => return Some(other),
        }
        None
    }

    /// Has what was kept get to the disk.
    pub(super) fn force(&mut self, out: &mut Outbox) {
        let (Some(keeper), Some(member)) = (&mut self.keeper, &mut self.member) else { return };
        keeper.force(member.configuration());
        if keeper.is_base_due() {
            member.renew_base(out);
        }
        // Nobody else may have the rows.
        if let Role::Primary(partition) = member.role_mut() {
            keeper.secure(partition.shard());
        }
    }

    /// Why it cannot go on.
    pub fn failed(&self) -> Option<&str> {
        self.keeper.as_ref().and_then(Keeper::failed)
    }

    /// Ends its journal for certain, if it has one.
    pub fn close(&mut self) {
        self.keeper.iter_mut().for_each(Keeper::close);
    }
}
