//! The rows of a deterministic cluster are those of its input log, executed one transaction at a time.

use std::collections::VecDeque;

use glassbox_cluster::{
    Action, Address, Configuration, InputBatch, Member, Message, Outbox, Packet, SchedulerKind, SchemeKind,
};

use crate::cluster::workload::Workload;
use crate::cluster::world::World;

/// For a world that has [finished](World::finish): executes all inputs that partitions were sent on new partitions, in
/// the order of the log and serially, and compares the rows. So no input was lost, executed twice, or executed before
/// an earlier one that it conflicts with.
///
/// # Errors
/// The first partition that differs.
pub fn log<W: Workload>(world: &mut World<W>) -> Result<(), String> {
    let scheme = SchemeKind::Deterministic(SchedulerKind::Serial);
    let configuration = Configuration::first(world.settings.partitions, 1, scheme);
    let new = |address: &Address| {
        let make = world.empty_shard(*address);
        let mut shard = make().expect("a small shard");
        W::fill(&world.settings, &mut shard);
        Member::replica(*address, configuration.clone(), shard, make)
    };
    let primaries = configuration.primaries();
    let mut members: Vec<_> = primaries.iter().map(new).collect();
    let mut before = vec![0; members.len()];
    let mut queue: VecDeque<(Address, usize, Message)> = VecDeque::new();
    for (epoch, (id, input)) in (1..).zip(&world.log) {
        // An epoch for each: it ends at all partitions before the next one begins.
        for partition in input.participants.iter() {
            let inputs = vec![input.clone()];
            let (sealed_in, has_more, digests) = (0, false, Vec::new());
            let batch = InputBatch { before: before[partition], epoch, sealed_in, has_more, inputs, digests };
            before[partition] = epoch;
            queue.push_back((Address::Coordinator(0), partition, Message::Inputs(Box::new(batch))));
        }
        while let Some((from, to, message)) = queue.pop_front() {
            let mut out = Outbox::default();
            members[to].handle(from, Packet { epoch: 1, message }, 0, &mut out);
            for action in out.actions {
                if let Action::Send(Address::Replica { partition, .. }, message) = action {
                    queue.push_back((primaries[to], partition.into(), message));
                }
            }
        }
        if let Some((at, why)) =
            members.iter().zip(&primaries).find_map(|(it, at)| it.unfinished().map(|why| (at, why)))
        {
            return Err(format!("log: after input {id:?}, {at}: {why}"));
        }
    }
    for (address, _, shard) in world.shards() {
        let partition = usize::from(address.partition().expect("it has rows"));
        let replayed = members[partition].shard().expect("it was made with rows");
        if shard.digest() != replayed.digest() {
            return Err(format!("log: the rows of {address} differ from those of its log"));
        }
    }
    Ok(())
}
