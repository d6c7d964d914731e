//! Finds a shortest cycle of each knot, by class.
//!
//! A class of cycles is told by two sets of edges: it has one of the `first`, and otherwise only `others`. For each
//! class, worst first, the components of the graph with these edges are found, and in each a shortest such cycle: for
//! every edge of the first set a breadth-first search back from where it goes to where it comes from. A component that
//! has a part for which a worse class was told is not searched again: its cycle would most likely be the same thing,
//! seen from further away.
//!
//! A history that is right has no component at all, and costs one run of Tarjan's algorithm. Searches in one that is
//! wrong go deeper step by step and stop at a budget, so that a hundred thousand transactions of which every one is
//! wrong cost no more than seconds.

use std::collections::VecDeque;

use super::anomaly::{Class, Findings};
use super::components::components;
use super::explain::cycle_text;
use super::graph::kind::{READS, RW, RW_PREDICATE, WW};
use super::graph::{Edge, Graph, kind};
use super::history::History;
use super::orders::Orders;

/// A class of cycles.
#[derive(Debug, Clone, Copy)]
pub struct Level {
    /// Its name.
    pub class: Class,
    /// It has an edge of these kinds.
    pub first: u8,
    /// And others of these.
    pub others: u8,
}

/// G0: transactions do not overwrite each other in turns (Adya 1999, §4.2.1). A cycle of overwriting alone.
const DIRTY_WRITES: Level = Level { class: Class::G0, first: WW, others: WW };

/// G1c: information does not flow in circles (Adya 1999, §4.2.4): a transaction is not influenced by another that it
/// influenced. A cycle with a read of what was written.
const CIRCULAR_INFORMATION: Level = Level { class: Class::G1c, first: READS, others: WW | READS };

/// G2: no cycle has a read of a version that another transaction of it overwrites (Adya 1999, §4.2.5 and §4.4.1): an
/// anti-dependency. Those of items come before those of predicates, few before many.
///
/// With exactly one anti-dependency, the cycle is one that snapshot isolation forbids too (G-single, ibid. §4.3.2);
/// write skew has two. Those of items alone are what locks on rows prevent; those with a predicate are phantoms, and
/// need locks on what is not there.
const ANTI_DEPENDENCIES: [Level; 4] = [
    Level { class: Class::GSingle, first: RW, others: WW | READS },
    Level { class: Class::G2Item, first: RW, others: WW | READS | RW },
    Level { class: Class::GSinglePredicate, first: RW_PREDICATE, others: WW | READS },
    Level { class: Class::G2, first: RW_PREDICATE, others: WW | READS | RW | RW_PREDICATE },
];

/// All classes of cycles, worst first.
pub const LEVELS: [Level; 6] = {
    let [single, item, single_predicate, predicate] = ANTI_DEPENDENCIES;
    [DIRTY_WRITES, CIRCULAR_INFORMATION, single, item, single_predicate, predicate]
};

/// One edge of a cycle. What goes by barriers is one.
#[derive(Debug, Clone, Copy)]
pub struct Hop {
    /// Where it comes from.
    pub from: u32,
    /// Where it goes, and why.
    pub edge: Edge,
}

/// Edges that the searches for one class may look at.
const BUDGET: u64 = 20_000_000;

/// Finds cycles in a graph, with real time or without it.
pub fn find(
    (history, orders, graph): (&History, &Orders, &Graph),
    levels: &[Level],
    real_time: bool,
    told: &mut Vec<bool>,
    findings: &mut Findings,
) {
    told.resize(told.len().max(graph.nodes as usize), false);
    let more = if real_time { kind::REAL_TIME } else { 0 };
    let mut search = CycleSearch::new(history, graph);
    for level in levels {
        (search.others, search.budget) = (level.others | more, BUDGET);
        for component in components(graph, level.first | search.others) {
            if component.iter().any(|node| told[*node as usize]) {
                continue;
            }
            if let Some(mut cycle) = search.shortest_in(&component, level.first, real_time) {
                let least = (0..cycle.len()).min_by_key(|at| cycle[*at].from).unwrap_or(0);
                cycle.rotate_left(least);
                let transactions: Vec<_> = cycle.iter().map(|hop| hop.from).collect();
                let text = || cycle_text(history, orders, &cycle);
                findings.add_cycle(class_of(&cycle), real_time, &transactions, text);
                component.iter().for_each(|node| told[*node as usize] = true);
            }
            if search.budget == 0 {
                break;
            }
        }
    }
}

/// By its edges: what a search for one class gave up on, that for another may find.
fn class_of(cycle: &[Hop]) -> Class {
    let count = |kinds: u8| cycle.iter().filter(|hop| hop.edge.kind & kinds != 0).count();
    match (count(kind::RW), count(kind::RW_PREDICATE)) {
        (0, 0) if count(kind::READS) == 0 => Class::G0,
        (0, 0) => Class::G1c,
        (1, 0) => Class::GSingle,
        (0, 1) => Class::GSinglePredicate,
        (_, 0) => Class::G2Item,
        _ => Class::G2,
    }
}

/// Searches in one component after another. What it knows of nodes is forgotten node by node, because there may be as
/// many components as nodes.
struct CycleSearch<'a> {
    history: &'a History,
    graph: &'a Graph,
    others: u8,
    inside: Vec<bool>,
    /// Steps from where the search began; edges from barriers are none.
    distance: Vec<u32>,
    /// By which edge it was reached.
    by: Vec<Option<Hop>>,
    reached: Vec<u32>,
    budget: u64,
}

const FAR: u32 = u32::MAX;

impl<'a> CycleSearch<'a> {
    fn new(history: &'a History, graph: &'a Graph) -> Self {
        let nodes = graph.nodes as usize;
        let (distance, by, inside) = (vec![FAR; nodes], vec![None; nodes], vec![false; nodes]);
        Self { history, graph, others: 0, inside, distance, by, reached: Vec::new(), budget: BUDGET }
    }

    fn shortest_in(&mut self, component: &[u32], first: u8, real_time: bool) -> Option<Vec<Hop>> {
        component.iter().for_each(|node| self.inside[*node as usize] = true);
        let graph = self.graph;
        let edges = component.iter().flat_map(|&from| graph.edges(from).iter().map(move |&edge| Hop { from, edge }));
        let firsts = edges.filter(|hop| hop.edge.kind & first != 0 && self.inside[hop.edge.to as usize]).collect();
        let shortest = self.shortest(firsts, real_time);
        component.iter().for_each(|node| self.inside[*node as usize] = false);
        shortest
    }

    /// A shortest cycle with one of these edges.
    fn shortest(&mut self, mut firsts: Vec<Hop>, real_time: bool) -> Option<Vec<Hop>> {
        firsts.sort_by_key(|hop| hop.edge.to);
        if real_time && let Some(pair) = firsts.iter().find_map(|hop| self.pair(*hop)) {
            return Some(pair);
        }
        for most in [1, 2, 3, 4, 6, 8, 16, FAR - 1] {
            let mut best: Option<Vec<Hop>> = None;
            for same in firsts.chunk_by(|left, right| left.edge.to == right.edge.to) {
                let most = best.as_ref().map_or(most, |best| best.len() as u32 - 2);
                if most == 0 {
                    break;
                }
                best = self.back(same, most).or(best);
            }
            if best.is_some() || self.budget == 0 {
                return best.or_else(|| self.any(&firsts));
            }
        }
        None
    }

    /// A cycle with one of these edges, when the search for a shortest one has become too long.
    fn any(&mut self, firsts: &[Hop]) -> Option<Vec<Hop>> {
        self.budget = BUDGET;
        let cycle = firsts.iter().find_map(|first| self.back(std::slice::from_ref(first), FAR - 1));
        self.budget = 0;
        cycle
    }

    /// A cycle of two, whose second edge is of real time: found without a search.
    fn pair(&self, hop: Hop) -> Option<Vec<Hop>> {
        let (from, to) = (self.history.get(hop.from)?, self.history.get(hop.edge.to)?);
        let edge = Edge { to: hop.from, kind: kind::ANSWERED, step: 0, item: 0, version: 0 };
        (to.completed_ns < from.invoked_ns).then(|| vec![hop, Hop { from: hop.edge.to, edge }])
    }

    /// From where these edges go back to where the nearest of them comes from, in at most so many steps.
    fn back(&mut self, firsts: &[Hop], most: u32) -> Option<Vec<Hop>> {
        let start = firsts[0].edge.to;
        let mut queue = VecDeque::from([start]);
        self.distance[start as usize] = 0;
        self.reached.push(start);
        while let Some(node) = queue.pop_front() {
            let graph = self.graph;
            for edge in graph.edges(node) {
                self.budget = self.budget.saturating_sub(1);
                let step = u32::from(edge.kind != kind::ASKED);
                let (to, distance) = (edge.to as usize, self.distance[node as usize] + step);
                let wanted = edge.kind & self.others != 0 && self.inside[to];
                if !wanted || distance > most || distance >= self.distance[to] {
                    continue;
                }
                self.distance[to] = distance;
                self.by[to] = Some(Hop { from: node, edge: *edge });
                self.reached.push(edge.to);
                if step == 0 { queue.push_front(edge.to) } else { queue.push_back(edge.to) }
            }
            if self.budget == 0 {
                break;
            }
        }
        let nearest = firsts.iter().filter(|hop| self.distance[hop.from as usize] <= most);
        let nearest = nearest.min_by_key(|hop| self.distance[hop.from as usize]).copied();
        let cycle = nearest.map(|first| self.path(first, start));
        for node in self.reached.drain(..) {
            self.distance[node as usize] = FAR;
            self.by[node as usize] = None;
        }
        cycle
    }

    fn path(&self, first: Hop, start: u32) -> Vec<Hop> {
        let mut hops = Vec::new();
        let (mut at, mut to) = (first.from, first.from);
        while at != start {
            let hop = self.by[at as usize].expect("what was reached was reached by an edge");
            at = hop.from;
            // Barriers are left out: the edge into the first of them stands for all.
            if hop.edge.kind != kind::ASKED {
                hops.push(Hop { from: at, edge: Edge { to, ..hop.edge } });
                to = at;
            }
        }
        hops.push(first);
        hops.reverse();
        hops
    }
}
