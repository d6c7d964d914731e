//! A watcher that proposes schemes, and an operator that follows.

use glassbox_cluster::auto::{Advice, Advisor, Counted, Surroundings};
use glassbox_cluster::{Address, Configuration, Role};

use super::node::Machine;
use super::settings::Load;
use super::workload::Workload;
use super::world::World;

impl<W: Workload> World<W> {
    /// Evaluates the counters so far, and has the operator follow a proposal.
    pub(super) fn advise(&mut self) {
        let Some(mut advisor) = self.advisor.take() else { return };
        advisor.switched(self.configuration.scheme);
        let (counted, around) = self.counted();
        if let Some(scheme) = advisor.observe(&counted, &around) {
            self.switches_made += 1;
            self.switch_to(scheme);
        }
        self.advisor = Some(advisor);
    }

    fn counted(&mut self) -> (Counted, Surroundings) {
        let (mut counted, mut hottest) = (Counted::default(), None);
        for (address, node) in &mut self.nodes {
            let Machine::Member(member) = &mut node.machine else { continue };
            member.sample();
            match (address, member.role()) {
                (Address::Coordinator(_), _) => counted.coordinator = counted.coordinator.and(node.tally),
                (_, Role::Primary(partition)) => {
                    counted.seen = counted.seen.and(partition.seen());
                    counted.partitions = counted.partitions.and(node.tally);
                    let of_it = partition.hottest();
                    hottest = if hottest > of_it { hottest } else { of_it };
                }
                _ => {}
            }
        }
        let link = &self.settings.link;
        let around = Surroundings {
            span_us: self.settings.advice_us as f64,
            partitions: u32::from(self.settings.partitions),
            coordinators: u32::from(self.settings.coordinators),
            clients: f64::from(self.settings.clients),
            round_trip_us: 2.0 * (link.base_ns + link.tail_ns) as f64 / 1e3,
            hottest,
        };
        (counted, around)
    }

    /// The latest advice, if there is a watcher.
    pub fn advice(&self) -> Option<&Advice> {
        self.advisor.as_ref().and_then(Advisor::advice)
    }

    /// The newest configuration.
    pub fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// The number of changes of the scheme by proposals.
    pub fn switches_made(&self) -> u64 {
        self.switches_made
    }
}

impl World<Load> {
    /// Changes the clients' load.
    pub fn shift_to(&mut self, load: Load) {
        for number in 0..self.settings.clients {
            self.client(number).shift_to(load);
        }
    }
}
