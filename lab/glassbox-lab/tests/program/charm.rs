//! `glassbox-lab charm`: what it refuses. The test of the papers' page runs it.

use crate::common::run;

#[test]
fn a_part_is_named() {
    let ran = run(&["charm", "--part", "there"]);
    assert_eq!(ran.status, Some(2));
    assert!(ran.err.contains("paper, here"), "{}", ran.err);
}

#[test]
fn cells_of_the_grid_are_named() {
    let ran = run(&["charm", "--cells", "1 ms"]);
    assert!(ran.status == Some(2) && ran.err.contains("--grid"), "{}", ran.err);
    let dir = tempfile::tempdir().unwrap();
    let results = dir.path().display().to_string();
    let ran = run(&["charm", "--grid", "--cells", "page locks, 2 ms", "--results", &results]);
    assert_eq!(ran.status, Some(1));
    assert!(ran.err.contains("no cell of the grid is named `2 ms`: use some of 1 ms, "), "{}", ran.err);
}
