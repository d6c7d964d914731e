//! The workspace's Rust files, each also as bare code: comments and the contents of strings blanked out, lines kept.

use std::path::{Path, PathBuf};

/// A Rust file.
pub struct Source {
    /// From the workspace's root, with `/`.
    pub path: String,
    pub text: Vec<String>,
    /// The same lines without comments, strings and character literals.
    pub code: Vec<String>,
}

/// The workspace's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All Rust files of the workspace's crates, in order.
pub fn all() -> Vec<Source> {
    let mut paths = Vec::new();
    ["crates", "lab"].iter().for_each(|folder| collect(&root().join(folder), &mut paths));
    paths.sort();
    assert!(paths.len() > 100, "the workspace's files are not where this test looks for them");
    paths.iter().map(|path| Source::read(path)).collect()
}

fn collect(directory: &Path, paths: &mut Vec<PathBuf>) {
    for entry in directory.read_dir().expect("a directory of the workspace can be read") {
        let path = entry.expect("its entries too").path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            collect(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            paths.push(path);
        }
    }
}

impl Source {
    fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).expect("a Rust file is UTF-8");
        let path = path.strip_prefix(root()).expect("it was found there").display().to_string().replace('\\', "/");
        Self::new(path, &text)
    }

    pub fn new(path: String, text: &str) -> Self {
        let lines = |text: &str| text.lines().map(str::to_owned).collect();
        Self { path, text: lines(text), code: lines(&bare(text)) }
    }

    /// Whether the whole file is test code.
    pub fn is_test(&self) -> bool {
        self.path.contains("/tests/") || self.path.ends_with("/tests.rs") || self.path.ends_with("/testing.rs")
    }

    /// The lines of code, numbered from 1, that are not test code.
    pub fn production(&self) -> impl Iterator<Item = (usize, &str)> {
        let tests = self.code.windows(2).position(|two| two[0] == "#[cfg(test)]" && two[1].ends_with('{'));
        let end = if self.is_test() { 0 } else { tests.unwrap_or(self.code.len()) };
        self.code[..end].iter().enumerate().map(|(at, line)| (at + 1, line.as_str()))
    }

    /// All lines of code, numbered from 1.
    pub fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code.iter().enumerate().map(|(at, line)| (at + 1, line.as_str()))
    }
}

/// The words of a line: identifiers and numbers.
pub fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(|word| !word.is_empty())
}

/// Replaces comments and literals by spaces.
fn bare(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < letters.len() {
        let end = skipped(&letters, at, &out);
        if end == at {
            out.push(letters[at]);
            at += 1;
        } else {
            out.extend(letters[at..end].iter().map(|&letter| if letter == '\n' { '\n' } else { ' ' }));
            at = end;
        }
    }
    out.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// The end of the comment or literal that begins at `at`; `at` if none does.
fn skipped(letters: &[char], at: usize, before: &str) -> usize {
    let next = letters.get(at + 1);
    let in_word = before.ends_with(|last: char| last.is_alphanumeric() || last == '_');
    match letters[at] {
        '/' if next == Some(&'/') => find(letters, at, &['\n']),
        '/' if next == Some(&'*') => find(letters, at + 2, &['*', '/']) + 2,
        '"' => string_end(letters, at + 1),
        'r' if !in_word || before.ends_with('b') => {
            let hashes = letters[at + 1..].iter().take_while(|&&letter| letter == '#').count();
            if letters.get(at + 1 + hashes) != Some(&'"') {
                return at;
            }
            let close: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
            (find(letters, at + 2 + hashes, &close) + close.len()).min(letters.len())
        }
        // A character, not a lifetime.
        '\'' if next == Some(&'\\') => find(letters, at + 3, &['\'']) + 1,
        '\'' if letters.get(at + 2) == Some(&'\'') => at + 3,
        _ => at,
    }
}

fn find(letters: &[char], from: usize, what: &[char]) -> usize {
    letters[from..].windows(what.len()).position(|window| window == what).map_or(letters.len(), |found| from + found)
}

fn string_end(letters: &[char], mut at: usize) -> usize {
    while at < letters.len() && letters[at] != '"' {
        at += if letters[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(letters.len())
}

#[test]
fn comments_and_literals_are_no_code() {
    let text =
        "let a = \"{ \\\" // no\"; // yes {\nlet r = r#\"a \" {\"#; let c = '{'; let l: &'a str;\n/* { */ b'\\''";
    let source = Source::new(String::new(), text);
    let squeezed: Vec<String> = source.code.iter().map(|line| words(line).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(squeezed, ["let a", "let r let c let l a str", "b"]);
    assert!(!source.code.iter().any(|line| line.contains('{')));
}
