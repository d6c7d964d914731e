//! What was taken out of a stack is not in the program: a look at the symbols of programs that differ in their stack.

use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object, ObjectSymbol};

/// Of each component, what its symbols contain that no other's do: as a path, and as it is written in the name of an
/// implementation of a trait.
const COMPONENTS: [(&str, [&str; 2]); 8] = [
    ("keys by schema", ["schema_keys10SchemaKeys5order", "no other form"]),
    ("log on disk", ["8glassbox3log5flush", "glassbox..log..flush"]),
    ("log records", ["3wal6record9LogRecord6encode", "no other form"]),
    ("locks", ["7classic4lock", "classic..lock.."]),
    ("latches", ["7classic5latch10read_write", "classic..latch..read_write"]),
    ("lookup of stores", ["9directory4find4find", "no other form"]),
    ("buffer pool", ["6buffer4pool", "buffer..pool"]),
    ("pool of sessions", ["SessionPool", "SessionPool"]),
];

/// The examples stand beside the directory of the tests.
fn program(name: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap();
    own.parent().unwrap().parent().unwrap().join("examples").join(name)
}

fn components(program: &Path) -> Vec<&'static str> {
    let bytes = std::fs::read(program).unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    let file = object::File::parse(&*bytes).unwrap();
    let names: Vec<&str> = file.symbols().filter_map(|symbol| symbol.name().ok()).collect();
    assert!(names.len() > 1_000, "the program has its symbols");
    let is_there = |marks: &[&str; 2]| names.iter().any(|name| marks.iter().any(|mark| name.contains(mark)));
    COMPONENTS.iter().filter(|(_, marks)| is_there(marks)).map(|(component, _)| *component).collect()
}

#[test]
fn what_was_taken_out_is_gone() {
    let all: Vec<&str> = COMPONENTS.iter().map(|(component, _)| *component).collect();
    assert_eq!(components(&program("stack_full")), all, "the full stack has everything");
    assert_eq!(components(&program("stack_bare")), Vec::<&str>::new(), "the bare stack has nothing");
    let rest: Vec<&str> = all.into_iter().filter(|component| *component != "locks").collect();
    assert_eq!(components(&program("stack_without_locks")), rest, "locks come out alone");
}

#[test]
fn the_programs_do_the_same() {
    for name in ["stack_full", "stack_bare", "stack_without_locks"] {
        let directory = tempfile::tempdir().unwrap();
        let output = Command::new(program(name)).arg(directory.path()).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "1\n2\n3\n", "{name}: {output:?}");
    }
}
