//! Habits of prose and code that make a reader stop, counted by file.
//!
//! A comment is found as the part of a line that the scanner blanks out, from `//` on. The rules are mechanical: each
//! names words or forms that the table in `CONTRIBUTING.md` replaces.

use crate::source::{Source, words};

/// Words with a more precise term, in comments.
const WORDS: [&str; 9] = ["behind", "lack", "lacks", "lacking", "told", "tell", "hear", "heard", "beside"];
/// Phrases with a more precise term, in comments.
const PHRASES: [[&str; 2]; 4] = [["so", "many"], ["so", "long"], ["so", "few"], ["taking", "back"]];
/// Forms of a verb that is not followed by *back* within a few words.
const TAKES: [&str; 4] = ["take", "takes", "took", "taken"];
/// How far *back* may be from its verb.
const MAX_DISTANCE: usize = 4;
/// First words of a documentation comment without a subject.
const HEADLESS: [&str; 13] =
    ["What", "Of", "Those", "Who", "Whose", "Which", "It", "Its", "They", "Their", "Them", "He", "She"];
/// Beginnings of names of limits; `MAX_` and `MIN_` are the terms.
const LIMITS: [&str; 3] = ["MOST_", "LEAST_", "FEWEST_"];
/// First words of the names of tests without a subject.
const PRONOUNS: [&str; 5] = ["what_", "who_", "it_", "they_", "where_"];

/// A path, a line, and the problem there.
type Found = (String, usize, String);

/// The comment of each line, with its number.
fn comments(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    source.text.iter().zip(&source.code).enumerate().filter_map(|(at, (text, code))| {
        let begins = text.match_indices("//").map(|(place, _)| place).find(|&place| code.len() <= place)?;
        Some((at + 1, &text[begins..]))
    })
}

/// Words of comments that have a more precise term.
pub fn vague_words(source: &Source) -> Vec<Found> {
    let mut found = Vec::new();
    for (line, comment) in comments(source) {
        let lower = comment.to_lowercase();
        let all: Vec<&str> = words(&lower).collect();
        for (at, word) in all.iter().enumerate() {
            let next = all.get(at + 1).copied().unwrap_or_default();
            let mut near = all[at + 1..].iter().take(MAX_DISTANCE);
            if WORDS.contains(word) {
                found.push((source.path.clone(), line, format!("`{word}` has a more precise term")));
            } else if PHRASES.contains(&[*word, next]) {
                found.push((source.path.clone(), line, format!("`{word} {next}` has a more precise term")));
            } else if TAKES.contains(word) && near.any(|word| *word == "back") {
                found.push((source.path.clone(), line, format!("`{word} ... back`: undo, roll back")));
            }
        }
    }
    found
}

/// Documentation comments that begin without a subject.
pub fn headless_comments(source: &Source) -> Vec<Found> {
    let is_doc = |line: &str| line.trim_start().starts_with("///") || line.trim_start().starts_with("//!");
    let mut found = Vec::new();
    let mut before = "";
    for (at, line) in source.text.iter().enumerate() {
        let begins = is_doc(line) && (!is_doc(before) || before.trim().len() == 3);
        before = line;
        let text = line.trim_start().trim_start_matches(['/', '!']).trim_start();
        let first = text.split([' ', ',', ';', ':', '.']).next().unwrap_or_default();
        let is_headless = HEADLESS.contains(&first) || text.starts_with("That of") || text.starts_with("As before");
        if begins && is_headless && !text.contains('?') {
            found.push((source.path.clone(), at + 1, format!("`{first} ...` is no subject: name the thing")));
        }
    }
    found
}

/// `let (a, b) = (x, y);`: two bindings in one line.
pub fn tuple_lets(source: &Source) -> Vec<Found> {
    let is_pair = |code: &str| {
        let Some((names, values)) = code.trim_start().strip_prefix("let (").and_then(|rest| rest.split_once(") = ("))
        else {
            return false;
        };
        names.contains(',') && (values.ends_with(");") || values.ends_with(',') || values.is_empty())
    };
    let lines = source.code().filter(|(_, code)| is_pair(code));
    lines.map(|(line, _)| (source.path.clone(), line, "a binding a line is read faster".to_owned())).collect()
}

/// Names of limits with another beginning than `MAX_` and `MIN_`.
pub fn names_of_limits(source: &Source) -> Vec<Found> {
    let mut found = Vec::new();
    for (line, code) in source.code() {
        for word in words(code).filter(|word| LIMITS.iter().any(|limit| word.starts_with(limit))) {
            found.push((source.path.clone(), line, format!("`{word}`: a limit is `MAX_...` or `MIN_...`")));
        }
    }
    found
}

/// Names of tests that begin with a pronoun.
pub fn names_of_tests(source: &Source) -> Vec<Found> {
    let mut found = Vec::new();
    for (at, two) in source.code.windows(2).enumerate() {
        let name = two[1].trim_start().strip_prefix("fn ").unwrap_or_default();
        if two[0].trim_start().starts_with("#[test]") && PRONOUNS.iter().any(|pronoun| name.starts_with(pronoun)) {
            found.push((source.path.clone(), at + 2, "the name of a test begins with a thing".to_owned()));
        }
    }
    found
}

/// Lines with `unsafe` in the engine, under one name: code may move, and the sum may only fall.
pub fn unsafe_lines(source: &Source) -> Vec<Found> {
    if !source.path.starts_with("crates/glassbox/src/") {
        return Vec::new();
    }
    let lines = source.code().filter(|(_, code)| words(code).any(|word| word == "unsafe"));
    lines.map(|_| ("crates/glassbox/src/".to_owned(), 1, "more lines with `unsafe` in the engine".to_owned())).collect()
}

/// Modules with a file next to their folder, instead of `mod.rs` in it.
pub fn two_conventions(sources: &[Source]) -> Vec<Found> {
    let has_folder = |path: &str| sources.iter().any(|other| other.path.starts_with(&format!("{path}/")));
    let beside = sources.iter().filter(|source| has_folder(source.path.trim_end_matches(".rs")));
    beside.map(|source| (source.path.clone(), 1, "a module with a folder is `mod.rs` in it".to_owned())).collect()
}

#[test]
fn habits_are_found_in_their_places_only() {
    let text = "//! What it is.\n//!\n//! The log is behind. It waits.\n\n\
                /// Of a row: so\n/// many, and it takes all of it back.\n\
                fn a() {\n    let (a, b) = (1, 2);\n    let (c, d) = pair();\n    let what = \"behind\"; // told\n}\n\
                const MOST_ROWS: u8 = 1;\n#[test]\nfn it_works() {}\n";
    let source = Source::new("crates/glassbox/src/a.rs".to_owned(), text);
    let lines = |found: Vec<Found>| found.into_iter().map(|(_, line, _)| line).collect::<Vec<_>>();
    assert_eq!(lines(vague_words(&source)), [3, 6, 10]);
    assert_eq!(lines(headless_comments(&source)), [1, 5]);
    assert_eq!(lines(tuple_lets(&source)), [8]);
    assert_eq!(lines(names_of_limits(&source)), [12]);
    assert_eq!(lines(names_of_tests(&source)), [14]);
    let names = ["a/b.rs", "a/b/c.rs", "a/d/mod.rs"].map(|path| Source::new(path.to_owned(), ""));
    assert_eq!(two_conventions(&names).into_iter().map(|(path, ..)| path).collect::<Vec<_>>(), ["a/b.rs"]);
}
