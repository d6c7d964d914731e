//! Real time: a transaction that was answered before another was asked for comes before it.
//!
//! Serializability does not demand it; strict serializability does (Papadimitriou 1979; Herlihy and Wing's
//! linearizability, of whole transactions), and both engines promise it. Written out, these edges are as many as pairs
//! of transactions. So they go through a chain of barriers: each moment at which a call begins after an answer is
//! one; every transaction answered before has an edge to it, every one called after it has one from it. Then there are
//! at most two edges for a transaction and one for a barrier, and the paths between transactions are the same.

use super::graph::{Edge, kind};
use super::history::History;

/// Adds them, with barriers numbered from `nodes` on; the number of nodes with them.
pub fn add_edges(history: &History, mut nodes: u32, edges: &mut Vec<(u32, Edge)>) -> u32 {
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
