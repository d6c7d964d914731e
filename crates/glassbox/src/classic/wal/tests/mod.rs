//! Tests of single parts; whole histories with crashes are in `recovery/tests`.

mod concurrency;
mod forms;
mod journal;
mod records;
