//! Checks of what a simulated cluster did. One file for each property; each finds nothing, or reports a violation.

mod atomicity;
mod durability;
mod progress;
mod replicas;
mod serializability;
mod tpcc;
mod written;

pub use atomicity::atomicity;
pub use durability::durability;
pub use progress::progress;
pub use replicas::replicas;
pub use serializability::serializability;
pub use tpcc::tpcc;

use super::world::World;

/// All properties, for a world of the microbenchmark that has [finished](World::finish).
///
/// # Errors
/// The first violation.
pub fn all(world: &mut World) -> Result<(), String> {
    let history = world.history();
    progress(world, &history)?;
    atomicity(world, &history)?;
    serializability(&history)?;
    durability(world, &history)?;
    replicas(world)
}
