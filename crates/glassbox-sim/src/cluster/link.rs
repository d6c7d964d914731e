//! Links: how long a message takes, and whether it arrives.

use std::collections::BTreeMap;

use glassbox_cluster::Address;

use crate::dice::Dice;

/// What links are like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// One way, at least.
    pub base_ns: u64,
    /// The mean of what comes on top, exponentially distributed.
    pub tail_ns: u64,
}

/// All links of a world. Between two parties messages arrive in order.
#[derive(Debug)]
pub(super) struct Links {
    link: Link,
    last: BTreeMap<(Address, Address), u64>,
}

impl Links {
    pub(super) fn new(link: Link) -> Self {
        Self { link, last: BTreeMap::new() }
    }

    /// When a message arrives that is sent now.
    pub(super) fn arrival(&mut self, from: Address, to: Address, now_ns: u64, dice: &mut Dice) -> u64 {
        let tail = if self.link.tail_ns == 0 {
            0
        } else {
            // The inverse of the exponential distribution, of a number that is never 0.
            let uniform = (dice.below(1 << 30) + 1) as f64 / (1_u64 << 30) as f64;
            (-uniform.ln() * self.link.tail_ns as f64) as u64
        };
        let arrival = now_ns + self.link.base_ns + tail;
        let last = self.last.entry((from, to)).or_default();
        *last = arrival.max(*last);
        *last
    }
}
