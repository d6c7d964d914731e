//! G1c: information does not flow in circles (Adya 1999, §4.2.4): a transaction is not influenced by another that it
//! influenced.

use super::anomaly::Class;
use super::cycles::Level;
use super::graph::kind::{READS, WW};

/// A cycle with a read of what was written.
pub const LEVELS: [Level; 1] = [Level { class: Class::G1c, first: READS, others: WW | READS }];
