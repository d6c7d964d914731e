//! The words of comments, messages, documentation and test names: those that the style guide replaces.
//!
//! The list of words and the table of what to write instead stand in `CONTRIBUTING.md`. Prose is found as the opposite
//! of code: what the scanner blanks out of a Rust file is a comment or a literal. Lines that follow each other are read
//! as one text, so that a phrase is found across the end of a line.

use std::path::Path;

use crate::source::{Source, root};

/// Single words that have a more precise one.
const WORDS: [&str; 6] = ["whoever", "nobody", "somebody", "anybody", "everybody", "anew"];
/// Phrases of two words.
const PHRASES: [(&str, &str); 4] = [("take", "back"), ("takes", "back"), ("taken", "back"), ("done", "again")];
/// Verbs that, behind a *Who* or *What* at the beginning of a sentence, make a subject without a noun.
const VERBS: [&str; 11] = ["is", "was", "has", "comes", "came", "waits", "runs", "ran", "would", "takes", "took"];

/// Diaries of measurements may keep the words of their day; the scanner's own lists are no prose.
pub const EXEMPT: [&str; 2] = ["docs/papers/lab-notes/", "crates/glassbox/tests/tidy/"];
/// Between these lines of a document stands the list itself.
const LIST: (&str, &str) = ("<!-- words: begin -->", "<!-- words: end -->");

/// A place with a word that is to be replaced.
pub struct Found {
    pub path: String,
    pub line: usize,
    pub word: String,
}

/// Every place in the workspace.
pub fn all(sources: &[Source]) -> Vec<Found> {
    let mut found = Vec::new();
    for source in sources {
        find(&source.path, &prose_of(source), &mut found);
    }
    for (path, text) in documents() {
        find(&path, &lines_of_document(&text), &mut found);
    }
    found.retain(|found| !EXEMPT.iter().any(|exempt| found.path.starts_with(exempt)));
    found
}

/// The comments, literals and names of functions of a Rust file, with their lines.
fn prose_of(source: &Source) -> Vec<(usize, String)> {
    let lines = source.text.iter().zip(&source.code).enumerate();
    let prose = lines.map(|(at, (text, code))| {
        let code: Vec<char> = code.chars().collect();
        let is_code = |at: usize| code.get(at).is_some_and(|letter| !letter.is_whitespace());
        let letters = text.chars().enumerate();
        let mut prose: String = letters.map(|(at, letter)| if is_code(at) { ' ' } else { letter }).collect();
        if let Some((_, name)) = text.trim_start().split_once("fn ") {
            let name = name.split(['(', '<']).next().unwrap_or_default();
            prose.push(' ');
            prose.push_str(&name.replace('_', " "));
        }
        (at + 1, prose)
    });
    prose.collect()
}

fn lines_of_document(text: &str) -> Vec<(usize, String)> {
    let mut in_list = false;
    let lines = text.lines().enumerate().map(|(at, line)| {
        in_list = (in_list || line.trim() == LIST.0) && line.trim() != LIST.1;
        (at + 1, if in_list { String::new() } else { line.to_owned() })
    });
    lines.collect()
}

/// Markdown documents of the workspace, with their paths.
pub fn documents() -> Vec<(String, String)> {
    let mut paths = Vec::new();
    let mut directories = vec![root(), root().join(".ci")];
    directories.extend(["docs", "crates", "lab", "fuzz"].map(|directory| root().join(directory)));
    while let Some(directory) = directories.pop() {
        let Ok(entries) = directory.read_dir() else { continue };
        for path in entries.map(|entry| entry.expect("an entry of the workspace can be read").path()) {
            let is_root = directory == root();
            if path.is_dir() && !is_root && path.file_name().is_some_and(|name| name != "target") {
                directories.push(path);
            } else if path.extension().is_some_and(|it| it == "md" || it == "html") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    let name = |path: &Path| path.strip_prefix(root()).expect("it was found there").display().to_string();
    let read = |path: &Path| std::fs::read_to_string(path).expect("a document is UTF-8");
    paths.iter().map(|path| (name(path), read(path))).collect()
}

/// Looks for the words in a text of numbered lines.
fn find(path: &str, lines: &[(usize, String)], found: &mut Vec<Found>) {
    // Each word with its line, as it stands and in lower case, and whether it begins a sentence.
    let mut words: Vec<(usize, &str, bool)> = Vec::new();
    let mut begins = true;
    for (line, text) in lines {
        let mut letters = text.char_indices().peekable();
        let mut in_line = false;
        while let Some((at, letter)) = letters.next() {
            if letter.is_alphabetic() {
                let end =
                    text[at..].find(|it: char| !it.is_alphanumeric() && it != '\'').map_or(text.len(), |it| at + it);
                words.push((*line, &text[at..end], begins));
                (begins, in_line) = (false, true);
                while letters.next_if(|&(next, _)| next < end).is_some() {}
            } else if ".!?:".contains(letter) {
                begins = true;
                if letter == '?' {
                    words.push((*line, "?", false));
                }
            }
        }
        // A blank line ends a sentence.
        begins |= !in_line;
    }
    let mut add = |line: usize, word: String| found.push(Found { path: path.to_owned(), line, word });
    for (at, &(line, word, begins)) in words.iter().enumerate() {
        let lower = word.to_lowercase();
        let next = words.get(at + 1).filter(|next| next.0 <= line + 1).map(|next| next.1.to_lowercase());
        let next = next.as_deref().unwrap_or_default();
        if WORDS.contains(&lower.as_str()) {
            add(line, lower.clone());
        }
        if PHRASES.contains(&(lower.as_str(), next)) {
            add(line, format!("{lower} {next}"));
        }
        let asks = || words[at + 1..].iter().take_while(|it| !it.2).any(|it| it.1 == "?");
        if begins && (word == "Who" || word == "What") && VERBS.contains(&next) && !asks() {
            add(line, format!("{word} {next} ..."));
        }
    }
}

#[test]
fn words_are_found_in_prose_only() {
    let text = "//! What is left\n//! goes. It is taken\n//! back by nobody. What is it? A what is no What is.\n\
                let nobody = \"Everybody\"; // anew, Who waits\nfn begins_anew() { take.back() }\n";
    let source = Source::new("a.rs".to_owned(), text);
    let mut found = Vec::new();
    find(&source.path, &prose_of(&source), &mut found);
    let found: Vec<_> = found.iter().map(|found| (found.line, found.word.as_str())).collect();
    let expected = [(1, "What is ..."), (2, "taken back"), (3, "nobody"), (4, "everybody"), (4, "anew"), (5, "anew")];
    assert_eq!(found, expected);
}
