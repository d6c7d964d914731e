//! Maps and links: what a document, or the map of a `mod.rs`, names is there.
//!
//! Checked are the tree of `ARCHITECTURE.md` (each folder, and that no crate is missing), maps in `mod.rs` (a block
//! ` ```text ` whose first column names modules), and the links of Markdown documents to files.

use std::path::{Path, PathBuf};

use crate::source::{self, root, words};
use crate::words::documents;

/// The folders that a line of a tree names, from the folder of its parent: `src/space/ heap/` names two.
fn folders_of(line: &str) -> Vec<PathBuf> {
    let names: Vec<&str> = line.trim_start().split(' ').take_while(|word| word.ends_with('/')).collect();
    let Some(first) = names.first() else { return Vec::new() };
    let folder = Path::new(first).parent().unwrap_or(Path::new(""));
    std::iter::once(PathBuf::from(first)).chain(names[1..].iter().map(|name| folder.join(name))).collect()
}

/// Every folder of the tree, from the workspace's root.
fn tree(page: &str) -> Vec<PathBuf> {
    let mut parents: Vec<(usize, PathBuf)> = Vec::new();
    let mut all = Vec::new();
    for line in page.lines().skip_while(|line| *line != "```").skip(1).take_while(|line| *line != "```") {
        let depth = line.len() - line.trim_start().len();
        parents.retain(|(of, _)| *of < depth);
        let parent = parents.last().map_or_else(PathBuf::new, |(_, path)| path.clone());
        let here: Vec<_> = folders_of(line).into_iter().map(|folder| parent.join(folder)).collect();
        if let Some(first) = here.first() {
            // A folder below it stands in it, or next to it: `src/log_records/` then `recovery/`.
            parents.push((depth, first.clone()));
        }
        all.extend(here);
    }
    all
}

/// The modules that the map in a file's head names, each with its line.
fn map_of(text: &[String]) -> Vec<(usize, String)> {
    let head = text.iter().enumerate().take_while(|(_, line)| line.starts_with("//!"));
    let mut in_map = false;
    let mut named = Vec::new();
    for (at, line) in head {
        let line = line.trim_start_matches("//!").trim();
        if line.starts_with("```") {
            in_map = line == "```text";
        } else if in_map && let Some((column, _)) = line.split_once("  ") {
            named.extend(words(column).map(|name| (at + 1, name.to_owned())));
        }
    }
    named
}

/// The targets of links in a text, without those on the web and in the page itself.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
    let files = targets.filter(|it| !it.contains("://") && !it.starts_with('#') && !it.contains(' '));
    files.map(|target| target.split('#').next().unwrap_or_default())
}

/// Everything that is named and not there.
pub fn problems() -> Vec<String> {
    let mut problems = Vec::new();
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("there is ARCHITECTURE.md");
    let tree = tree(&page);
    for folder in tree.iter().filter(|folder| !root().join(folder).is_dir()) {
        problems.push(format!("ARCHITECTURE.md: {} is no folder", folder.display()));
    }
    for parent in ["crates", "lab"] {
        for entry in root().join(parent).read_dir().expect("there are crates").map(|entry| entry.expect("an entry")) {
            let folder = Path::new(parent).join(entry.file_name());
            if entry.path().is_dir() && !tree.contains(&folder) {
                problems.push(format!("ARCHITECTURE.md: {} is missing in the tree", folder.display()));
            }
        }
    }
    for source in source::all().iter().filter(|source| source.path.ends_with("/mod.rs")) {
        let folder = root().join(source.path.trim_end_matches("mod.rs"));
        let is_there = |name: &str| folder.join(name).is_dir() || folder.join(format!("{name}.rs")).is_file();
        let (named, missing): (Vec<_>, Vec<_>) = map_of(&source.text).into_iter().partition(|(_, name)| is_there(name));
        // A block with few names of modules is a picture of something else.
        for (line, name) in missing.iter().filter(|_| named.len() > missing.len()) {
            problems.push(format!("{}:{line}: the map names `{name}`, which is no module here", source.path));
        }
    }
    for (path, text) in documents().into_iter().filter(|(path, _)| path.ends_with(".md")) {
        let folder = root().join(&path).parent().expect("a document is in a folder").to_owned();
        for target in links(&text).filter(|target| !folder.join(target).exists()) {
            problems.push(format!("{path}: the link to {target} leads nowhere"));
        }
    }
    problems
}

#[test]
fn folders_modules_and_links_are_read() {
    let page = "text\n\n```\na/   top\n  b/ first\n    src/c/ d/   two\n  e/\n```\n\n```\nf/\n```\n";
    let expected = ["a", "a/b", "a/b/src/c", "a/b/src/d", "a/e"].map(PathBuf::from);
    assert_eq!(tree(page).iter().map(|path| path.components().collect::<PathBuf>()).collect::<Vec<_>>(), expected);
    let text = "//! Map:\n//!\n//! ```text\n//! a, b  two\n//! c     one\n//! ```\nmod a;\n";
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let named = [(4, "a"), (4, "b"), (5, "c")].map(|(line, name)| (line, name.to_owned()));
    assert_eq!(map_of(&lines), named);
    let text = "[a](b.md#c) and [d](https://e.org), [f](#g), `x[0](y z)`, [h](i/)";
    assert_eq!(links(text).collect::<Vec<_>>(), ["b.md", "i/"]);
}
