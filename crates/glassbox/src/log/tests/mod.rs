//! Tests of the log: appended and awaited records are read again after any failure.

mod concurrency;
mod crash;
mod damage;
mod room;
mod round_trip;

use std::sync::Arc;

use super::{ExpectedLog, Log, LogConfig, LogError, Lsn, look_into_log};
use crate::io::{Files, MemoryFiles};

const ID: u128 = 0x1234_5678_9abc_def0_0fed_cba9_8765_4321;

/// Segments and ring so small that everything wraps soon; no threads, so that runs repeat.
fn tiny() -> LogConfig {
    LogConfig { segment_bytes: 8192, log_buffer_bytes: 4096, threads: false, appenders: 8, ..LogConfig::default() }
}

fn create(files: &MemoryFiles, config: LogConfig) -> Log {
    Log::create(Arc::new(files.clone()), ID, config, Lsn::NONE).unwrap()
}

/// Records read, with the positions behind them.
type Records = Vec<(Lsn, Vec<u8>)>;

/// Opens the log and collects its records behind `from`.
fn open(files: &MemoryFiles, config: LogConfig, from: Lsn) -> Result<(Log, Records), LogError> {
    let mut records = Vec::new();
    let found = look_into_log(files, &ExpectedLog::new(ID, from), &mut |lsn, record| {
        records.push((lsn, record.to_vec()));
        Ok(())
    })?;
    Ok((Log::open(Arc::new(files.clone()), config, found)?, records))
}

/// Record number `n`: its length and bytes follow from the number.
fn record(n: u64) -> Vec<u8> {
    let length = (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize;
    let mut bytes = n.to_le_bytes().to_vec();
    bytes.extend((0..length).map(|i| (n as u8).wrapping_add(i as u8)));
    bytes
}

/// All bytes of a file.
fn bytes_of(files: &MemoryFiles, name: &str) -> Vec<u8> {
    let file = files.open(name).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

/// Names of the segments, oldest first.
fn segments(files: &MemoryFiles) -> Vec<String> {
    let names = files.list("log").unwrap();
    names.into_iter().filter(|name| !name.contains("spare")).collect()
}
