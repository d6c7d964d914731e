//! `glassbox tpcc`: load, run, report, open again, check.

mod arguments;
mod busy;
mod classic;
mod measure;
mod prepare;
mod report;

use std::io::Write;
use std::time::Instant;

pub use arguments::TpccArguments;
use glassbox::Database;
use glassbox_program::READY;
use glassbox_workloads::tpcc::Scale;
use serde_json::{Value, json};

use glassbox_program::exit::{self, Verdict};
use glassbox_program::results::{Results, report_to};
use glassbox_program::sibling;
use measure::CheckResults;
use report::Reopened;

/// Runs the benchmark.
pub fn run(arguments: &TpccArguments) -> anyhow::Result<Verdict> {
    exit::handle_interrupts()?;
    if let Some(stack) = arguments.stack {
        match sibling::become_program(sibling::LAB, arguments.stack_arguments(stack))? {}
    }
    let mut out = report_to(arguments.common.json.as_deref());
    let prepare::Prepared { db, scale, disk } = prepare::open(arguments)?;
    arguments.check_home(scale.warehouses).map_err(anyhow::Error::msg)?;
    let configuration = configuration(arguments, &db, &scale);
    let mut results = Results::new(arguments.common.json.as_deref(), "tpcc", configuration)?;
    report::headline(&mut *out, arguments, &scale, &db)?;
    if arguments.await_start {
        writeln!(out, "{READY}")?;
        out.flush()?;
        std::io::stdin().read_line(&mut String::new())?;
    }
    let measured = measure::run(arguments, &db, &scale, disk.as_deref());
    report::measured(&mut *out, &mut results, arguments, &measured)?;
    if arguments.explain_waits {
        classic::explain_waits(&mut *out, &db)?;
    }
    if arguments.explain_execution {
        classic::explain_execution(&mut *out, &db)?;
    }
    if let Some(error) = measured.failed {
        results.finish()?;
        return Err(error.into());
    }
    let mut good = true;
    if !arguments.no_check {
        let after_run = CheckResults::check(&db, &scale)?;
        report::checked(&mut *out, &mut results, "after the run", &after_run)?;
        good &= after_run.is_good();
    }
    db.close()?;
    if !arguments.no_reopen && !measured.interrupted {
        let started = Instant::now();
        let db = prepare::reopen(arguments)?;
        let reopened = Reopened { seconds: started.elapsed().as_secs_f64(), recovery: db.recovery().clone() };
        report::reopened(&mut *out, &mut results, arguments, &reopened)?;
        let again = CheckResults::check(&db, &scale)?;
        report::checked(&mut *out, &mut results, "after opening again", &again)?;
        db.close()?;
        good &= again.is_good();
    }
    results.finish()?;
    Ok(if good { Verdict::Good } else { Verdict::Bad })
}

/// The options of the run, for its results.
fn configuration(arguments: &TpccArguments, db: &Database, scale: &Scale) -> Value {
    let engine = db.counts().classic.map(|classic| {
        json!({
            "page_bytes": classic.page_bytes,
            "pool_pages": classic.pool_pages,
            "locks": arguments.engine.locks().name(),
            "escalate_at": arguments.engine.escalation().0,
            "escalate_page_at": arguments.engine.escalation().1,
        })
    });
    json!({
        "scale": scale,
        "architecture": arguments.engine.architecture.name(),
        "partitions": db.partitions(),
        "classic": engine,
        "clients": arguments.clients(),
        "in_flight": arguments.in_flight,
        "seconds": arguments.seconds,
        "mix": arguments.mix().name(),
        "remote_order_lines_percent": arguments.remote().order_lines,
        "remote_payments_percent": arguments.remote().payments,
        "home": arguments.home.name(),
        "execution": arguments.engine.execution().name(),
        "disk": arguments.disk.name(),
        "in_order": arguments.in_order,
        "durability": glassbox::Durability::from(arguments.durability),
        "log": arguments.log.name(),
        "seed": arguments.common.seed,
    })
}
