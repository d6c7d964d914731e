//! The target of this name; what it does is in the engine's `research::fuzzing`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| glassbox::research::fuzzing::run("wal", bytes));
