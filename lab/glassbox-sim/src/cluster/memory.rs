//! Clusters under an agreement without journals: what a member had is gone with its process.
//!
//! Failures that leave a majority of the members that agree, and a replica of each partition with its rows, lose
//! nothing: only these are planned. Others lose the log or rows for good, and the members say so.

use glassbox_cluster::{Address, Group, Role};

use super::node::Machine;
use super::workload::Workload;
use super::world::World;

impl<W: Workload> World<W> {
    /// Whether a member may fail without a loss: its disk has what it needs, or enough others have it in their memory.
    pub(super) fn may_forget(&self, member: Address) -> bool {
        if self.settings.journals || self.settings.order.agreement.is_none() {
            return true;
        }
        match member {
            Address::Coordinator(_) => {
                let members = self.configuration.members();
                let left = members.iter().filter(|it| **it != member && self.has_voted(**it)).count();
                left > members.len() / 2 || !self.has_voted(member)
            }
            Address::Replica { partition, .. } => {
                let (group, own) = (Group::Partition(partition), self.holds_rows(member));
                // When a backup is promoted the other ones forget their rows, and the decision may be under way.
                let is_settled = self.settings.scheme.is_deterministic() || self.has_rows(self.replicas(group).primary);
                !own || is_settled && self.survivors(group) > 1
            }
            Address::Client(_) => true,
        }
    }

    /// Whether a replica has rows, of the newest configuration or an older one.
    fn holds_rows(&self, replica: Address) -> bool {
        let holds = |role: &Role| matches!(role, Role::Primary(_) | Role::Backup(_) | Role::Executor(_));
        let machine = self.nodes.get(&replica).map(|node| &node.machine);
        matches!(machine, Some(Machine::Member(member)) if holds(member.role()))
    }

    /// Whether a member runs, and has what it has voted as one of those that agree.
    fn has_voted(&self, member: Address) -> bool {
        let machine = self.nodes.get(&member).map(|node| &node.machine);
        matches!(machine, Some(Machine::Member(member)) if member.is_agreeing() && member.disagrees().is_none())
    }

    /// The members of the group that have stopped, and their reasons; their processes end.
    pub fn end_disagreeing(&mut self) -> Vec<(Address, String)> {
        let reason = |(me, node): (&Address, &super::node::Node<W>)| match &node.machine {
            Machine::Member(member) => member.disagrees().map(|why| (*me, why)),
            Machine::Client(_) => None,
        };
        let stopped: Vec<_> = self.nodes.iter().filter_map(reason).collect();
        stopped.iter().for_each(|(me, _)| self.stop(*me));
        stopped
    }

    /// The members of the group that agree, as far as they know, which have a place in it.
    pub fn agreeing(&self) -> usize {
        let members = (0..self.settings.coordinators).map(Address::Coordinator);
        members.filter(|it| self.has_voted(*it)).count()
    }

    /// Calls that have ended.
    pub fn calls(&mut self) -> u64 {
        self.finished()
    }
}
