//! The help of every command, compared with golden text.

use std::path::Path;

/// Commands that the help of the program hides.
const HIDDEN: [&str; 0] = [];

#[test]
fn help_of_every_command_is_golden() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program/help.txt");
    glassbox_testing::program::compare_help(env!("CARGO_BIN_EXE_glassbox-cluster"), &HIDDEN, &golden);
}
