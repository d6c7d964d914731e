//! `glassbox-lab charm`: what it refuses. `.ci/run` runs it.

use crate::common::run;

#[test]
fn a_part_is_named() {
    let ran = run(&["charm", "--part", "there"]);
    assert_eq!(ran.status, Some(2));
    assert!(ran.err.contains("paper, here"), "{}", ran.err);
}
