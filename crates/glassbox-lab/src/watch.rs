//! Who follows a measurement while it goes on.

/// Hears how far a measurement is, and may end it.
pub trait Watch {
    /// Step `done` of `of` begins.
    fn step(&self, done: usize, of: usize, what: &str);
    /// Whether to stop early: with the results so far, if there are any.
    fn interrupted(&self) -> bool;
}
