//! Databases that are not opened: those that cannot be written, of another program or engine, and open elsewhere.

use glassbox::io::{Faults, MemoryFiles};
use glassbox::research::ConfigHooks;
use glassbox::{Config, Database, LogKind};
use glassbox_testing::check::of_engine;
use glassbox_testing::damage::{bytes_of, names, replace};
use glassbox_testing::dice::Dice;
use glassbox_testing::history::{Op, open, tiny, tiny_classic};
use glassbox_testing::tables;

use super::{fill, run};

fn filled_by(config: Config) -> MemoryFiles {
    let files = MemoryFiles::new();
    let database = open(&files, config, true).unwrap();
    fill(&database, &mut Dice(5));
    database.close().unwrap();
    files.after_kill()
}

fn refusal(files: &MemoryFiles, config: Config) -> String {
    open(files, config, true).expect_err("it cannot be opened").to_string()
}

fn bytes_of_all(files: &MemoryFiles) -> Vec<Vec<u8>> {
    names(files).iter().map(|name| bytes_of(files, name)).collect()
}

#[test]
fn a_database_of_the_other_engine_is_left_alone() {
    let (partitioned, classic) = (tiny(2, LogKind::Values), tiny_classic());
    for (made, opened, maker) in [(&partitioned, &classic, "partitioned"), (&classic, &partitioned, "classic")] {
        let files = filled_by(made.clone());
        let before = bytes_of_all(&files);
        let text = refusal(&files, opened.clone());
        assert!(text.contains(&format!("a database of the {maker} engine")) && text.contains("open it with"), "{text}");
        assert_eq!(bytes_of_all(&files), before);
        open(&files, made.clone(), true).unwrap();
    }
}

/// The size of a page is chosen when a database is made.
#[test]
fn a_database_keeps_the_size_of_its_pages() {
    let made = tiny_classic();
    let files = filled_by(made.clone());
    let right = of_engine(&open(&files.after_kill(), made.clone(), true).unwrap()).unwrap();
    let mut other = made;
    other.classic.page_bytes = 16 << 10;
    (other.log_buffer_bytes, other.segment_bytes) = (128 << 10, 32 << 10);
    let database = open(&files, other.clone(), true).unwrap();
    assert_eq!(of_engine(&database).unwrap(), right);
    run(&database, &mut Dice(6));
    assert_eq!(database.verify(), Vec::<String>::new());
    other.classic.page_bytes = 5_000;
    let text = refusal(&MemoryFiles::new(), other);
    assert!(text.contains("classic.page_bytes is 5000: it must be 4096"), "{text}");
}

#[test]
fn what_cannot_be_written_is_not_opened() {
    for config in [tiny(2, LogKind::Values), tiny_classic()] {
        is_not_opened(&config);
    }
}

fn is_not_opened(config: &Config) {
    let new = MemoryFiles::new();
    new.set_faults(Faults { read_only: true, ..Faults::default() });
    let text = refusal(&new, config.clone());
    assert!(text.contains("read-only"), "{text}");
    let files = filled_by(config.clone());
    let before = bytes_of_all(&files);
    files.set_faults(Faults { read_only: true, ..Faults::default() });
    match open(&files, config.clone(), true) {
        Err(error) => assert!(error.to_string().contains("read-only"), "{error}"),
        // Nothing had to be written yet; then the first change is refused.
        Ok(database) => {
            let errors = (0..10).filter_map(|at| Op::transaction(&mut Dice(at)).on_engine(&database).1.err());
            let texts: Vec<_> = errors.map(|error| error.to_string()).collect();
            assert!(texts.iter().any(|text| text.contains("read-only")), "{texts:?}");
        }
    }
    assert_eq!(bytes_of_all(&files), before);
}

/// Patches bytes of the file of this name, or the last whose name begins so, then `seal`s it.
fn patched(config: &Config, beginning: &str, at: usize, with: &[u8], seal: impl Fn(&mut [u8])) -> String {
    let files = filled_by(config.clone());
    let all = names(&files);
    let name = all.iter().find(|name| *name == beginning).or(all.iter().rfind(|name| name.starts_with(beginning)));
    let name = name.expect("there is one").clone();
    let mut bytes = bytes_of(&files, &name);
    bytes[at..at + with.len()].copy_from_slice(with);
    seal(&mut bytes);
    replace(&files, &name, &bytes);
    let text = refusal(&files, config.clone());
    assert!(text.contains(&name), "{text} does not name {name}");
    text
}

#[test]
fn files_of_another_version_say_so() {
    let nine = 9_u32.to_le_bytes();
    let segment = |bytes: &mut [u8]| {
        let checksum = crc32c::crc32c_append(crc32c::crc32c(&bytes[..12]), &bytes[16..64]);
        bytes[12..16].copy_from_slice(&checksum.to_le_bytes());
    };
    let page = |bytes: &mut [u8]| {
        let checksum = crc32c::crc32c(&bytes[4..4096]);
        bytes[..4].copy_from_slice(&checksum.to_le_bytes());
    };
    let (partitioned, classic) = (tiny(2, LogKind::Values), tiny_classic());
    for text in [
        patched(&partitioned, "manifest", 8, &nine, |_| ()),
        patched(&partitioned, "checkpoint/", 8, &nine, |_| ()),
        patched(&partitioned, "log/0", 8, &nine, segment),
        patched(&classic, "log/0", 8, &nine, segment),
        patched(&classic, "pages.double", 8, &nine, |_| ()),
    ] {
        assert!(text.contains('9') && text.contains("use the program that wrote it"), "{text}");
        assert!(!text.contains("damaged"), "another version is no damage: {text}");
    }
    // The first page, which says what the file is.
    let text = patched(&classic, "pages", 32, &nine, page);
    assert!(text.contains('9') && text.contains("use the program that wrote it"), "{text}");
}

#[test]
fn a_directory_of_something_else_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("letter.txt"), "dear reader").unwrap();
    let catalog = || tables::catalog(true);
    let error = Database::open(directory.path(), Config::default(), catalog()).unwrap_err().to_string();
    assert!(error.contains("letter.txt") && error.contains("use an empty directory"), "{error}");
    let left: Vec<_> = directory.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["letter.txt"]);
    let file = directory.path().join("letter.txt");
    let error = Database::open(&file, Config::default(), catalog()).unwrap_err().to_string();
    let words = format!("cannot open directory {}: ", file.display());
    assert!(error.starts_with(&words) && error.to_lowercase().contains("not a directory"), "{error}");
}

#[test]
fn a_database_is_opened_once() {
    let directory = tempfile::tempdir().unwrap();
    let config = |of: Config, name| (directory.path().join(name), of.with_log_threads(true));
    for (path, config) in [config(tiny(2, LogKind::Values), "partitioned"), config(tiny_classic(), "classic")] {
        let open = || Database::open(&path, config.clone(), tables::catalog(true));
        let first = open().unwrap();
        let error = open().unwrap_err().to_string();
        assert!(error.contains("the database is open in process") && error.contains("close it there first"), "{error}");
        drop(first);
        open().unwrap();
    }
}

/// For the system's administrator permissions mean nothing, so then there is nothing to test.
#[cfg(unix)]
#[test]
fn a_directory_without_permission_is_an_error() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let allow = |mode| std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(mode)).unwrap();
    allow(0o500);
    let error = Database::open(directory.path(), Config::default(), tables::catalog(true)).err();
    allow(0o700);
    if let Some(error) = error {
        let text = error.to_string();
        assert!(text.contains("ermission denied") && text.contains(directory.path().to_str().unwrap()), "{text}");
    }
}
