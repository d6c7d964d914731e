//! The members that agree: which incarnations take part, and their changes.

use std::collections::BTreeSet;

use crate::node::agreed::Proposal;
use crate::node::agreed_log::{AgreedLog, coordinator};
use crate::node::incarnations::{self, Incarnations, number_of};
use crate::protocol::address::Address;
use crate::protocol::message::Message;
use crate::protocol::outbox::{Action, Outbox};

impl AgreedLog {
    /// Receives a message of another member of the group, from one of its incarnations to one of this member.
    pub(crate) fn receive(&mut self, from: Address, (sent_by, to): (u64, u64), message: &[u8], now_us: u64) {
        if let Some(number) = coordinator(from).filter(|_| to == self.incarnations.own()) {
            self.incarnations.note_addressed(now_us);
            self.agreement.receive(incarnations::identity(number, sent_by), message);
            self.is_due = true;
        }
    }

    /// Another member asks for its place, in this incarnation; whether it has what this one had voted.
    pub(super) fn member_returned(&mut self, number: u64, incarnation: (u64, bool), now_us: u64) {
        self.incarnations.note_asking(number, incarnation, now_us);
        let next = Incarnations::replacing(&self.agreement.members(), number, incarnation.0);
        if let Some(next) = next.filter(|_| self.agreement.leadership().is_ready) {
            self.agreement.change_members(&next, &self.incarnations.asking(now_us));
            self.is_due = true;
        }
    }

    /// Asks for its place among this number of coordinators, if nothing is sent to it.
    pub(crate) fn ask(&mut self, coordinators: u16, now_us: u64, out: &mut Outbox) {
        if self.broken.is_some() {
            return;
        }
        if self.incarnations.asks(self.is_member(), now_us) {
            let own =
                Message::Returned { life: self.incarnations.own(), kept: self.has_votes().then_some(self.log_end()) };
            let others = (0..coordinators).map(Address::Coordinator).filter(|it| *it != self.me);
            others.for_each(|other| out.send(other, own.clone()));
        }
        if self.agreed.configuration.members().contains(&self.me) && self.incarnations.waits_for_long(now_us) {
            let line = format!(
                "{} has forgotten what it had voted, and waits for the group to take it in: no majority of the \
                 coordinators answers; start those that do not run. If a majority was started again without what it \
                 had voted, the log is lost: begin another cluster",
                self.me
            );
            out.actions.push(Action::Report(line));
        }
        if self.incarnations.is_lost(&self.agreement.quorums(), coordinators.into(), now_us) {
            self.broken = Some(
                "the log of the cluster is lost: a majority of the coordinators was started again without what it had \
                 voted. Stop all processes and begin another cluster; with --dir, processes may end all at once"
                    .to_owned(),
            );
        }
    }

    /// Whether it has what it has voted in this incarnation: its journal had it, or it is a member.
    fn has_votes(&self) -> bool {
        self.were_votes_kept || self.is_member()
    }

    /// Whether it has forgotten what it had voted, and is no member yet.
    pub(crate) fn waits_for_place(&self) -> bool {
        self.incarnations.own() > 0 && !self.is_member()
    }

    /// Whether it is one of the members that agree, as far as it knows. Not while a change is under way that makes it
    /// one: until the change ends, a majority of the former members is needed too.
    pub(crate) fn is_member(&self) -> bool {
        let sets = self.agreement.quorums();
        !sets.is_empty() && sets.iter().all(|set| set.contains(&self.incarnations.identity()))
    }

    /// The elected member has the configuration name those that agree.
    pub(super) fn note_members(&mut self, is_ready: bool, now_us: u64) {
        let elected = self.agreed.configuration.sequencer.as_ref().map(|it| it.primary);
        if !is_ready || elected != Some(self.me) || now_us < self.members_at_us || !self.agreement.is_settled() {
            return;
        }
        let members = self.agreement.members().into_iter().map(|it| Address::Coordinator(number_of(it) as u16));
        let members = members.collect();
        if members != self.agreed.configuration.members() {
            self.members_at_us = now_us + 20 * self.poll_every_us();
            self.propose(&Proposal::Members(members));
        }
    }

    /// Has these members agree from now on, once those that are new have the log. To be repeated until the
    /// configuration names them.
    ///
    /// # Errors
    /// When it does not lead, or they are none.
    pub(crate) fn change_members(&mut self, members: &BTreeSet<u16>) -> Result<(), String> {
        if !self.agreement.leadership().is_ready || members.is_empty() {
            return Err(format!("{} does not lead the group, or is to have no members; repeat the command", self.me));
        }
        let known = self.agreement.members();
        let members: Vec<u64> = members.iter().map(|it| self.incarnations.of(&known, (*it).into())).collect();
        self.agreement.change_members(&members, &[]);
        self.is_due = true;
        Ok(())
    }

    /// Has another member lead.
    ///
    /// # Errors
    /// When it does not lead, or the other one is no member.
    pub(crate) fn transfer_to(&mut self, member: u16) -> Result<(), String> {
        let next = self.agreement.members().into_iter().find(|it| number_of(*it) == u64::from(member));
        let Some(next) = next.filter(|_| self.agreement.leadership().is_ready) else {
            return Err(format!("{} does not lead the group, or coordinator {member} is none of its members", self.me));
        };
        // The library refuses everything else until the other one leads.
        if Address::Coordinator(member) != self.me {
            self.agreement.transfer_to(next);
            self.is_due = true;
        }
        Ok(())
    }
}
