//! The rule that compares what executions of each class cost.
//!
//! Problem: two stages cost computation and save others' waits for locks. Which is more depends on the disk, the pool,
//! the locks and the load; no share of missing pages says it. So executions of every class are measured, always.
//!
//! *The cost* of an execution is the time of its stages, without its own waits for locks, and with the waits of others
//! for the locks that it held while it read the disk (`lock/blame.rs`). With sessions that call back to back, their
//! number divided by the mean response time is the throughput (Little's law). The sum of all costs is the sum of all
//! response times, with each wait counted where it was caused instead of where it was suffered; waits for computations
//! under locks are left out, because they are alike in all classes. So the class with the lowest mean cost is the one
//! with the highest throughput, and one procedure's class can be chosen without regard to the others'.
//!
//! *Probes* are executions in another class than the current one. They are compared with executions of the current
//! class at the same time, as a ratio: when everything becomes slower, no class becomes better. Executions that needed
//! the disk and others are compared apart, and weighted with the share of all executions that need it: so a class does
//! not win because few of its probes happened to need the disk.
//!
//! *The budget.* A probe may be very expensive: one that reads the disk under a lock that all need stops all. So probes
//! have a share of the cost of all executions of the procedure, in which each is charged with what it cost more than
//! the others. The share is larger as long as little is known: at first, and after a change of class.
//!
//! *When costs change* much within a short time, older probes are given little weight, and the other classes are
//! explored as at first.
//!
//! *A class becomes the current one* if its probes were cheaper, by a margin that falls with their number. The
//! executions after that correct an accident of few probes, because the former class is probed then.

/// Classes.
pub(crate) const CLASSES: usize = 3;
/// Minimum executions of the current class with which probes are compared.
const MIN_EXECUTIONS: f64 = 4.0;
/// Minimum probes of a class that becomes the current one.
const MIN_PROBES: f64 = 8.0;
/// Probes after which a class is known, and those of them that needed the disk, if that matters.
const KNOWN_PROBES: u64 = 16;
const KNOWN_DISK_PROBES: u64 = 3;
/// Share of the cost of all executions from which on it matters what those that need the disk cost.
const DISK_MATTERS: f64 = 0.1;
/// A class that costs this many times as much is known after few probes.
const EXPENSIVE: f64 = 2.0;
const KNOWN_PROBES_OF_EXPENSIVE: u64 = 3;
/// A probe that needed the disk, in addition to those of a class that did, and its cost relative to the current class:
/// so that a class does not win by few such probes, or none.
const ASSUMED_DISK_PROBE: Mean = Mean { count: 1.0, sum: 2.0 };
/// Share of the cost of all executions that probes of one class may add, once it is known, and before.
const PROBING: f64 = 0.01;
const EXPLORING: f64 = 0.1;
/// The least that a probe is charged with, as a share of the cost of an execution: it bounds the number of probes.
const MIN_CHARGE: f64 = 1.0 / 6.0;
/// The margin by which a class must be cheaper: of many probes, and of one, which falls with the root of their number.
const MARGIN: f64 = 0.03;
const MARGIN_OF_ONE: f64 = 0.5;
/// Recent costs are remembered for this part of the executions that others are. Costs have changed if recent ones are
/// this multiple of those before, or less than the inverse of it, but not by fewer executions.
const RECENT: f64 = 0.125;
const CHANGED: f64 = 2.0;
const MIN_RECENT: f64 = 64.0;
/// Probes are remembered for this many times as many executions as the current class: they are few.
const PROBE_MEMORY: f64 = 10.0;

/// Executions, and the sum of their costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CostSum {
    pub(crate) executions: u64,
    pub(crate) cost_ns: u64,
}

/// Executions of one class: those that found all pages in memory, and those that needed the disk.
pub(crate) type ClassCosts = [CostSum; 2];

/// The current class, and probes of the other classes that are to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) class: usize,
    pub(crate) probes: [u8; CLASSES],
}

/// A procedure's class, and what led to it.
#[derive(Debug)]
pub(crate) struct Chooser {
    current: usize,
    seen: [ClassCosts; CLASSES],
    base: Base,
    /// Recent costs of the current class.
    recent: Mean,
    /// Each class while it is not the current one.
    others: [Alternative; CLASSES],
}

/// Costs of the current class, nanoseconds, and the executions of any class that needed the disk.
#[derive(Clone, Copy, Debug, Default)]
struct Base {
    costs: [Mean; 2],
    /// The mean of 1 for an execution that needed the disk, and 0 for others.
    disk: Mean,
}

#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    count: f64,
    sum: f64,
}

/// A class that is not the current one.
#[derive(Clone, Copy, Debug, Default)]
struct Alternative {
    /// The costs of its probes, divided by the mean cost of the current class at that time.
    relative: [Mean; 2],
    /// Probes that ended, and those of them that needed the disk.
    probes: u64,
    disk_probes: u64,
    /// Probes that were handed out and have not ended.
    outstanding: u64,
    /// The rest of its budget, nanoseconds; less than zero if a probe cost more than expected.
    budget_ns: f64,
}

impl CostSum {
    fn since(self, before: Self) -> Self {
        Self {
            executions: self.executions.saturating_sub(before.executions),
            cost_ns: self.cost_ns.saturating_sub(before.cost_ns),
        }
    }
}

impl Mean {
    fn of(count: f64, mean: f64) -> Self {
        Self { count, sum: count * mean }
    }

    fn add(&mut self, count: f64, sum: f64) {
        self.count += count;
        self.sum += sum;
    }

    fn keep(&mut self, part: f64) {
        self.count *= part;
        self.sum *= part;
    }

    fn weigh_at_most(&mut self, count: f64) {
        if self.count > count {
            self.keep(count / self.count);
        }
    }

    fn mean(self) -> Option<f64> {
        (self.count > 0.0).then(|| self.sum / self.count)
    }
}

impl Base {
    /// The parts of an execution's cost, nanoseconds: those of executions that found all in memory, and of others, each
    /// weighted with its share.
    fn parts_ns(&self) -> [f64; 2] {
        let disk = self.disk.mean().unwrap_or(0.0);
        let [memory_ns, disk_ns] = self.costs.map(|costs| costs.mean().unwrap_or(0.0));
        [(1.0 - disk) * memory_ns, disk * disk_ns]
    }

    fn cost_ns(&self) -> f64 {
        self.parts_ns().iter().sum()
    }
}

impl Alternative {
    /// The costs of its executions, relative to those of the current class.
    fn ratios(&self) -> [f64; 2] {
        let [memory, mut disk] = self.relative;
        disk.add(ASSUMED_DISK_PROBE.count, ASSUMED_DISK_PROBE.sum);
        [memory, disk].map(|mean| mean.mean().unwrap_or(1.0))
    }

    /// The cost of one of its executions, divided by that of the current class.
    fn ratio(&self, base: &Base) -> f64 {
        let [memory_ns, disk_ns] = base.parts_ns();
        let [memory, disk] = self.ratios();
        (memory_ns * memory + disk_ns * disk) / (memory_ns + disk_ns)
    }

    fn is_known(&self, base: &Base) -> bool {
        let matters = base.parts_ns()[1] > DISK_MATTERS * base.cost_ns();
        self.probes >= KNOWN_PROBES && (self.disk_probes >= KNOWN_DISK_PROBES || !matters)
            || self.probes >= KNOWN_PROBES_OF_EXPENSIVE && self.ratio(base) >= EXPENSIVE
    }

    /// Whether it is cheaper than the current class, for certain enough.
    fn is_better(&self, base: &Base) -> bool {
        let [memory_ns, disk_ns] = base.parts_ns();
        let [memory, disk] = self.relative;
        let part = disk_ns / (memory_ns + disk_ns);
        let of = |relative: Mean| 1.0 / relative.count.max(1.0).sqrt();
        let margin = MARGIN + MARGIN_OF_ONE * ((1.0 - part) * of(memory) + part * of(disk));
        memory.count + disk.count >= MIN_PROBES && self.ratio(base) < 1.0 - margin
    }

    /// The charge that a probe is expected to be, as a share of the cost of an execution.
    fn expected_charge(&self, base: &Base) -> f64 {
        // Of the first, nothing is known.
        if self.probes == 0 { 1.0 } else { (self.ratio(base) - 1.0).max(MIN_CHARGE) }
    }

    /// Counts probes that ended, out of executions that cost `spent_ns` together.
    fn add(&mut self, ended: ClassCosts, base: &Base, spent_ns: f64) {
        let share = if self.is_known(base) { PROBING } else { EXPLORING };
        let base_ns = base.cost_ns();
        let mut count = 0;
        let mut cost_ns = 0;
        for ((costs, relative), base) in ended.iter().zip(&mut self.relative).zip(&base.costs) {
            count += costs.executions;
            cost_ns += costs.cost_ns;
            let base_ns = base.mean().filter(|mean_ns| *mean_ns > 0.0).unwrap_or(base_ns);
            relative.add(costs.executions as f64, costs.cost_ns as f64 / base_ns);
        }
        self.probes += count;
        self.disk_probes += ended[1].executions;
        let charge_ns = (cost_ns as f64 - count as f64 * base_ns).max(count as f64 * MIN_CHARGE * base_ns);
        // Saved for one expensive probe, or some cheap ones.
        let max_ns = 2.0 * self.expected_charge(base).max(1.0) * base_ns;
        self.budget_ns = (self.budget_ns + share * spent_ns - charge_ns).min(max_ns);
    }

    /// The number of probes that the budget allows now. The next ones follow when these have ended, and are at most one
    /// more than all before, because their cost is known only then.
    fn hand_out(&mut self, base: &Base) -> u8 {
        if self.outstanding > 0 {
            return 0;
        }
        let affordable = (self.budget_ns / (self.expected_charge(base) * base.cost_ns())).max(0.0) as u64;
        let count = affordable.min(self.probes + 1).min(u64::from(u8::MAX));
        self.outstanding = count;
        count as u8
    }
}

impl Chooser {
    /// Begins with a class; `seen`: what was counted before, which decides nothing.
    pub(crate) fn new(class: usize, seen: [ClassCosts; CLASSES]) -> Self {
        Self { current: class, seen, base: Base::default(), recent: Mean::default(), others: Default::default() }
    }

    /// Chooses, given the sums of all executions. The weight of an execution is halved after `half_life` more.
    pub(crate) fn choose(&mut self, sums: &[ClassCosts; CLASSES], half_life: Option<u64>) -> Choice {
        let new: [ClassCosts; CLASSES] =
            std::array::from_fn(|class| std::array::from_fn(|part| sums[class][part].since(self.seen[class][part])));
        self.seen = *sums;
        // Probes have ended, whatever is decided by their costs.
        for (other, new) in self.others.iter_mut().zip(&new) {
            let ended: u64 = new.iter().map(|costs| costs.executions).sum();
            other.outstanding = other.outstanding.saturating_sub(ended);
        }
        let sum = |of: fn(&CostSum) -> u64| new.iter().flatten().map(of).sum::<u64>();
        let executions = sum(|costs| costs.executions);
        self.forget(executions, half_life);
        for (costs, new) in self.base.costs.iter_mut().zip(new[self.current]) {
            costs.add(new.executions as f64, new.cost_ns as f64);
            self.recent.add(new.executions as f64, new.cost_ns as f64);
        }
        self.base.disk.add(executions as f64, new.iter().map(|costs| costs[1].executions as f64).sum());
        let measured: f64 = self.base.costs.iter().map(|costs| costs.count).sum();
        if executions == 0 || measured < MIN_EXECUTIONS || self.base.cost_ns() <= 0.0 {
            return Choice { class: self.current, probes: [0; CLASSES] };
        }
        if half_life.is_some() {
            self.notice_change();
        }
        let spent_ns = sum(|costs| costs.cost_ns) as f64;
        let Self { current, base, ref mut others, .. } = *self;
        let is_other = |class: &usize| *class != current;
        (0..CLASSES).filter(is_other).for_each(|class| others[class].add(new[class], &base, spent_ns));
        let better = (0..CLASSES).filter(|class| is_other(class) && others[*class].is_better(&base));
        if let Some(best) = better.min_by(|a, b| others[*a].ratio(&base).total_cmp(&others[*b].ratio(&base))) {
            self.change_to(best);
            return Choice { class: best, probes: [0; CLASSES] };
        }
        let hand_out = |class: usize| if is_other(&class) { others[class].hand_out(&base) } else { 0 };
        Choice { class: current, probes: [0, 1, 2].map(hand_out) }
    }

    fn forget(&mut self, executions: u64, half_life: Option<u64>) {
        let Some(half_life) = half_life else { return };
        let halvings = executions as f64 / half_life.max(1) as f64;
        let Base { costs, disk } = &mut self.base;
        costs.iter_mut().chain([disk]).for_each(|mean| mean.keep(0.5_f64.powf(halvings)));
        self.recent.keep(0.5_f64.powf(halvings / RECENT));
        let probes = self.others.iter_mut().flat_map(|other| &mut other.relative);
        probes.for_each(|mean| mean.keep(0.5_f64.powf(halvings / PROBE_MEMORY)));
    }

    /// Explores again if recent costs are not those of before.
    fn notice_change(&mut self) {
        let Some(change) = self.recent.mean().map(|recent_ns| recent_ns / self.base.cost_ns()) else { return };
        if self.recent.count < MIN_RECENT || (1.0 / CHANGED..=CHANGED).contains(&change) {
            return;
        }
        let Base { costs, disk } = &mut self.base;
        costs.iter_mut().chain([disk]).for_each(|mean| mean.weigh_at_most(MIN_EXECUTIONS));
        for other in &mut self.others {
            (other.probes, other.disk_probes) = (0, 0);
            other.relative.iter_mut().for_each(|mean| mean.weigh_at_most(MIN_PROBES));
        }
        self.recent = Mean::default();
    }

    /// Makes another class the current one. Costs of probes are relative to its costs from now on, and of less weight.
    fn change_to(&mut self, class: usize) {
        let ratios = self.others[class].ratios().map(|ratio| ratio.max(1e-9));
        for (part, (base, ratio)) in self.base.costs.iter_mut().zip(ratios).enumerate() {
            self.others[self.current].relative[part] = Mean::of(base.count, 1.0);
            for other in &mut self.others {
                other.relative[part].sum /= ratio;
                other.relative[part].weigh_at_most(MIN_PROBES);
            }
            base.sum *= ratio;
            base.weigh_at_most(MIN_EXECUTIONS);
        }
        // Probed from scratch: the change may have been an accident.
        let former = &mut self.others[self.current];
        (former.probes, former.disk_probes, former.budget_ns) = (0, 0, 0.0);
        self.others.iter_mut().for_each(|other| other.outstanding = 0);
        self.recent = Mean::default();
        self.current = class;
    }

    /// The mean cost of each class as it would be now, nanoseconds; `None` of a class that was not measured.
    pub(crate) fn costs_ns(&self) -> [Option<f64>; CLASSES] {
        let is_measured = |other: &Alternative| other.relative.iter().any(|mean| mean.count > 0.0);
        let base_ns = Some(self.base.cost_ns()).filter(|cost_ns| *cost_ns > 0.0);
        std::array::from_fn(|class| match &self.others[class] {
            _ if class == self.current => base_ns,
            other if is_measured(other) => Some(base_ns? * other.ratio(&self.base)),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{CLASSES, Choice, Chooser, ClassCosts};
    use crate::io::Dice;

    const CONVENTIONAL: usize = 0;
    const TWO_STAGE: usize = 1;
    const OPTIMISTIC: usize = 2;

    /// Costs of executions in microseconds, by class: of one that finds all in memory, and of one that does not.
    #[derive(Clone, Copy)]
    struct World {
        /// Share of the executions that need the disk, in thousandths.
        disk: u64,
        costs_us: [[u64; 2]; CLASSES],
    }

    /// All in memory: a fetch stage is useless.
    const RESIDENT: World = World { disk: 0, costs_us: [[10, 0], [18, 0], [11, 0]] };
    /// All executions need the disk, and stop all others if they read under locks.
    const COLD: World = World { disk: 1_000, costs_us: [[0, 20_000], [0, 2_000], [0, 2_600]] };
    /// A few executions need the disk.
    const MOSTLY_RESIDENT: World = World { disk: 20, costs_us: [[10, 5_000], [30, 1_000], [10, 1_000]] };
    /// Pages are gone again before they are used.
    const THRASHING: World = World { disk: 1_000, costs_us: [[0, 1_000], [0, 1_900], [0, 2_500]] };
    /// A conventional execution that needs the disk stops 63 others for a long read.
    const HOT_LOCK: World = World { disk: 130, costs_us: [[10, 600_000], [20, 10_000], [15, 16_000]] };

    /// A procedure whose executions are simulated.
    struct Simulated {
        chooser: Chooser,
        sums: [ClassCosts; CLASSES],
        choice: Choice,
        dice: Dice,
        /// The cost of all executions, and of those that were no probes, nanoseconds.
        cost_ns: u64,
        executions: [u64; CLASSES],
        changes: u64,
    }

    impl Simulated {
        fn new(seed: u64) -> Self {
            Self {
                chooser: Chooser::new(TWO_STAGE, Default::default()),
                sums: Default::default(),
                choice: Choice { class: TWO_STAGE, probes: [0; CLASSES] },
                dice: Dice(seed),
                cost_ns: 0,
                executions: [0; CLASSES],
                changes: 0,
            }
        }

        /// Executes this many times, and compares the classes after every 20 executions.
        fn execute(&mut self, world: &World, executions: u64) -> &mut Self {
            self.execute_and_compare(world, executions, 20)
        }

        fn execute_and_compare(&mut self, world: &World, executions: u64, every: u64) -> &mut Self {
            for at in 0..executions {
                let probe = (0..CLASSES).find(|class| self.choice.probes[*class] > 0);
                if let Some(probe) = probe {
                    self.choice.probes[probe] -= 1;
                }
                let class = probe.unwrap_or(self.choice.class);
                let part = usize::from(self.dice.below(1_000) < world.disk);
                // From half of the mean to one and a half of it.
                let cost_ns = world.costs_us[class][part] * (500 + self.dice.below(1_001));
                self.sums[class][part].executions += 1;
                self.sums[class][part].cost_ns += cost_ns;
                self.cost_ns += cost_ns;
                self.executions[class] += 1;
                if at % every == every - 1 {
                    let left = self.choice;
                    self.choice = self.chooser.choose(&self.sums, Some(1_000));
                    if self.choice.class == left.class {
                        self.choice.probes.iter_mut().zip(left.probes).for_each(|(probes, left)| *probes += left);
                    } else {
                        self.changes += 1;
                    }
                }
            }
            self
        }
    }

    impl World {
        fn mean_ns(&self, class: usize) -> f64 {
            let [memory, disk] = self.costs_us[class].map(|us| us as f64);
            memory * (1_000 - self.disk) as f64 + disk * self.disk as f64
        }
    }

    /// A comparison may see a probe alone, when what was known before is hardly enough to decide.
    #[test]
    fn classes_are_probed_on_where_each_execution_is_compared() {
        let slower = World { costs_us: [[0, 20_000], [0, 4_000], [0, 12_000]], ..COLD };
        for seed in 0..20 {
            let mut simulated = Simulated::new(seed);
            for world in [COLD, slower, COLD, slower] {
                simulated.execute_and_compare(&world, 2_000, 1);
            }
            let before = simulated.executions;
            simulated.execute_and_compare(&slower, 20_000, 1);
            for class in [CONVENTIONAL, OPTIMISTIC] {
                assert!(simulated.executions[class] > before[class], "{seed}: {class} {:?}", simulated.executions);
            }
        }
    }

    #[test]
    fn the_class_with_the_lowest_cost_is_found() {
        for (name, world, best) in [
            ("resident", RESIDENT, CONVENTIONAL),
            ("cold", COLD, TWO_STAGE),
            ("mostly resident", MOSTLY_RESIDENT, OPTIMISTIC),
            ("thrashing", THRASHING, CONVENTIONAL),
            ("hot lock", HOT_LOCK, TWO_STAGE),
        ] {
            for seed in 0..10 {
                let mut simulated = Simulated::new(seed);
                simulated.execute(&world, 40_000);
                assert_eq!(simulated.choice.class, best, "{name}, {seed}: {:?}", simulated.chooser);
                assert!(simulated.changes <= 3, "{name}, {seed}: {} changes", simulated.changes);
                let costs_ns = simulated.chooser.costs_ns();
                let known = costs_ns[best].unwrap() / world.mean_ns(best);
                assert!((0.7..1.4).contains(&known), "{name}, {seed}: {known} of its cost");
                assert!(costs_ns.into_iter().all(|cost_ns| cost_ns >= costs_ns[best]), "{name}, {seed}: {costs_ns:?}");
            }
        }
    }

    #[test]
    fn another_class_is_chosen_when_costs_change() {
        for seed in 0..10 {
            let mut simulated = Simulated::new(seed);
            for (world, best) in [(RESIDENT, CONVENTIONAL), (COLD, TWO_STAGE), (THRASHING, CONVENTIONAL)] {
                simulated.execute(&world, 8_000);
                assert_eq!(simulated.choice.class, best, "{seed}: {:?}", simulated.chooser);
            }
            // As long as the disk is much slower, everything else stays as it is.
            simulated.execute(&THRASHING, 1_000);
            let changes = simulated.changes;
            let slower = THRASHING.costs_us.map(|costs_us| costs_us.map(|us| 20 * us));
            simulated.execute(&World { costs_us: slower, ..THRASHING }, 10_000);
            assert_eq!(simulated.changes, changes, "{seed}: all classes cost 20 times as much");
        }
    }

    #[test]
    fn probes_add_a_bounded_share_to_the_cost() {
        for (name, world) in [("cold", COLD), ("resident", RESIDENT), ("hot lock", HOT_LOCK)] {
            for seed in 0..10 {
                let mut simulated = Simulated::new(seed);
                simulated.execute(&world, 40_000);
                let before_ns = simulated.cost_ns;
                let class = simulated.choice.class;
                let count = simulated.executions;
                simulated.execute(&world, 100_000);
                let added = (simulated.cost_ns - before_ns) as f64 / (100_000.0 * world.mean_ns(class)) - 1.0;
                assert!(added < 0.03, "{name}, {seed}: {:.1} % more", 100.0 * added);
                let others = (0..CLASSES).filter(|it| *it != class);
                for probes in others.map(|it| simulated.executions[it] - count[it]) {
                    assert!((1..=8_000).contains(&probes), "{name}, {seed}: {probes} probes");
                }
            }
        }
    }

    #[test]
    fn probes_that_needed_no_disk_say_nothing_of_others() {
        let sum = |executions: u64, cost_ns: u64| super::CostSum { executions, cost_ns };
        let mut chooser = Chooser::new(TWO_STAGE, Default::default());
        let mut sums = [ClassCosts::default(); CLASSES];
        // Nine tenths of the cost are those of a tenth of the executions.
        sums[TWO_STAGE] = [sum(900, 900_000), sum(100, 8_100_000)];
        sums[CONVENTIONAL][0] = sum(90, 9_000);
        assert_eq!(chooser.choose(&sums, None).class, TWO_STAGE, "none of 90 probes needed the disk");
        sums[CONVENTIONAL][1] = sum(1, 10_000);
        assert_eq!(chooser.choose(&sums, None).class, TWO_STAGE, "one did");
        sums[CONVENTIONAL][1] = sum(20, 20_000);
        assert_eq!(chooser.choose(&sums, None).class, CONVENTIONAL);
    }

    #[test]
    fn costs_of_zero_choose_nothing() {
        let mut chooser = Chooser::new(TWO_STAGE, Default::default());
        let mut sums = [ClassCosts::default(); CLASSES];
        sums[TWO_STAGE][0].executions = 1_000;
        sums[OPTIMISTIC][0].executions = 1_000;
        let nothing = Choice { class: TWO_STAGE, probes: [0; CLASSES] };
        assert_eq!(chooser.choose(&sums, Some(1_000)), nothing);
        assert_eq!(chooser.choose(&sums, Some(1_000)), nothing, "no execution since");
        assert_eq!(chooser.costs_ns(), [None; CLASSES]);
    }
}
