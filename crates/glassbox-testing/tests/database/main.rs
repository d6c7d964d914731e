//! The embedded database against the reference model: histories, crashes, damage and trouble. One program: each further
//! one would compile the engine's code for these tables again.

mod crash_points;
mod damage;
mod histories;
mod model;
mod trouble;
mod two_phase;
