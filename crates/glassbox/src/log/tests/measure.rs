//! What appending and waiting cost here. Not run by default: `cargo test --release … measure -- --ignored --nocapture`.

use std::time::Instant;

use super::*;
use crate::io::RealFiles;

fn real(name: &str, config: LogConfig) -> (std::path::PathBuf, Log) {
    let directory = std::env::temp_dir().join(format!("glassbox-measure-{name}-{}", std::process::id()));
    let files = RealFiles::new(&directory).unwrap();
    (directory, Log::create(Arc::new(files), ID, config, Lsn::NONE).unwrap())
}

#[test]
#[ignore = "measures"]
fn append_into_the_ring() {
    for bytes in [24, 200, 800] {
        let config = LogConfig { threads: false, ..LogConfig::default() };
        let count = config.buffer_bytes / (bytes + 16);
        let log = create(&MemoryFiles::new(), config);
        let mut appender = log.appender().unwrap();
        let record = vec![1; bytes];
        let start = Instant::now();
        for _ in 0..count {
            appender.append(&record).unwrap();
        }
        println!("append {bytes} B: {:.1} ns", start.elapsed().as_nanos() as f64 / count as f64);
    }
}

#[test]
#[ignore = "measures"]
fn wait_for_each() {
    let (directory, log) = real("wait", LogConfig::default());
    let raw = RealFiles::new(&directory).unwrap().create("raw").unwrap();
    raw.preallocate(64 << 20).unwrap();
    raw.sync_data().unwrap();
    let start = Instant::now();
    for n in 0..1000 {
        raw.write_at(&[n as u8; 4096], n / 6 * 4096).unwrap();
        raw.sync_data().unwrap();
    }
    println!("write 4 KiB and force: {:.1} us", start.elapsed().as_micros() as f64 / 1000.0);
    let mut appender = log.appender().unwrap();
    let start = Instant::now();
    for n in 0..5000 {
        log.wait(appender.append(&record(n)).unwrap()).unwrap();
    }
    println!("append and wait: {:.1} us, {:?}", start.elapsed().as_micros() as f64 / 5000.0, log.stats());
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
#[ignore = "measures"]
fn stream() {
    for force in [true, false] {
        let (directory, log) = real("stream", LogConfig { force, ..LogConfig::default() });
        let mut appender = log.appender().unwrap();
        let record = vec![1; 800];
        let start = Instant::now();
        for _ in 0..1_000_000 {
            appender.append(&record).unwrap();
            log.nudge();
        }
        let appended = start.elapsed();
        log.force().unwrap();
        let (appended, forced) = (appended.as_nanos() / 1_000_000, start.elapsed().as_nanos() / 1_000_000);
        println!("800 B, nudged, force {force}: {appended} ns appended, {forced} ns forced, {:?}", log.stats());
        std::fs::remove_dir_all(directory).unwrap();
    }
}
