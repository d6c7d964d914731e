//! Figures are well-formed SVG and show their data.

use super::*;

const RED: Colour = Colour(200, 30, 30);

/// The names of a drawing's elements, each opened ones closed again, and its texts.
fn read(svg: &str) -> (Vec<String>, Vec<String>) {
    let (mut names, mut texts, mut open) = (Vec::new(), Vec::new(), Vec::new());
    for piece in svg.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').expect("every element is closed");
        let name = tag.split([' ', '\n', '/']).find(|word| !word.is_empty()).expect("elements have names").to_owned();
        if tag.starts_with('/') {
            assert_eq!(open.pop().as_ref(), Some(&name), "elements are closed in order");
            continue;
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        if !tag.ends_with('/') {
            open.push(name.clone());
        }
        names.push(name);
        let text = text.trim().replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        texts.extend((!text.is_empty()).then_some(text));
    }
    assert!(open.is_empty(), "{open:?} are not closed");
    (names, texts)
}

fn count(names: &[String], name: &str) -> usize {
    names.iter().filter(|it| *it == name).count()
}

#[test]
fn stacked_bars_have_parts_shares_and_labels() {
    let bar = |label: &str, values: &[f64]| Bar { label: label.into(), values: values.into(), note: "sum".into() };
    let svg = stacked(&Stacked {
        unit: "instructions".into(),
        parts: vec![("low <&>".into(), RED), ("high".into(), Colour(0, 0, 90))],
        bars: vec![bar("paper", &[25.0, 75.0]), bar("here\nnow", &[50.0, -1.0])],
        shares: true,
    });
    let (names, texts) = read(&svg);
    // In each form the ground, three parts above zero, and two of the legend.
    assert_eq!(count(&names, "rect"), 2 * (1 + 3 + 2), "{svg}");
    for text in [
        "instructions",
        "low <&>",
        "high",
        "paper",
        "here",
        "now",
        "here now",
        "25.0 %",
        "75.0 %",
        "100.0 %",
        "sum",
        "20",
    ] {
        assert!(texts.iter().any(|it| it == text), "{text} is missing: {texts:?}");
    }
}

#[test]
fn a_waterfall_shows_the_difference_of_each_step() {
    let step =
        |label: &str, left| WaterfallStep { label: label.into(), left, colour: RED, note: format!("{left} left") };
    let steps = vec![step("all", 100.0), step("less", 60.0), step("more", 70.0)];
    let (names, texts) = read(&waterfall(&Waterfall { unit: "things".into(), steps }));
    assert_eq!(count(&names, "rect"), 2 * (1 + 3 + 1), "only one step reduced the rest");
    for text in ["all", "less", "more", "60 left", "things", "100"] {
        assert!(texts.iter().any(|it| it == text), "{text} is missing: {texts:?}");
    }
}

#[test]
fn bars_have_marks_of_their_scale() {
    let line = |label: &str, value, spread| BarRow {
        label: label.into(),
        value,
        spread,
        colour: RED,
        note: String::new(),
        begins: true,
    };
    let lines = vec![line("slow", 640.0, None), line("fast", 46_500.0, Some((40_000.0, 50_000.0)))];
    let figure = Bars { unit: "per second".into(), logarithmic: true, lines };
    let (names, texts) = read(&bars(&figure));
    assert_eq!(count(&names, "rect"), 2 * (1 + 2));
    for text in ["slow", "fast", "100", "1k", "10k", "100k", "per second"] {
        assert!(texts.iter().any(|it| it == text), "{text} is missing: {texts:?}");
    }
    let (_, texts) = read(&bars(&Bars { logarithmic: false, ..figure }));
    assert!(texts.iter().any(|it| it == "20k") && !texts.iter().any(|it| it == "100"), "{texts:?}");
}

#[test]
fn curves_have_their_names_at_their_ends_and_apart() {
    let curve = |name: &str, stroke, last| Curve {
        name: name.into(),
        colour: RED,
        stroke,
        points: vec![(0.0, 31_000.0), (50.0, 20_000.0), (100.0, last)],
    };
    let drawn = vec![
        curve("thin", Stroke::Thin, 9_000.0),
        curve("dashed", Stroke::Dashed, 9_010.0),
        curve("dotted", Stroke::Dotted, 9_020.0),
        curve("", Stroke::Dots, 9_030.0),
    ];
    let figure = Curves { unit: "per second".into(), x_unit: "%".into(), x_names: &[], curves: drawn };
    let svg = wide(&figure);
    let (names, texts) = read(&svg);
    assert_eq!(count(&names, "circle"), 2 * 3, "{svg}");
    for text in ["thin", "dashed", "dotted", "per second", "%", "100", "30k"] {
        assert!(texts.iter().any(|it| it == text), "{text} is missing: {texts:?}");
    }
    let height = |name: &str| {
        let element = svg.split("<text").find(|piece| piece.contains(name)).expect("it is there");
        let y = element.split(" y=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("it has a place");
        y.parse::<f64>().expect("a number")
    };
    let (_, below) = read(&narrow(&figure));
    assert!(
        ["thin", "dashed", "dotted", "per second"].iter().all(|text| below.iter().any(|it| it == text)),
        "{below:?}"
    );
    assert_eq!(curves(&figure).matches("<svg").count(), 2, "one for each width");
    assert!(height("thin") - height("dashed") >= 16.0 && height("dashed") - height("dotted") >= 16.0, "{svg}");
}

#[test]
fn empty_figures_can_be_drawn() {
    read(&stacked(&Stacked { unit: "x".into(), parts: Vec::new(), bars: Vec::new(), shares: true }));
    read(&waterfall(&Waterfall { unit: "x".into(), steps: Vec::new() }));
    read(&bars(&Bars { unit: "x".into(), logarithmic: true, lines: Vec::new() }));
    read(&wide(&Curves { unit: "x".into(), x_unit: "y".into(), x_names: &[], curves: Vec::new() }));
}
