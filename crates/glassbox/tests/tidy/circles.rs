//! Circles of modules: files that use each other, directly or over others, cannot be read one after the other.
//!
//! A file uses another if one of its `use` paths ends there. A path that ends at a name which a `mod.rs` only passes on
//! (`pub use child::Name`) goes on to where the name is defined, so a facade stands in no circle.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::Source;

/// Rooms that are to be without circles: every crate, and the engines by themselves.
pub const ROOMS: [&str; 16] = [
    "crates/glassbox/src/partitioned/",
    "crates/glassbox/src/classic/",
    "crates/glassbox/src/",
    "crates/glassbox-derive/src/",
    "crates/glassbox-workloads/src/",
    "crates/glassbox-consensus/src/",
    "crates/glassbox-cluster/src/",
    "crates/glassbox-testing/src/",
    "crates/glassbox-program/src/",
    "crates/glassbox-cli/src/",
    "crates/glassbox-cluster-cli/src/",
    "lab/glassbox-kernels/src/",
    "lab/glassbox-ladder/src/",
    "lab/glassbox-ladder-variants/src/",
    "lab/glassbox-sim/src/",
    "lab/glassbox-lab/src/",
];

/// A module: its path of names from the crate's root.
type Module = Vec<String>;

/// The circles in a room: each a list of files.
pub fn of(room: &str, sources: &[Source]) -> Vec<Vec<String>> {
    let base = room.find("/src/").map(|at| &room[..at + 5]).expect("a room is below a crate's src");
    let files: BTreeMap<Module, &Source> = sources
        .iter()
        .filter(|source| source.path.starts_with(base) && !source.is_test())
        .map(|source| (module_of(&source.path[base.len()..]), source))
        .collect();
    let resolver =
        Resolver { exports: files.iter().map(|(module, source)| (module.clone(), exports(source))).collect(), files };
    let mut edges: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (module, source) in resolver.files.iter().filter(|(_, source)| source.path.starts_with(room)) {
        for path in uses(source).into_iter().filter(|it| !(it.passes_on && is_facade(source))) {
            let target = resolver.resolve(module, &path.path, 0);
            if let Some(target) = target.filter(|it| it.path != source.path && it.path.starts_with(room)) {
                edges.entry(&source.path).or_default().insert(&target.path);
            }
        }
    }
    components(&edges)
}

/// A `use` path.
struct Use {
    path: Vec<String>,
    /// The name that it gets.
    name: String,
    /// Whether it is a `pub use`.
    passes_on: bool,
}

fn is_facade(source: &Source) -> bool {
    source.path.ends_with("/mod.rs") || source.path.ends_with("/lib.rs") || source.path.ends_with("/main.rs")
}

/// The module of a file, whose path is given from `src/`. A file that `#[path]` renames keeps its own name here and in
/// the paths that are looked up.
fn module_of(path: &str) -> Module {
    let path = path.trim_end_matches(".rs");
    let path = path.strip_suffix("/mod").unwrap_or(path);
    let names: Module = path.split('/').map(str::to_owned).collect();
    if matches!(&names[..], [only] if only == "lib" || only == "main" || only == "mod") { Module::new() } else { names }
}

/// What the `pub use` items of a file pass on: a name and its path.
pub fn exports(source: &Source) -> Vec<(String, Vec<String>)> {
    uses(source).into_iter().filter(|it| it.passes_on).map(|it| (it.name, it.path)).collect()
}

struct Resolver<'a> {
    files: BTreeMap<Module, &'a Source>,
    exports: BTreeMap<Module, Vec<(String, Vec<String>)>>,
}

impl<'a> Resolver<'a> {
    /// The file where a path ends, seen from a module.
    fn resolve(&self, from: &Module, path: &[String], depth: usize) -> Option<&'a Source> {
        let mut at = from.clone();
        let mut rest = path;
        match rest.first()?.as_str() {
            "crate" => {
                at.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|name| name == "super") {
                    at.pop()?;
                    rest = &rest[1..];
                }
            }
            _ => {}
        }
        let mut known = rest.len() < path.len();
        while let Some(name) = rest.first() {
            let mut child = at.clone();
            child.push(name.clone());
            if !self.files.contains_key(&child) {
                break;
            }
            (at, rest, known) = (child, &rest[1..], true);
        }
        if !known {
            return None;
        }
        // A name that the module passes on is defined elsewhere.
        if let (Some(name), true) = (rest.first(), depth < 8) {
            let passed_on = self.exports.get(&at);
            let passed_on = passed_on.and_then(|names| names.iter().find(|(known, _)| known == name));
            if let Some((_, path)) = passed_on {
                return self.resolve(&at, path, depth + 1);
            }
        }
        self.files.get(&at).copied()
    }
}

/// The `use` items of a file's production code, each of their paths.
fn uses(source: &Source) -> Vec<Use> {
    let code: Vec<&str> = source.production().map(|(_, code)| code).collect();
    let mut found = Vec::new();
    let mut lines = code.iter();
    while let Some(line) = lines.next() {
        let trimmed = line.trim_start();
        let (passes_on, item) = match trimmed.split_once("use ") {
            Some(("", item)) => (false, item),
            Some((before, item)) if before.starts_with("pub") && before.ends_with(' ') => (true, item),
            _ => continue,
        };
        let mut item = item.to_owned();
        while !item.contains(';') {
            let Some(next) = lines.next() else { break };
            item.push_str(next);
        }
        let item = item.split(';').next().unwrap_or_default();
        expand(&mut Vec::new(), item, passes_on, &mut found);
    }
    found
}

/// Takes a tree of names apart into its paths.
fn expand(prefix: &mut Vec<String>, item: &str, passes_on: bool, found: &mut Vec<Use>) {
    let item = item.trim();
    if let Some((before, inside)) = item.split_once('{').filter(|(before, _)| !before.contains(',')) {
        let length = prefix.len();
        prefix.extend(before.split("::").map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned));
        let inside = inside.strip_suffix('}').unwrap_or(inside);
        let (mut depth, mut begin) = (0, 0);
        for (at, letter) in inside.char_indices().chain([(inside.len(), ',')]) {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    expand(prefix, &inside[begin..at], passes_on, found);
                    begin = at + 1;
                }
                _ => {}
            }
        }
        prefix.truncate(length);
    } else if !item.is_empty() {
        let (path, name) = item.split_once(" as ").map_or((item, None), |(path, name)| (path, Some(name.trim())));
        let names = path.split("::").map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
        let mut path: Vec<String> = prefix.iter().cloned().chain(names).collect();
        if path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        let name = name.map_or_else(|| path.last().cloned().unwrap_or_default(), str::to_owned);
        found.push(Use { path, name, passes_on });
    }
}

/// The strongly connected components with more than one file.
fn components(edges: &BTreeMap<&str, BTreeSet<&str>>) -> Vec<Vec<String>> {
    let reached = |from: &str| {
        let (mut reached, mut open) = (BTreeSet::new(), vec![from.to_owned()]);
        while let Some(at) = open.pop() {
            for &next in edges.get(at.as_str()).into_iter().flatten() {
                if reached.insert(next.to_owned()) {
                    open.push(next.to_owned());
                }
            }
        }
        reached
    };
    let reach: BTreeMap<&str, BTreeSet<String>> = edges.keys().map(|&from| (from, reached(from))).collect();
    let mut seen = BTreeSet::new();
    let mut circles = Vec::new();
    for (&from, there) in &reach {
        if seen.contains(from) || !there.contains(from) {
            continue;
        }
        let back = |to: &&String| reach.get(to.as_str()).is_some_and(|back| back.contains(from));
        let circle: Vec<String> = there.iter().filter(back).cloned().collect();
        seen.extend(circle.iter().cloned());
        circles.push(circle);
    }
    circles
}

#[test]
fn circles_are_found_and_facades_are_seen_through() {
    let file = |path: &str, text: &str| Source::new(format!("crates/glassbox-lab/src/{path}"), text);
    let sources = [
        file("lib.rs", "mod a;\nmod b;\npub use a::{A, inner::{self, C}};\n"),
        file("a/mod.rs", "mod inner;\npub use inner::A;\nuse crate::b::B;\n"),
        file("a/inner.rs", "use super::super::b;\nuse serde::Serialize;\n"),
        file("b.rs", "use crate::{A};\n"),
    ];
    let circles = of("crates/glassbox-lab/src/", &sources);
    let expected = ["crates/glassbox-lab/src/a/inner.rs", "crates/glassbox-lab/src/b.rs"];
    assert_eq!(circles, [expected.map(str::to_owned)]);
}
