//! Is what concurrent clients were answered what some serial order would have answered?
//!
//! Problem: isolation is lost in moments, in one interleaving of thousands, and leaves every row looking right. So the
//! answers must be judged, and together: each alone is plausible. To search for a serial order that gives them all is
//! NP-complete (Papadimitriou 1979), because from a usual answer one cannot tell which write it saw, nor which write
//! came first.
//!
//! The way out is Adya's theory (*Weak Consistency: A Generalized Theory and Optimistic Implementations for Distributed
//! Transactions*, 1999) with Kingsbury's and Alvaro's idea (*Elle: Inferring Isolation Anomalies from Experimental
//! Observations*, VLDB 2020): make the data such that the answers tell it.
//!
//! - Every value is written once, so a read names its writer.
//! - Of every item the order of the versions can be read off ([`orders`]): lists are only appended to, rows count their
//!   changes.
//! - A row that a scan does not return was seen in a version that does not match ([`predicates`]).
//!
//! Then it is known of pairs of transactions which comes first ([`graph`]), and a history is serializable if no
//! transaction comes before itself: a search for cycles, linear in the answers. With edges for real time the same
//! search checks strict serializability; an anomaly that only these edges show is reported apart.
//!
//! An anomaly has a class ([`Class`]), a shortest cycle, and an explanation. The checks of single reads ([`reads`],
//! [`own_writes`]) and of the order of versions ([`versions`]) need no graph; the other anomalies are classes of
//! [`cycles`].
//!
//! To check an engine, [`executor::open`] it with its `Config`, [`runner::run`] clients on it, and [`check`] what they
//! noted. What does not run inside a [`glassbox::Database`] implements [`executor::Executor`].
//!
//! Where parts of an engine fail, some outcomes are unknown to clients. Lists show them: [`unknown`].
//!
//! Every anomaly found is real. Not found is one that shows only in a row that came to a predicate and
//! left it again while the reader ran, because it cannot be told which of its absences was seen ([`predicates`]).
//! `tests/serializability/exhaustive.rs` compares with a search of all serial orders, and counts these.

pub mod anomaly;
pub mod broken;
pub mod components;
pub mod cycles;
pub mod executor;
pub mod explain;
pub mod facts;
pub mod graph;
pub mod history;
pub mod orders;
pub mod own_writes;
pub mod predicates;
pub mod reads;
pub mod report;
pub mod rows;
pub mod runner;
pub mod unknown;
pub mod versions;
pub mod workload;

pub use anomaly::{Anomaly, Class};
pub use history::History;
pub use report::{Report, check};
