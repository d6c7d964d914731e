//! The waits-for graph: which transactions wait for which, and the deadlocks among them.
//!
//! A transaction that waits has an edge to each one that it waits for; a deadlock is a cycle. A partition searches its
//! own graph when one of its transactions begins to wait. A deadlock over several partitions is in none of their
//! graphs, so one member collects the edges of all (VLDB 2014, section 3; the published code does so on machine 0).

use std::collections::{BTreeMap, BTreeSet};

/// Finds a cycle through `start`: the transactions of it, beginning with `start`.
///
/// `waits_for` calls its second argument for each transaction that the first one waits for.
pub(crate) fn cycle_through<T: Copy + Ord>(start: T, waits_for: impl Fn(T, &mut dyn FnMut(T))) -> Option<Vec<T>> {
    let holders = |txn: T| {
        let mut holders = Vec::new();
        waits_for(txn, &mut |holder| holders.push(holder));
        holders.into_iter()
    };
    let (mut path, mut seen) = (vec![(start, holders(start))], BTreeSet::from([start]));
    while let Some((_, next)) = path.last_mut() {
        match next.next() {
            Some(holder) if holder == start => return Some(path.into_iter().map(|(txn, _)| txn).collect()),
            Some(holder) if seen.insert(holder) => path.push((holder, holders(holder))),
            Some(_) => {}
            None => _ = path.pop(),
        }
    }
    None
}

/// A waits-for graph over the transactions of several partitions.
///
/// A transaction can wait at several partitions at once, `P` tells them apart.
#[derive(Debug, Clone)]
pub struct WaitsFor<T, P> {
    edges: BTreeMap<T, BTreeMap<P, Vec<T>>>,
}

impl<T, P> Default for WaitsFor<T, P> {
    fn default() -> Self {
        Self { edges: BTreeMap::new() }
    }
}

impl<T: Copy + Ord, P: Copy + Ord> WaitsFor<T, P> {
    /// Notes for which transactions this one waits at a partition, instead of those noted before; of none, it does not
    /// wait there.
    pub fn set(&mut self, waiter: T, at: P, holders: &[T]) {
        if holders.is_empty() {
            if let Some(places) = self.edges.get_mut(&waiter) {
                places.remove(&at);
                if places.is_empty() {
                    self.edges.remove(&waiter);
                }
            }
        } else {
            self.edges.entry(waiter).or_default().insert(at, holders.to_vec());
        }
    }

    /// Forgets where a transaction waits: it has ended.
    pub fn remove(&mut self, waiter: T) {
        self.edges.remove(&waiter);
    }

    /// Forgets all that was noted of a partition: it has failed.
    pub fn remove_partition(&mut self, at: P) {
        self.edges.retain(|_, places| {
            places.remove(&at);
            !places.is_empty()
        });
    }

    /// A deadlock of which the transaction is a part: its transactions, beginning with the given one.
    pub fn deadlock(&self, waiter: T) -> Option<Vec<T>> {
        cycle_through(waiter, |txn, meet| {
            self.edges.get(&txn).into_iter().flat_map(BTreeMap::values).flatten().for_each(|holder| meet(*holder));
        })
    }

    /// Whether no transaction waits.
    pub fn is_empty(&self) -> bool {
        self.edges.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_over_two_partitions_is_found_from_each_of_its_members() {
        let mut graph = WaitsFor::default();
        graph.set(1, 'a', &[2, 9]);
        graph.set(2, 'b', &[3]);
        assert_eq!(graph.deadlock(1), None);
        graph.set(3, 'a', &[8, 1]);
        assert_eq!(graph.deadlock(1), Some(vec![1, 2, 3]));
        assert_eq!(graph.deadlock(3), Some(vec![3, 1, 2]));
        assert_eq!(graph.deadlock(9), None, "it waits for none");
        graph.set(4, 'a', &[1]);
        assert_eq!(graph.deadlock(4), None, "it waits for a deadlock and is no part of it");
    }

    #[test]
    fn an_edge_lasts_until_the_wait_ends_there() {
        let mut graph = WaitsFor::default();
        graph.set(1, 'a', &[2]);
        graph.set(1, 'b', &[2]);
        graph.set(2, 'b', &[1]);
        graph.set(1, 'a', &[]);
        assert_eq!(graph.deadlock(2), Some(vec![2, 1]), "it still waits at the other partition");
        graph.set(1, 'b', &[]);
        assert_eq!(graph.deadlock(2), None);
        graph.remove(2);
        assert!(graph.is_empty());
        graph.set(1, 'a', &[2]);
        graph.remove_partition('a');
        assert!(graph.is_empty());
    }

    /// Against reachability by brute force, in random graphs.
    #[test]
    fn a_deadlock_is_found_if_and_only_if_there_is_one() {
        let mut state = 1_u64;
        let mut below = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % bound
        };
        let mut found = 0;
        for _ in 0..500 {
            const NODES: usize = 7;
            let (mut graph, mut reaches) = (WaitsFor::default(), [[false; NODES]; NODES]);
            for _ in 0..below(10) {
                let (waiter, holder) = (below(NODES as u64) as usize, below(NODES as u64) as usize);
                let mut holders = graph.edges.get(&waiter).map_or_else(Vec::new, |places| places[&0].clone());
                holders.push(holder);
                graph.set(waiter, 0, &holders);
                reaches[waiter][holder] = true;
            }
            for via in 0..NODES {
                for from in 0..NODES {
                    for to in 0..NODES {
                        reaches[from][to] |= reaches[from][via] && reaches[via][to];
                    }
                }
            }
            for (node, reached) in reaches.iter().enumerate() {
                let cycle = graph.deadlock(node);
                assert_eq!(cycle.is_some(), reached[node], "{graph:?} from {node}");
                for (at, waiter) in cycle.iter().flat_map(|cycle| cycle.iter().enumerate()) {
                    let cycle = cycle.as_ref().expect("it has members");
                    assert!(graph.edges[waiter][&0].contains(&cycle[(at + 1) % cycle.len()]), "no edge: {cycle:?}");
                }
                found += usize::from(cycle.is_some());
            }
        }
        assert!(found > 100, "{found} cycles");
    }
}
