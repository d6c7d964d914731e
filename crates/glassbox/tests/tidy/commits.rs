//! Messages of commits: `area: verb ...`, and a body where more than a few lines changed.
//!
//! A subject says what a commit does to the code, in the imperative; the check knows the forms that are not imperative.
//! The commits before the rule are not checked. A checkout without git, or without the rule's first commit, has nothing
//! to check.

use std::process::Command;

use crate::source::root;

/// The last commit before the rule.
const BEFORE: &str = "11935a2c1aaf";
/// Changed lines above which a commit has a body.
const MAX_WITHOUT_BODY: usize = 10;
/// First words that are no verb in the imperative.
const NO_VERBS: [&str; 14] =
    ["a", "an", "the", "what", "of", "as", "who", "which", "it", "its", "that", "this", "more", "one"];
/// Verbs whose imperative looks like another form.
const VERBS: [&str; 8] = ["bring", "embed", "feed", "need", "proceed", "seed", "shed", "string"];

/// The problem of a commit's message, given the number of changed lines.
fn problem(message: &str, changed: usize) -> Option<String> {
    let subject = message.lines().next().unwrap_or_default();
    let Some((area, rest)) = subject.split_once(": ") else { return Some("begins with no `area: `".to_owned()) };
    let is_area =
        |area: &str| !area.is_empty() && area.chars().all(|it| it.is_ascii_lowercase() || "-_.0123456789".contains(it));
    if !area.split(", ").all(is_area) {
        return Some(format!("`{area}` is no area: a module, or a crate without `glassbox-`"));
    }
    let first = rest.split(' ').next().unwrap_or_default();
    let is_other_form = (first.ends_with("ed") || first.ends_with("ing")) && !VERBS.contains(&first);
    if first.chars().any(char::is_uppercase) || NO_VERBS.contains(&first) || is_other_form {
        return Some(format!("`{first}` is no verb in the imperative: say what the commit does"));
    }
    let has_body = message.lines().skip(2).any(|line| !line.trim().is_empty());
    (changed > MAX_WITHOUT_BODY && !has_body)
        .then(|| format!("{changed} changed lines have no body: the former state, the change, the reason"))
}

/// The output of git; `None` where it fails.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").current_dir(root()).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The problems of all commits since the rule, each with the commit.
pub fn problems() -> Vec<String> {
    let range = format!("{BEFORE}..HEAD");
    let Some(log) = git(&["log", "--no-merges", "--numstat", "--format=%x01%h%x02%B%x02", &range]) else {
        return Vec::new();
    };
    let commits = log.split('\u{1}').filter_map(|commit| {
        let mut parts = commit.split('\u{2}');
        let (name, message, numbers) = (parts.next()?, parts.next()?, parts.next()?);
        let counts = numbers.split_whitespace().filter_map(|word| word.parse::<usize>().ok());
        problem(message, counts.sum()).map(|problem| format!("commit {name}: {problem}"))
    });
    commits.collect()
}

#[test]
fn messages_are_in_the_imperative_with_a_body() {
    let body = "log: force the root directory\n\nIt was not forced.\n";
    for (message, changed, expected) in [
        (body, 100, None),
        ("log: force the root directory\n", 10, None),
        ("log, cli: bring the words to the table\n", 3, None),
        ("log: force the root directory\n", 11, Some("11 changed lines")),
        ("force the root directory\n", 1, Some("no `area: `")),
        ("Log: force\n", 1, Some("is no area")),
        ("log: forced the root directory\n", 1, Some("`forced`")),
        ("log: forcing\n", 1, Some("`forcing`")),
        ("log: what a reading found\n", 1, Some("`what`")),
        ("log: a force that waits\n", 1, Some("`a`")),
    ] {
        let found = problem(message, changed);
        assert_eq!(found.is_some(), expected.is_some(), "{message}: {found:?}");
        assert!(expected.is_none_or(|words| found.unwrap().contains(words)), "{message}");
    }
}
