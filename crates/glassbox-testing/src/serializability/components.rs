//! Strongly connected components: the knots of a graph. Whatever is on a cycle is in one.
//!
//! Tarjan's algorithm (1972), without recursion: a history of a hundred thousand transactions may be one path.

use super::graph::Graph;

/// Not visited yet.
const NEW: u32 = u32::MAX;

/// The components of more than one node, of the graph that has only edges of the kinds `allowed`. Each is sorted, and
/// so are they by their first nodes.
pub fn components(graph: &Graph, allowed: u8) -> Vec<Vec<u32>> {
    let mut search = ComponentSearch {
        graph,
        allowed,
        order: vec![NEW; graph.nodes as usize],
        lowest: vec![0; graph.nodes as usize],
        on_stack: vec![false; graph.nodes as usize],
        stack: Vec::new(),
        path: Vec::new(),
        visited: 0,
        found: Vec::new(),
    };
    for node in 0..graph.nodes {
        if search.order[node as usize] == NEW {
            search.from(node);
        }
    }
    search.found.sort();
    search.found
}

struct ComponentSearch<'a> {
    graph: &'a Graph,
    allowed: u8,
    /// When each node was visited.
    order: Vec<u32>,
    /// The earliest node on the stack that is known to be reached from it.
    lowest: Vec<u32>,
    on_stack: Vec<bool>,
    stack: Vec<u32>,
    /// What recursion would keep: a node, and how many of its edges were followed.
    path: Vec<(u32, u32)>,
    visited: u32,
    found: Vec<Vec<u32>>,
}

impl ComponentSearch<'_> {
    fn from(&mut self, root: u32) {
        self.enter(root);
        while let Some((node, followed)) = self.path.last_mut() {
            let (node, at) = (*node, *followed as usize);
            *followed += 1;
            match self.graph.edges(node).get(at) {
                Some(edge) if edge.kind & self.allowed == 0 => {}
                Some(edge) if self.order[edge.to as usize] == NEW => self.enter(edge.to),
                Some(edge) => {
                    if self.on_stack[edge.to as usize] {
                        self.lower(node, self.order[edge.to as usize]);
                    }
                }
                None => self.leave(node),
            }
        }
    }

    fn lower(&mut self, node: u32, to: u32) {
        let lowest = &mut self.lowest[node as usize];
        *lowest = to.min(*lowest);
    }

    fn enter(&mut self, node: u32) {
        self.order[node as usize] = self.visited;
        self.lowest[node as usize] = self.visited;
        self.visited += 1;
        self.on_stack[node as usize] = true;
        self.stack.push(node);
        self.path.push((node, 0));
    }

    fn leave(&mut self, node: u32) {
        self.path.pop();
        if let Some((parent, _)) = self.path.last().copied() {
            self.lower(parent, self.lowest[node as usize]);
        }
        if self.lowest[node as usize] != self.order[node as usize] {
            return;
        }
        let begin =
            self.stack.iter().rposition(|it| *it == node).expect("a node is on the stack until its component is");
        let mut component = self.stack.split_off(begin);
        component.iter().for_each(|it| self.on_stack[*it as usize] = false);
        if component.len() > 1 {
            component.sort_unstable();
            self.found.push(component);
        }
    }
}
