//! The paper's numbers, from its figures and its text.
//!
//! Harizopoulos, Abadi, Madden, Stonebraker, *OLTP Through the Looking Glass, and What We Found
//! There*, SIGMOD 2008. Its figures have percentages of all instructions; absolute numbers are in
//! their captions and in section 4.3.

use crate::workload::Workload;

/// Percent of all instructions of a New-Order, in the order of the components: Figures 1 and 6, left.
pub const NEW_ORDER_SHARES: [f64; 6] = [16.2, 11.9, 16.3, 14.2, 34.6, 6.8];
/// Percent of all instructions of a Payment: Figure 5, left.
pub const PAYMENT_SHARES: [f64; 6] = [10.1, 17.7, 25.2, 12.6, 29.8, 4.7];
/// Percent of all cycles of a New-Order: Figure 8, right.
pub const NEW_ORDER_CYCLES: [f64; 6] = [8.1, 21.0, 18.7, 10.2, 29.6, 12.3];
/// Instructions of a New-Order on all of Shore: Figure 1, and the caption of its axis.
pub const NEW_ORDER_INSTRUCTIONS: f64 = 1_730_000.0;
/// Instructions of a Payment on all of Shore: section 4.3.2.
pub const PAYMENT_INSTRUCTIONS: f64 = 180_000.0;
/// Instructions of all of Shore over those of the useful work, in a New-Order: section 1.
pub const NEW_ORDER_FULL_TO_KERNEL: f64 = 60.0;
/// Instructions of the rest of Shore over those of the useful work, in a New-Order: section 1, "about 4 times".
pub const NEW_ORDER_BARE_TO_KERNEL: f64 = 4.0;
/// The same for a Payment: section 4.3.2, "about 6 times".
pub const PAYMENT_BARE_TO_KERNEL: f64 = 6.0;
/// Percent of a New-Order's instructions that larger pages alone save: section 4.3.3, "almost a 14% reduction".
pub const LARGE_PAGES_SAVE: f64 = 14.0;

/// Transactions per second of the mix: section 4.3.1.
pub const THROUGHPUT: [(&str, &str, f64); 4] = [
    ("full-forced", "Shore, log forced", 640.0),
    ("full", "Shore, log not flushed", 1_700.0),
    ("bare", "Shore, stripped", 12_700.0),
    ("kernel", "optimal", 46_500.0),
];

/// Calls of a New-Order and a Payment: Figure 4, and the labels of Figures 5 and 6, right.
pub const CALLS: [(&str, f64, f64); 5] = [
    ("B-tree lookup", 23.0, 3.0),
    ("pin / unpin", 23.0, 3.0),
    ("update record", 11.0, 3.0),
    ("create record", 12.0, 1.0),
    ("insert index", 13.0, 0.0),
];

/// Percent of all instructions by component; the paper has no figure of the mix.
pub const fn shares(workload: Workload) -> Option<[f64; 6]> {
    match workload {
        Workload::NewOrder => Some(NEW_ORDER_SHARES),
        Workload::Payment => Some(PAYMENT_SHARES),
        Workload::Mix => None,
    }
}

/// All instructions.
pub const fn instructions(workload: Workload) -> Option<f64> {
    match workload {
        Workload::NewOrder => Some(NEW_ORDER_INSTRUCTIONS),
        Workload::Payment => Some(PAYMENT_INSTRUCTIONS),
        Workload::Mix => None,
    }
}
