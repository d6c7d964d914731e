//! A full disk, a failed force, a directory that cannot be written, files of another version or of nobody's: clear
//! errors, nothing lost, no panic.

use std::error::Error as _;

use glassbox::io::{Crash, Faults, MemoryFiles};
use glassbox::{Config, Database, Error, LogKind};
use glassbox_sim::check::{difference, of_engine};
use glassbox_sim::damage::{bytes_of, names, replace};
use glassbox_sim::dice::Dice;
use glassbox_sim::history::{Op, open, tiny};
use glassbox_sim::script::{CRASHES, Script};
use glassbox_sim::tables;

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
    for (log, seed) in [(LogKind::Values, 7), (LogKind::Commands, 8)] {
        let script = Script::new(seed, 2, log);
        let mut met = 0;
        for from in 0..counts(&script).0 {
            let files = MemoryFiles::new();
            files.set_faults(Faults { full_from: Some(from), ..Faults::default() });
            let (played, errors) = script.play_in_trouble(&files);
            let context = |what: String| format!("{log:?}, full from {from} on, {played:?}: {what}");
            met += u64::from(!errors.is_empty());
            let words = in_words(&errors);
            assert!(errors.is_empty() || words.contains("no storage space"), "{}", context(words));
            // Room again: for a new process, or after a crash.
            let found = [files.after_kill()].into_iter().chain(CRASHES.map(|mode| files.after_crash(mode, from)));
            for found in found {
                script.check(&found, played).unwrap_or_else(|what| panic!("{}", context(what)));
            }
        }
        assert!(met > 150, "{met} times the disk was full");
    }
}

#[test]
fn a_disk_full_while_recovering_is_an_error_and_no_more() {
    let script = Script::new(7, 2, LogKind::Values);
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
    for (log, partitions) in [(LogKind::Values, 1), (LogKind::Commands, 2)] {
        let script = Script::new(7, partitions, log);
        let mut poisoned = 0;
        let forces = counts(&script).1;
        for force in 0..forces {
            let files = MemoryFiles::new();
            files.set_faults(Faults { fail_force: Some(force), ..Faults::default() });
            let (played, errors) = script.play_in_trouble(&files);
            let words = in_words(&errors);
            let context = |what: String| format!("{log:?}, force {force} fails, {played:?}: {what}");
            // What the log's keeper could not force, it leaves until it is needed.
            assert!(errors.is_empty() || words.contains("cannot force "), "{}", context(words));
            poisoned += u64::from(words.contains("the log stopped after a failure"));
            for mode in CRASHES {
                let found = files.after_crash(mode, force);
                script.check(&found, played).unwrap_or_else(|what| panic!("{}", context(format!("{mode:?}: {what}"))));
            }
        }
        assert!(poisoned > forces / 3, "{poisoned} of {forces} poisoned the log");
    }
}

#[test]
fn a_stopped_database_says_why_and_answers_nothing() {
    let files = MemoryFiles::new();
    let database = open(&files, tiny(1, LogKind::Values), true).unwrap();
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
    let files = MemoryFiles::new();
    let database = open(&files, tiny(2, LogKind::Values), true).unwrap();
    fill(&database, &mut Dice(5));
    database.close().unwrap();
    files.after_kill()
}

fn refusal(files: &MemoryFiles) -> String {
    open(files, tiny(2, LogKind::Values), true).expect_err("it cannot be opened").to_string()
}

#[test]
fn what_cannot_be_written_is_not_opened() {
    let new = MemoryFiles::new();
    new.set_faults(Faults { read_only: true, ..Faults::default() });
    assert!(refusal(&new).contains("read-only"), "{}", refusal(&new));
    let files = filled();
    let before: Vec<_> = names(&files).iter().map(|name| bytes_of(&files, name)).collect();
    files.set_faults(Faults { read_only: true, ..Faults::default() });
    match open(&files, tiny(2, LogKind::Values), true) {
        Err(error) => assert!(error.to_string().contains("read-only"), "{error}"),
        // Nothing had to be written yet; then the first change is refused.
        Ok(database) => {
            let errors = (0..10).filter_map(|at| Op::transaction(&mut Dice(at)).on_engine(&database).1.err());
            let texts: Vec<_> = errors.map(|error| error.to_string()).collect();
            assert!(texts.iter().any(|text| text.contains("read-only")), "{texts:?}");
        }
    }
    let after: Vec<_> = names(&files).iter().map(|name| bytes_of(&files, name)).collect();
    assert_eq!(before, after);
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
    let config = || Config { segment_bytes: 8192, ..Config::default() };
    let first = Database::open(directory.path(), config(), tables::catalog(true)).unwrap();
    let error = Database::open(directory.path(), config(), tables::catalog(true)).unwrap_err().to_string();
    assert!(error.contains("the database is open in process") && error.contains("close it there first"), "{error}");
    drop(first);
    Database::open(directory.path(), config(), tables::catalog(true)).unwrap();
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
