//! Which part may know which: modules of the engine, crates of the workspace, and words that a part must not say.

use crate::Problems;
use crate::source::{Source, root, words};

const ENGINE: &str = "crates/glassbox/src/";
const IO: &str = "crates/glassbox/src/io/";
const WORKLOADS: &str = "crates/glassbox-workloads/src/";
const CLUSTER: &str = "crates/glassbox-cluster/src/";
/// Threads and sockets, which drive the machines of a cluster.
const CLUSTER_DRIVERS: &str = "crates/glassbox-cluster/src/run/";

/// The engine's rooms, lowest first: a room may name those before it. What is not listed is the top room, the database
/// as its users see it, which may name all of them and is named by none.
const ROOMS: [&str; 15] = [
    "prefetch",
    "huge_pages",
    "record",
    "procedure",
    "io",
    "log",
    "config",
    "failure",
    "error",
    "store",
    "executed",
    "health",
    "answer",
    "classic",
    "partitioned",
];

/// Each crate with the crates of the workspace that it may depend on. Tests may use more.
const CRATES: [(&str, &[&str]); 14] = [
    ("crates/glassbox-derive", &[]),
    ("crates/glassbox", &["glassbox-derive"]),
    ("crates/glassbox-workloads", &["glassbox"]),
    ("crates/glassbox-consensus", &[]),
    ("crates/glassbox-cluster", &["glassbox", "glassbox-consensus"]),
    ("crates/glassbox-testing", &["glassbox"]),
    ("crates/glassbox-program", &["glassbox", "glassbox-workloads"]),
    ("crates/glassbox-cli", &["glassbox", "glassbox-workloads", "glassbox-program"]),
    ("crates/glassbox-cluster-cli", &["glassbox", "glassbox-workloads", "glassbox-program", "glassbox-cluster"]),
    ("lab/glassbox-kernels", &["glassbox", "glassbox-workloads"]),
    ("lab/glassbox-ladder-variants", &["glassbox", "glassbox-workloads"]),
    ("lab/glassbox-ladder", &["glassbox", "glassbox-workloads", "glassbox-ladder-variants"]),
    ("lab/glassbox-sim", &["glassbox", "glassbox-workloads", "glassbox-cluster", "glassbox-testing"]),
    (
        "lab/glassbox-lab",
        &[
            "glassbox",
            "glassbox-workloads",
            "glassbox-program",
            "glassbox-cluster",
            "glassbox-cluster-cli",
            "glassbox-sim",
            "glassbox-kernels",
            "glassbox-ladder",
        ],
    ),
];

/// What the embedded library must not bring along: these belong to a server.
const SERVERS: [&str; 6] = ["tokio", "pgwire", "openraft", "axum", "mimalloc", "hyper"];

/// Where a word is not known, and why.
const UNKNOWN: [(&str, &[&str], &str); 6] = [
    ("crates/glassbox/src/classic/", &["partitioned"], "the two engines never mention each other"),
    ("crates/glassbox/src/partitioned/", &["classic"], "the two engines never mention each other"),
    (
        "crates/glassbox/src/log/",
        &["table", "procedure", "partition", "transaction"],
        "the log stores bytes and never reads them",
    ),
    ("crates/glassbox/src/record/", &["transaction", "engine", "log"], "a record knows no engine, file or transaction"),
    (
        "crates/glassbox/src/partitioned/storage/memory/",
        &["log", "token", "undo", "transaction"],
        "memory holds rows and keys",
    ),
    ("crates/glassbox/src/io/", &["log", "table", "transaction"], "files and clocks serve whoever uses them"),
];

/// What only `io` may touch, by the words of the path.
const OPERATING_SYSTEM: [&str; 9] =
    ["std::fs", "std::net", "rustix", "libc", "SystemTime", "Instant", "std::env", "std::process", "File::open"];

/// Files beside `io` that may.
const OPERATING_SYSTEM_EXCEPTIONS: [(&str, &str); 6] = [
    ("crates/glassbox-workloads/src/tpcc/tally.rs", "adds up latencies at intervals, outside of procedures"),
    ("crates/glassbox-workloads/src/tpcc/driver.rs", "measures latencies, outside of procedures"),
    ("crates/glassbox/src/huge_pages.rs", "has memory made present, which is no file"),
    ("crates/glassbox/src/partitioned/storage/memory/region.rs", "maps memory, which is no file"),
    ("crates/glassbox/src/classic/buffer/memory.rs", "asks for huge pages, which are no file"),
    ("crates/glassbox/src/store/manifest.rs", "draws the database's id from the system's randomness"),
];

/// The paths that the rules here name.
pub fn paths() -> impl Iterator<Item = &'static str> {
    let unknown = UNKNOWN.iter().map(|(path, ..)| *path);
    let excepted = OPERATING_SYSTEM_EXCEPTIONS.iter().map(|(path, _)| *path);
    [ENGINE, IO, WORKLOADS, CLUSTER, CLUSTER_DRIVERS].into_iter().chain(unknown).chain(excepted)
}

/// Uses within the engine go to lower rooms only.
pub fn modules(source: &Source, problems: &mut Problems) {
    let Some(inside) = source.path.strip_prefix(ENGINE) else { return };
    let rank = |room: &str| ROOMS.iter().position(|known| *known == room).unwrap_or(ROOMS.len());
    let own = inside.split(['/', '.']).next().expect("a path has a beginning");
    if rank(own) == ROOMS.len() {
        return;
    }
    for (line, code) in source.production() {
        for used in code.split("crate::").skip(1) {
            let used = words(used).next().unwrap_or_default();
            if used != own && rank(used) >= rank(own) {
                let below = ROOMS[..rank(own)].join(", ");
                problems.add(
                    source,
                    line,
                    format!(
                        "`{own}` must not use `{used}`: it may know {below}; move what both need down, or pass it in"
                    ),
                );
            }
        }
    }
}

/// Dependencies between crates go one way.
pub fn crates(problems: &mut Problems) {
    for (name, allowed) in CRATES {
        let path = format!("{name}/Cargo.toml");
        let text = std::fs::read_to_string(root().join(&path)).expect("every crate has a Cargo.toml");
        let mut section = "";
        for (at, line) in text.lines().enumerate() {
            if line.starts_with('[') {
                section = line;
            }
            let used = line.split(['.', ' ', '=']).next().unwrap_or_default();
            let ours = used.starts_with("glassbox") && !allowed.contains(&used);
            let server = name == "crates/glassbox" && SERVERS.contains(&used);
            if section == "[dependencies]" && (ours || server) {
                problems.0.push(format!("{path}:{}: `{name}` must not depend on `{used}`: remove it", at + 1));
            }
        }
    }
    for folder in ["crates", "lab"] {
        let crates = root().join(folder).read_dir().expect("there are crates");
        for entry in crates.map(|entry| entry.expect("an entry of a folder can be read").file_name()) {
            let path = format!("{folder}/{}", entry.display());
            if !CRATES.iter().any(|(name, _)| *name == path) {
                problems.0.push(format!("{path}:1: add this crate to `CRATES` in {}", file!()));
            }
        }
    }
}

/// The words that identifiers are made of, in lower case.
fn parts_of(code: &str) -> impl Iterator<Item = String> {
    words(code).flat_map(|word| word.split('_')).flat_map(|word| {
        let mut parts = vec![String::new()];
        for letter in word.chars() {
            if letter.is_uppercase() && !parts.last().is_some_and(String::is_empty) {
                parts.push(String::new());
            }
            parts.last_mut().expect("there is one").extend(letter.to_lowercase());
        }
        parts
    })
}

/// See [`UNKNOWN`]; and the engine never mentions a benchmark.
pub fn unknown_words(source: &Source, problems: &mut Problems) {
    for (part, unknown, why) in UNKNOWN {
        if !source.path.starts_with(part) {
            continue;
        }
        for (line, code) in source.production() {
            for word in parts_of(code) {
                if unknown.iter().any(|it| *it == word || format!("{it}s") == word) {
                    problems.add(
                        source,
                        line,
                        format!("`{word}` is not a word of this part ({why}): rename or move it"),
                    );
                }
            }
        }
    }
    if source.path.starts_with(ENGINE) {
        for (at, line) in source.text.iter().enumerate() {
            if line.to_lowercase().replace('-', "").contains("tpcc") {
                problems.add(
                    source,
                    at + 1,
                    "the engine must not mention TPC-C: say what it needs, or move it to a workload",
                );
            }
        }
    }
}

/// See [`OPERATING_SYSTEM`].
pub fn operating_system(source: &Source, problems: &mut Problems) {
    let engine = source.path.starts_with(ENGINE) && !source.path.starts_with(IO);
    let workload = source.path.starts_with(WORKLOADS);
    // The machines of a cluster know messages only; what carries these is in one place.
    let cluster = source.path.starts_with(CLUSTER) && !source.path.starts_with(CLUSTER_DRIVERS);
    let excepted = OPERATING_SYSTEM_EXCEPTIONS.iter().any(|(path, _)| *path == source.path);
    if excepted || !(engine || workload || cluster) {
        return;
    }
    for (line, code) in source.production() {
        for used in OPERATING_SYSTEM {
            let at_word = |at: usize| !code[..at].ends_with(|last: char| last.is_alphanumeric() || last == '_');
            if code.match_indices(used).any(|(at, _)| at_word(at)) {
                problems.add(
                    source,
                    line,
                    format!("`{used}` belongs to `io`: use `Files`, `Clock` or a new trait there"),
                );
            }
        }
    }
}
