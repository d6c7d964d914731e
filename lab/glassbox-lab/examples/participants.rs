//! The cost of a distributed transaction at each of its participants, which all run the procedure.
//!
//! `participants [CALLS] [ROUNDS]`, by default 2,000 and 9. New-Orders that take their items from 1, 2 and 4 partitions
//! in turn, and Payments by a customer of the same partition and of another one, on partitions with one warehouse each,
//! in one thread, without messages. A procedure that did not ask [`Transaction::owns`] would cost every participant as
//! much as the transaction costs where all rows are on one partition, and the reads of remote rows. The last column is
//! the cost at all participants together, as a part of that. Rounds alternate; medians.
//!
//! [`Transaction::owns`]: glassbox::procedure::Transaction::owns

use std::time::Instant;

use glassbox::procedure::Procedure;
use glassbox::record::Timestamp;
use glassbox::research::shard::{Call, Kept, Ran, Shard, Stamp, Task};
use glassbox_workloads::tpcc::{self, Input, Inputs, NewOrder, Payment, Scale, Settings};

const TABLE_BYTES: usize = 1 << 30;

/// Partitions with a warehouse each, and the number of a warehouse's partition.
struct Partitions {
    shards: Vec<Shard>,
    numbers: [u16; 2],
}

impl Partitions {
    fn load(count: usize) -> Self {
        let catalog = tpcc::distributed_catalog();
        let shard = |index| {
            let mut shard = Shard::new(&catalog, index, count, TABLE_BYTES).expect("there is memory");
            tpcc::fill(&Scale::full(count as u16), tpcc::LOAD_SEED, &mut shard).expect("the shard is empty");
            shard
        };
        let number = |number: Result<u16, _>| number.expect("the catalog has it");
        let numbers = [number(catalog.number_of::<NewOrder>()), number(catalog.number_of::<Payment>())];
        Self { shards: (0..count).map(shard).collect(), numbers }
    }

    /// Runs calls at all their participants; nanoseconds of a call where its output is made, and at one of the others.
    fn run<P: Procedure>(&mut self, number: u16, calls: Vec<P>) -> [f64; 2] {
        let count = calls.len() as f64;
        let stamp = |at| Stamp { procedure: number, now: Timestamp::from_micros(at), seed: at as u64 };
        let calls: Vec<Call> = calls.into_iter().zip(1..).map(|(call, at)| Call::new(call, stamp(at))).collect();
        let route = self.shards[0].route(&calls[0]).expect("the procedure is known");
        let home = usize::from(route.home);
        let mut times = [0.0; 2];
        for (index, shard) in self.shards.iter_mut().enumerate().filter(|(at, _)| route.partitions.contains(*at)) {
            let begun = Instant::now();
            for call in &calls {
                let mut kept = Kept::default();
                let ran = shard.run(call, Task { participants: route.partitions, given: &[] }, Some(&mut kept), None);
                assert!(matches!(ran, Ran::Done(_)), "{ran:?}");
                shard.commit(kept);
            }
            times[usize::from(index != home)] += begun.elapsed().as_secs_f64() * 1e9 / count;
        }
        let others = (route.partitions.len() - 1).max(1) as f64;
        [times[0], times[1] / others]
    }

    /// New-Orders of the first warehouse that take their lines' items from all warehouses in turn.
    fn new_orders(&mut self, count: usize, seed: u64) -> [f64; 2] {
        let scale = Scale::full(1);
        let mut inputs = Inputs::new(&Settings::looking_glass(&scale, seed), 0);
        let warehouses = self.shards.len() as u16;
        let orders = std::iter::from_fn(|| Some(inputs.next())).filter(|it| !it.is_for_unused_item(&scale));
        let orders = orders.filter_map(|it| if let Input::NewOrder(order) = it { Some(order) } else { None });
        let spread = |mut order: NewOrder| {
            order.lines.iter_mut().zip(0..).for_each(|(line, at)| line.supply_w_id = 1 + at % warehouses);
            order
        };
        let orders = orders.filter(|it| it.lines.len() >= 5).map(spread).take(count).collect();
        self.run(self.numbers[0], orders)
    }

    /// Payments at the first warehouse by customers of the last one.
    fn payments(&mut self, count: usize, seed: u64) -> [f64; 2] {
        let mut inputs = Inputs::new(&Settings::looking_glass(&Scale::full(1), seed), 0);
        let warehouses = self.shards.len() as u16;
        let payments = std::iter::from_fn(|| Some(inputs.next()));
        let payments = payments.filter_map(|it| if let Input::Payment(payment) = it { Some(payment) } else { None });
        let payments = payments.map(|payment| Payment { c_w_id: warehouses, ..payment }).take(count).collect();
        self.run(self.numbers[1], payments)
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let number = |place: usize, default: usize| match std::env::args().nth(place) {
        Some(text) => text.parse().unwrap_or_else(|_| panic!("{text} is not a number")),
        None => default,
    };
    let calls = number(1, 2_000);
    let rounds = number(2, 9);
    let mut all = [1, 2, 4].map(Partitions::load);
    let mut times: Vec<Vec<[f64; 2]>> = vec![Vec::new(); 5];
    for round in 0..rounds as u64 + 1 {
        let seed = 1 + round;
        let mut of_round: Vec<[f64; 2]> = all.iter_mut().map(|it| it.new_orders(calls, seed)).collect();
        of_round.extend(all[..2].iter_mut().map(|it| it.payments(calls, seed)));
        // The first round warms up.
        if round > 0 {
            times.iter_mut().zip(of_round).for_each(|(times, time)| times.push(time));
        }
    }
    println!("medians of {rounds} rounds of {calls} calls each, in nanoseconds");
    println!("transaction   partitions     home    other  other of one partition's   all of as many whole runs");
    for ((name, partitions, alone), of) in
        [("New-Order", 1, 0), ("New-Order", 2, 0), ("New-Order", 4, 0), ("Payment", 1, 3), ("Payment", 2, 3)]
            .into_iter()
            .zip(&times)
    {
        let at = |times: &[[f64; 2]], which: usize| median(times.iter().map(|time| time[which]).collect());
        let home = at(of, 0);
        let other = at(of, 1);
        if partitions == 1 {
            println!("{name:12}  {partitions:10}  {home:7.0}");
            continue;
        }
        let ratios = |ratio: &dyn Fn(&[f64; 2], f64) -> f64| {
            median(of.iter().zip(&times[alone]).map(|(time, alone)| ratio(time, alone[0])).collect())
        };
        let of_whole = ratios(&|time, whole| time[1] / whole);
        let together =
            ratios(&|time, whole| (time[0] + (partitions - 1) as f64 * time[1]) / (partitions as f64 * whole));
        println!("{name:12}  {partitions:10}  {home:7.0}  {other:7.0}  {of_whole:24.2}  {together:26.2}");
    }
}
