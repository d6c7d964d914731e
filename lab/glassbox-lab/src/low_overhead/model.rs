//! The analytical model: the throughput of two partitions, from six constants.
//!
//! *Low Overhead Concurrency Control*, section 6. `f` is the share of transactions on both partitions, from 0 to 1; the
//! others are on one, on each of the two equally often. No conflicts, no aborts, one round, no replicas.
//!
//! The model has three simplifications. Two of them have a formula here: partitions wait for each other
//! ([`Model::blocking_with_waiting`]), and a coordinator has a limit ([`Model::coordinator_limit`]). The third has
//! none: the model assumes that an idle moment is always filled by waiting transactions.

use glassbox_sim::cluster::Costs;

/// The constants of Table 2, in microseconds, and the cost of a coordinator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Model {
    /// *t_sp*: a transaction on one partition, without undo information.
    pub single_us: f64,
    /// *t_spS*: the same, speculatively.
    pub speculative_us: f64,
    /// *t_mp*: a transaction on both, with two-phase commit.
    pub several_us: f64,
    /// *t_mpC*: its processor time, on each partition.
    pub several_cpu_us: f64,
    /// *l*: the additional cost of locks, as a share of a run.
    pub locking: f64,
    /// The coordinator's cost of a transaction on both. Not in the table.
    pub coordinator_us: f64,
}

/// *t_mp*, which includes the link, so the costs do not contain it.
const SEVERAL_US: f64 = 211.0;
/// A submission, two fragments, two results, two decisions, and the answer.
const COORDINATOR_MESSAGES: f64 = 8.0;

impl Model {
    /// The model with the paper's constants.
    pub fn of_the_paper() -> Self {
        let costs = Costs::of_the_paper();
        let us = |ns: u64| ns as f64 / 1_000.0;
        Self {
            single_us: us(costs.single_ns),
            speculative_us: us(costs.single_undo_ns),
            several_us: SEVERAL_US,
            several_cpu_us: us(costs.fragment_ns + costs.decide_ns),
            locking: costs.locking_thousandths as f64 / 1_000.0,
            coordinator_us: COORDINATOR_MESSAGES * us(costs.coordinator_message_ns),
        }
    }

    /// Section 6.1: one after the other.
    pub fn blocking(&self, f: f64) -> f64 {
        2e6 / (2.0 * f * self.several_us + (1.0 - f) * self.single_us)
    }

    /// Section 6.2, *t_mpN*: the wait of a partition in a transaction on both.
    pub fn stall_us(&self) -> f64 {
        self.several_us - self.several_cpu_us
    }

    /// Section 6.2, *t_mpI*: the rest of that wait after the next transaction on both has run in it.
    fn idle_us(&self) -> f64 {
        self.stall_us().max(self.several_cpu_us) - self.several_cpu_us
    }

    /// Section 6.2, *N_hidden*: transactions on one partition that run in a stall.
    pub fn hidden(&self, f: f64) -> f64 {
        ((1.0 - f) / (2.0 * f)).min(self.idle_us() / self.speculative_us)
    }

    /// Section 6.2: a transaction on both every `each_us`, and those on one that are not hidden in it.
    fn speculating(&self, f: f64, each_us: f64) -> f64 {
        let open = (1.0 - f) - 2.0 * f * self.hidden(f);
        2e6 / (2.0 * f * each_us + open * self.single_us)
    }

    /// Section 6.2: results wait at their partition for the decision, so each transaction on both takes a stall.
    pub fn local_speculation(&self, f: f64) -> f64 {
        self.speculating(f, self.stall_us().max(self.several_cpu_us))
    }

    /// Section 6.2.1: the coordinator receives them at once, so each takes its processor time and the hidden
    /// transactions.
    pub fn speculation(&self, f: f64) -> f64 {
        self.speculating(f, self.several_cpu_us + self.hidden(f) * self.speculative_us)
    }

    /// Section 6.3: no transaction waits; all acquire locks and keep undo information.
    pub fn locking(&self, f: f64) -> f64 {
        let longer = 1.0 + self.locking;
        2e6 / (longer * (2.0 * f * self.several_cpu_us + (1.0 - f) * self.speculative_us))
    }

    /// Not in the paper: section 6.1, when transactions on one partition come at random.
    ///
    /// Between two on both, one partition has more of the others than the other one, which then waits. Their number is
    /// geometric with mean (1−f)/f, each is on either side, so the difference of the two sides is on average
    /// (1−f)/√(1−(1−f)²), and half of it times *t_sp* is lost each time.
    pub fn blocking_with_waiting(&self, f: f64) -> f64 {
        let lost_us = (1.0 - f) * (f / (2.0 - f)).sqrt() * self.single_us / 2.0;
        1e6 / (1e6 / self.blocking(f) + lost_us)
    }

    /// Not in the paper: the throughput of a saturated coordinator.
    pub fn coordinator_limit(&self, f: f64) -> f64 {
        1e6 / (f * self.coordinator_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 1e-3, "{value} is not {expected}");
    }

    #[test]
    fn the_ends_are_those_of_section_6() {
        let model = Model::of_the_paper();
        let Model { single_us, several_us, several_cpu_us, .. } = model;
        assert_eq!((single_us, several_us, several_cpu_us, model.stall_us()), (64.0, 211.0, 55.0, 156.0));
        // "From 2/t_sp to 1/t_mp."
        near(model.blocking(0.0), 2e6 / 64.0);
        near(model.blocking(1.0), 1e6 / 211.0);
        near(model.local_speculation(0.0), 2e6 / 64.0);
        near(model.local_speculation(1.0), 1e6 / 156.0);
        near(model.speculation(0.0), 2e6 / 64.0);
        near(model.speculation(1.0), 1e6 / 55.0);
        near(model.locking(0.0), 2e6 / (1.132 * 73.0));
        near(model.locking(1.0), 1e6 / (1.132 * 55.0));
    }

    #[test]
    fn the_middle_is_computed_by_hand() {
        let model = Model::of_the_paper();
        near(model.hidden(0.1), 101.0 / 73.0);
        near(model.hidden(0.5), 0.5);
        near(model.blocking(0.1), 2e6 / (42.2 + 57.6));
        near(model.local_speculation(0.5), 2e6 / 156.0);
        near(model.speculation(0.5), 2e6 / (55.0 + 36.5));
        near(model.locking(0.5), 2e6 / (1.132 * (55.0 + 36.5)));
    }

    /// The formulas confirm "Forced locking: blocking wins at 0 to 6 %".
    #[test]
    fn blocking_meets_locking_near_six_percent() {
        let model = Model::of_the_paper();
        assert!(model.blocking(0.055) > model.locking(0.055));
        assert!(model.blocking(0.063) < model.locking(0.063));
    }

    #[test]
    fn waiting_costs_nothing_at_the_ends() {
        let model = Model::of_the_paper();
        near(model.blocking_with_waiting(0.0), model.blocking(0.0));
        near(model.blocking_with_waiting(1.0), model.blocking(1.0));
        // Of ten transactions: 211 + 4.5 · 64 + 0.9/√0.19 · 32 µs.
        near(model.blocking_with_waiting(0.1), 1e7 / (211.0 + 288.0 + 66.07));
        near(model.coordinator_limit(1.0), 1e6 / 91.2);
    }
}
