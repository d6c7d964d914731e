//! Names of types: one meaning in a crate; and a type's methods in few files.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::{Source, words};

/// The largest number of files that may have inherent `impl`s of one type.
const MAX_IMPL_FILES: usize = 3;

/// Type names that a crate defines twice because both are the same concept in two rooms.
const SAME_CONCEPT: [(&str, &str, &str); 8] = [
    ("glassbox", "Engine", "the classic engine and the partitioned engine, which never mention each other"),
    ("glassbox", "Node", "a node of a B+-tree, in memory and on a page"),
    ("glassbox", "Leaf", "a leaf of a B+-tree, in memory and on a page"),
    ("glassbox", "Cursor", "a position in a B+-tree, in memory and on pages"),
    ("glassbox", "Next", "the next key of a B+-tree, in memory and on pages"),
    ("glassbox", "Finger", "the leaf of the last insertion into a B+-tree, in memory and on pages"),
    ("glassbox", "Fingers", "the last insertions into a B+-tree, in memory and on pages"),
    ("glassbox", "Walk", "the check of a whole B+-tree, in memory and on pages"),
];

/// A rule's finding: a file, a line, what to do.
pub type Finding = (String, usize, String);

fn crate_of(path: &str) -> &str {
    path.split('/').nth(1).expect("a path of the workspace has a crate")
}

/// The source files of a crate's library or program, without tests.
fn is_source(source: &Source) -> bool {
    source.path.split('/').nth(2) == Some("src") && !source.is_test()
}

/// The type that a line of code defines, if it does.
fn defined(code: &str) -> Option<&str> {
    let mut rest = words(code).skip_while(|word| matches!(*word, "pub" | "crate" | "super" | "in" | "unsafe"));
    match rest.next()? {
        "struct" | "enum" | "trait" | "union" | "type" => rest.next(),
        _ => None,
    }
}

/// The production lines outside of functions, `impl`s and traits.
fn top_level(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    source.production().filter(|(_, code)| code.starts_with(|first: char| !first.is_whitespace()))
}

/// Type names that a crate defines more than once.
pub fn meanings(sources: &[Source]) -> Vec<Finding> {
    let mut places: BTreeMap<(&str, &str), Vec<(&Source, usize)>> = BTreeMap::new();
    for source in sources.iter().filter(|source| is_source(source)) {
        for (line, code) in top_level(source) {
            if let Some(name) = defined(code) {
                places.entry((crate_of(&source.path), name)).or_default().push((source, line));
            }
        }
    }
    let mut findings = Vec::new();
    for ((of, name), places) in places {
        let same = SAME_CONCEPT.iter().any(|(known_of, known, _)| (*known_of, *known) == (of, name));
        if places.len() > if same { 2 } else { 1 } {
            findings.extend(places.iter().skip(1).map(|(source, line)| {
                let first = &places[0].0.path;
                (source.path.clone(), *line, format!("`{name}` is defined in {first} too: give each meaning a name"))
            }));
        }
    }
    findings
}

/// Types whose inherent `impl`s stand in too many files.
pub fn scattered(sources: &[Source]) -> Vec<Finding> {
    let mut places: BTreeMap<(&str, String), BTreeSet<&str>> = BTreeMap::new();
    for source in sources.iter().filter(|source| is_source(source)) {
        for (_, code) in top_level(source) {
            if let Some(name) = inherent(code) {
                places.entry((crate_of(&source.path), name)).or_default().insert(&source.path);
            }
        }
    }
    // A name of one concept in two rooms is two types.
    let room = |path: &str| path.split('/').nth(3).unwrap_or_default().to_owned();
    let in_room = |files: &BTreeSet<&str>, of: &str| files.iter().filter(|path| room(path) == of).count();
    let scattered = places.into_iter().filter(|((of, name), files)| {
        let same = SAME_CONCEPT.iter().any(|(known_of, known, _)| known_of == of && known == name);
        let most = if same { files.iter().map(|path| in_room(files, &room(path))).max() } else { Some(files.len()) };
        most.is_some_and(|count| count > MAX_IMPL_FILES)
    });
    let finding = |((_, name), files): ((&str, String), BTreeSet<&str>)| {
        let text = format!("methods of `{name}` stand in {} files, more than {MAX_IMPL_FILES}: join them", files.len());
        let first = files.first().expect("a counted type has a file");
        ((*first).to_owned(), 1, text)
    };
    scattered.map(finding).collect()
}

/// The type of an inherent `impl` that begins on this line.
fn inherent(code: &str) -> Option<String> {
    let rest = code.strip_prefix("impl")?;
    // Generic parameters: skip to the bracket that closes them.
    let rest = match rest.strip_prefix('<') {
        None => rest,
        Some(generics) => {
            let mut depth = 1;
            let end = generics.char_indices().find(|&(at, letter)| {
                let is_arrow = generics[..at].ends_with('-');
                depth += i32::from(letter == '<') - i32::from(letter == '>' && !is_arrow);
                depth == 0
            });
            &generics[end?.0 + 1..]
        }
    };
    if rest.contains(" for ") {
        return None;
    }
    words(rest).find(|word| word.starts_with(char::is_uppercase)).map(str::to_owned)
}

#[test]
fn types_are_recognised() {
    assert_eq!(defined("pub(crate) struct Held<'a> {"), Some("Held"));
    assert_eq!(defined("impl Held {"), None);
    assert_eq!(inherent("impl<'a, F: Fn() -> u8> Held<'a, F> {").as_deref(), Some("Held"));
    assert_eq!(inherent("impl<R: Record> Drop for PutBack<'_, R> {"), None);
}
