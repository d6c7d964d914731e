//! The `glassbox` program.
fn main() {}
