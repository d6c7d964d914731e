//! Targets that read pages of the classic engine, and what its log says about them.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::files::put;
use super::{Every, catalog, fill, seal};
use crate::classic::change::Change;
use crate::classic::directory::{StoreEntry, VolumeIdentity};
use crate::classic::ids::PageId;
use crate::classic::wal::record::LogRecord;
use crate::classic::{DOUBLE, PAGES, repair};
use crate::config::ClassicConfig;
use crate::io::{Files, ManualClock, MemoryFiles, Overlay};
use crate::log::{ExpectedLog, Lsn, look_into_log};
use crate::research::inspect::{Inspector, Moment};
use crate::store::Manifest;
use crate::{Architecture, Config, Database, Error, Record};

/// The smallest size that pages can have.
pub(super) const PAGE_BYTES: usize = 4096;

/// How much of the pages is compared after repairs: more than the sample has. A copy may claim to be of a page that
/// makes the file longer than any disk.
const COMPARED_BYTES: u64 = 16 * PAGE_BYTES as u64;

fn open(files: Arc<dyn Files>) -> Result<Database, Error> {
    let config = Config {
        architecture: Architecture::Classic,
        classic: ClassicConfig { page_bytes: PAGE_BYTES, pool_bytes: 1 << 20, sessions: 2, ..ClassicConfig::default() },
        segment_bytes: 64 << 10,
        log_buffer_bytes: 64 << 10,
        checkpoint_log_bytes: 0,
        log_threads: false,
        ..Config::default()
    };
    Database::open_files(files, Box::new(ManualClock::default()), config, catalog())
}

/// A database as it was made, and as a crash leaves it after some work: some pages on disk are older than the log.
struct Sample {
    /// Drawn at random, so inputs that another process left behind have another one.
    database_id: u128,
    made: MemoryFiles,
    crashed: MemoryFiles,
    /// With every change on its page.
    closed: MemoryFiles,
}

fn sample() -> &'static Sample {
    static SAMPLE: OnceLock<Sample> = OnceLock::new();
    SAMPLE.get_or_init(|| {
        let files = MemoryFiles::new();
        let database = open(Arc::new(files.clone())).expect("nothing is wrong");
        let made = files.after_kill();
        fill(&database);
        let manifest = Manifest::read(&made).expect("it is whole").expect("it is there");
        let crashed = files.after_kill();
        database.close().expect("nothing is wrong");
        Sample { database_id: manifest.database_id, made, crashed, closed: files }
    })
}

/// The crashed sample with other bytes in one file. Changes stay in an overlay: copying the sample for each
/// input costs more than everything that is done with it.
fn sample_with(name: &str, bytes: &[u8]) -> Arc<dyn Files> {
    let files = Overlay::new(Arc::new(sample().crashed.clone()));
    put(&files, name, bytes);
    Arc::new(files)
}

fn bytes_of(files: &dyn Files, name: &str, most: u64) -> Vec<u8> {
    let file = files.open(name).expect("it is there");
    let mut bytes = vec![0; file.len().expect("no faults").min(most) as usize];
    file.read_exact_at(&mut bytes, 0).expect("it has that length");
    bytes
}

/// The file without the pages at its end that were never written.
fn trimmed(mut bytes: Vec<u8>) -> Vec<u8> {
    let written = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    bytes.truncate(written.next_multiple_of(PAGE_BYTES));
    bytes
}

/// The length of a record (2 bytes), a record of the log, a page: the record is written again as it was read; what it
/// does is done or not, and if not, the page is as it was.
pub(super) fn wal(bytes: &[u8]) {
    let Some(([low, high], rest)) = bytes.split_first_chunk() else { return };
    let length = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
    let (record, page) = rest.split_at(length);
    let Ok(record_read) = LogRecord::decode(record) else { return };
    let mut again = Vec::new();
    record_read.encode(&mut again);
    assert_eq!(again, record, "whatever is read is written as it was");
    let Some((id, change)) = record_read.body.changes() else { return };
    let Ok(change) = Change::decode(change) else { return };
    again.clear();
    change.encode(&mut again);
    assert_eq!(Change::decode(&again), Ok(change));
    let mut page = page.to_vec();
    page.resize(PAGE_BYTES, 0);
    let before = page.clone();
    if change.apply(id, &mut page).is_err() {
        assert!(page == before, "a change that is refused leaves the page as it was");
        return;
    }
    if let Some(inverse) = change.inverse() {
        inverse.apply(id, &mut page).expect("an applied change can be undone");
    }
}

/// Every change that the sample's log holds, each with its page as it was before, but not more than a few of a kind.
pub(super) fn wal_seeds() -> Vec<Vec<u8>> {
    let Sample { made, crashed, .. } = sample();
    let pages = bytes_of(made, PAGES, u64::MAX);
    let mut pages: HashMap<PageId, Vec<u8>> =
        pages.chunks_exact(PAGE_BYTES).enumerate().map(|(at, page)| (PageId(at as u32), page.to_vec())).collect();
    let manifest = Manifest::read(made).expect("it is whole").expect("it is there");
    let (mut seeds, mut kinds) = (Vec::new(), HashMap::<[u8; 2], u32>::new());
    // The log has not been cut, so it can be read from where it was when the database was made.
    let read =
        look_into_log(crashed, &ExpectedLog::new(manifest.database_id, Lsn(manifest.log_start)), &mut |_, record| {
            let seed = |page: &[u8]| [&(record.len() as u16).to_le_bytes()[..], record, page].concat();
            let read = LogRecord::decode(record).expect("it was written");
            let Some((id, change)) = read.body.changes() else {
                seeds.push(seed(&[]));
                return Ok(());
            };
            let page = pages.entry(id).or_insert_with(|| vec![0; PAGE_BYTES]);
            let seen = kinds.entry([change[0], change[1]]).or_default();
            *seen += 1;
            if *seen <= 3 {
                seeds.push(seed(page));
            }
            let change = Change::decode(change).expect("it was written");
            change.apply(id, page).expect("it was done");
            Ok(())
        });
    read.expect("the log is whole");
    seeds
}

/// An entry of the directory, or the beginning of a volume.
pub(super) fn volume(bytes: &[u8]) {
    if let Some(entry) = bytes.first_chunk()
        && let Some(read) = StoreEntry::decode(entry)
    {
        assert_eq!(read.encode(), *entry);
    }
    if let Ok(identity) = VolumeIdentity::read(bytes) {
        identity.check(identity).expect("it is itself");
    }
}

pub(super) fn volume_seeds() -> Vec<Vec<u8>> {
    let first = bytes_of(&sample().crashed, PAGES, u64::MAX)[..PAGE_BYTES].to_vec();
    let entries = first[64..].chunks(80).take(4).map(<[u8]>::to_vec).collect::<Vec<_>>();
    [vec![first], entries].concat()
}

/// The file of copies: repairing twice is repairing once.
pub(super) fn double(bytes: &[u8]) {
    super::files::twice(bytes, seal::double, |bytes| {
        let files = sample_with(DOUBLE, bytes);
        if repair(&*files, 0).is_ok() {
            let repaired = bytes_of(&*files, PAGES, COMPARED_BYTES);
            assert_eq!(repair(&*files, 0).expect("as before"), 0);
            assert!(repaired == bytes_of(&*files, PAGES, COMPARED_BYTES));
        }
    });
}

pub(super) fn double_seeds() -> Vec<Vec<u8>> {
    vec![trimmed(bytes_of(&sample().crashed, DOUBLE, u64::MAX))]
}

/// The whole file of pages, opened by the tools and by the engine: where the tools find nothing wrong, neither does the
/// engine.
pub(super) fn pages(bytes: &[u8]) {
    // Only sealed: a wrong checksum is found by one function, which `glassbox-sim/tests/` tries with every byte.
    let mut sealed = bytes.to_vec();
    seal::pages(&mut sealed, sample().database_id);
    let files = sample_with(PAGES, &sealed);
    // Its copies would repair what was changed.
    files.remove(DOUBLE).expect("it was there");
    let inspector = Inspector::open_files(Arc::clone(&files), "here").expect("its manifest is whole");
    // The tools recover once for all questions, but when that fails: then the others need not be asked.
    let looked = inspector.summary().is_ok();
    let rows = looked.then(|| inspector.contents(Every::TABLE, Moment::Now));
    let found = looked.then(|| inspector.verify());
    drop(inspector);
    let opened = open(files);
    if found.is_some_and(|found| found.is_ok_and(|found| found.wrong.is_empty())) {
        assert!(rows.as_ref().is_some_and(Result::is_ok), "{rows:?}");
        let database = opened.expect("the tools found nothing wrong");
        assert_eq!(database.verify(), Vec::<String>::new());
    }
}

pub(super) fn pages_seeds() -> Vec<Vec<u8>> {
    let pages = |files: &MemoryFiles| trimmed(bytes_of(files, PAGES, u64::MAX));
    vec![pages(&sample().crashed), pages(&sample().closed)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise every input would be refused before it shows anything.
    #[test]
    fn seeds_of_pages_are_recovered() {
        for mut seed in pages_seeds() {
            // As a seed that another process wrote.
            seed[40..56].fill(7);
            pages(&seed);
            seal::pages(&mut seed, sample().database_id);
            let files = sample_with(PAGES, &seed);
            files.remove(DOUBLE).unwrap();
            let database = open(files).unwrap();
            assert_eq!(database.verify(), Vec::<String>::new());
        }
        let length = |seed: &Vec<u8>| bytes_of(&*sample_with(PAGES, seed), PAGES, u64::MAX).len() as u64;
        assert!(pages_seeds().iter().all(|seed| length(seed) <= COMPARED_BYTES));
    }
}
