//! Results for programs: one JSON object a line.
//!
//! Every line is complete: it names the experiment, the measured quantity, the machine, the commit and the
//! configuration. So one file can hold lines of many runs.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use anyhow::{Context, ensure};
use serde::Serialize;
use serde_json::Value;

use glassbox_workloads::format;

/// The destination of results, and their common fields.
pub struct Results {
    out: Option<Box<dyn Write>>,
    experiment: &'static str,
    configuration: Value,
    machine: String,
    /// Whether they are simulated.
    pub simulated: bool,
}

/// One result.
#[derive(Debug, Clone, Copy)]
pub struct Figure<'a> {
    /// The part of the experiment it belongs to.
    pub figure: &'a str,
    /// The line of the figure, such as a transaction type.
    pub row: &'a str,
    /// The value of the independent variable.
    pub x: f64,
    /// The name of the measured quantity.
    pub metric: &'a str,
    /// The measured value.
    pub value: f64,
    /// The interquartile range of repeated measurements; `None` if measured once.
    pub spread: Option<f64>,
    /// The unit of value and spread.
    pub unit: &'a str,
}

/// The beginning of every line of results, by which a file of them is recognised.
const RESULT_BEGINNING: &[u8] = b"{\"experiment\":";

#[derive(Serialize)]
struct Line<'a> {
    experiment: &'a str,
    figure: &'a str,
    row: &'a str,
    x: f64,
    metric: &'a str,
    value: f64,
    spread: Option<f64>,
    unit: &'a str,
    simulated: bool,
    commit: &'a str,
    configuration: &'a Value,
    machine: &'a str,
}

impl Results {
    /// Writes to a file, to standard output (`-`), or nowhere.
    pub fn new(to: Option<&Path>, experiment: &'static str, configuration: Value) -> anyhow::Result<Self> {
        let out: Option<Box<dyn Write>> = match to {
            None => None,
            Some(path) if is_standard_output(path) => Some(Box::new(io::stdout())),
            Some(path) => {
                refuse_other_contents(path)?;
                let file = File::create(path).with_context(|| format!("cannot write results to {}", path.display()))?;
                Some(Box::new(BufWriter::new(file)))
            }
        };
        Ok(Self { out, experiment, configuration, machine: machine(), simulated: false })
    }

    /// Later results belong to another experiment.
    pub fn switch_to(&mut self, experiment: &'static str, simulated: bool, configuration: Value) {
        (self.experiment, self.simulated, self.configuration) = (experiment, simulated, configuration);
    }

    /// Writes a result.
    pub fn put(&mut self, result: Figure<'_>) -> io::Result<()> {
        let Some(out) = &mut self.out else { return Ok(()) };
        let Figure { figure, row, x, metric, value, spread, unit } = result;
        let line = Line {
            experiment: self.experiment,
            figure,
            row,
            x,
            metric,
            value,
            spread,
            unit,
            simulated: self.simulated,
            commit: crate::COMMIT,
            configuration: &self.configuration,
            machine: &self.machine,
        };
        serde_json::to_writer(&mut *out, &line)?;
        out.write_all(b"\n")
    }

    /// Flushes all results.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.as_mut().map_or(Ok(()), |out| out.flush())
    }
}

/// Refuses to write over a file with other contents than results.
fn refuse_other_contents(path: &Path) -> anyhow::Result<()> {
    if !path.metadata().is_ok_and(|it| it.is_file() && it.len() > 0) {
        return Ok(());
    }
    let mut beginning = Vec::new();
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    file.take(RESULT_BEGINNING.len() as u64).read_to_end(&mut beginning)?;
    ensure!(
        beginning == RESULT_BEGINNING,
        "{} exists, and is no file of results: choose another file, or remove this one",
        path.display()
    );
    Ok(())
}

/// Whether a path means standard output.
pub fn is_standard_output(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The destination of a report: standard output, unless the results go there.
pub fn report_to(json: Option<&Path>) -> Box<dyn Write> {
    if json.is_some_and(is_standard_output) { Box::new(io::stderr()) } else { Box::new(io::stdout()) }
}

/// Processor, cores and memory.
pub fn machine() -> String {
    let processor = field("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let memory = memory("MemTotal").map_or_else(String::new, |bytes| format!(", {} of memory", format::bytes(bytes)));
    format!("{processor}, {} cores{memory}", crate::options::cores())
}

/// An amount of the system's memory in bytes, by its name in `/proc/meminfo`.
pub fn memory(name: &str) -> Option<u64> {
    field("/proc/meminfo", name)?.split(' ').next()?.parse::<u64>().ok().map(|kib| kib * 1024)
}

fn field(file: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
