//! `docs/papers/README.md` and the programs belong together.

use glassbox_program::sibling;
use glassbox_testing::program::{command, run, run_counting, run_well};

use crate::common::program;
use crate::low_overhead;

const PAGE: &str = include_str!("../../../../docs/papers/README.md");

const VERDICTS: [&str; 6] = ["built", "partly: ", "reproduced", "not reproduced", "by construction", "see the page"];

/// The cells of the rows of the tables before or after a heading, without headers.
fn rows(part: &str) -> Vec<Vec<&str>> {
    let headers = ["| mechanism", "| experiment", "| command"];
    let is_row = |line: &&str| line.starts_with("| ") && !headers.iter().any(|header| line.starts_with(header));
    part.lines().filter(is_row).map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

/// The command between its marks.
fn unmarked(cell: &str) -> Option<&str> {
    cell.strip_prefix('`')?.strip_suffix('`')
}

/// The words of a command, as a shell divides it.
fn words(line: &str) -> Vec<&str> {
    let quoted = |(place, part)| -> Vec<&str> {
        if place % 2 == 1 { vec![part] } else { str::split_whitespace(part).collect() }
    };
    line.split('"').enumerate().flat_map(quoted).collect()
}

/// The arguments that make a command shorter: those of the first row that fits.
fn shortening<'p>(shorter: &[Vec<&'p str>], line: &str) -> Vec<&'p str> {
    let fits = |form: &str| {
        let (begin, end) = form.split_once('…').unwrap_or((form, ""));
        let rest = line.strip_prefix(begin);
        // A form without `…` is the whole command.
        rest.is_some_and(|rest| if form.contains('…') { rest.ends_with(end.trim()) } else { rest.is_empty() })
    };
    let row = shorter.iter().find(|row| fits(unmarked(row[0]).expect("a form is marked")));
    row.and_then(|row| unmarked(row[1])).map(words).unwrap_or_default()
}

/// A program next to the laboratory's, not yet started.
fn of(name: &str, arguments: &[&str]) -> std::process::Command {
    let file = std::path::PathBuf::from(program(&[]).get_program()).with_file_name(name);
    command(file, arguments)
}

#[test]
fn every_command_of_the_page_runs_in_its_order() {
    let (page, shorter) = PAGE.split_once("## Shorter forms").expect("the page says how commands are made shorter");
    let shorter = rows(shorter);
    let rows = rows(page);
    assert!(rows.len() > 90 && shorter.len() > 10, "{}, {}", rows.len(), shorter.len());
    let mut asked: Vec<&str> = Vec::new();
    for row in &rows {
        let [what, command, verdict] = row[..] else { panic!("not three cells: {row:?}") };
        assert!(VERDICTS.iter().any(|it| verdict.starts_with(it)), "{what}: {verdict}");
        let command = unmarked(command).unwrap_or_else(|| panic!("{what}"));
        if !asked.contains(&command) {
            asked.push(command);
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let run_line = |line: &str| {
        let (name, arguments) = line.split_once(' ').unwrap_or_else(|| panic!("{line} has no arguments"));
        assert!([sibling::GLASSBOX, sibling::CLUSTER, sibling::LAB].contains(&name), "{line}");
        let mut started = of(name, &[words(arguments), shortening(&shorter, line)].concat());
        started.current_dir(dir.path());
        if line.contains("instructions") || line == "glassbox-lab limits" {
            run_counting(started);
        } else {
            let ran = run_well(started);
            if line == "glassbox-lab low-overhead --only simulated" {
                low_overhead::all_claims_are_explained_and_all_figures_drawn(&ran, &dir.path().join("lab-results"));
            }
        }
    };
    // Those of Charm wait for slow disks most of the time.
    let (of_charm, others): (Vec<_>, Vec<_>) = asked.into_iter().partition(|line| line.contains("charm"));
    std::thread::scope(|scope| {
        scope.spawn(|| of_charm.iter().for_each(|line| run_line(line)));
        others.iter().for_each(|line| run_line(line));
    });
    assert_eq!(run(program(&["stack", "naked"])).status, Some(2), "a wrong argument is noticed");
    let mut report = of(sibling::LAB, &["report"]);
    report.current_dir(dir.path());
    run_well(report);
    let report = std::fs::read_to_string(dir.path().join("lab-results/report.html")).unwrap();
    for paper in ["Looking Glass", "Low overhead", "Charm", "Determin"] {
        assert!(report.contains(paper), "{paper} is missing");
    }
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
