//! A database that has stopped does not end well: closing it gives the reason.

use glassbox::io::{Faults, MemoryFiles};
use glassbox::{Architecture, LogKind};
use glassbox_testing::dice::Dice;
use glassbox_testing::history::{Op, open, tiny, tiny_classic};

use super::run;

/// Pages that could not be forced: the classic engine goes on with what it need not write, and does not end well.
#[test]
fn closing_after_the_writing_stopped_says_why() {
    for config in [tiny(1, LogKind::Values), tiny(2, LogKind::Commands), tiny_classic()] {
        // No segment is needed while the force fails.
        let config = config.with_segment_bytes(1 << 20);
        let is_classic = config.architecture == Architecture::Classic;
        let (files, mut dice) = (MemoryFiles::new(), Dice(3));
        let database = open(&files, config.clone(), true).unwrap();
        run(&database, &mut dice);
        let mut force = files.forces();
        if is_classic {
            // Not that of the log, which comes first.
            database.flush().unwrap();
            force = files.forces();
        }
        files.set_faults(Faults { fail_force: Some(force), ..Faults::default() });
        if is_classic {
            database.checkpoint().unwrap_err();
        } else {
            while Op::transaction(&mut dice).on_engine(&database).1.is_ok() {}
        }
        files.set_faults(Faults::default());
        let error = database.close().unwrap_err().to_string();
        assert!(error.contains("cannot force ") && error.contains("open the database again"), "{error}");
    }
}
