//! Results as they are stored: one JSON line for each number.

use std::path::Path;

use anyhow::Context;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The part of the experiment it belongs to.
    pub figure: String,
    /// The line of the figure.
    pub row: String,
    /// The value of the independent variable.
    pub x: f64,
    /// The name of the measured quantity.
    pub metric: String,
    /// The measured value.
    pub value: f64,
    /// The interquartile range of repeated measurements.
    pub spread: Option<f64>,
    /// Of value and spread.
    pub unit: String,
}

/// A number and its origin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResultLine {
    /// The experiment.
    pub experiment: String,
    /// The number.
    #[serde(flatten)]
    pub point: Point,
    /// Whether it was simulated.
    pub simulated: bool,
    /// The commit of the program.
    pub commit: String,
    /// The options of the run.
    pub configuration: Value,
    /// The machine that it ran on.
    pub machine: String,
}

/// The numbers of one experiment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Points(pub Vec<Point>);

impl Points {
    /// Adds a number that was measured once.
    pub fn put(&mut self, figure: &str, row: &str, x: f64, metric: &str, value: f64, unit: &str) {
        let [figure, row, metric, unit] = [figure, row, metric, unit].map(str::to_owned);
        self.0.push(Point { figure, row, x, metric, value, spread: None, unit });
    }

    /// The number of this figure, row and metric.
    pub fn get(&self, figure: &str, row: &str, metric: &str) -> Option<&Point> {
        self.0.iter().find(|point| point.figure == figure && point.row == row && point.metric == metric)
    }

    /// The number of this figure, row and metric at this `x`.
    pub fn at(&self, figure: &str, row: &str, x: f64, metric: &str) -> Option<&Point> {
        let same = |it: &&Point| (&*it.figure, &*it.row, &*it.metric, it.x) == (figure, row, metric, x);
        self.0.iter().find(same)
    }

    /// The value of the first number of this figure, row and metric.
    pub fn value(&self, figure: &str, row: &str, metric: &str) -> Option<f64> {
        self.get(figure, row, metric).map(|point| point.value)
    }

    /// Whether a figure has any number.
    pub fn has(&self, figure: &str) -> bool {
        self.0.iter().any(|point| point.figure == figure)
    }
}

/// Reads the lines of a file.
///
/// # Errors
/// When it cannot be read, or a line is not a result.
pub fn read(path: &Path) -> anyhow::Result<Vec<ResultLine>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| {
            let why = || format!("line {} of {} is not a result", at + 1, path.display());
            serde_json::from_str(line).with_context(why)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_are_written() {
        let text = concat!(
            r#"{"experiment":"limits","figure":"f","row":"r","x":1.0,"metric":"m","value":2.5,"spread":null,"#,
            r#""unit":"u","simulated":false,"commit":"c","configuration":{"rounds":3},"machine":"big"}"#
        );
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("limits.json");
        std::fs::write(&path, format!("{text}\n\n")).unwrap();
        let lines = read(&path).unwrap();
        assert_eq!(serde_json::to_string(&lines[0]).unwrap(), text);
        assert_eq!(Points(vec![lines[0].point.clone()]).value("f", "r", "m"), Some(2.5));
        std::fs::write(&path, format!("{text}\n{{}}\n")).unwrap();
        let error = format!("{:#}", read(&path).unwrap_err());
        assert!(error.contains("line 2 of") && error.contains("not a result"), "{error}");
    }
}
