//! G0: transactions do not overwrite each other in turns (Adya 1999, §4.2.1).

use super::anomaly::Class;
use super::cycles::Level;
use super::graph::kind::WW;

/// A cycle of overwriting alone.
pub const LEVELS: [Level; 1] = [Level { class: Class::G0, first: WW, others: WW }];
