//! The graph of which transaction must come before which: Adya's direct serialization graph, and where its edges come
//! from.
//!
//! A node is a committed transaction. Let *x1 << x2 << ...* be the versions of an item ([`orders`](super::orders)).
//!
//! - **ww**: who wrote a version, before who wrote the next.
//! - **wr**: who wrote a version, before who read it.
//! - **rw**: who read a version, before who wrote the next (anti-dependency).
//!
//! A row that a scan returned was read, so these edges stand for it as for any. A row that it did *not* return is what
//! phantoms are about: the transaction says of it that it saw a version that does not match. Which one, if several do
//! not match, is answered in [`predicates`](super::predicates); with it,
//!
//! - **wr by predicate**: who made the row not match (the change, not later ones that changed nothing for the
//!   predicate), before who did not see it;
//! - **rw by predicate**: who did not see it, before who made it match next.
//!
//! The edges are kept by their source, eight bytes of reason with each, so that a cycle can be explained.

use super::facts::{Fact, Item, facts};
use super::history::{History, Member, Predicate, ReadVersion, Transaction};
use super::orders::{Orders, Version};
use super::predicates::{Unseen, unseen};

/// Kinds of edges, as bits, so that searches can choose.
pub mod kind {
    /// Write, write.
    pub const WW: u8 = 1;
    /// Write, read.
    pub const WR: u8 = 2;
    /// Write, read, where the read did not return the row.
    pub const WR_PREDICATE: u8 = 4;
    /// Read, write.
    pub const RW: u8 = 8;
    /// Read, write, where the read did not return the row.
    pub const RW_PREDICATE: u8 = 16;
    /// Answered, before asked: from a transaction to a barrier. Alone among the kinds below, it counts as a step.
    pub const ANSWERED: u8 = 32;
    /// From a barrier on.
    pub const ASKED: u8 = 64;
    /// Both halves.
    pub const REAL_TIME: u8 = ANSWERED | ASKED;
    /// Reads of what was written.
    pub const READS: u8 = WR | WR_PREDICATE;
}

/// An edge, without where it comes from.
#[derive(Debug, Clone, Copy)]
pub struct Edge {
    /// Where it goes.
    pub to: u32,
    /// One of [`kind`].
    pub kind: u8,
    /// The step of the transaction that read.
    pub step: u8,
    /// The item, by its place in the orders.
    pub item: u32,
    /// The version that was overwritten, read, or made later, by kind.
    pub version: u32,
}

/// The graph. Nodes are numbers of transactions, then barriers.
#[derive(Debug)]
pub struct Graph {
    /// Number of nodes, with node 0, which is none.
    pub nodes: u32,
    starts: Vec<u32>,
    edges: Vec<Edge>,
}

impl Graph {
    /// From the answers alone, or with `real_time` too.
    pub fn of(history: &History, orders: &Orders, real_time: bool) -> Self {
        let mut builder = Builder { history, orders, real_time, edges: Vec::new() };
        for place in 0..orders.items.len() as u32 {
            builder.writes(place);
        }
        for (number, transaction) in history.committed() {
            builder.reads(number, transaction);
        }
        let mut nodes = history.transactions.len() as u32 + 1;
        if real_time {
            nodes = add_real_time(history, nodes, &mut builder.edges);
        }
        Self::sorted(nodes, &builder.edges)
    }

    /// Edges by their sources, with the order of each source's kept.
    fn sorted(nodes: u32, edges: &[(u32, Edge)]) -> Self {
        let mut starts = vec![0; nodes as usize + 1];
        for (from, _) in edges {
            starts[*from as usize + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let none = Edge { to: 0, kind: 0, step: 0, item: 0, version: 0 };
        let mut sorted = vec![none; edges.len()];
        for (from, edge) in edges {
            let at = &mut next[*from as usize];
            sorted[*at as usize] = *edge;
            *at += 1;
        }
        Self { nodes, starts, edges: sorted }
    }

    /// The edges of a node.
    pub fn edges(&self, from: u32) -> &[Edge] {
        &self.edges[self.starts[from as usize] as usize..self.starts[from as usize + 1] as usize]
    }

    /// Number of edges.
    pub fn len(&self) -> usize {
        self.edges.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.edges.is_empty()
    }
}

struct Builder<'a> {
    history: &'a History,
    orders: &'a Orders,
    real_time: bool,
    edges: Vec<(u32, Edge)>,
}

impl Builder<'_> {
    /// An edge between two transactions of the history that are not one.
    fn add(&mut self, from: u32, edge: Edge) {
        if from != edge.to && from > 0 && edge.to > 0 {
            self.edges.push((from, edge));
        }
    }

    fn writes(&mut self, item: u32) {
        let orders = self.orders;
        for pair in orders.versions(item).windows(2) {
            let (from, to) = (pair[0].value.writer(), pair[1].value.writer());
            self.add(from, Edge { to, kind: kind::WW, step: 0, item, version: pair[0].number });
        }
    }

    fn reads(&mut self, number: u32, transaction: &Transaction) {
        for (step, fact) in facts(transaction) {
            let step = step as u8;
            match fact {
                // Its edges are those between versions.
                Fact::Wrote { .. } => {}
                Fact::List { item, values } => self.saw(number, step, item, values.len() as u32),
                Fact::Row { item, row: Some(row) } => self.saw(number, step, item, row.version),
                Fact::Row { item, row: None } => {
                    if let Some(place) = self.orders.place(item) {
                        self.missed(number, step, place, Option::is_some, (kind::WR, kind::RW));
                    }
                }
                Fact::Range { predicate, rows } => self.scanned(number, step, predicate, rows),
            }
        }
    }

    fn saw(&mut self, reader: u32, step: u8, item: Item, version: u32) {
        let Some(item) = self.orders.place(item) else { return };
        let (this, next) = self.orders.at(item, version);
        if let Some(Version { value, .. }) = this {
            self.add(value.writer(), Edge { to: reader, kind: kind::WR, step, item, version });
        }
        if let Some(Version { value, number, .. }) = next {
            self.add(reader, Edge { to: value.writer(), kind: kind::RW, step, item, version: number });
        }
    }

    fn scanned(&mut self, reader: u32, step: u8, predicate: Predicate, rows: &[ReadVersion]) {
        let club = predicate.club();
        let mut seen: Vec<u64> = rows.iter().map(|row| row.id).collect();
        seen.sort_unstable();
        for row in rows {
            self.saw(reader, step, Item::Member(Member { club, id: row.id }), row.version);
        }
        let orders = self.orders;
        for &place in orders.members(club) {
            let Item::Member(member) = orders.items[place as usize] else { continue };
            if seen.binary_search(&member.id).is_err() {
                let kinds = (kind::WR_PREDICATE, kind::RW_PREDICATE);
                self.missed(reader, step, place, |rank| predicate.matches(*rank), kinds);
            }
        }
    }

    fn missed(&mut self, reader: u32, step: u8, item: u32, matches: impl Fn(&Option<u8>) -> bool, (wr, rw): (u8, u8)) {
        let history = self.real_time.then_some(self.history);
        let versions = self.orders.versions(item);
        let Unseen { made_so, next } = unseen(versions, matches, history, reader);
        if let Some(Version { value, number: version, .. }) = made_so {
            self.add(value.writer(), Edge { to: reader, kind: wr, step, item, version });
        }
        if let Some(Version { value, number: version, .. }) = next {
            self.add(reader, Edge { to: value.writer(), kind: rw, step, item, version });
        }
    }
}

/// Adds edges of real time, with barriers numbered from `nodes` on; the number of nodes with them.
///
/// A transaction that was answered before another was asked for comes before it. Serializability does not demand it;
/// strict serializability does (Papadimitriou 1979; Herlihy and Wing's linearizability, of whole transactions), and
/// both engines promise it. Written out, these edges are as many as pairs of transactions. So they go through a chain
/// of barriers: each moment at which a call begins after an answer is one; every transaction answered before has an
/// edge to it, every one called after it has one from it. Then there are at most two edges for a transaction and one
/// for a barrier, and the paths between transactions are the same.
fn add_real_time(history: &History, mut nodes: u32, edges: &mut Vec<(u32, Edge)>) -> u32 {
    // What happens at the same time is not ordered: asking comes first.
    let mut moments: Vec<(u64, bool, u32)> = history
        .committed()
        .flat_map(|(number, it)| [(it.invoked_ns, false, number), (it.completed_ns, true, number)])
        .collect();
    moments.sort_unstable();
    let edge = |to, kind| Edge { to, kind, step: 0, item: 0, version: 0 };
    let mut barrier = None;
    let mut answered = Vec::new();
    for (_, answer, number) in moments {
        if answer {
            answered.push(number);
            continue;
        }
        if !answered.is_empty() {
            edges.extend(answered.drain(..).map(|before| (before, edge(nodes, kind::ANSWERED))));
            edges.extend(barrier.map(|last| (last, edge(nodes, kind::ASKED))));
            barrier = Some(nodes);
            nodes += 1;
        }
        edges.extend(barrier.map(|last| (last, edge(number, kind::ASKED))));
    }
    nodes
}
