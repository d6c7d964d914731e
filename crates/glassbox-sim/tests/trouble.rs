//! A full disk, a failed force, a directory that cannot be written, files of another version or of nobody's: clear
//! errors, nothing lost, no panic.

use std::error::Error as _;

use glassbox::io::{Crash, Faults, MemoryFiles};
use glassbox::{Config, Database, Error, LogKind};
use glassbox_sim::check::{difference, of_engine};
use glassbox_sim::damage::{bytes_of, names, replace};
use glassbox_sim::dice::Dice;
use glassbox_sim::history::{Op, in_short, open, tiny, tiny_classic};
use glassbox_sim::script::{CRASHES, Script};
use glassbox_sim::tables;

/// Of the operations of the classic engine's files, one in so many is tried.
const CLASSIC_STEP: usize = 17;

/// Operations of the files, and forces among them, of a script without faults.
fn counts(script: &Script) -> (u64, u64) {
    let files = MemoryFiles::new();
    script.play(&files).unwrap();
    (files.operations(), files.forces())
}

/// Runs some transactions, makes a checkpoint, and runs some more.
fn fill(database: &Database, dice: &mut Dice) {
    run(database, dice);
    database.checkpoint().unwrap();
    run(database, dice);
}

fn run(database: &Database, dice: &mut Dice) {
    (0..20).for_each(|_| Op::transaction(dice).on_engine(database).1.unwrap());
}

fn in_words(errors: &[Error]) -> String {
    let told = |error: &Error| format!("{error}; {:?}", error.source().map(ToString::to_string));
    errors.iter().map(told).collect::<Vec<_>>().join(" | ")
}

#[test]
fn a_disk_full_at_any_write_loses_nothing() {
    for (config, seed, step) in
        [(tiny(2, LogKind::Values), 7, 1), (tiny(2, LogKind::Commands), 8, 1), (tiny_classic(), 9, CLASSIC_STEP)]
    {
        let engine = in_short(&config);
        let script = Script::new(seed, config);
        let mut met = 0;
        for from in (0..counts(&script).0).step_by(step) {
            let files = MemoryFiles::new();
            files.set_faults(Faults { full_from: Some(from), ..Faults::default() });
            let (played, errors) = script.play_in_trouble(&files);
            let context = |what: String| format!("{engine}, full from {from} on, {played:?}: {what}");
            met += u64::from(!errors.is_empty());
            let words = in_words(&errors);
            assert!(errors.is_empty() || words.contains("no storage space"), "{}", context(words));
            // Room again: for a new process, or after a crash.
            let found = [files.after_kill()].into_iter().chain(CRASHES.map(|mode| files.after_crash(mode, from)));
            for found in found {
                script.check(&found, played).unwrap_or_else(|what| panic!("{}", context(what)));
            }
        }
        assert!(met > 150 / step as u64, "{engine}: {met} times the disk was full");
    }
}

#[test]
fn a_disk_full_while_recovering_is_an_error_and_no_more() {
    let script = Script::new(7, tiny(2, LogKind::Values));
    let whole = MemoryFiles::new();
    whole.set_faults(Faults { stop_at: Some(counts(&script).0 / 2), ..Faults::default() });
    let played = script.play(&whole).unwrap();
    let found = whole.after_crash(Crash::Kept, 1);
    let mut met = 0;
    for from in 0..10 {
        let files = found.after_kill();
        files.set_faults(Faults { full_from: Some(from), ..Faults::default() });
        if let Err(error) = open(&files, script.config.clone(), true) {
            assert!(error.to_string().contains("no storage space"), "{error}");
            met += 1;
        }
        files.set_faults(Faults::default());
        script.check(&files, played).unwrap();
    }
    assert!(met > 0, "a new table has to be written to the manifest");
}

#[test]
fn a_checkpoint_that_met_a_full_disk_can_be_made_later() {
    let files = MemoryFiles::new();
    let database = open(&files, tiny(2, LogKind::Values), true).unwrap();
    let mut dice = Dice(5);
    fill(&database, &mut dice);
    files.set_faults(Faults { full_from: Some(files.operations()), ..Faults::default() });
    let error = database.checkpoint().unwrap_err();
    assert!(error.to_string().contains("cannot create checkpoint/"), "{error}");
    files.set_faults(Faults::default());
    run(&database, &mut dice);
    let right = of_engine(&database).unwrap();
    let found = open(&files.after_crash(Crash::Lost, 1), tiny(2, LogKind::Values), true).unwrap();
    assert_eq!(difference(&of_engine(&found).unwrap(), &right), None);
    database.checkpoint().unwrap();
    let checkpoints = names(&files).into_iter().filter(|name| name.starts_with("checkpoint/")).count();
    assert_eq!(checkpoints, 1, "nothing is left of the one that failed");
}

#[test]
fn a_failed_force_is_never_answered() {
    for (config, step) in
        [(tiny(1, LogKind::Values), 1), (tiny(2, LogKind::Commands), 1), (tiny_classic(), CLASSIC_STEP)]
    {
        let engine = in_short(&config);
        let script = Script::new(7, config);
        let (mut tried, mut poisoned) = (0, 0);
        let forces = counts(&script).1;
        for force in (0..forces).step_by(step) {
            tried += 1;
            let files = MemoryFiles::new();
            files.set_faults(Faults { fail_force: Some(force), ..Faults::default() });
            let (played, errors) = script.play_in_trouble(&files);
            let words = in_words(&errors);
            let context = |what: String| format!("{engine}, force {force} fails, {played:?}: {what}");
            // What the log's keeper could not force, it leaves until it is needed.
            assert!(errors.is_empty() || words.contains("cannot force "), "{}", context(words));
            let stopped = ["the log stopped after a failure", "cannot force pages"];
            poisoned += u64::from(stopped.iter().any(|what| words.contains(what)));
            for mode in CRASHES {
                let found = files.after_crash(mode, force);
                script.check(&found, played).unwrap_or_else(|what| panic!("{}", context(format!("{mode:?}: {what}"))));
            }
        }
        assert!(poisoned > tried / 3, "{engine}: {poisoned} of {tried} poisoned the database");
    }
}

#[test]
fn a_stopped_database_says_why_and_answers_nothing() {
    for config in [tiny(1, LogKind::Values), tiny_classic()] {
        stops(config);
    }
}

fn stops(config: Config) {
    let files = MemoryFiles::new();
    let database = open(&files, config, true).unwrap();
    files.set_faults(Faults { fail_force: Some(files.forces()), ..Faults::default() });
    let mut dice = Dice(3);
    let errors: Vec<_> = (0..30).filter_map(|_| Op::transaction(&mut dice).on_engine(&database).1.err()).collect();
    assert!(errors.len() > 20, "all that follow are refused");
    for error in &errors {
        let text = error.to_string();
        assert!(text.contains("cannot force log/") && text.contains("open the database again"), "{text}");
    }
    let error = database.checkpoint().unwrap_err();
    assert!(matches!(error, Error::Stopped { .. }), "{error}");
    assert!(database.close().is_err());
}

fn filled() -> MemoryFiles {
    filled_by(tiny(2, LogKind::Values))
}

fn filled_by(config: Config) -> MemoryFiles {
    let files = MemoryFiles::new();
    let database = open(&files, config, true).unwrap();
    fill(&database, &mut Dice(5));
    database.close().unwrap();
    files.after_kill()
}

fn refusal(files: &MemoryFiles) -> String {
    refusal_of(files, tiny(2, LogKind::Values))
}

fn refusal_of(files: &MemoryFiles, config: Config) -> String {
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
        let text = refusal_of(&files, opened.clone());
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
    let database = open(&files, other.clone(), true).unwrap();
    assert_eq!(of_engine(&database).unwrap(), right);
    run(&database, &mut Dice(6));
    assert_eq!(database.verify(), Vec::<String>::new());
    other.classic.page_bytes = 5_000;
    let text = refusal_of(&MemoryFiles::new(), other);
    assert!(text.contains("5000") && text.contains("choose 4096"), "{text}");
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
    let text = refusal_of(&new, config.clone());
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

/// Patches bytes of the file that begins so, then `seal`s it.
fn patched(beginning: &str, at: usize, with: &[u8], seal: impl Fn(&mut [u8])) -> String {
    let files = filled();
    let name = names(&files).into_iter().rfind(|name| name.starts_with(beginning)).expect("there is one");
    let mut bytes = bytes_of(&files, &name);
    bytes[at..at + with.len()].copy_from_slice(with);
    seal(&mut bytes);
    replace(&files, &name, &bytes);
    let text = refusal(&files);
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
    for text in [
        patched("manifest", 8, &nine, |_| ()),
        patched("checkpoint/", 8, &nine, |_| ()),
        patched("log/0", 8, &nine, segment),
    ] {
        assert!(text.contains('9') && text.contains("use the program that wrote it"), "{text}");
        assert!(!text.contains("damaged"), "another version is no damage: {text}");
    }
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
    let words = format!("cannot open directory {}: not a directory", file.display());
    assert!(error.starts_with(&words), "{error}");
}

#[test]
fn a_database_is_opened_once() {
    let directory = tempfile::tempdir().unwrap();
    let config = |of: Config, name| (directory.path().join(name), Config { log_threads: true, ..of });
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
