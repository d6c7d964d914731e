//! G2: no cycle has a read of a version that another transaction of it overwrites (Adya 1999, §4.2.5 and §4.4.1).
//!
//! With exactly one anti-dependency, the cycle is one that snapshot isolation forbids too (G-single, ibid. §4.3.2);
//! write skew has two. Those of items alone are what locks on rows prevent; those with a predicate are phantoms, and
//! need locks on what is not there.

use super::anomaly::Class;
use super::cycles::Level;
use super::graph::kind::{READS, RW, RW_PREDICATE, WW};

/// Cycles with anti-dependencies, those of items before those of predicates, few before many.
pub const LEVELS: [Level; 4] = [
    Level { class: Class::GSingle, first: RW, others: WW | READS },
    Level { class: Class::G2Item, first: RW, others: WW | READS | RW },
    Level { class: Class::GSinglePredicate, first: RW_PREDICATE, others: WW | READS },
    Level { class: Class::G2, first: RW_PREDICATE, others: WW | READS | RW | RW_PREDICATE },
];
