//! Help, invalid arguments, and unusable directories.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

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

/// Files below a directory, with their contents.
fn contents(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let (mut files, mut folders) = (Vec::new(), vec![dir.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry)
            } else {
                files.push((entry.clone(), std::fs::read(&entry).unwrap()))
            }
        }
    }
    files.sort();
    files
}

/// Case 22: only files of a database are removed, in its folders too; anything else is named, and all stays.
#[test]
fn fresh_removes_nothing_but_a_database() {
    let dir = tempfile::tempdir().unwrap();
    let fresh = ["tpcc", "--small", "--warehouses", "1", "--seconds", "0.1", "--no-reopen", "--fresh", "--dir"];
    let fresh = |at: &Path| run(&[&fresh[..], &[text(at)]].concat());
    let without_database = [
        ("thesis.tex", "holds `thesis.tex`"),
        ("log/app.log", "holds `log/app.log`"),
        ("pages/index.html", "holds `pages`"),
        ("log/0000000000000000.log", "no manifest"),
        ("manifest", "no manifest"),
        ("checkpoint/notes.checkpoint", "holds `checkpoint/notes.checkpoint`"),
    ];
    for (at, (file, words)) in without_database.into_iter().enumerate() {
        let app = dir.path().join(at.to_string());
        std::fs::create_dir_all(app.join(file).parent().unwrap()).unwrap();
        std::fs::write(app.join(file), "precious").unwrap();
        let before = contents(&app);
        let ran = fresh(&app);
        assert_eq!(ran.status, Some(1), "{file}");
        assert!(ran.err.contains(words) && ran.err.contains("--fresh does not remove it"), "{}", ran.err);
        assert_eq!(contents(&app), before, "{file}");
    }
    let db = dir.path().join("db");
    run_well(&["tpcc", "--small", "--warehouses", "1", "--seconds", "0.1", "--no-reopen", "--dir", text(&db)]);
    std::fs::write(db.join("log/app.log"), "precious").unwrap();
    let before = contents(&db);
    let ran = fresh(&db);
    assert!(ran.status == Some(1) && ran.err.contains("holds `log/app.log`"), "{}", ran.err);
    assert_eq!(contents(&db), before);
    std::fs::remove_file(db.join("log/app.log")).unwrap();
    let ran = fresh(&db);
    assert!(ran.status == Some(0) && ran.err.contains("loaded 1 warehouse"), "{}", ran.err);
}

/// Case 22, of the same kind: results are not written over another file.
#[test]
fn results_replace_results_only() {
    let dir = tempfile::tempdir().unwrap();
    let (db, notes, results) = (dir.path().join("db"), dir.path().join("notes"), dir.path().join("results"));
    std::fs::write(&notes, "precious").unwrap();
    let tpcc =
        ["tpcc", "--small", "--warehouses", "1", "--seconds", "0.1", "--no-reopen", "--dir", text(&db), "--json"];
    let ran = run(&[&tpcc[..], &[text(&notes)]].concat());
    assert!(ran.status == Some(1) && ran.err.contains("choose another file, or remove this one"), "{}", ran.err);
    assert_eq!(std::fs::read(&notes).unwrap(), b"precious");
    for to in [&results, &results, Path::new("/dev/null")] {
        run_well(&[&tpcc[..], &[text(to)]].concat());
    }
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
