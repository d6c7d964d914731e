//! Figure 6: the instructions of a New-Order, by call; its left side is that of Figure 1.
//!
//! Paper: *OLTP Through the Looking Glass*, Figure 6 and section 4.3.3. Claim: about ten times the instructions of a
//! Payment, and more of them for keys and the buffer manager, because of the insertions.
//!
//! What differs here: stock is in two tables, so that an order of ten items makes ten more lookups ([`super::accesses`]
//! counts them); and the order's secondary index is of orders by customer, as the benchmark wants, where the paper has
//! one of new orders.

use super::figure5;
use super::work::Workload;
use crate::points::Points;
use crate::report::Figure;

/// Draws its right side.
pub(super) fn figure(points: &Points) -> Option<Figure> {
    figure5::by_calls(points, Workload::NewOrder, "Figure 6, right. New-Order: what each call takes")
}
