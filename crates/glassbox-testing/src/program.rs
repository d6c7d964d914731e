//! Programs as their users run them: arguments, output, exit status, signals, help.
//!
//! The help of every command is compared with golden text. A command or an option that is lost, and a rename that
//! reaches prose, is a difference there. `GLASSBOX_BLESS=1` writes the golden text; read it before you commit it.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant, SystemTime};

/// The result of a run of the program.
pub struct Ran {
    pub status: Option<i32>,
    pub out: String,
    pub err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("the program writes UTF-8");
        Self { status: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

/// A program's file, not yet started.
pub fn command(file: impl AsRef<OsStr>, arguments: &[&str]) -> Command {
    let mut command = Command::new(file);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs a program to its end.
pub fn run(mut command: Command) -> Ran {
    command.output().expect("the program can be started").into()
}

/// Runs a program to its end, and asserts success.
pub fn run_well(command: Command) -> Ran {
    let words = format!("{command:?}");
    let ran = run(command);
    assert_eq!(ran.status, Some(0), "{words}\n{}\n{}", ran.out, ran.err);
    ran
}

/// Builds programs, each with its package, into the folder of the program under test, where it seeks its siblings. One
/// that is there and as new as its sources is not built again: tests of all packages build all programs, and a package
/// built alone has other features of its dependencies, which would be compiled again.
pub fn build_siblings(file: &str, programs: &[(&str, &str)]) {
    let folder = Path::new(file).parent().expect("a program is in a folder");
    let profile = if folder.ends_with("debug") { &[][..] } else { &["--release"] };
    let old = programs.iter().filter(|(_, program)| !is_current(&folder.join(program)));
    let packages: Vec<_> = old.flat_map(|(package, _)| ["-p", package]).collect();
    if packages.is_empty() {
        return;
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--locked", "--quiet"]).args(profile).args(packages);
    command.arg("--target-dir").arg(folder.parent().expect("the folder of a profile is in a target directory"));
    run_well(command);
}

/// Whether a program is as new as all sources of the product.
fn is_current(program: &Path) -> bool {
    fn newest(folder: &Path) -> std::io::Result<SystemTime> {
        let mut found = SystemTime::UNIX_EPOCH;
        for entry in folder.read_dir()? {
            let entry = entry?;
            let is_folder = entry.file_type()?.is_dir();
            found = found.max(if is_folder { newest(&entry.path())? } else { entry.metadata()?.modified()? });
        }
        Ok(found)
    }
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a crate is in a folder");
    let sources = crates.read_dir().expect("the crates can be listed");
    let folders = sources.map(|folder| folder.expect("the crates can be listed").path().join("src"));
    let mut changed = folders.filter(|folder| folder.exists()).map(|folder| newest(&folder).expect("readable sources"));
    let built = std::fs::metadata(program).and_then(|program| program.modified());
    built.is_ok_and(|built| changed.all(|changed| changed <= built))
}

/// Runs a program that counts instructions. Without valgrind only asserts that the program says how to install it,
/// unless `GLASSBOX_REQUIRE_VALGRIND` is set, as in CI, which has installed it.
pub fn run_counting(command: Command) -> Option<Ran> {
    if Command::new("valgrind").arg("--version").output().is_ok() {
        return Some(run_well(command));
    }
    assert!(std::env::var_os("GLASSBOX_REQUIRE_VALGRIND").is_none(), "valgrind is not installed, and has to be");
    let ran = run(command);
    assert_eq!(ran.status, Some(1));
    assert!(ran.err.contains("apt-get install valgrind"), "{}", ran.err);
    None
}

/// Whether a shell's command succeeds.
pub fn does(words: &str) -> bool {
    let mut command = Command::new("sh");
    command.args(["-c", words]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The output of a program once it succeeds and has each of these words so often.
pub fn once(words: &[(&str, usize)], program: impl Fn() -> Ran) -> String {
    let started = Instant::now();
    loop {
        let ran = program();
        if ran.status == Some(0) && words.iter().all(|(words, count)| ran.out.matches(words).count() == *count) {
            return ran.out;
        }
        assert!(started.elapsed() < Duration::from_secs(60), "{words:?}: {}{}", ran.out, ran.err);
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Interrupts a program as from a keyboard, and waits for its end.
pub fn interrupted(child: Child) -> Ran {
    assert!(does(&format!("kill -INT {}", child.id())));
    Ran::from(child.wait_with_output().unwrap())
}

pub fn text(path: &Path) -> &str {
    path.to_str().expect("temporary directories have plain names")
}

/// The subcommands that a help text lists.
fn subcommands(help: &str) -> Vec<&str> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // A description that takes several lines goes on further to the right. Siblings have golden text of their own.
    let is_own = |line: &&str| line.starts_with("  ") && !line.starts_with("   ") && !line.contains("(starts `");
    let first = listed.filter(is_own);
    first.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect()
}

/// Appends the help of a command and of the commands below it.
fn append(all: &mut String, program: &Path, words: &[&str]) {
    let arguments = [words, &["--help"]].concat();
    let help = run_well(command(program, &arguments)).out;
    let name = program.file_name().expect("a program has a name").display();
    writeln!(all, "$ {name} {}\n{help}", arguments.join(" ")).expect("a string takes text");
    for name in subcommands(&help) {
        append(all, program, &[words, &[name]].concat());
    }
}

/// Compares the help of a program with golden text; `hidden` are the commands that no help lists.
///
/// # Panics
/// With the first line that differs.
pub fn compare_help(program: &str, hidden: &[&str], golden: &Path) {
    let program = Path::new(program);
    let mut all = String::new();
    append(&mut all, program, &[]);
    hidden.iter().for_each(|name| append(&mut all, program, &[name]));
    if std::env::var_os("GLASSBOX_BLESS").is_some() {
        std::fs::write(golden, &all).expect("the golden text can be written");
    }
    let expected = std::fs::read_to_string(golden).unwrap_or_default();
    for (at, (here, expected)) in all.lines().zip(expected.lines()).enumerate() {
        let line = at + 1;
        assert_eq!(here, expected, "line {line} of {}; after a look, write it with GLASSBOX_BLESS=1", golden.display());
    }
    assert_eq!(all.lines().count(), expected.lines().count(), "lines of {}", golden.display());
}
