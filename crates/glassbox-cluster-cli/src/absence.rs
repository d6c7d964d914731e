//! A host that is away while the log grows: how many calls are answered before, meanwhile, and while it catches up.

use std::time::{Duration, Instant};

use anyhow::{anyhow, ensure};
use glassbox_cluster::{Address, Group};

use super::incidents::{Incidents, Watch};
use super::operate::operator;
use glassbox_program::exit;

/// How long calls are counted before and after.
const AROUND: Duration = Duration::from_secs(5);
/// How often the processes are asked how far they are.
const LOOK: Duration = Duration::from_millis(250);
/// Epochs that a process may lack, in time: as many as are made between two looks.
const LOOKS: u64 = 2;

/// Counts around the absence of a host.
#[derive(Debug)]
pub struct Absence {
    /// What the log grew by while the host was away, in bytes.
    pub bytes: u64,
    /// A part's name, its time in seconds, and the calls that were answered in it.
    pub parts: Vec<(&'static str, f64, u64)>,
    /// Calls a second while the host caught up, second by second.
    pub seconds: Vec<f64>,
}

impl Absence {
    /// Calls a second of a part.
    pub fn rate(&self, name: &str) -> f64 {
        self.parts.iter().find(|(part, ..)| *part == name).map_or(0.0, |(_, seconds, calls)| *calls as f64 / seconds)
    }
}

impl Incidents<'_> {
    /// Kills the processes of one host, the last replica set's and those of a member that was not elected; starts them
    /// again once the log has grown by so many bytes, and waits until they lack nothing.
    pub fn be_away(&mut self, bytes: u64) -> anyhow::Result<Absence> {
        let (set, watch) = (self.config.replicas - 1, self.watch);
        let elected = self.elected()?;
        let mut host: Vec<_> = (0..self.config.partitions).map(|it| Group::Partition(it).member(set)).collect();
        host.push(self.follower(0)?);
        ensure!(!host.contains(&elected), "all members but one are gone; give at least --coordinators 3");
        let mut parts = Vec::new();
        std::thread::sleep(AROUND);
        let mut count = Count::new(watch);
        std::thread::sleep(AROUND);
        parts.push(count.part("before"));
        let mut asking = operator(self.config, self.file)?;
        asking.wait_for_all(AROUND);
        let first = *asking.written().get(&elected).ok_or_else(|| anyhow!("{elected} does not answer"))?;
        host.iter().try_for_each(|it| self.kill(*it))?;
        count = Count::new(watch);
        let mut grown = 0;
        while grown < bytes && !exit::interrupted() {
            std::thread::sleep(LOOK);
            // It does not answer while it has much to do.
            grown = asking.written().get(&elected).map_or(grown, |written| written.saturating_sub(first));
        }
        parts.push(count.part("away"));
        count = Count::new(watch);
        host.iter().try_for_each(|it| self.children.restart(*it, self.config))?;
        let (mut by_second, mut second) = (Vec::new(), Count::new(watch));
        // The last epoch of the log at the look before.
        let mut last = u64::MAX;
        while !exit::interrupted() {
            std::thread::sleep(LOOK);
            if second.began.elapsed() >= Duration::from_secs(1) {
                let (_, seconds, calls) = second.part("");
                by_second.push(calls as f64 / seconds);
                second = Count::new(watch);
            }
            let progress = asking.progress();
            let now = progress.get(&elected).copied().unwrap_or_default();
            let made = now.saturating_sub(std::mem::replace(&mut last, now));
            let has_all = |it: &Address| progress.get(it).is_some_and(|has| has + LOOKS * made.max(1) >= now);
            if made > 0 && host.iter().all(has_all) {
                break;
            }
        }
        parts.push(count.part("returns"));
        drop(asking);
        host.iter().try_for_each(|it| self.wait_for_rows(*it))?;
        count = Count::new(watch);
        std::thread::sleep(AROUND);
        parts.push(count.part("after"));
        Ok(Absence { bytes: grown, parts, seconds: by_second })
    }
}

/// Calls since a moment.
struct Count<'a> {
    began: Instant,
    calls: u64,
    watch: &'a Watch,
}

impl<'a> Count<'a> {
    fn new(watch: &'a Watch) -> Self {
        Self { began: Instant::now(), calls: watch.calls(), watch }
    }

    fn part(&self, name: &'static str) -> (&'static str, f64, u64) {
        (name, self.began.elapsed().as_secs_f64(), self.watch.calls() - self.calls)
    }
}
