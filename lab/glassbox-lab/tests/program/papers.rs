//! `docs/papers/README.md` and the programs belong together.

use glassbox_program::sibling;
use glassbox_testing::program::{command, run, run_well};

use crate::common::program;

const PAGE: &str = include_str!("../../../../docs/papers/README.md");

const VERDICTS: [&str; 6] = ["built", "partly: ", "reproduced", "not reproduced", "by construction", "see the page"];

/// The cells of the rows of all tables, without their headers.
fn rows() -> Vec<Vec<&'static str>> {
    let is_row =
        |line: &&str| line.starts_with("| ") && !line.starts_with("| mechanism") && !line.starts_with("| experiment");
    PAGE.lines().filter(is_row).map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

/// A program next to the laboratory's, not yet started.
fn of(name: &str, arguments: &[&str]) -> std::process::Command {
    let file = std::path::PathBuf::from(program(&[]).get_program()).with_file_name(name);
    command(file, arguments)
}

#[test]
fn every_mechanism_and_experiment_has_a_command_and_a_verdict() {
    let rows = rows();
    assert!(rows.len() > 90, "{}", rows.len());
    let mut asked: Vec<&str> = Vec::new();
    for row in &rows {
        let [what, command, verdict] = row[..] else { panic!("not three cells: {row:?}") };
        assert!(VERDICTS.iter().any(|it| verdict.starts_with(it)), "{what}: {verdict}");
        let command = command.strip_prefix('`').and_then(|it| it.strip_suffix('`')).unwrap_or_else(|| panic!("{what}"));
        if !asked.contains(&command) {
            asked.push(command);
        }
    }
    for line in asked {
        let (name, arguments) = line.split_once(' ').unwrap_or_else(|| panic!("{line} has no arguments"));
        assert!([sibling::GLASSBOX, sibling::CLUSTER, sibling::LAB].contains(&name), "{line}");
        let words: Vec<_> = arguments.split(' ').chain(["--help"]).collect();
        // All before is read first; an option that does not exist, or has another value, is an error.
        assert!(run_well(of(name, &words)).out.contains(&format!("Usage: {name}")), "{line}");
    }
    assert_eq!(run(program(&["stack", "naked", "--help"])).status, Some(2), "a wrong argument is noticed");
}

#[test]
fn every_stack_and_scheme_of_the_page_exists_and_every_figure_is_on_it() {
    for figure in [
        "Table 1",
        "Figure 3",
        "Figure 4",
        "Figures 1 and 6",
        "Figure 5",
        "Figure 7",
        "Figure 8",
        "Figure 9",
        "Figure 10",
        "Table 2",
        "Section 4.3.1",
        "Section 5.5",
        "Charm, Figure 2a",
        "Charm, Figure 3",
        "Charm, Figures 4 and 5",
        "Charm, Table 1",
        "Charm, Table 6",
        "Charm, Table 7",
        "Charm, Table 8",
        "Determinism, Figure 1",
        "Determinism, Figure 2",
        "Determinism, Figure 3",
        "Determinism, Figure 4",
        "Determinism, Figure 5",
        "Determinism, Figure 6",
        "Determinism, Figure 7",
        "Determinism, Figure 8",
        "Determinism, Table 1",
    ] {
        assert!(PAGE.contains(&format!("| {figure}")), "{figure}");
    }
    let help = run_well(of(sibling::CLUSTER, &["--help"])).out;
    for scheme in ["blocking", "speculation", "limited-speculation", "local-speculation", "locking", "occ", "auto"] {
        let used = PAGE.contains(&format!("--scheme {scheme} "));
        assert!(used && help.contains(&format!("- {scheme}:")), "{scheme}");
    }
}
