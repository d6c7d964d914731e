//! What is still to be tidied, counted by rule and file: a count may fall and never rise.
//!
//! `remaining.txt` has a line for each rule and file that has something left. A count above its line fails. A count
//! below it fails too, until the list is written again with `GLASSBOX_BLESS=1`, which refuses when the sum of a rule
//! would rise; so a file may move with its count, and nothing new comes in. A line `# rule NAME` says that a rule has
//! been counted: only the first count of a rule is free.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use crate::source::root;

/// Rule and file.
type Key = (String, String);

fn list() -> PathBuf {
    root().join("crates/glassbox/tests/tidy/remaining.txt")
}

fn read() -> BTreeMap<Key, usize> {
    let text = std::fs::read_to_string(list()).unwrap_or_default();
    let line = |line: &str| {
        let mut parts = line.split('\t');
        let mut part = || parts.next().expect("a line has a rule, a path and a count");
        let (rule, path, count) = (part().to_owned(), part().to_owned(), part());
        ((rule, path), count.parse().expect("the third part is a number"))
    };
    text.lines().filter(|line| !line.starts_with('#')).map(line).collect()
}

/// Heads the list.
const HEAD: &str =
    "# What is left to be tidied: rule, file, places. Written by the test `tidy` with GLASSBOX_BLESS=1.\n";
/// Begins the line of a rule that has been counted.
const RULE: &str = "# rule ";
/// One rule at a time reads and writes the list.
static LIST: Mutex<()> = Mutex::new(());

/// The rules that have been counted.
fn rules() -> BTreeSet<String> {
    let text = std::fs::read_to_string(list()).unwrap_or_default();
    text.lines().filter_map(|line| line.strip_prefix(RULE)).map(str::to_owned).collect()
}

/// Compares what is left of a rule with the list; each of `found` is a path, a line and what is wrong there.
pub fn check(rule: &str, found: &[(String, usize, String)]) {
    let _list = LIST.lock().unwrap_or_else(PoisonError::into_inner);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    found.iter().for_each(|(path, ..)| *counts.entry(path).or_default() += 1);
    let mut known = read();
    let of_rule: BTreeMap<String, usize> =
        known.iter().filter(|((of, _), _)| of == rule).map(|((_, path), &count)| (path.clone(), count)).collect();
    if std::env::var_os("GLASSBOX_BLESS").is_some() {
        let (now, before) = (found.len(), of_rule.values().sum::<usize>());
        let mut rules: BTreeSet<String> = rules();
        assert!(
            now <= before || rules.insert(rule.to_owned()),
            "{now} places of the rule \"{rule}\", more than the {before} of before"
        );
        known.retain(|(of, _), _| of != rule);
        known.extend(counts.iter().map(|(path, &count)| ((rule.to_owned(), (*path).to_owned()), count)));
        rules.insert(rule.to_owned());
        let names = rules.iter().map(|rule| format!("{RULE}{rule}\n"));
        let lines = known.iter().map(|((rule, path), count)| format!("{rule}\t{path}\t{count}\n"));
        let text = std::iter::once(HEAD.to_owned()).chain(names).chain(lines).collect::<String>();
        return std::fs::write(list(), text).expect("the list can be written");
    }
    let mut problems = Vec::new();
    for (path, &count) in &counts {
        let allowed = of_rule.get(*path).copied().unwrap_or(0);
        if count > allowed {
            let places = found.iter().filter(|(of, ..)| of == path);
            problems.extend(places.map(|(path, line, what)| format!("{path}:{line}: {what}")));
            if allowed > 0 {
                problems.push(format!("{path}: {count} places of the rule \"{rule}\", {allowed} were left"));
            }
        }
    }
    for (path, &allowed) in &of_rule {
        if counts.get(path.as_str()).copied().unwrap_or(0) < allowed {
            problems
                .push(format!("{path}: fewer places of \"{rule}\" than listed: write the list with GLASSBOX_BLESS=1"));
        }
    }
    assert!(problems.is_empty(), "{} to tidy up:\n{}", problems.len(), problems.join("\n"));
}
