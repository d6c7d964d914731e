//! Clusters under an agreement without journals: what a member had is gone with its process.
//!
//! Failures that leave a majority of the members that agree, and a replica of each partition with its rows, lose
//! nothing: only these are planned. Others lose the log or rows for good, and the members say so.

use glassbox_cluster::{Address, Group, Role};

use super::node::Machine;
use super::workload::Workload;
use super::world::World;

/// Whether a member may fail without a loss: its disk has what it needs, or enough others have it in their memory.
pub(super) fn may_forget<W: Workload>(world: &World<W>, member: Address) -> bool {
    if world.settings.journals || world.settings.order.agreement.is_none() {
        return true;
    }
    match member {
        Address::Coordinator(_) => {
            let members = world.configuration.members();
            let left = members.iter().filter(|it| **it != member && has_voted(world, **it)).count();
            left > members.len() / 2 || !has_voted(world, member)
        }
        Address::Replica { partition, .. } => {
            let group = Group::Partition(partition);
            // When a backup is promoted the other ones forget their rows, and the decision may be under way.
            let is_settled = world.settings.scheme.is_deterministic() || world.has_rows(world.replicas(group).primary);
            !holds_rows(world, member) || is_settled && world.survivors(group) > 1
        }
        Address::Client(_) => true,
    }
}

/// Whether a replica has rows, of the newest configuration or an older one.
fn holds_rows<W: Workload>(world: &World<W>, replica: Address) -> bool {
    let holds = |role: &Role| matches!(role, Role::Primary(_) | Role::Backup(_) | Role::Executor(_));
    let machine = world.nodes.get(&replica).map(|node| &node.machine);
    matches!(machine, Some(Machine::Member(member)) if holds(member.role()))
}

/// Whether a member runs, and has what it has voted as one of those that agree. One of the beginning has voted before
/// it knows the group, which is decided first.
fn has_voted<W: Workload>(world: &World<W>, member: Address) -> bool {
    let machine = world.nodes.get(&member).map(|node| &node.machine);
    matches!(machine, Some(Machine::Member(member)) if !member.waits_for_place() && member.disagrees().is_none())
}

/// The members of the group that have stopped, and their reasons; their processes end.
pub fn end_disagreeing<W: Workload>(world: &mut World<W>) -> Vec<(Address, String)> {
    let reason = |(me, node): (&Address, &super::node::Node<W>)| match &node.machine {
        Machine::Member(member) => member.disagrees().map(|why| (*me, why)),
        Machine::Client(_) => None,
    };
    let stopped: Vec<_> = world.nodes.iter().filter_map(reason).collect();
    stopped.iter().for_each(|(me, _)| world.stop(*me));
    stopped
}

/// The number of members of the group that have a place in it, as far as they know.
pub fn agreeing<W: Workload>(world: &World<W>) -> usize {
    let members = (0..world.settings.coordinators).map(Address::Coordinator);
    members.filter(|it| has_voted(world, *it)).count()
}

/// Calls that have ended.
pub fn calls<W: Workload>(world: &mut World<W>) -> u64 {
    world.finished()
}
