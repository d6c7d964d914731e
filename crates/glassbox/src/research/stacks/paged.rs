//! Stacks with pages: the classic engine.

use std::path::Path;
use std::sync::Arc;

use super::engine::StackEngine;
use super::typed::StackConfig;
use crate::answer::Answer;
use crate::catalog::Catalog;
use crate::classic::{Engine, ProcedureStages, Stack, StackLogs};
use crate::config::{Architecture, ClassicConfig, Config, Durability, ExecutionPolicy};
use crate::database::claim::log_config;
use crate::error::Error;
use crate::io::{Clock, Files, MemoryFiles, RealFiles};
use crate::log::{Log, Lsn};
use crate::partitioned::ProcedureKind;
use crate::procedure::Procedure;
use crate::record::Record;

/// The files of a new database.
fn files(directory: Option<&Path>, on_disk: bool) -> Result<Arc<dyn Files>, Error> {
    let files: Arc<dyn Files> = match directory {
        Some(directory) if on_disk => Arc::new(RealFiles::new(directory)?),
        None if on_disk => return Err(Error::Config("a stack with a log on disk needs a directory".to_owned())),
        _ => Arc::new(MemoryFiles::new()),
    };
    if let Some(held) = files.list("")?.first() {
        let problem = format!("it holds `{held}`: a stack needs an empty directory");
        return Err(Error::Directory { path: held.clone(), problem });
    }
    Ok(files)
}

fn make_log(files: &Arc<dyn Files>, classic: &ClassicConfig, config: &StackConfig) -> Result<Log, Error> {
    let config = Config {
        architecture: Architecture::Classic,
        classic: classic.clone(),
        durability: if config.forced { Durability::Sync } else { Durability::Async },
        log_buffer_bytes: config.log_buffer_bytes,
        ..Config::default()
    };
    Ok(Log::create(Arc::clone(files), 0, log_config(&config), Lsn(0))?)
}

impl<S: Stack> StackEngine for Engine<S> {
    fn make(
        directory: Option<&Path>,
        config: &StackConfig,
        clock: impl Clock + 'static,
        catalog: &Catalog,
    ) -> Result<Self, Error> {
        config.check(S::PAGE_BYTES)?;
        let files = files(directory, S::Logs::ON_DISK)?;
        let classic = ClassicConfig {
            page_bytes: S::PAGE_BYTES,
            pool_bytes: config.memory_bytes,
            sessions: config.sessions,
            ..ClassicConfig::default()
        };
        let conventional =
            |kind: &ProcedureKind| ProcedureStages::new(kind.id, kind.name, ExecutionPolicy::Conventional, false);
        let procedures = catalog.procedures.iter().map(conventional).collect();
        let open_log = || make_log(&files, &classic, config);
        let mut engine = Self::make(&files, Arc::new(clock), &classic, procedures, open_log)?;
        for table in &catalog.tables {
            engine.add_table(table.id, &table.schema, &table.schema.name, None)?;
        }
        Ok(engine)
    }

    fn load<R: Record>(&self, row: &R) -> Result<(), Error> {
        self.load_row(row)
    }

    #[inline(always)]
    fn execute<P: Procedure>(&self, procedure: &P, answer: &mut Answer<P::Output>) -> Result<Lsn, Error> {
        self.execute(procedure, answer)
    }

    #[inline(always)]
    fn wait(&self, lsn: Lsn) -> Result<(), Error> {
        self.wait(lsn)
    }

    #[inline(always)]
    fn nudge(&self) {
        self.nudge();
    }

    fn digest(&self) -> Result<u64, Error> {
        self.digest()
    }

    fn verify(&self) -> Vec<String> {
        self.verify()
    }
}
