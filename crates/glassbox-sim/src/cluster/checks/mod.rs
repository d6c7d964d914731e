//! Is what a simulated cluster did right? One file for each property; each finds nothing, or says what is wrong.

mod atomicity;
mod progress;
mod replicas;
mod serializability;

pub use atomicity::atomicity;
pub use progress::progress;
pub use replicas::replicas;
pub use serializability::serializability;

use super::world::World;

/// Everything, of a world that has [finished](World::finish).
///
/// # Errors
/// The first thing that is wrong.
pub fn all(world: &mut World) -> Result<(), String> {
    let history = world.history();
    progress(world, &history)?;
    serializability(&history)?;
    atomicity(world, &history)?;
    replicas(world)
}
