//! Tests of the lock manager.

#[cfg(not(shuttle))]
mod coarse;
#[cfg(not(shuttle))]
mod deadlocks;
#[cfg(shuttle)]
mod interleavings;
#[cfg(not(shuttle))]
mod model;
mod modes;
mod names;
#[cfg(not(shuttle))]
mod queues;
#[cfg(not(shuttle))]
mod script;
#[cfg(not(shuttle))]
mod stress;
