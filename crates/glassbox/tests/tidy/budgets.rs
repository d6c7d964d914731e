//! How long files and functions may be.

use crate::Problems;
use crate::source::{Source, all, words};

/// Lines of a file, without the tests at its end: a file is one idea, as long as that idea needs.
const MAX_FILE_LINES: usize = 600;
/// Lines of a function, from `fn` to its closing brace.
const MAX_FUNCTION_LINES: usize = 70;

/// Lines that a file needs to be worth opening; fewer need a reason.
const MIN_FILE_LINES: usize = 60;

/// Short files that stand by themselves, and why.
const SHORT_FILES: [(&str, &str); 18] = [
    ("crates/glassbox/src/partitioned/shard/remote_read.rs", "data that tables and shards both know, below both"),
    ("crates/glassbox/src/database/bulk_load.rs", "a public type with a life of its own: begun, finished or dropped"),
    (
        "crates/glassbox/src/classic/buffer/write_ahead.rs",
        "the rule that the pool asks of a log, which a stack chooses",
    ),
    ("crates/glassbox/src/classic/latch/none.rs", "one of the two latches that a stack chooses from"),
    ("crates/glassbox/src/classic/lock/config.rs", "the settings, on which the other files of the lock manager depend"),
    ("crates/glassbox/src/classic/lock/sync.rs", "a shim: the standard library's latches, or those of shuttle"),
    ("crates/glassbox-cli/src/torture/tpcc.rs", "one of the two workloads under kills, a file each"),
    ("crates/glassbox/src/io/error.rs", "the error of every operation on files"),
    ("crates/glassbox/src/io/memory/dice.rs", "the generator that every random test draws from"),
    ("crates/glassbox/src/log/lsn.rs", "a type with a biography, known to everything that is logged"),
    ("crates/glassbox/src/partitioned/partition.rs", "what the holder of a token may access, with its `unsafe`"),
    ("crates/glassbox/src/io/cores.rs", "what the operating system is asked about cores, by two modules above"),
    ("crates/glassbox/src/record/sound.rs", "the promise that stored bytes need no check, with its `unsafe`"),
    (
        "crates/glassbox-derive/src/names.rs",
        "names made from names: all steps of the macro depend on it, and it on none",
    ),
    ("crates/glassbox-testing/src/dice.rs", "what every random test depends on: generator, seed, length"),
    ("lab/glassbox-sim/src/cluster/workload.rs", "the interface between a simulated cluster and its workloads"),
    (
        "crates/glassbox-workloads/src/tpcc/catalog.rs",
        "the list of tables and procedures that a program with TPC-C declares",
    ),
    ("lab/glassbox-lab/src/low_overhead/checks.rs", "the checks of a run, used by its section and its tests"),
];

/// Files that may be longer, up to a number of lines, and why.
const LONGER_FILES: [(&str, usize, &str); 0] = [];

/// Functions that may be longer, up to a number of lines, and why.
const LONGER_FUNCTIONS: [(&str, &str, usize, &str); 0] = [];

/// The lines of a file without the test module at its end; all lines of a file of tests.
fn lines(source: &Source) -> usize {
    if source.is_test() { source.text.len() } else { source.production().count() }
}

/// See the constants.
pub fn sizes(source: &Source, problems: &mut Problems) {
    let lines = lines(source);
    let excepted = LONGER_FILES.iter().find(|(path, ..)| *path == source.path);
    let most = excepted.map_or(MAX_FILE_LINES, |(_, most, _)| *most);
    if lines > most {
        problems.add(
            source,
            lines,
            format!("the file has {lines} lines, more than {most}: split it where its nouns part"),
        );
    }
    for function in functions(source) {
        let excepted = LONGER_FUNCTIONS.iter().find(|(path, name, ..)| *path == source.path && *name == function.name);
        let most = excepted.map_or(MAX_FUNCTION_LINES, |(_, _, most, _)| *most);
        if function.lines > most {
            let Function { name, line, lines } = function;
            problems.add(
                source,
                line,
                format!("`{name}` has {lines} lines, more than {most}: give a step of it a name"),
            );
        }
    }
}

/// Files too short to stand by themselves. A `mod.rs` opens a folder, a test or an example stands alone by its purpose.
pub fn tiny(sources: &[Source]) -> Vec<(String, usize, String)> {
    let is_module =
        |path: &str| path.contains("/src/") && !["mod.rs", "lib.rs", "main.rs"].iter().any(|it| path.ends_with(it));
    let tiny = sources.iter().filter(|source| {
        let excepted = SHORT_FILES.iter().any(|(path, _)| *path == source.path);
        is_module(&source.path) && !source.is_test() && !excepted && source.text.len() < MIN_FILE_LINES
    });
    let finding = |source: &Source| {
        let lines = source.text.len();
        (
            source.path.clone(),
            lines,
            format!("the file has only {lines} lines: join it with the file that it belongs to"),
        )
    };
    tiny.map(finding).collect()
}

/// An exception that nothing needs any more must go.
pub fn exceptions(problems: &mut Problems) {
    let sources = all();
    let find = |path: &str| sources.iter().find(|source| source.path == path);
    for (path, ..) in LONGER_FILES {
        if find(path).is_none_or(|source| lines(source) <= MAX_FILE_LINES) {
            problems.0.push(format!("{}:1: the exception for {path} is not needed: remove it", file!()));
        }
    }
    for (path, _) in SHORT_FILES {
        if find(path).is_none_or(|source| source.text.len() >= MIN_FILE_LINES) {
            problems.0.push(format!("{}:1: {path} is not short any more: remove it from `SHORT_FILES`", file!()));
        }
    }
    for (path, name, ..) in LONGER_FUNCTIONS {
        let long = |function: &Function| function.name == name && function.lines > MAX_FUNCTION_LINES;
        if !find(path).is_some_and(|source| functions(source).iter().any(long)) {
            problems.0.push(format!("{}:1: the exception for `{name}` in {path} is not needed: remove it", file!()));
        }
    }
}

struct Function {
    name: String,
    line: usize,
    lines: usize,
}

/// The functions that have a body.
fn functions(source: &Source) -> Vec<Function> {
    let mut found: Vec<Function> = Vec::new();
    // Functions whose end is to come: place in `found`, and the depth of braces outside their body once it has begun.
    let mut open: Vec<(usize, Option<usize>)> = Vec::new();
    let (mut depth, mut brackets) = (0, 0);
    for (line, code) in source.code() {
        let mut after_fn = words(code).skip_while(|word| *word != "fn");
        if let (Some(_), Some(name)) = (after_fn.next(), after_fn.next())
            && code.contains(&format!("fn {name}"))
        {
            open.push((found.len(), None));
            found.push(Function { name: name.to_owned(), line, lines: 0 });
        }
        for letter in code.chars() {
            match letter {
                '{' => {
                    if let Some((_, outside @ None)) = open.last_mut() {
                        *outside = Some(depth);
                    }
                    depth += 1;
                }
                '}' => {
                    depth -= 1;
                    if let Some((at, Some(outside))) = open.last().copied()
                        && outside == depth
                    {
                        found[at].lines = line - found[at].line + 1;
                        open.pop();
                    }
                }
                '[' => brackets += 1,
                ']' => brackets -= 1,
                // A declaration without a body; inside brackets, the length of an array.
                ';' if brackets == 0 && matches!(open.last(), Some((_, None))) => {
                    open.pop();
                }
                _ => {}
            }
        }
    }
    found
}

#[test]
fn functions_are_measured() {
    let text = "trait A {\n    fn a(&self, b: &[u8], c: [u8; 2]);\n    fn b() -> [u8; 2]\n    where\n\
                Self: Sized,\n    {\n        fn c() {}\n        [1, 2]\n    }\n}\nfn d(f: fn(u8)) {\n}\n";
    let found = functions(&Source::new(String::new(), text));
    let found: Vec<_> = found.iter().map(|function| (function.name.as_str(), function.lines)).collect();
    assert_eq!(found, [("a", 0), ("b", 7), ("c", 1), ("d", 2)]);
}
