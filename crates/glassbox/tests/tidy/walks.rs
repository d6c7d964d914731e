//! The pages that follow a Payment through each engine name files and functions that exist, and few of them.
//!
//! A stop of a walk is an item of a numbered list: a link to a file, functions of it in backticks, a colon, a sentence.

use std::collections::BTreeSet;

use crate::source::{root, words};

/// Each page with the maximum number of files that it may name.
const WALKS: [(&str, usize); 2] = [("docs/walks/payment-partitioned.md", 22), ("docs/walks/payment-classic.md", 28)];

/// The fewest stops of a walk: fewer, and its list was not recognised.
const MIN_STOPS: usize = 15;

struct Stop {
    /// The file, from the workspace's root.
    path: String,
    functions: Vec<String>,
    sentence: String,
}

/// The stops of a page, in order.
fn stops(page: &str) -> Vec<Stop> {
    let mut items: Vec<String> = Vec::new();
    for line in page.lines() {
        let number = line.split_once(". ").map_or("", |(number, _)| number);
        if !number.is_empty() && number.chars().all(|digit| digit.is_ascii_digit()) {
            items.push(line[number.len() + 2..].to_owned());
        } else if let (true, Some(item)) = (line.starts_with("   "), items.last_mut()) {
            item.push_str(line[2..].trim_end());
        }
    }
    items.iter().map(|item| stop(item).unwrap_or_else(|| panic!("no stop of a walk: {item}"))).collect()
}

fn stop(item: &str) -> Option<Stop> {
    let (_, rest) = item.split_once("](../../")?;
    let (path, rest) = rest.split_once(") ")?;
    let (functions, sentence) = rest.split_once(": ")?;
    let functions = functions.split(',').map(|function| function.trim().trim_matches('`').to_owned()).collect();
    Some(Stop { path: path.to_owned(), functions, sentence: sentence.trim().to_owned() })
}

/// Whether this text defines a function of this name.
fn defines(text: &str, function: &str) -> bool {
    text.lines().any(|line| {
        let mut words = words(line.split("//").next().unwrap_or_default());
        words.any(|word| word == "fn") && words.next() == Some(function)
    })
}

#[test]
fn walks_name_files_and_functions_that_exist() {
    let mut problems = Vec::new();
    for (page, max_files) in WALKS {
        let stops = stops(&std::fs::read_to_string(root().join(page)).expect("the page exists"));
        assert!(stops.len() >= MIN_STOPS, "{page}: {} stops, too few for a list that is recognised", stops.len());
        let files: BTreeSet<&str> = stops.iter().map(|stop| stop.path.as_str()).collect();
        if files.len() > max_files {
            problems.push(format!("{page}: {} files, more than {max_files}: simplify the path", files.len()));
        }
        for Stop { path, functions, sentence } in &stops {
            let Ok(text) = std::fs::read_to_string(root().join(path)) else {
                problems.push(format!("{page}: there is no {path}: follow the path as it is now"));
                continue;
            };
            for function in functions.iter().filter(|function| !defines(&text, function)) {
                problems.push(format!("{page}: {path} has no function `{function}`: follow the path as it is now"));
            }
            if !sentence.ends_with('.') || sentence.contains(". ") {
                problems.push(format!("{page}: not one sentence: {sentence}"));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn stops_are_recognised() {
    let page = "# A walk\n\nText. More.\n\n1. [`a.rs`](../../crates/a.rs) `run`, `try_it`: it runs,\n   and ends.\n\n\
                ## Then\n\n12. [`b.rs`](../../crates/b.rs) `stop`: it stops.\n";
    let found: Vec<_> = stops(page).into_iter().map(|stop| (stop.path, stop.functions, stop.sentence)).collect();
    let expected =
        [("crates/a.rs", vec!["run", "try_it"], "it runs, and ends."), ("crates/b.rs", vec!["stop"], "it stops.")];
    let expected = expected.map(|(path, functions, sentence)| {
        (path.to_owned(), functions.into_iter().map(str::to_owned).collect::<Vec<_>>(), sentence.to_owned())
    });
    assert_eq!(found, expected);
    assert!(defines("    pub(super) unsafe fn run<F>(&self) {", "run"));
    assert!(!defines("// fn run() {}\nfn runs() { run() }", "run"));
}
