//! The constants of the simulator's table of costs, measured on this machine.
//!
//! The state machines handle their messages on one thread, and the time is measured: of a transaction on one partition,
//! of a fragment, of a decision, of a message at the coordinator. Locks are acquired among those of other transactions.
//! The cost of a queue is the additional time of a client and a partition that are always busy, as two threads and on
//! one; the additional cost of messages of a transaction on two partitions is the additional time of all machines on
//! one thread. Round trips are measured between threads: a client calls, on one partition or on two, and waits, while
//! no other thread works.
//!
//! Not included: waking sleeping threads, except in the round trip; caches that more than two threads share; costs that
//! grow with the number of transactions in flight.

mod calls;
mod costs;
mod machines;
mod measure;
pub mod tables;

pub use costs::{
    COSTS, COSTS_OF_TPCC, COSTS_ON_ONE_THREAD, COSTS_ON_ONE_THREAD_LATE, CostTables, ROUND_TRIP, costs, link,
};
pub use machines::INJECTED_US;
pub use measure::{CalibrationPlan, EXPERIMENT, calibrate};
