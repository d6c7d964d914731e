//! The target of this name; what it does is in the engine's `fuzzing` module.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| glassbox::fuzzing::run("volume", bytes));
