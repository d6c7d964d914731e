//! The public names at the root of the crate `glassbox`: what a user of a database needs, and modules for the rest.
//!
//! Each name costs every reader of the documentation a decision. So the list stands here, and a new name replaces one
//! or moves into a module.

use std::collections::BTreeSet;

use crate::circles;
use crate::source::{Source, all};

/// The maximum number of names; a module is one.
const MAX_NAMES: usize = 25;

const MODULES: [&str; 7] = ["config", "error", "io", "procedure", "record", "research", "stats"];

const ITEMS: [&str; 18] = [
    "AnyTransaction",
    "Aborts",
    "Architecture",
    "BulkLoad",
    "Catalog",
    "Config",
    "Database",
    "Declared",
    "Durability",
    "Error",
    "Execution",
    "KeySet",
    "LogKind",
    "Procedure",
    "Record", // the trait and its derive macro
    "Stop",
    "Ticket",
    "Transaction",
];

/// The public names of a crate's `lib.rs`, hidden ones included.
fn public_names(root: &Source) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = circles::exports(root).into_iter().map(|(name, _)| name).collect();
    let public = root.code().filter_map(|(_, code)| code.strip_prefix("pub "));
    for item in public.filter(|item| !item.starts_with("use ")) {
        let name = item.split(|letter: char| !letter.is_alphanumeric() && letter != '_').nth(1);
        names.extend(name.map(str::to_owned));
    }
    names
}

#[test]
fn the_crate_root_shows_only_these_names() {
    let sources = all();
    let root = sources.iter().find(|source| source.path == "crates/glassbox/src/lib.rs").expect("there is a root");
    let expected: BTreeSet<String> = MODULES.iter().chain(&ITEMS).map(|&name| name.to_owned()).collect();
    assert_eq!(public_names(root), expected);
    assert!(expected.len() <= MAX_NAMES, "{} names: move some into a module", expected.len());
    let of_engine = |source: &&Source| source.path.starts_with("crates/glassbox/src/");
    for source in sources.iter().filter(of_engine) {
        assert!(
            !source.code().any(|(_, code)| code.contains("macro_export")),
            "{}: a macro would stand at the root",
            source.path
        );
    }
}

#[test]
fn public_names_are_found_in_each_form() {
    let text = "mod a;\npub mod b;\n#[doc(hidden)]\npub mod c;\npub use a::{D, e::F as G};\npub fn h() {}\n\
                pub(crate) struct I;\npub struct J<T>(T);\n// pub mod k;\nuse a::L;\n";
    let names = public_names(&Source::new("crates/x/src/lib.rs".to_owned(), text));
    assert_eq!(names.into_iter().collect::<Vec<_>>(), ["D", "G", "J", "b", "c", "h"]);
}
