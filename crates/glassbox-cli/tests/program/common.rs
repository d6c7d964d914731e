//! Running the program.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

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

/// The program, not yet started.
pub fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_glassbox"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs it to its end.
pub fn run(arguments: &[&str]) -> Ran {
    program(arguments).output().expect("the program can be started").into()
}

/// Runs it to its end, and asserts success.
pub fn run_well(arguments: &[&str]) -> Ran {
    let ran = run(arguments);
    assert_eq!(ran.status, Some(0), "{arguments:?}\n{}\n{}", ran.out, ran.err);
    ran
}

/// The same of a program that counts instructions. Without valgrind it only asserts that the program says how to
/// install it, unless `GLASSBOX_REQUIRE_VALGRIND` is set, as in CI, which has installed it.
pub fn run_counting(arguments: &[&str]) -> Option<Ran> {
    if Command::new("valgrind").arg("--version").output().is_ok() {
        return Some(run_well(arguments));
    }
    assert!(std::env::var_os("GLASSBOX_REQUIRE_VALGRIND").is_none(), "valgrind is not installed, and has to be");
    let ran = run(arguments);
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
