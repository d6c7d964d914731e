//! Opens the database of a run: loads it if it is new, rejects it if it does not match the arguments.

use std::fs::FileType;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use glassbox::config::ClassicConfig;
use glassbox::io::{DiskModel, Files, RealClock, RealFiles, SlowDisk, SlowFiles};
use glassbox::research::ConfigHooks;
use glassbox::research::inspect::is_database_file;
use glassbox::{Config, Database, Error};
use glassbox_workloads::tpcc::{self, DISTRICTS, Scale};
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};

use super::arguments::TpccArguments;
use glassbox_program::exit;
use glassbox_workloads::format;

/// Warehouses when nothing says how many.
const DEFAULT_WAREHOUSES: u16 = 2;
/// Minimum number of sessions of the classic engine. Each needs some pages in memory.
const MIN_SESSIONS: usize = 8;
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
    if let Some(stored) = tpcc::scale_of_database(&db)? {
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

fn load(db: &Database, scale: &Scale, threads: usize) -> anyhow::Result<()> {
    let started = Instant::now();
    let bar = ProgressBar::new(rows_of(scale));
    bar.set_style(ProgressStyle::with_template("loading  {bar:30} {percent:>3} %  {human_pos} rows")?);
    let bulk = db.bulk_load()?;
    let progress = |rows: u64| {
        bar.inc(rows);
        !exit::interrupted()
    };
    let threads = threads.max(glassbox_program::options::cores());
    let is_complete = tpcc::load_database(&bulk, scale, tpcc::LOAD_SEED, threads, &progress)?;
    ensure!(is_complete, "interrupted while loading; no rows are kept");
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

/// The files and folders below a folder, relative to it; a folder comes before its contents.
fn entries(dir: &Path) -> anyhow::Result<Vec<(PathBuf, FileType)>> {
    let (mut found, mut folders) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(folder) = folders.pop() {
        let path = dir.join(&folder);
        for entry in std::fs::read_dir(&path).with_context(|| format!("cannot list {}", path.display()))? {
            let entry = entry?;
            let (name, kind) = (folder.join(entry.file_name()), entry.file_type()?);
            if kind.is_dir() {
                folders.push(name.clone());
            }
            found.push((name, kind));
        }
    }
    Ok(found)
}

/// Removes the files of a database by their names, then its folders, which are empty then. A directory that does not
/// exist, or is empty, is fine; one with anything else is refused, and nothing is removed.
fn remove(dir: &Path) -> anyhow::Result<()> {
    if !dir.exists() {
        return Ok(());
    }
    let files = RealFiles::existing(dir)?;
    let entries = entries(dir)?;
    let is_own = |(name, kind): &&(PathBuf, FileType)| match name.to_str() {
        Some(name) if kind.is_dir() => matches!(name, "log" | "checkpoint"),
        Some(name) => kind.is_file() && is_database_file(name),
        None => false,
    };
    let here = dir.display();
    if let Some((name, _)) = entries.iter().find(|entry| !is_own(entry)) {
        let name = name.display();
        bail!("{here} holds `{name}`, which is not part of a Glassbox database: --fresh does not remove it");
    }
    let mut magic = [0; 8];
    let has_manifest =
        files.exists("manifest")? && files.open("manifest")?.read_at(&mut magic, 0)? == 8 && magic == *b"GLASSBOX";
    if !has_manifest && let Some((name, _)) = entries.iter().find(|(name, _)| name != Path::new("LOCK")) {
        let name = name.display();
        bail!("{here} holds `{name}` and no manifest of a Glassbox database: --fresh does not remove it");
    }
    // Held until all files are removed, so that no other process uses them. The manifest is the last to go: a removal
    // that was interrupted can be repeated.
    let _lock = files.lock()?;
    let of_kind = |is_folder: bool| entries.iter().filter(move |(_, kind)| kind.is_dir() == is_folder);
    let (last, first): (Vec<_>, Vec<_>) =
        of_kind(false).partition(|(name, _)| ["manifest", "LOCK"].map(Path::new).contains(&name.as_path()));
    let context = |name: &Path| format!("cannot remove {}", dir.join(name).display());
    for (name, _) in first {
        std::fs::remove_file(dir.join(name)).with_context(|| context(name))?;
    }
    for (name, _) in of_kind(true) {
        std::fs::remove_dir(dir.join(name)).with_context(|| context(name))?;
    }
    for (name, _) in last {
        std::fs::remove_file(dir.join(name)).with_context(|| context(name))?;
    }
    Ok(())
}
