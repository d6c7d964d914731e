//! Files on a disk of a stated latency, whatever the disk below.
//!
//! Problem: what a design gains depends on the disk, and the disk of a machine is one, changes from hour to hour, and
//! is not the one that is asked about. So reads are delayed to when a modelled disk would have answered them: in the
//! same way in a test, in a measurement and in an experiment, without privileges.
//!
//! *Model.* A disk has a number of servers. A read goes to the server that its position says, waits until that is free,
//! and occupies it for a base time, a random part and the time of its bytes. It ends when the model says so or when the
//! real one ends, whichever is later. Reads that are requested together are all queued at once. Reads are
//! delayed, except those of the log; forces are as slow as they are here. Writes are left to a background thread, and
//! cost nothing; or, of a model that says so, they occupy the servers that reads wait for, and wait only when many are
//! queued.

use std::io::IoSlice;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::IoError;
use super::batched_reads::BatchedReads;
use super::clock::Clock;
use super::files::{DirectoryLock, File, Files, ReadRequest};
use super::memory::Dice;

/// Requests of a server that a write leaves behind at most.
const QUEUED_WRITES: u64 = 4;
/// Positions within so many bytes are on the same server.
const STRIPE_BYTES: u64 = 4096;

/// A disk, as [`SlowFiles`] models it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiskModel {
    /// What it is called in results.
    pub name: &'static str,
    /// Reads that it serves at the same time.
    pub servers: usize,
    /// The least time of a read, nanoseconds.
    pub base_ns: u64,
    /// The random part.
    pub jitter: Jitter,
    /// Bytes a second of each server; 0: as fast as can be.
    pub bytes_per_second: u64,
    /// Whether writes, except those of the log, occupy a server as reads do.
    pub writes: bool,
}

/// The random part of the time of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Jitter {
    /// None.
    None,
    /// Exponentially distributed, with this mean in nanoseconds.
    Exponential(u64),
    /// From zero to this many nanoseconds, each as likely.
    Uniform(u64),
}

impl DiskModel {
    /// Two disks of 2001, as in the paper about Charm: 10.5 ms, more or less by up to 40 %.
    pub const DISKS_OF_2001: Self = Self {
        name: "2001",
        servers: 2,
        base_ns: 6_300_000,
        jitter: Jitter::Uniform(8_400_000),
        bytes_per_second: 0,
        writes: true,
    };
    /// A volume in a cloud: 1 ms, and at times more.
    pub const CLOUD: Self = Self {
        name: "cloud",
        servers: 64,
        base_ns: 1_000_000,
        jitter: Jitter::Exponential(100_000),
        bytes_per_second: 0,
        writes: false,
    };
    /// A local drive of flash memory: 100 µs.
    pub const NVME: Self =
        Self { name: "nvme", servers: 64, base_ns: 100_000, jitter: Jitter::None, bytes_per_second: 0, writes: false };
    /// The models that have a name.
    pub const ALL: [Self; 3] = [Self::DISKS_OF_2001, Self::CLOUD, Self::NVME];

    /// The mean time of a read of few bytes, without a queue, nanoseconds.
    pub const fn mean_ns(&self) -> u64 {
        self.base_ns
            + match self.jitter {
                Jitter::None => 0,
                Jitter::Exponential(mean_ns) => mean_ns,
                Jitter::Uniform(most_ns) => most_ns / 2,
            }
    }

    /// This disk, so many times as fast.
    pub const fn faster(self, name: &'static str, times: u64) -> Self {
        let jitter = match self.jitter {
            Jitter::None => Jitter::None,
            Jitter::Exponential(mean_ns) => Jitter::Exponential(mean_ns / times),
            Jitter::Uniform(most_ns) => Jitter::Uniform(most_ns / times),
        };
        let bytes_per_second = self.bytes_per_second * times;
        Self { name, jitter, bytes_per_second, base_ns: self.base_ns / times, ..self }
    }

    /// A disk without jitter.
    pub const fn fixed(name: &'static str, servers: usize, base_ns: u64) -> Self {
        Self { name, servers, base_ns, jitter: Jitter::None, bytes_per_second: 0, writes: false }
    }
}

/// When the servers of a disk are free.
#[derive(Debug)]
pub struct DiskQueue {
    model: DiskModel,
    free_at_ns: Vec<u64>,
    dice: Dice,
}

impl DiskQueue {
    /// An idle disk. The seed decides the random parts.
    ///
    /// # Panics
    /// If the model has no server.
    pub fn new(model: DiskModel, seed: u64) -> Self {
        assert!(model.servers > 0, "a disk has a server");
        Self { model, free_at_ns: vec![0; model.servers], dice: Dice(seed) }
    }

    /// Queues a read or a write that is requested at `now_ns`; returns when it ends.
    pub fn request(&mut self, now_ns: u64, offset: u64, bytes: usize) -> u64 {
        let DiskModel { base_ns, jitter, bytes_per_second, .. } = self.model;
        // Far apart, so that reads of neighbours are on different servers.
        let server = crate::record::mix(offset / STRIPE_BYTES) as usize % self.free_at_ns.len();
        let random_ns = match jitter {
            Jitter::None => 0,
            Jitter::Exponential(mean_ns) => {
                let uniform = (self.dice.below(1 << 53) + 1) as f64 / (1_u64 << 53) as f64;
                (-uniform.ln() * mean_ns as f64) as u64
            }
            Jitter::Uniform(most_ns) => self.dice.below(most_ns + 1),
        };
        let transfer_ns = (bytes as u64 * 1_000_000_000).checked_div(bytes_per_second).unwrap_or(0);
        let free_at_ns = &mut self.free_at_ns[server];
        *free_at_ns = now_ns.max(*free_at_ns) + base_ns + random_ns + transfer_ns;
        *free_at_ns
    }
}

/// Files whose reads, except those of the log, take the time of a modelled disk. Clones share it.
#[derive(Clone)]
pub struct SlowFiles {
    below: Arc<dyn Files>,
    disk: Arc<SlowDisk>,
}

/// The disk of [`SlowFiles`], shared by all its files.
pub struct SlowDisk {
    queue: Mutex<DiskQueue>,
    clock: Arc<dyn Clock>,
    is_slow: AtomicBool,
}

impl SlowDisk {
    /// Sets whether reads that begin from now on are delayed: they are at first. A measurement can load and check a
    /// database without.
    pub fn set_slow(&self, is_slow: bool) {
        self.is_slow.store(is_slow, Ordering::Relaxed);
    }

    /// Waits until the model has ended the reads that began at `began_ns`.
    fn wait(&self, began_ns: u64, reads: impl Iterator<Item = (u64, usize)>) {
        if !self.is_slow.load(Ordering::Relaxed) {
            return;
        }
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let end_ns = reads.map(|(offset, bytes)| queue.request(began_ns, offset, bytes)).max();
        drop(queue);
        if let Some(end_ns) = end_ns {
            self.clock.sleep_until_ns(end_ns);
        }
    }

    /// Queues a write, if the model has them. It ends when few are queued before it.
    fn write(&self, offset: u64, bytes: usize) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.model.writes && self.is_slow.load(Ordering::Relaxed) {
            let end_ns = queue.request(self.clock.monotonic_ns(), offset, bytes);
            let queued_ns = QUEUED_WRITES * queue.model.mean_ns();
            drop(queue);
            self.clock.sleep_until_ns(end_ns.saturating_sub(queued_ns));
        }
    }
}

impl SlowFiles {
    /// Delays the reads of `below` as `model` says. The clock decides what a delay is: with a
    /// [`ManualClock`](super::ManualClock), it is advanced.
    pub fn new(below: Arc<dyn Files>, model: DiskModel, clock: Arc<dyn Clock>, seed: u64) -> Self {
        let (queue, is_slow) = (Mutex::new(DiskQueue::new(model, seed)), AtomicBool::new(true));
        Self { below, disk: Arc::new(SlowDisk { queue, clock, is_slow }) }
    }

    /// The disk.
    pub fn disk(&self) -> &Arc<SlowDisk> {
        &self.disk
    }

    fn slow(&self, name: &str, file: Box<dyn File>) -> Box<dyn File> {
        if name.starts_with("log/") { file } else { Box::new(SlowFile { below: file, disk: Arc::clone(&self.disk) }) }
    }
}

impl Files for SlowFiles {
    fn open(&self, name: &str) -> Result<Box<dyn File>, IoError> {
        Ok(self.slow(name, self.below.open(name)?))
    }

    fn open_direct(&self, name: &str) -> Result<Box<dyn File>, IoError> {
        Ok(self.slow(name, self.below.open_direct(name)?))
    }

    fn create(&self, name: &str) -> Result<Box<dyn File>, IoError> {
        Ok(self.slow(name, self.below.create(name)?))
    }

    fn remove(&self, name: &str) -> Result<(), IoError> {
        self.below.remove(name)
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), IoError> {
        self.below.rename(from, to)
    }

    fn list(&self, directory: &str) -> Result<Vec<String>, IoError> {
        self.below.list(directory)
    }

    fn exists(&self, name: &str) -> Result<bool, IoError> {
        self.below.exists(name)
    }

    fn create_directory(&self, directory: &str) -> Result<(), IoError> {
        self.below.create_directory(directory)
    }

    fn sync_directory(&self, directory: &str) -> Result<(), IoError> {
        self.below.sync_directory(directory)
    }

    fn batched_reads(&self) -> BatchedReads {
        self.below.batched_reads()
    }

    fn lock(&self) -> Result<DirectoryLock, IoError> {
        self.below.lock()
    }
}

struct SlowFile {
    below: Box<dyn File>,
    disk: Arc<SlowDisk>,
}

impl File for SlowFile {
    fn path(&self) -> &Path {
        self.below.path()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, IoError> {
        let began_ns = self.disk.clock.monotonic_ns();
        let bytes = buffer.len();
        let read = self.below.read_at(buffer, offset);
        self.disk.wait(began_ns, std::iter::once((offset, bytes)));
        read
    }

    fn read_many(&self, reads: &mut [ReadRequest<'_>]) {
        let began_ns = self.disk.clock.monotonic_ns();
        self.below.read_many(reads);
        self.disk.wait(began_ns, reads.iter().map(|read| (read.offset, read.buffer.len())));
    }

    fn write_parts_at(&self, parts: &mut [IoSlice<'_>], offset: u64) -> Result<(), IoError> {
        self.disk.write(offset, parts.iter().map(|part| part.len()).sum());
        self.below.write_parts_at(parts, offset)
    }

    fn sync_data(&self) -> Result<(), IoError> {
        self.below.sync_data()
    }

    fn len(&self) -> Result<u64, IoError> {
        self.below.len()
    }

    fn set_len(&self, bytes: u64) -> Result<(), IoError> {
        self.below.set_len(bytes)
    }

    fn preallocate(&self, bytes: u64) -> Result<(), IoError> {
        self.below.preallocate(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{DiskModel, Jitter, SlowFiles};
    use crate::io::{Clock, File, Files, ManualClock, MemoryFiles, ReadRequest};

    const MS: u64 = 1_000_000;

    fn open(model: DiskModel, clock: &ManualClock) -> Box<dyn File> {
        let files = SlowFiles::new(Arc::new(MemoryFiles::new()), model, Arc::new(clock.clone()), 1);
        let file = files.create("pages").unwrap();
        file.write_at(&[7; 1 << 16], 0).unwrap();
        file
    }

    #[test]
    fn reads_one_after_the_other_take_the_sum_of_their_times() {
        let clock = ManualClock::default();
        let file = open(DiskModel { bytes_per_second: 1_000_000, ..DiskModel::fixed("it", 1, MS) }, &clock);
        let mut buffer = [0; 1_000];
        for read in 1..=5 {
            file.read_exact_at(&mut buffer, read * 1_000).unwrap();
            assert_eq!(buffer, [7; 1_000]);
            assert_eq!(clock.monotonic_ns(), read * 2 * MS, "a millisecond, and another for 1,000 bytes");
        }
    }

    #[test]
    fn reads_together_queue_for_their_servers() {
        for (servers, slowest) in [(1, 8), (1_000, 2)] {
            let clock = ManualClock::default();
            let file = open(DiskModel::fixed("it", servers, MS), &clock);
            let mut buffers = [[0; 512]; 8];
            let mut reads: Vec<_> =
                buffers.iter_mut().enumerate().map(|(at, buffer)| ReadRequest::new(at as u64 * 4096, buffer)).collect();
            file.read_many(&mut reads);
            assert!(reads.iter().all(|read| matches!(read.result, Ok(512))));
            assert!(clock.monotonic_ns() <= slowest * MS, "{servers} servers: {} ns", clock.monotonic_ns());
            assert_eq!(clock.monotonic_ns() % MS, 0);
            assert_eq!(servers > 1, clock.monotonic_ns() < 8 * MS);
        }
    }

    #[test]
    fn random_parts_have_their_mean_and_follow_from_the_seed() {
        for (jitter, mean) in [(Jitter::Exponential(MS), MS), (Jitter::Uniform(2 * MS), MS)] {
            let ends = || {
                let clock = ManualClock::default();
                let file = open(DiskModel { jitter, ..DiskModel::fixed("it", 1, MS) }, &clock);
                (0..10_000).for_each(|_| file.read_exact_at(&mut [0; 8], 0).unwrap());
                clock.monotonic_ns()
            };
            let total = ends();
            let expected = 10_000 * (MS + mean);
            assert!(total.abs_diff(expected) < expected / 50, "{jitter:?}: {total} ns instead of {expected}");
            assert_eq!(ends(), total);
        }
    }

    #[test]
    fn writes_occupy_servers_if_the_model_says_so() {
        for (writes, read_ends_ms) in [(false, 1), (true, 11)] {
            let clock = ManualClock::default();
            let model = DiskModel { writes, ..DiskModel::fixed("one", 1, MS) };
            let files = SlowFiles::new(Arc::new(MemoryFiles::new()), model, Arc::new(clock.clone()), 1);
            let file = files.create("pages").unwrap();
            (0..10).for_each(|at| file.write_at(&[7; 4096], at * 4096).unwrap());
            // Four may be left behind.
            assert_eq!(clock.monotonic_ns(), if writes { 6 * MS } else { 0 });
            file.read_at(&mut [0; 4096], 0).unwrap();
            assert_eq!(clock.monotonic_ns(), read_ends_ms * MS);
        }
    }

    #[test]
    fn the_log_is_not_delayed() {
        let clock = ManualClock::default();
        let files = SlowFiles::new(Arc::new(MemoryFiles::new()), DiskModel::CLOUD, Arc::new(clock.clone()), 1);
        files.create_directory("log").unwrap();
        let log = files.create("log/1").unwrap();
        log.write_at(&[1; 100], 0).unwrap();
        log.read_exact_at(&mut [0; 100], 0).unwrap();
        assert_eq!(clock.monotonic_ns(), 0);
    }
}
