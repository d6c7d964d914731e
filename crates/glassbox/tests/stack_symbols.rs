//! Components left out of a stack leave no symbols in the program: a comparison of programs that differ in their stack.

use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object, ObjectSymbol};

/// Of each component, where its code is. A symbol is the component's when the first of its names lies there: one that
/// stands for something of another component *with* this one has its name further behind.
const COMPONENTS: [(&str, &[&str]); 9] = [
    ("keys by schema", &["glassbox::classic::tree::schema_keys::SchemaKeys as"]),
    ("log on disk", &["glassbox::log::flush::", "glassbox::log::writer::", "glassbox::log::ring::"]),
    ("log records", &["glassbox::classic::wal::record::LogRecord::encode"]),
    ("locks", &["glassbox::classic::lock::manager::", "glassbox::classic::lock::table::"]),
    ("latches", &["glassbox::classic::latch::read_write::"]),
    ("lookup of stores", &["glassbox::classic::directory::find::find"]),
    ("buffer pool", &["glassbox::classic::buffer::pool::", "glassbox::classic::buffer::clean::"]),
    ("pages", &["glassbox::classic::page::", "glassbox::classic::heap::", "glassbox::classic::tree::"]),
    ("pool of sessions", &["glassbox::classic::engine::sessions::SessionPool"]),
];

/// The examples stand beside the directory of the tests.
fn program(name: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap();
    own.parent().unwrap().parent().unwrap().join("examples").join(name)
}

fn components(program: &Path) -> Vec<&'static str> {
    let bytes = std::fs::read(program);
    let missing = |error| panic!("{}: {error}; `cargo build -p glassbox --examples` makes it", program.display());
    let bytes = bytes.unwrap_or_else(missing);
    let file = object::File::parse(&*bytes).unwrap();
    let names =
        file.symbols().filter_map(|symbol| Some(format!("{:#}", rustc_demangle::demangle(symbol.name().ok()?))));
    let names: Vec<String> = names.collect();
    assert!(names.len() > 1_000, "the program has its symbols");
    let is_of = |name: &str, mark: &str| name.trim_start_matches(['<', '&']).starts_with(mark);
    let is_there = |marks: &[&str]| names.iter().any(|name| marks.iter().any(|mark| is_of(name, mark)));
    COMPONENTS.iter().filter(|(_, marks)| is_there(marks)).map(|(component, _)| *component).collect()
}

#[test]
fn what_was_taken_out_is_gone() {
    let all: Vec<&str> = COMPONENTS.iter().map(|(component, _)| *component).collect();
    assert_eq!(components(&program("stack_full")), all, "the full stack has everything");
    assert_eq!(components(&program("stack_bare")), Vec::<&str>::new(), "the bare stack has nothing");
    let left = ["pages", "pool of sessions"];
    assert_eq!(components(&program("stack_no_pool")), left, "the last stack with pages has little else");
    let rest: Vec<&str> = all.into_iter().filter(|component| *component != "locks").collect();
    assert_eq!(components(&program("stack_without_locks")), rest, "locks come out alone");
}

#[test]
fn the_programs_do_the_same() {
    for name in ["stack_full", "stack_bare", "stack_no_pool", "stack_without_locks"] {
        let directory = tempfile::tempdir().unwrap();
        let output = Command::new(program(name)).arg(directory.path()).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "1\n2\n3\n", "{name}: {output:?}");
    }
}
