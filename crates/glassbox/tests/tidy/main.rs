//! The house's rules as a test: which way the arrows point, how files and functions are kept small, where `unsafe` may
//! be.
//!
//! Every problem is one line that names the file, the line and what to do. A rule's exceptions stand beside the rule,
//! each with its reason. The scanner knows only as much Rust as it needs: comments, strings, braces and words.

mod arrows;
mod budgets;
mod circles;
mod commits;
mod documents;
mod habits;
mod names;
mod ratchet;
mod root_names;
mod source;
mod style;
mod unsafety;
mod walks;
mod words;

use source::Source;

/// Problems found, each with its place and its remedy.
#[derive(Default)]
struct Problems(Vec<String>);

impl Problems {
    fn add(&mut self, source: &Source, line: usize, what: impl AsRef<str>) {
        self.0.push(format!("{}:{line}: {}", source.path, what.as_ref()));
    }

    fn check(self) {
        assert!(self.0.is_empty(), "{} to tidy up:\n{}", self.0.len(), self.0.join("\n"));
    }
}

/// Applies a rule to every file.
fn everywhere(rule: impl Fn(&Source, &mut Problems)) {
    let mut problems = Problems::default();
    for source in source::all() {
        rule(&source, &mut problems);
    }
    problems.check();
}

#[test]
fn modules_point_one_way() {
    everywhere(arrows::modules);
}

#[test]
fn crates_point_one_way() {
    let mut problems = Problems::default();
    arrows::crates(&mut problems);
    problems.check();
}

#[test]
fn parts_do_not_know_what_they_must_not() {
    everywhere(arrows::unknown_words);
}

#[test]
fn only_io_touches_the_operating_system() {
    everywhere(arrows::operating_system);
}

#[test]
fn guards_guard_something() {
    let mut problems = Problems::default();
    for path in arrows::paths().chain(circles::ROOMS).chain(words::EXEMPT) {
        if !source::root().join(path).exists() {
            problems.0.push(format!("{path}:1: a rule names this path, which does not exist: correct the rule"));
        }
    }
    problems.check();
}

#[test]
fn files_say_what_they_are() {
    everywhere(style::opening);
}

#[test]
fn lines_are_short() {
    everywhere(style::lines);
}

#[test]
fn nothing_is_left_unfinished() {
    everywhere(style::banned);
}

#[test]
fn files_and_functions_are_small() {
    everywhere(budgets::sizes);
}

#[test]
fn exceptions_are_needed() {
    let mut problems = Problems::default();
    budgets::exceptions(&mut problems);
    unsafety::exceptions(&mut problems);
    problems.check();
}

#[test]
fn unsafe_code_is_where_it_belongs_and_says_why() {
    everywhere(unsafety::placed_and_argued);
}

#[test]
fn modules_stand_in_no_circle() {
    let sources = source::all();
    let mut found = Vec::new();
    for room in circles::ROOMS {
        for circle in circles::of(room, &sources) {
            let text = format!("uses itself over a circle of {} files: {}", circle.len(), circle.join(", "));
            found.extend(circle.iter().map(|path| (path.clone(), 1, text.clone())));
        }
    }
    ratchet::check("circle", &found);
}

#[test]
fn a_type_name_has_one_meaning_in_a_crate() {
    ratchet::check("name", &names::meanings(&source::all()));
}

#[test]
fn methods_of_a_type_stand_in_few_files() {
    ratchet::check("impl", &names::scattered(&source::all()));
}

#[test]
fn files_are_not_tiny() {
    ratchet::check("tiny", &budgets::tiny(&source::all()));
}

#[test]
fn prose_is_in_the_words_of_the_field() {
    let found = words::all(&source::all());
    let found: Vec<_> = found
        .into_iter()
        .map(|it| (it.path, it.line, format!("`{}`: see the table of words in CONTRIBUTING.md", it.word)))
        .collect();
    ratchet::check("word", &found);
}

#[test]
fn comments_are_in_precise_words() {
    ratchet::check("vague", &found_by(habits::vague_words));
}

#[test]
fn comments_begin_with_their_subject() {
    ratchet::check("headless", &found_by(habits::headless_comments));
}

#[test]
fn a_line_has_one_binding() {
    ratchet::check("tuple", &found_by(habits::tuple_lets));
}

#[test]
fn limits_are_maxima_and_minima() {
    ratchet::check("limit", &found_by(habits::names_of_limits));
}

#[test]
fn names_of_tests_begin_with_a_thing() {
    ratchet::check("pronoun", &found_by(habits::names_of_tests));
}

#[test]
fn unsafe_lines_become_fewer() {
    ratchet::check("unsafe", &found_by(habits::unsafe_lines));
}

#[test]
fn modules_follow_one_convention() {
    ratchet::check("module", &habits::two_conventions(&source::all()));
}

#[test]
fn commits_have_the_form() {
    let problems = commits::problems();
    assert!(problems.is_empty(), "{} to reword (CONTRIBUTING.md, Commits):\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn documents_name_what_exists() {
    let problems = documents::problems();
    assert!(problems.is_empty(), "{} to correct:\n{}", problems.len(), problems.join("\n"));
}

/// The places that a rule finds in all files but those of this test, which name what they look for.
fn found_by(rule: impl Fn(&Source) -> Vec<(String, usize, String)>) -> Vec<(String, usize, String)> {
    let sources = source::all();
    let checked = sources.iter().filter(|source| !source.path.starts_with("crates/glassbox/tests/tidy/"));
    checked.flat_map(rule).collect()
}
