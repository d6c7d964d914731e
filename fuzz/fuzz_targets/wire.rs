//! What comes over a connection of a cluster. See `glassbox_cluster::wire::fuzzing`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| glassbox_cluster::wire::fuzzing::run(bytes));
