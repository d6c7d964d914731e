//! A page contains its data, and refers to nothing outside.

use serde_json::json;

use super::page::{page, sections};
use crate::points::{Point, ResultLine};
use crate::{calibrate, determinism, in_process, real};

fn line(experiment: &str, row: &str, value: f64) -> ResultLine {
    let text = |text: &str| text.to_owned();
    let (figure, metric, unit) = (text("rates"), text("per_second"), text("1/s"));
    let point = Point { figure, row: text(row), x: 0.0, metric, value, spread: Some(2.0), unit };
    let configuration = json!({"rounds": 3, "scale": {"warehouses": 5}});
    let (experiment, commit, machine) = (text(experiment), text("abc"), text("a machine"));
    ResultLine { experiment, point, simulated: false, commit, configuration, machine }
}

#[test]
fn a_page_is_self_contained_and_holds_its_numbers() {
    let lines = [line("limits", "a </script><b>", 12.0), line("limits", "other", 34.0), line("more", "x", 1.0)];
    let page = page("Lab", &lines).unwrap();
    assert!(!page.contains("http-equiv") && !page.contains("src=") && !page.contains("<link"), "{page}");
    assert!(page.matches("</script>").count() == 1, "data does not end its element");
    assert!(page.contains("a &lt;/script&gt;") || page.contains("a &#60;/script&#62;"), "names are escaped");
    for text in ["Limits", "More", "a machine", "abc", "warehouses 5", "Rates: per second", "34.0", "<svg"] {
        assert!(page.contains(text), "{text} is missing in {page}");
    }
    let data = page.split("application/x-ndjson").nth(1).unwrap().split_once('>').unwrap().1;
    let data = data.split("</script>").next().unwrap().trim();
    let read: Vec<ResultLine> = data.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(read, lines);
}

#[test]
fn each_run_has_its_own_section() {
    let mut lines = vec![line("limits", "a", 1.0), line("limits", "b", 2.0), line("limits", "a", 3.0)];
    lines[2].commit = "later".to_owned();
    assert_eq!(sections(&lines).len(), 2);
    lines[0].simulated = true;
    assert!(sections(&lines)[0].title.ends_with("(simulated)"));
}

#[test]
fn a_section_with_a_question_explains_its_terms() {
    let supplements = [
        calibrate::EXPERIMENT,
        determinism::here::EXPERIMENT,
        determinism::constants::EXPERIMENT,
        determinism::validate::EXPERIMENT,
        in_process::EXPERIMENT,
        real::EXPERIMENT,
        real::PREDICTED,
    ];
    let papers = ["looking-glass", "low-overhead", "charm", "determinism", "scaling", "limits"];
    for experiment in papers.into_iter().chain(supplements) {
        let sections = sections(&[line(experiment, "x", 1.0)]);
        assert!(!sections[0].question.is_empty() && !sections[0].terms.is_empty(), "{experiment}");
        let page = page("Lab", &[line(experiment, "x", 1.0)]).unwrap();
        assert!(page.contains(&format!("<dt>{}</dt>", sections[0].terms[0].0)), "{experiment}");
    }
}

#[test]
fn the_least_and_the_most_of_the_rounds_have_titles() {
    let title = |metric: &str| {
        let mut lines = [line("other", "a", 1.0), line("other", "b", 2.0)];
        lines.iter_mut().for_each(|line| line.point.metric = metric.to_owned());
        sections(&lines)[0].figures[0].title.clone()
    };
    let titles = ["rates", "rates_least", "of_best_most"].map(title);
    assert_eq!(titles, ["Rates", "Rates, the least of the rounds", "Rates: of best, the most of the rounds"]);
}

#[test]
fn the_front_shows_the_figure_with_the_answer() {
    let of = |figure: &str, x: f64| {
        let mut line = line("determinism", "deterministic, hash, CI 0.0001", 5.0 + x);
        (line.point.figure, line.point.x, line.point.metric) = (figure.to_owned(), x, "throughput".to_owned());
        line
    };
    let mut lines: Vec<_> = [0.0, 5.0].into_iter().flat_map(|x| [of("Figure 1a", x), of("Figure 1b", x)]).collect();
    lines.push(line("limits", "x", 1.0));
    let page = page("Lab", &lines).unwrap();
    let front = page.split("<section").next().unwrap();
    assert!(front.contains("<h4>Figure 1b.") && !front.contains("<h4>Figure 1a."), "{front}");
}
