//! Links: the delay of messages, and their loss.

use std::collections::BTreeMap;

use glassbox_cluster::Address;

use glassbox_testing::dice::Dice;

/// A link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// The minimum one-way delay.
    pub base_ns: u64,
    /// The same from and to a coordinator: larger if it is a thread that has to be scheduled first.
    pub coordinator_ns: u64,
    /// The mean of an additional exponentially distributed delay.
    pub tail_ns: u64,
    /// Of a million messages, those that are lost and sent again.
    pub lost: u64,
    /// The delay of sending a lost message again.
    pub again_ns: u64,
    /// The number of sites: partitions, coordinators and clients whose numbers are equal modulo this share one, and
    /// messages within a site have no delay. 0: each party has a site of its own.
    pub sites: u32,
}

impl Link {
    /// A link with this constant delay.
    pub fn of(base_ns: u64) -> Self {
        Self { base_ns, coordinator_ns: base_ns, tail_ns: 0, lost: 0, again_ns: 200_000, sites: 0 }
    }
}

/// The number that decides a party's site.
fn number(of: Address) -> u32 {
    match of {
        Address::Replica { partition, .. } => partition.into(),
        Address::Coordinator(number) => number.into(),
        Address::Client(number) => number,
    }
}

/// All links of a world. Between two parties messages arrive in order.
#[derive(Debug)]
pub(super) struct Links {
    link: Link,
    last: BTreeMap<(Address, Address), u64>,
    /// One-way links on which nothing gets through before this time.
    cuts: BTreeMap<(Address, Address), u64>,
}

impl Links {
    pub(super) fn new(link: Link) -> Self {
        Self { link, last: BTreeMap::new(), cuts: BTreeMap::new() }
    }

    /// Cuts a one-way link until `until_ns`.
    pub(super) fn cut(&mut self, from: Address, to: Address, until_ns: u64) {
        self.cuts.insert((from, to), until_ns);
    }

    /// The arrival time of a message that is sent now.
    pub(super) fn arrival(&mut self, from: Address, to: Address, now_ns: u64, dice: &mut Dice) -> u64 {
        let sites = self.link.sites;
        let is_within_site = sites > 0 && number(from) % sites == number(to) % sites;
        let tail = if self.link.tail_ns == 0 || is_within_site {
            0
        } else {
            // The inverse of the exponential distribution, of a number that is never 0.
            let uniform = (dice.below(1 << 30) + 1) as f64 / (1_u64 << 30) as f64;
            (-uniform.ln() * self.link.tail_ns as f64) as u64
        };
        let mut sent = now_ns;
        while dice.below(1_000_000) < self.link.lost {
            sent += self.link.again_ns;
        }
        let cut = self.cuts.get(&(from, to)).copied().unwrap_or_default();
        let by_coordinator = [from, to].iter().any(|it| matches!(it, Address::Coordinator(_)));
        let base_ns = match by_coordinator {
            _ if is_within_site => 0,
            true => self.link.coordinator_ns,
            false => self.link.base_ns,
        };
        let arrival = sent.max(cut) + base_ns + tail;
        let last = self.last.entry((from, to)).or_default();
        *last = arrival.max(*last);
        *last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_within_a_site_have_no_delay() {
        let mut links = Links::new(Link { sites: 2, tail_ns: 50, ..Link::of(100) });
        let mut arrival = |from, to| links.arrival(from, to, 1_000, &mut Dice(1));
        let replica = |partition| Address::Replica { partition, replica: 0 };
        assert_eq!(arrival(Address::Client(3), replica(1)), 1_000);
        assert_eq!(arrival(Address::Coordinator(0), replica(0)), 1_000);
        assert!(arrival(Address::Client(3), replica(0)) >= 1_100 && arrival(replica(1), replica(0)) >= 1_100);
    }
}
