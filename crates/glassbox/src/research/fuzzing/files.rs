//! Targets that read whole files.

use std::sync::Arc;

use super::{Every, catalog, open, sample, seal};
use crate::io::{Files, MemoryFiles};
use crate::log::{ExpectedLog, Log, LogConfig, Lsn, look_into_log};
use crate::partitioned::TableKind;
use crate::research::inspect::{Inspector, Moment};
use crate::store::{CheckpointFile, MANIFEST, Manifest, merge_schema};
use crate::{Error, LogKind, Record};

/// Files whose names begin so, with their bytes.
pub(super) fn named(files: &MemoryFiles, beginning: &str) -> Vec<(String, Vec<u8>)> {
    let all = ["", "log", "checkpoint"].iter().flat_map(|directory| files.list(directory).expect("no faults"));
    let read = |name: String| {
        let file = files.open(&name).expect("it is listed");
        let mut bytes = vec![0; file.len().expect("no faults") as usize];
        file.read_exact_at(&mut bytes, 0).expect("it has that length");
        (name, bytes)
    };
    all.filter(|name| name.starts_with(beginning)).map(read).collect()
}

pub(super) fn put(files: &dyn Files, name: &str, bytes: &[u8]) {
    if files.exists(name).expect("no faults") {
        files.remove(name).expect("no faults");
    }
    files.create(name).and_then(|file| file.write_at(bytes, 0)).expect("no faults");
}

fn file(name: &str, bytes: &[u8]) -> MemoryFiles {
    let files = MemoryFiles::new();
    put(&files, name, bytes);
    files
}

/// The bytes as they are, and sealed.
pub(super) fn twice(bytes: &[u8], seal: impl Fn(&mut Vec<u8>), read: impl Fn(&[u8])) {
    read(bytes);
    let mut sealed = bytes.to_vec();
    seal(&mut sealed);
    read(&sealed);
}

/// A manifest: read, written and read again it is the same.
pub(super) fn manifest(bytes: &[u8]) {
    twice(bytes, seal::manifest, |bytes| {
        let files = file(MANIFEST, bytes);
        let Ok(Some(manifest)) = Manifest::read(&files) else { return };
        let again = MemoryFiles::new();
        manifest.write(&again).expect("no faults");
        assert_eq!(Manifest::read(&again).expect("it was just written"), Some(manifest.clone()));
        let _ = merge_schema(&manifest, catalog().schema());
        look(&files);
    });
}

/// A checkpoint: what is loaded is in all indexes.
pub(super) fn checkpoint(bytes: &[u8]) {
    twice(bytes, seal::checkpoint, |bytes| {
        let files = file("checkpoint/c", bytes);
        let part = |at: usize, width: usize| bytes.get(at..at + width).unwrap_or_default();
        let id = part(16, 16).try_into().map_or(0, u128::from_le_bytes);
        let lsn = part(32, 8).try_into().map_or(0, u64::from_le_bytes);
        let opened = files.open("checkpoint/c").expect("it was just made");
        let Ok(found) = CheckpointFile::open(opened, bytes.len() as u64, id, Lsn(lsn)) else { return };
        let mut table = (TableKind::of::<Every>().create)(0, 1 << 20, &mut Default::default()).expect("it is small");
        let mut rows = Vec::new();
        for block in &found.blocks {
            if found.rows(block, &mut rows).is_ok() {
                let _ = table.load(&rows, &|_| true);
            }
        }
        table.verify().expect("what is refused leaves no trace");
    });
}

fn log_config() -> LogConfig {
    LogConfig { segment_bytes: 4096, log_buffer_bytes: 4096, appenders: 1, threads: false, ..LogConfig::default() }
}

/// The first segment of a log: one that can be read can be read again and written to.
pub(super) fn log(bytes: &[u8]) {
    twice(bytes, seal::segment, |bytes| {
        let id = bytes.get(16..32).and_then(|id| id.try_into().ok()).map_or(0, u128::from_le_bytes);
        let start = bytes.get(32..40).and_then(|lsn| lsn.try_into().ok()).map_or(0, u64::from_le_bytes);
        let files = file(&format!("log/{start:016x}.log"), bytes);
        let read = |files: &MemoryFiles| {
            let mut records = Vec::new();
            let found = look_into_log(files, &ExpectedLog::new(id, Lsn(start)), &mut |_, record| {
                records.push(record.to_vec());
                Ok(())
            })?;
            Log::open(Arc::new(files.clone()), log_config(), found).map(|log| (log, records))
        };
        let Ok((log, mut records)) = read(&files) else { return };
        let Ok(mut appender) = log.appender() else { return };
        log.wait(appender.append(b"one more").expect("there is room")).expect("no faults");
        drop((appender, log));
        records.push(b"one more".to_vec());
        assert_eq!(read(&files).expect("what was written can be read").1, records);
    });
}

/// Everything that the tools do.
fn look(files: &MemoryFiles) -> bool {
    let Ok(inspector) = Inspector::open_files(Arc::new(files.clone()), "here") else { return false };
    let _ = inspector.summary();
    let _ = inspector.contents(Every::TABLE, Moment::Checkpoint);
    let _ = inspector.contents(Every::TABLE, Moment::Now);
    inspector.verify().is_ok_and(|verified| verified.wrong.is_empty())
}

/// A whole directory, opened by the tools and by the engine: the first byte chooses the log, and each four that follow
/// a file, a place in it and what to do there; then all is sealed.
pub(super) fn directory(bytes: &[u8]) {
    let Some((first, changes)) = bytes.split_first() else { return };
    let log = if first % 2 == 0 { LogKind::Values } else { LogKind::Commands };
    let files = sample(log).after_kill();
    let mut all = named(&files, "");
    for change in changes.chunks_exact(4).take(32) {
        let at = usize::from(change[0]) % all.len();
        let bytes = &mut all[at].1;
        if bytes.is_empty() {
            continue;
        }
        let place = usize::from(u16::from_le_bytes([change[1], change[2]])) % bytes.len();
        match change[3] {
            0 => bytes.truncate(place),
            1 => bytes.insert(place, change[1]),
            2 => drop(bytes.remove(place)),
            other => bytes[place] ^= other,
        }
    }
    for (name, bytes) in &mut all {
        if first & 2 == 0 {
            seal::seal(name, bytes);
        }
        put(&files, name, bytes);
    }
    look(&files);
    match open(&files, log) {
        Ok(database) => assert_eq!(database.verify(), Vec::<String>::new(), "what can be opened is whole"),
        Err(Error::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
