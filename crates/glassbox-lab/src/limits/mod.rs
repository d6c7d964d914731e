//! Limits: what the machine can do when nothing but the work itself is left. Glassbox's own figures stand beside them.

pub mod kernel;
