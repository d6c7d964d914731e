//! How a file reads: its opening, the width of its lines, and what must not be left in it.

use crate::Problems;
use crate::source::Source;

/// Columns of a line, as `rustfmt.toml` has it; the formatter leaves comments and strings alone, so they are checked
/// here.
const MAX_COLUMNS: usize = 120;

/// What must not be committed, and what to do instead.
const BANNED: [(&str, &str); 4] = [
    ("todo!", "write it, or return an error that says that it is missing"),
    ("unimplemented!", "write it, or return an error that says that it is missing"),
    ("dbg!", "remove it"),
    ("#[ignore", "make the test quick, or move its long form to the program that runs it"),
];

/// Every file opens with what it is for.
pub fn opening(source: &Source, problems: &mut Problems) {
    if !source.text.first().is_some_and(|line| line.starts_with("//! ")) {
        problems.add(source, 1, "open the file with `//!` and a sentence that says what it is for");
    }
}

/// Lines are not too wide.
pub fn lines(source: &Source, problems: &mut Problems) {
    for (at, line) in source.text.iter().enumerate() {
        let columns = line.chars().count();
        // A row of a table in a comment cannot be broken.
        if columns > MAX_COLUMNS && !line.trim_start().starts_with("/// |") {
            problems.add(source, at + 1, format!("{columns} columns: break the line at {MAX_COLUMNS}"));
        }
    }
}

/// See [`BANNED`].
pub fn banned(source: &Source, problems: &mut Problems) {
    for (line, code) in source.code() {
        for (what, instead) in BANNED {
            if code.contains(what) {
                problems.add(source, line, format!("`{what}` must not stay: {instead}"));
            }
        }
    }
}
