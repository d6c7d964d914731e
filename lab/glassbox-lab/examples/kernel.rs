//! Measures the hand-written kernel: its four variants on small and on huge pages, interleaved, medians of rounds.
//!
//! `kernel [TRANSACTIONS] [ROUNDS] [WAREHOUSES]` prints transactions per second. `glassbox-lab limits` compares the
//! engine with it, and counts instructions.

use std::time::Instant;

use glassbox::record::Timestamp;
use glassbox_kernels::{BTrees, Checksum, HashTables, Indexes, Kernel, KernelInput, Pages, Sizing, load_shared};
use glassbox_workloads::tpcc::{Inputs, Mix, Remote, Scale, Settings};

const SEED: u64 = 1;

/// A kernel of any type, so that all variants fit into one list.
trait Variant {
    fn run(&mut self, inputs: &[KernelInput]) -> i64;
    fn checksum(&self) -> Checksum;
    fn check(&self);
}

impl<I: Indexes, const PREFETCH: bool> Variant for Kernel<I, PREFETCH> {
    fn run(&mut self, inputs: &[KernelInput]) -> i64 {
        Kernel::run(self, inputs)
    }

    fn checksum(&self) -> Checksum {
        Kernel::checksum(self)
    }

    fn check(&self) {
        Kernel::check(self).expect("the state is consistent");
    }
}

fn filled<I: Indexes + 'static, const PREFETCH: bool>(
    scale: &Scale,
    transactions: usize,
    pages: Pages,
) -> Box<dyn Variant> {
    let mut kernel =
        Kernel::<I, PREFETCH>::new(Sizing::of(scale, transactions), pages).expect("the system gives memory");
    load_shared(&mut kernel, scale, SEED);
    kernel.touch(transactions);
    Box::new(kernel)
}

type Make = fn(&Scale, usize, Pages) -> Box<dyn Variant>;

/// The variants' names, and how each is made.
const VARIANTS: [(&str, Make); 4] = [
    ("tree", filled::<BTrees, false>),
    ("tree-prefetch", filled::<BTrees, true>),
    ("hash", filled::<HashTables, false>),
    ("hash-prefetch", filled::<HashTables, true>),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, default: usize| match arguments.get(place) {
        Some(text) => text.parse().unwrap_or_else(|_| panic!("{text} is not a number")),
        None => default,
    };
    measure(number(0, 40_000), number(1, 5), &Scale::full(number(2, 5) as u16));
}

/// All variants, in turn, round after round on the same data; every round has inputs of its own.
fn measure(transactions: usize, rounds: usize, scale: &Scale) {
    let all = transactions * (rounds + 1);
    let mut runs = Vec::new();
    for pages in [Pages::Small, Pages::Huge] {
        for (name, make) in VARIANTS {
            runs.push((name, pages, make(scale, all, pages), Vec::new()));
        }
    }
    let settings = Settings { mix: Mix::LookingGlass, remote: Remote::NONE, load_seed: SEED, ..Settings::new(*scale) };
    let mut source = Inputs::new(&settings, 0);
    let mut next = || KernelInput::from_shared(&source.next(), Timestamp::from_micros(0)).expect("it is of the mix");
    // The first round warms up.
    for round in 0..=rounds {
        let inputs: Vec<_> = (0..transactions).map(|_| next()).collect();
        for (_, _, kernel, rates) in &mut runs {
            let start = Instant::now();
            std::hint::black_box(kernel.run(&inputs));
            let seconds = start.elapsed().as_secs_f64();
            if round > 0 {
                rates.push(transactions as f64 / seconds);
            }
        }
    }
    println!("{:<14} {:<6} {:>12} {:>12} {:>12}", "variant", "pages", "min/s", "median/s", "max/s");
    let expected = runs[0].2.checksum();
    for (name, pages, kernel, rates) in &mut runs {
        kernel.check();
        assert_eq!(kernel.checksum(), expected, "{name} did different work from the first variant");
        rates.sort_by(f64::total_cmp);
        let (min, median, max) = (rates[0], rates[rates.len() / 2], rates[rates.len() - 1]);
        println!("{name:<14} {:<6} {min:>12.0} {median:>12.0} {max:>12.0}", format!("{pages:?}"));
    }
}
