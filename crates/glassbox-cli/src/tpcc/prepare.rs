//! Opens the database of a run: loads it if it is new, rejects it if it does not match the arguments.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anyhow::{Context, bail};
use glassbox::config::ClassicConfig;
use glassbox::io::{DiskModel, Files, RealClock, RealFiles, SlowDisk, SlowFiles};
use glassbox::research::ConfigHooks;
use glassbox::{BulkLoad, Config, Database, Error, Record};
use glassbox_workloads::tpcc::{self, DISTRICTS, Scale, Sink};
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};

use super::arguments::TpccArguments;
use glassbox_program::exit;
use glassbox_workloads::format;

/// Warehouses when nothing says how many.
const DEFAULT_WAREHOUSES: u16 = 2;
/// Minimum number of sessions of the classic engine. Each needs some pages in memory.
const MIN_SESSIONS: usize = 8;
/// Rows between two updates of the progress while loading.
const ROWS_BETWEEN_UPDATES: u64 = 4_096;

/// The database of a run.
pub struct Prepared {
    pub db: Database,
    pub scale: Scale,
    /// The disk below it, if it is not this machine's; as fast as this machine's so far.
    pub disk: Option<Arc<SlowDisk>>,
}

/// Opens the database of the arguments.
pub fn open(arguments: &TpccArguments) -> anyhow::Result<Prepared> {
    if arguments.fresh {
        remove(&arguments.dir)?;
    }
    let (db, disk) = open_directory(arguments)?;
    check_pages(arguments, &db)?;
    if let Some(stored) = db.transaction(|tx| tpcc::stored_scale(tx))? {
        check_scale(arguments, &stored)?;
        return Ok(Prepared { db, scale: stored, disk });
    }
    let scale = arguments.common.scale(arguments.warehouses.unwrap_or(DEFAULT_WAREHOUSES));
    load(&db, &scale, arguments.partitions())?;
    Ok(Prepared { db, scale, disk })
}

/// Opens the directory, whatever its scale, on this machine's disk.
pub fn reopen(arguments: &TpccArguments) -> anyhow::Result<Database> {
    open_directory(arguments).map(|(db, _)| db)
}

fn open_directory(arguments: &TpccArguments) -> anyhow::Result<(Database, Option<Arc<SlowDisk>>)> {
    let config = Config::default()
        .with_partitions(arguments.partitions())
        .with_in_order(arguments.in_order)
        .with_durability(arguments.durability.into())
        .with_log(arguments.log.into())
        .with_in_flight(arguments.in_flight.max(Config::default().in_flight))
        .with_classic(ClassicConfig::default().with_sessions(arguments.clients().max(MIN_SESSIONS)))
        .with_page_trace(arguments.trace_pages);
    let mut config = arguments.engine.apply(config);
    config.classic.count_executions = arguments.explain_execution;
    let opened = match arguments.disk.model() {
        None => Database::open(&arguments.dir, config, tpcc::catalog()).map(|db| (db, None)),
        Some(model) => open_on(model, arguments, config),
    };
    opened.with_context(|| format!("cannot open the database in {}", arguments.dir.display()))
}

/// Opens the directory as if it were on this disk.
fn open_on(
    model: DiskModel,
    arguments: &TpccArguments,
    config: Config,
) -> Result<(Database, Option<Arc<SlowDisk>>), Error> {
    let files = Arc::new(RealFiles::new(&arguments.dir)?);
    let clock = RealClock::new();
    let slow = SlowFiles::new(files, model, Arc::new(clock.clone()), arguments.common.seed);
    let disk = Arc::clone(slow.disk());
    disk.set_slow(false);
    let db = Database::open_files(Arc::new(slow), Box::new(clock), config, tpcc::catalog())?;
    Ok((db, Some(disk)))
}

/// The size of pages is fixed when a database is created.
fn check_pages(arguments: &TpccArguments, db: &Database) -> anyhow::Result<()> {
    let (Some(wanted), Some(classic)) = (arguments.engine.page_kib(), db.counts().classic) else { return Ok(()) };
    let (has, dir) = (classic.page_bytes >> 10, arguments.dir.display());
    if has != wanted as u64 {
        bail!("{dir} has pages of {has} KiB, not {wanted}: remove --page-kib, use another --dir, or --fresh");
    }
    Ok(())
}

fn check_scale(arguments: &TpccArguments, stored: &Scale) -> anyhow::Result<()> {
    let dir = arguments.dir.display();
    let has = stored.warehouses;
    if let Some(wanted) = arguments.warehouses.filter(|&wanted| wanted != has) {
        bail!(
            "{dir} has {has} warehouses, not {wanted}: use --warehouses {has}, another --dir, or --fresh to reload it"
        );
    }
    if arguments.common.small && *stored != Scale::small(has) {
        bail!("{dir} has warehouses of full size: remove --small, use another --dir, or --fresh to reload it");
    }
    Ok(())
}

struct ProgressingLoad<'a> {
    bulk: &'a BulkLoad<'a>,
    done: &'a AtomicU64,
    bar: &'a ProgressBar,
    rows: u64,
}

impl Sink for ProgressingLoad<'_> {
    type Error = anyhow::Error;

    #[inline]
    fn row<R: Record>(&mut self, row: &R) -> anyhow::Result<()> {
        self.bulk.insert(row)?;
        self.rows += 1;
        if self.rows.is_multiple_of(ROWS_BETWEEN_UPDATES) {
            let done = self.done.fetch_add(ROWS_BETWEEN_UPDATES, Ordering::Relaxed);
            self.bar.set_position(done + ROWS_BETWEEN_UPDATES);
            if exit::interrupted() {
                bail!("interrupted while loading; no rows are kept");
            }
        }
        Ok(())
    }
}

fn load(db: &Database, scale: &Scale, threads: usize) -> anyhow::Result<()> {
    let started = Instant::now();
    let bar = ProgressBar::new(rows_of(scale));
    bar.set_style(ProgressStyle::with_template("loading  {bar:30} {percent:>3} %  {human_pos} rows")?);
    let bulk = db.bulk_load()?;
    let done = AtomicU64::new(0);
    let sink = || ProgressingLoad { bulk: &bulk, done: &done, bar: &bar, rows: 0 };
    tpcc::load(scale, tpcc::LOAD_SEED, threads.max(glassbox_program::options::cores()), sink, |_| {})?;
    bar.set_style(ProgressStyle::with_template("loading  {bar:30} writing the checkpoint")?);
    bar.tick();
    bulk.finish()?;
    bar.finish_and_clear();
    let stats = db.stats();
    let (bytes, place) =
        (format::bytes(stats.memory_bytes()), if stats.classic.is_some() { "on disk" } else { "in memory" });
    let plural = if scale.warehouses == 1 { "" } else { "s" };
    eprintln!("loaded {} warehouse{plural}, {bytes} {place}, in {}", scale.warehouses, seconds(started));
    Ok(())
}

fn seconds(since: Instant) -> String {
    let elapsed = since.elapsed();
    if elapsed.as_secs() >= 120 { HumanDuration(elapsed).to_string() } else { format::time(elapsed.as_nanos() as f64) }
}

/// The approximate number of rows of a population.
fn rows_of(scale: &Scale) -> u64 {
    let (items, customers, orders) = (u64::from(scale.items), u64::from(scale.customers), u64::from(scale.orders));
    // An order has ten lines, and three in ten orders are not delivered.
    let district = 1 + 2 * customers + orders * 113 / 10;
    items + u64::from(scale.warehouses) * (1 + 2 * items + u64::from(DISTRICTS) * district)
}

/// Removes a directory that holds a Glassbox database and nothing else; one that does not exist is fine.
fn remove(dir: &Path) -> anyhow::Result<()> {
    if !dir.exists() {
        return Ok(());
    }
    let files = RealFiles::existing(dir)?;
    let own = ["LOCK", "manifest", "manifest.new", "log", "checkpoint", "pages", "pages.double"];
    for entry in std::fs::read_dir(dir).with_context(|| format!("cannot list {}", dir.display()))? {
        let name = entry?.file_name();
        if !own.iter().any(|own| name.as_os_str() == *own) {
            let name = name.display();
            bail!(
                "{} holds `{name}`, which is not part of a Glassbox database: --fresh does not remove it",
                dir.display()
            );
        }
    }
    let mut magic = [0; 8];
    let recognised = !files.list("")?.iter().any(|name| name != "LOCK")
        || (files.exists("manifest")? && files.open("manifest")?.read_at(&mut magic, 0)? == 8 && magic == *b"GLASSBOX");
    if !recognised {
        bail!("{} has no manifest of a Glassbox database: --fresh does not remove it", dir.display());
    }
    // Held until all files are removed, so that no other process uses them.
    let _lock = files.lock()?;
    std::fs::remove_dir_all(dir).with_context(|| format!("cannot remove {}", dir.display()))
}
