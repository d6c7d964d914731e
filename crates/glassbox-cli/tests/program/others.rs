//! Commands of the sibling programs: found and started, or named with the line to type.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use glassbox_testing::program::{Ran, command, run, run_well};

/// A folder with this program, and scripts in the places of its siblings, which print their arguments.
fn installed(siblings: &[&str]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::hard_link(env!("CARGO_BIN_EXE_glassbox"), dir.path().join("glassbox"))
        .or_else(|_| std::fs::copy(env!("CARGO_BIN_EXE_glassbox"), dir.path().join("glassbox")).map(drop))
        .unwrap();
    for name in siblings {
        let file = dir.path().join(name);
        std::fs::write(
            &file,
            "#!/bin/sh\nfor word in \"$(basename $0)\" \"$@\"; do printf '<%s>' \"$word\"; done\nexit 7\n",
        )
        .unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    dir
}

fn glassbox(dir: &Path, arguments: &[&str]) -> Ran {
    run(command(dir.join("glassbox"), arguments))
}

#[test]
fn commands_of_siblings_are_passed_on_as_they_are() {
    let dir = installed(&["glassbox-cluster", "glassbox-lab"]);
    for (arguments, passed) in [
        (&["lab", "limits", "--quick", "--help"][..], "<glassbox-lab><limits><--quick><--help>"),
        (&["lab", "--version"], "<glassbox-lab><--version>"),
        (&["explain", "scheme", "--several", "40"], "<glassbox-lab><explain><scheme><--several><40>"),
        (&["cluster", "-p", "2", "tpcc", "-s", "a b"], "<glassbox-cluster><-p><2><tpcc><-s><a b>"),
        (&["node", "--listen", "x"], "<glassbox-cluster><node><--listen><x>"),
        (
            &["tpcc", "--stack", "bare", "--warehouses", "3", "--seconds", "2", "--small"],
            "<glassbox-lab><stack><bare><--mix=looking-glass><--seconds=2><--durability=sync><--seed=1>\
             <--warehouses=3><--small>",
        ),
    ] {
        let ran = glassbox(dir.path(), arguments);
        assert_eq!((ran.out.as_str(), ran.status), (passed, Some(7)), "{}", ran.err);
    }
}

#[test]
fn a_missing_sibling_is_named_with_the_line_to_type() {
    let dir = installed(&[]);
    for (command, line) in [
        ("lab", "cargo build --profile lab -p glassbox-lab"),
        ("explain", "cargo build --profile lab -p glassbox-lab"),
        ("cluster", "cargo build --release -p glassbox-cluster-cli"),
        ("node", "cargo build --release -p glassbox-cluster-cli"),
    ] {
        let ran = glassbox(dir.path(), &[command, "--help"]);
        assert_eq!(ran.status, Some(1));
        assert!(ran.err.contains("is missing: it is not next to") && ran.err.contains(line), "{}", ran.err);
    }
}

/// The README's first line compiles the product alone.
#[test]
fn the_program_depends_on_no_laboratory_and_no_cluster() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let tree = run_well(command(
        cargo,
        &["tree", "--locked", "--offline", "-e", "normal", "-p", "glassbox-cli", "--prefix", "none"],
    ));
    let names: Vec<_> = tree.out.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(names.contains(&"glassbox-workloads"), "{}", tree.out);
    for name in [
        "glassbox-lab",
        "glassbox-ladder",
        "glassbox-ladder-variants",
        "glassbox-kernels",
        "glassbox-sim",
        "glassbox-testing",
        "glassbox-cluster",
        "glassbox-consensus",
        "plotters",
        "askama",
        "object",
        "openraft",
    ] {
        assert!(!names.contains(&name), "`glassbox` depends on `{name}`");
    }
}
