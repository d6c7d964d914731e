//! A full disk, a failed force, a directory that cannot be written, files of another version or of no database: clear
//! errors, nothing lost, no panic.

mod closing;
mod full_disk;
mod refusals;

use std::error::Error as _;

use glassbox::io::{Crash, Faults, MemoryFiles};
use glassbox::{Config, Database, Durability, Error, LogKind};
use glassbox_testing::check::{difference, of_engine};
use glassbox_testing::damage::names;
use glassbox_testing::dice::Dice;
use glassbox_testing::history::{Op, in_short, open, tiny, tiny_classic};
use glassbox_testing::script::{CRASHES, Script};

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
fn what_was_flushed_survives_a_crash() {
    for config in [tiny(2, LogKind::Values), tiny(2, LogKind::Commands), tiny_classic()] {
        let engine = in_short(&config);
        // No segment is needed while a force fails.
        let config = config.with_durability(Durability::Async).with_segment_bytes(1 << 20);
        let (files, mut dice) = (MemoryFiles::new(), Dice(5));
        let database = open(&files, config.clone(), true).unwrap();
        for _ in 0..20 {
            run(&database, &mut dice);
            database.flush().unwrap();
            let found = files.after_crash(Crash::Lost, 0);
            let after = open(&found, config.clone(), true).unwrap();
            let different = difference(&of_engine(&database).unwrap(), &of_engine(&after).unwrap());
            assert_eq!(different, None, "{engine}");
        }
        files.set_faults(Faults { fail_force: Some(files.forces()), ..Faults::default() });
        // With threads, that of the log could meet the fault first; these databases have none.
        (0..20).for_each(|_| drop(Op::transaction(&mut dice).on_engine(&database)));
        let error = database.flush().unwrap_err().to_string();
        assert!(error.contains("open the database again"), "{engine}: {error}");
    }
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
        // The others were forces of spares, without which the log goes on, of manifests, and while opening.
        assert!(poisoned > tried / 3, "{engine}: {poisoned} of {tried} poisoned the database");
    }
}

#[test]
fn a_stopped_database_says_why_and_answers_nothing() {
    for config in [tiny(1, LogKind::Values), tiny_classic()] {
        // No segment is needed while the force fails.
        stops(config.with_segment_bytes(1 << 20));
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
