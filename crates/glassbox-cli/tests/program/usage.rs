//! Help, invalid arguments, and unusable directories.

use std::os::unix::fs::PermissionsExt;

use crate::common::{program, run, run_well, text};

#[test]
fn help_names_every_command() {
    let ran = run_well(&["--help"]);
    for command in ["tpcc", "info", "verify", "dump", "torture"] {
        assert!(ran.out.contains(command), "{}", ran.out);
        assert!(run_well(&[command, "--help"]).out.contains("Usage: glassbox"));
    }
    assert!(!ran.out.contains("torture-child"));
}

#[test]
fn wrong_arguments_get_a_suggestion() {
    for (arguments, suggestion) in [
        (&["tpcc", "--warehoses", "2"][..], "--warehouses"),
        (&["tpc"], "tpcc"),
        (&["tpcc", "--mix", "ful"], "full"),
        (&["tpcc", "--partitions", "65"], "64"),
        (&["tpcc", "--seconds", "soon"], "such as 10"),
        (&["tpcc", "--seconds", "-1"], "from 0.1 to 86400, such as 10"),
        (&["tpcc", "--remote", "101"], "0 to 100"),
        (&["tpcc", "--remote", "-1"], "0 to 100"),
        (&["dump", "x", "y", "--format", "jsn"], "json"),
    ] {
        let ran = run(arguments);
        assert_eq!(ran.status, Some(2), "{arguments:?}");
        assert!(ran.err.contains(suggestion), "{}", ran.err);
    }
}

#[test]
fn a_directory_without_a_database_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let absent = dir.path().join("absent");
    for arguments in [&["info", text(&absent)][..], &["verify", text(&absent)], &["dump", text(&absent), "t"]] {
        let ran = run(arguments);
        assert_eq!((ran.status, ran.out.as_str()), (Some(1), ""));
        assert!(ran.err.contains("absent: No such file"), "{}", ran.err);
        assert_eq!(ran.err.matches("No such file").count(), 1, "{}", ran.err);
    }
    assert!(!absent.exists());
    let ran = run(&["info", text(dir.path())]);
    assert!(ran.err.contains("it is not a Glassbox database"), "{}", ran.err);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "no file is left");
}

#[test]
fn fresh_removes_nothing_but_a_database() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("thesis.tex"), "precious").unwrap();
    let ran = run(&["tpcc", "--small", "--fresh", "--dir", text(dir.path())]);
    assert_eq!(ran.status, Some(1));
    assert!(ran.err.contains("thesis.tex") && ran.err.contains("--fresh does not remove it"), "{}", ran.err);
    assert!(dir.path().join("thesis.tex").exists());
}

#[test]
fn a_directory_that_may_not_be_written_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o500)).unwrap();
    let database = dir.path().join("db");
    // A user with all permissions can write there.
    if std::fs::create_dir(&database).is_ok() {
        return;
    }
    let ran = run(&["tpcc", "--small", "--dir", text(&database)]);
    assert_eq!(ran.status, Some(1));
    assert!(ran.err.contains("cannot create directory") && ran.err.contains("Permission denied"), "{}", ran.err);
}

#[test]
fn a_file_is_no_directory() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for arguments in [&["info", text(file.path())][..], &["tpcc", "--small", "--dir", text(file.path())]] {
        let ran = run(arguments);
        assert_eq!(ran.status, Some(1));
        let words = format!("cannot open directory {}: Not a directory", text(file.path()));
        assert!(ran.err.contains(&words), "{}", ran.err);
    }
}

#[test]
fn a_reader_that_closes_its_end_is_no_error() {
    let dir = tempfile::tempdir().unwrap();
    let database = dir.path().join("db");
    run_well(&["tpcc", "--small", "--seconds", "0.1", "--no-reopen", "--dir", text(&database)]);
    let mut child = program(&["dump", text(&database), "stock_info"]).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
}
