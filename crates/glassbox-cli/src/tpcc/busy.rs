//! How busy each partition and each core was during a run.
//!
//! A partition is busy while a thread holds it. Measured from within, that would cost two readings of the clock for
//! each transaction; so it is asked a hundred times a second, by the thread that shows the progress. What the cores do
//! comes from the operating system, and counts every process.

use std::io::{self, Write};

use glassbox::config::Execution;
use glassbox::stats::{PartitionStats, Stats};
use glassbox_workloads::format;

/// Partitions that are listed one by one.
const MAX_LISTED: usize = 16;

/// The samples so far.
pub struct BusySamples {
    samples: u64,
    busy: Vec<u64>,
    cores: Vec<CoreTime>,
    process: ProcessTime,
}

/// The results.
pub struct Busy {
    /// Shares of the time; none on the classic engine.
    pub partitions: Vec<f64>,
    /// Shares of the time; none where the operating system does not tell.
    pub cores: Vec<f64>,
    /// Time that this process used; 0 where the operating system does not tell.
    pub process: ProcessTime,
}

impl BusySamples {
    /// Begins now.
    pub fn new() -> Self {
        Self { samples: 0, busy: Vec::new(), cores: core_times(), process: ProcessTime::now() }
    }

    /// Adds what is so at this moment.
    pub fn add(&mut self, partitions: &[PartitionStats]) {
        self.samples += 1;
        self.busy.resize(partitions.len(), 0);
        for (busy, partition) in self.busy.iter_mut().zip(partitions) {
            *busy += u64::from(partition.is_busy);
        }
    }

    /// Ends now.
    pub fn end(&self) -> Busy {
        let partitions = self.busy.iter().map(|&busy| busy as f64 / self.samples as f64).collect();
        let cores = core_times().iter().zip(&self.cores).map(|(now, before)| now.busy_since(before)).collect();
        let (now, before) = (ProcessTime::now(), &self.process);
        let process = ProcessTime { program: now.program - before.program, kernel: now.kernel - before.kernel };
        Busy { partitions, cores, process }
    }
}

/// Times of a core since the system started, in ticks.
struct CoreTime {
    busy: u64,
    all: u64,
}

impl CoreTime {
    fn busy_since(&self, before: &Self) -> f64 {
        let (busy, all) = (self.busy.saturating_sub(before.busy), self.all.saturating_sub(before.all));
        busy as f64 / all.max(1) as f64
    }
}

/// Core time of this process since it started, seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ProcessTime {
    /// In the program.
    pub program: f64,
    /// In the operating system's kernel.
    pub kernel: f64,
}

/// The unit of core times in `/proc`, whatever the kernel's own clock: its interface fixes it.
const TICKS_PER_SECOND: f64 = 100.0;

impl ProcessTime {
    fn now() -> Self {
        let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        Self::of(&text).unwrap_or_default()
    }

    /// Of the fields of `/proc/self/stat`; the program's name, in brackets, may contain anything.
    fn of(text: &str) -> Option<Self> {
        let mut times = text.rsplit_once(") ")?.1.split(' ').skip(11).map(|time| time.parse::<f64>());
        let mut seconds = || Some(times.next()?.ok()? / TICKS_PER_SECOND);
        Some(Self { program: seconds()?, kernel: seconds()? })
    }
}

fn core_times() -> Vec<CoreTime> {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    text.lines().filter_map(core_time).collect()
}

/// A row `cpu7 user nice system idle iowait irq softirq steal guest guest_nice`; the last two are part of the first.
fn core_time(row: &str) -> Option<CoreTime> {
    let (name, times) = row.split_once(' ')?;
    name.strip_prefix("cpu")?.parse::<u32>().ok()?;
    let times: Vec<u64> = times.split_whitespace().take(8).map_while(|time| time.parse().ok()).collect();
    let idle = times.get(3)? + times.get(4)?;
    let all = times.iter().sum();
    Some(CoreTime { busy: all - idle, all })
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// The lines of the report.
pub fn below(out: &mut dyn Write, stats: &Stats, busy: &Busy, seconds: f64) -> io::Result<()> {
    let partitions = stats.partitions.iter().zip(&busy.partitions).enumerate();
    if busy.partitions.len() <= MAX_LISTED {
        for (number, (partition, &share)) in partitions {
            writeln!(out, "partition   {number}: busy {}{}", percent(share), placed(partition))?;
        }
    } else {
        let (low, high) = (smallest(&busy.partitions), busy.partitions.iter().copied().fold(0.0, f64::max));
        writeln!(out, "partitions  busy {} to {}", percent(low), percent(high))?;
    }
    if stats.multi_partition > 0 {
        writeln!(
            out,
            "several     {} % of the transactions needed several partitions, and held them for {} of the time",
            format::number(stats.multi_partition as f64 / stats.committed as f64 * 100.0),
            percent(stats.multi_partition_ns as f64 / 1e9 / seconds),
        )?;
    }
    if !busy.cores.is_empty() {
        let cores: Vec<_> = busy.cores.iter().map(|&share| percent(share)).collect();
        let used = (busy.process.program + busy.process.kernel) / seconds;
        let here = format::number(used);
        writeln!(out, "cores       busy {}, with all processes; this one used {here} of them", cores.join(", "))?;
    }
    if !stats.partitions.is_empty() {
        writeln!(out, "execution   {}", who(stats.execution))?;
    }
    Ok(())
}

fn smallest(shares: &[f64]) -> f64 {
    shares.iter().copied().fold(1.0, f64::min)
}

fn placed(partition: &PartitionStats) -> String {
    let core = partition.core.map_or_else(String::new, |core| format!(", on core {core}"));
    let ended = (partition.committed + partition.aborted).max(1);
    let left = percent(partition.handed_over as f64 / ended as f64);
    if partition.handed_over == 0 { core } else { format!("{core}, {left} of its calls left there by other threads") }
}

fn who(execution: Execution) -> &'static str {
    match execution {
        Execution::Core => "by clients on the core of the partition",
        Execution::Thread => "by a thread of the database for each partition",
        _ => "by the client that calls",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_a_core_is_read() {
        let CoreTime { busy, all } = core_time("cpu1 100 20 30 400 50 6 7 8 90 10").unwrap();
        assert_eq!((busy, all), (171, 621));
        assert!(core_time("cpu  100 20 30 400 50 6 7 8 90 10").is_none(), "the sum of all");
        assert!(core_time("intr 100 20 30 400 50").is_none());
        assert!(core_time("cpu0 100 20 30").is_none());
    }

    #[test]
    fn core_time_of_a_process_is_read() {
        let text = "12 (a) b) S 1 12 12 0 -1 4194560 100 0 0 0 250 75 0 0 20 0 5 0 1000 1 1";
        assert_eq!(ProcessTime::of(text), Some(ProcessTime { program: 2.5, kernel: 0.75 }));
        assert_eq!(ProcessTime::of("12 (a) S 1"), None);
    }

    #[test]
    fn a_partition_is_as_busy_as_it_was_seen() {
        let mut samples = BusySamples::new();
        for moment in 0..10 {
            let partition = |is_busy| PartitionStats { is_busy, ..PartitionStats::default() };
            samples.add(&[partition(moment % 2 == 0), partition(true)]);
        }
        assert_eq!(samples.end().partitions, [0.5, 1.0]);
    }
}
