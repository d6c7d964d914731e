//! Sequencers: calls become inputs, epochs become batches; and reconnaissance before, restarts after.

use super::node::WorkerJob;
use super::{Cluster, OpenInput, OrderedEvent, PartRun};
use crate::determinism::events::{exponential, uniform};
use crate::determinism::settings::OfferedLoad;
use crate::determinism::workload::MAX_PARTS;

impl Cluster<'_> {
    /// Ends an epoch at every node: orders the calls that have arrived, and sends them to their participants.
    pub(super) fn end_epoch(&mut self) {
        let (now, nodes) = (self.events.now(), self.nodes.len());
        let mut batches: Vec<Vec<(usize, usize)>> = vec![Vec::new(); nodes];
        let mut epoch = Vec::new();
        for home in 0..nodes {
            self.accept(home);
            epoch.extend(std::mem::take(&mut self.nodes[home].found).into_iter().enumerate());
        }
        if self.kind.interleaves {
            epoch.sort_by_key(|(index, _)| *index);
        }
        for (_, slot) in epoch {
            let input = &mut self.inputs[slot];
            self.ordered += 1;
            input.order = self.ordered;
            input.remaining = input.keys.parts.len();
            input.parts = [PartRun::default(); MAX_PARTS];
            for (part, keys) in input.keys.parts.iter().enumerate() {
                batches[keys.node].push((slot, part));
            }
        }
        for (node, parts) in batches.into_iter().enumerate() {
            // A node needs the batches of all sequencers, the empty ones too.
            let slowest = (0..nodes).filter(|from| *from != node).map(|_| self.links.delay(&mut self.dice)).max();
            let at = (now + slowest.unwrap_or(0)).max(self.batches_at[node]);
            self.batches_at[node] = at;
            self.events.at(at, OrderedEvent::Batch { node, parts });
        }
        if self.accepts || self.inputs.len() > self.free.len() {
            self.events.after(self.kind.epoch_ns, OrderedEvent::Epoch);
        }
    }

    /// Accepts the calls of a node's clients since the last epoch.
    fn accept(&mut self, home: usize) {
        if !self.accepts {
            return;
        }
        let (now, epoch_ns) = (self.events.now(), self.kind.epoch_ns);
        let node = &mut self.nodes[home];
        let calls = match self.settings.offered {
            OfferedLoad::Saturating => self.window.saturating_sub(node.outstanding).min(self.batch),
            OfferedLoad::PerSecond(rate) => {
                node.arrived += rate * epoch_ns as f64 / 1e9;
                let whole = node.arrived.floor();
                node.arrived -= whole;
                whole as usize
            }
            OfferedLoad::Clients { .. } => 0,
        };
        for nth in 0..calls {
            let keys = self.settings.workload.draw(home, self.nodes.len(), &mut self.dice);
            let refused = self.nodes[home].lag.refused();
            if keys.parts.len() == 1 && refused > 0.0 && uniform(&mut self.dice) < refused {
                self.report.refusals += u64::from(now >= self.measured.0);
                continue;
            }
            self.count.issue();
            self.nodes[home].outstanding += 1;
            let age = epoch_ns - epoch_ns * nth as u64 / calls as u64;
            let is_dependent = keys.is_dependent;
            let slot = self.open(OpenInput { called_at: now - age, keys, ..OpenInput::default() });
            if is_dependent {
                // Its reconnaissance begins with the call, in the course of the next epoch.
                self.inputs[slot].called_at = now + (epoch_ns - age);
                self.events.at(now + epoch_ns - age, OrderedEvent::Call { slot });
            } else {
                self.nodes[home].found.push(slot);
            }
        }
    }

    /// One of a node's clients calls, unless the clients have ended.
    pub(super) fn call(&mut self, home: usize) {
        if !self.accepts {
            return;
        }
        let keys = self.settings.workload.draw(home, self.nodes.len(), &mut self.dice);
        self.count.issue();
        self.nodes[home].outstanding += 1;
        let is_dependent = keys.is_dependent;
        let slot = self.open(OpenInput { called_at: self.events.now(), keys, ..OpenInput::default() });
        if is_dependent {
            self.look_up(slot);
        } else {
            self.nodes[home].found.push(slot);
        }
    }

    /// Gives an input a slot.
    fn open(&mut self, input: OpenInput) -> usize {
        if let Some(slot) = self.free.pop() {
            self.inputs[slot] = input;
            slot
        } else {
            self.inputs.push(input);
            self.inputs.len() - 1
        }
    }

    /// Begins a reconnaissance.
    pub(super) fn look_up(&mut self, slot: usize) {
        let home = self.inputs[slot].home();
        self.report.tries += u64::from(self.events.now() >= self.measured.0);
        self.nodes[home].others.push_back(WorkerJob::LookUp { slot });
        self.go_on(home);
    }

    /// All participants have ended: the input is answered, or begins with a new reconnaissance.
    pub(super) fn end_input(&mut self, slot: usize) {
        let now = self.events.now();
        let is_measured = (self.measured.0..self.measured.1).contains(&now);
        let input = &mut self.inputs[slot];
        let home = input.home();
        if std::mem::take(&mut input.is_outdated) {
            self.report.restarts += u64::from(is_measured);
            input.restarts += 1;
            input.locks_tables = self.kind.max_restarts.is_some_and(|most| input.restarts >= most);
            self.look_up(slot);
            return;
        }
        let (class, latency) = (input.class(), now - input.called_at);
        input.order = 0;
        self.report.finish(home, class, (now, latency), is_measured);
        self.nodes[home].outstanding -= 1;
        self.count.end();
        self.free.push(slot);
        match self.settings.offered {
            OfferedLoad::Clients { pause_ns: 0, .. } => self.call(home),
            OfferedLoad::Clients { pause_ns, .. } => {
                let pause = (pause_ns as f64 * exponential(&mut self.dice)) as u64;
                self.events.after(pause, OrderedEvent::CallAgain { home });
            }
            OfferedLoad::Saturating | OfferedLoad::PerSecond(_) => {}
        }
    }
}
