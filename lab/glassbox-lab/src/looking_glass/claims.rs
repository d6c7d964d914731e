//! The paper's claims as numbers, with what became of them.
//!
//! Paper: *OLTP Through the Looking Glass*: the shares of Figures 1 and 5, section 4.3.1, Figures 7 and 8, and the
//! multiples of the useful work in sections 1 and 4.3.2. A share is reproduced within five points; what the paper gives
//! as an order or a count has to be the same.

use super::ladder::{BARE, FORCED, FULL, KERNEL, Measure, RUNGS, THROUGHPUT};
use super::paper;
use crate::claim::{self, Claim, claim};
use crate::points::Points;
use crate::section::Table;
use crate::workload::Workload;

/// A claim about a component's share.
struct Share {
    component: &'static str,
    /// The paper's words: of Figure 1, and of Figure 5, left.
    says: [&'static str; 2],
    /// In both, the shares that are not reproduced, and are known.
    known: [Option<(f64, f64)>; 2],
}

const SHARES: [Share; 6] = [
    Share { component: "B-tree keys", says: ["16.2 %", "10.1 %"], known: [Some((2.0, 11.2)), None] },
    Share { component: "logging", says: ["11.9 %", "17.7 %"], known: [Some((3.0, 6.9)), Some((2.0, 12.7))] },
    Share { component: "locking", says: ["16.3 %", "25.2 %"], known: [Some((21.3, 42.0)), Some((30.2, 46.0))] },
    Share { component: "latching", says: ["14.2 %", "12.6 %"], known: [Some((2.0, 9.2)), Some((1.0, 7.6))] },
    Share { component: "the buffer manager", says: ["34.6 %", "29.8 %"], known: [Some((39.6, 48.0)), None] },
    Share { component: "what remains", says: ["6.8 %", "4.7 %"], known: [None, Some((9.7, 16.0))] },
];
/// Percentage points by which a share may differ.
const POINTS: f64 = 5.0;
const OTHER_SAVING: &str = "Compared with Shore's, it has become cheaper by another factor than the whole: see the \
                            differences below.";
const PREFETCHING: &str = "The stripped engine prefetches what a transaction declares, and the kernel does not, so \
                           the last step is down.";
const DISK: &str = "A stripped transaction has become shorter by a much larger factor than a force of the log has.";
const FULL_IS_LESS: &str = "From Shore to the full engine, the cost fell by a larger factor than from the paper's \
                            useful work to the kernel.";
const NO_PAGES: &str = "Without pages, the stripped engine has the rows and indexes of the main-memory engine.";
const CHEAP_SWITCHES: &str = "Larger pages cost here, see section 4.3.3; a step can also leave work to the next one.";
const SMALL_NODES: &str = "Trees of 8 KiB are as low here, and what is searched and moved in a larger node costs more.";
const TIME: &str = "The shares of instructions are not Shore's either, and differences of times vary by some percent.";

/// The claims for which there are numbers.
pub fn claims(points: &Points) -> Vec<Claim> {
    let of_shares = [shares(points, Workload::NewOrder), shares(points, Workload::Payment)].concat();
    let others = [throughput(points), multiples(points), switches(points), order_by_time(points)].concat();
    of_shares.into_iter().chain(others.into_iter().flatten()).collect()
}

fn shares(points: &Points, workload: Workload) -> Vec<Claim> {
    let (figure, theirs, which) = match workload {
        Workload::Payment => ("Figure 5", paper::PAYMENT_SHARES, 1),
        _ => ("Figure 1", paper::NEW_ORDER_SHARES, 0),
    };
    let Some(here) = Measure::Instructions.shares(points, workload.name()) else { return Vec::new() };
    let of = |(share, (here, there)): (Share, (f64, f64))| {
        let Share { component, says, known } = share;
        let bounds = ((there - POINTS).max(0.0), there + POINTS);
        let claim = claim((figure, component), says[which], Some(here), bounds, "%")?;
        Some(known[which].map_or(claim.clone(), |known| claim.not_reproduced(known, OTHER_SAVING)))
    };
    SHARES.into_iter().zip(here.into_iter().zip(theirs)).filter_map(of).collect()
}

/// Section 4.3.1, on the mix.
fn throughput(points: &Points) -> Vec<Option<Claim>> {
    const FIGURE: &str = "Section 4.3.1";
    let rate = |stack: &str| points.value(THROUGHPUT, stack, Workload::Mix.name());
    let steps = || {
        let rates = paper::THROUGHPUT.iter().map(|(stack, ..)| rate(stack)).collect::<Option<Vec<_>>>()?;
        Some(rates.windows(2).filter(|pair| pair[0] < pair[1]).count() as f64)
    };
    let over = |more: &str, less: &str| Some(rate(more)? / rate(less)?);
    vec![
        claim((FIGURE, "steps up: log forced, not flushed, stripped, optimal"), "3", steps(), (3.0, 3.0), "of 3")
            .map(|it| it.not_reproduced((2.0, 2.0), PREFETCHING)),
        claim((FIGURE, "stripped over log forced"), "20 times", over(BARE, FORCED), (13.0, 30.0), "times")
            .map(|it| it.not_reproduced((30.0, 5_000.0), DISK)),
        claim((FIGURE, "stripped over log not flushed"), "7.5 times", over(BARE, FULL), (5.0, 11.0), "times")
            .map(|it| it.not_reproduced((2.0, 5.0), FULL_IS_LESS)),
        claim((FIGURE, "optimal over log not flushed"), "27.4 times", over(KERNEL, FULL), (18.0, 41.0), "times")
            .map(|it| it.not_reproduced((2.0, 18.0), FULL_IS_LESS)),
    ]
}

/// Sections 1 and 4.3.2.
fn multiples(points: &Points) -> Vec<Option<Claim>> {
    let of = |stack: &str, workload: Workload| {
        let [stack, kernel] = [stack, KERNEL].map(|stack| Measure::Instructions.of(points, stack, workload.name()));
        Some(stack? / kernel?)
    };
    let (new_order, payment) = (Workload::NewOrder, Workload::Payment);
    vec![
        claim(
            ("Section 1", "New-Order, full over useful work"),
            "60 times",
            of(FULL, new_order),
            (40.0, 90.0),
            "times",
        )
        .map(|it| it.not_reproduced((8.0, 40.0), FULL_IS_LESS)),
        claim(
            ("Section 1", "New-Order, stripped over useful work"),
            "4 times",
            of(BARE, new_order),
            (2.7, 6.0),
            "times",
        )
        .map(|it| it.not_reproduced((1.0, 2.7), NO_PAGES)),
        claim(
            ("Section 4.3.2", "Payment, stripped over useful work"),
            "6 times",
            of(BARE, payment),
            (4.0, 9.0),
            "times",
        ),
    ]
}

/// Figure 7, of a New-Order.
fn switches(points: &Points) -> Vec<Option<Claim>> {
    const FIGURE: &str = "Figure 7";
    let of = |stack: &str| Measure::Instructions.of(points, stack, Workload::NewOrder.name());
    let saving = || {
        let left = RUNGS.iter().map(|rung| of(rung.name)).collect::<Option<Vec<_>>>()?;
        Some(left.windows(2).filter(|pair| pair[1] < pair[0]).count() as f64)
    };
    let large_pages = || Some(100.0 * (of("no-directory")? - of("large-pages")?) / of(FULL)?);
    vec![
        claim((FIGURE, "switches that save instructions"), "11", saving(), (11.0, 11.0), "of 11")
            .map(|it| it.not_reproduced((6.0, 10.0), CHEAP_SWITCHES)),
        claim((FIGURE, "saved by larger pages alone"), "14 %", large_pages(), (9.0, 19.0), "%")
            .map(|it| it.not_reproduced((-20.0, 9.0), SMALL_NODES)),
    ]
}

/// Figure 8: how many pairs of the six components are in the paper's order of cycles.
fn order_by_time(points: &Points) -> Vec<Option<Claim>> {
    let of = |measure: Measure| measure.shares(points, Workload::NewOrder.name());
    let pairs = |here: [f64; 6]| {
        let pairs = (0..6).flat_map(|one| (0..one).map(move |other| (one, other)));
        let theirs = paper::NEW_ORDER_CYCLES;
        pairs.filter(|&(one, other)| (here[one] < here[other]) == (theirs[one] < theirs[other])).count() as f64
    };
    let here = of(Measure::Cycles).or_else(|| of(Measure::Time)).map(pairs);
    let name = "pairs of components in the order of their cycles or times";
    vec![claim(("Figure 8", name), "15", here, (15.0, 15.0), "of 15").map(|it| it.not_reproduced((5.0, 14.0), TIME))]
}

/// The claims, for the terminal and the page.
pub fn table(points: &Points) -> Option<Table> {
    claim::table("the paper's claims", &claims(points))
}

/// How many claims of each outcome there are; nothing if none has numbers.
pub fn outcomes(points: &Points) -> Option<String> {
    let claims = claims(points);
    (!claims.is_empty()).then(|| claim::outcomes(&claims))
}
