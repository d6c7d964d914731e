//! `glassbox-lab limits`: the engine compared with a kernel that does nothing but the work.

mod arguments;
mod instructions;
mod throughput;

use std::io::Write;

use glassbox_lab::limits::{ThroughputPlan, measure, memory_bytes};
use serde_json::json;

pub use arguments::LimitsArguments;

use super::shared::{self, MeasureKind, MeasurementBar};
use glassbox_program::exit::{self, Verdict};
use glassbox_program::results::{Results, machine, report_to};

/// Does what the arguments say.
pub fn run(arguments: &LimitsArguments) -> anyhow::Result<Verdict> {
    exit::handle_interrupts()?;
    let mut out = report_to(arguments.common.json.as_deref());
    let plan = arguments.plan();
    let configuration = json!({
        "quick": arguments.quick,
        "scale": plan.scale,
        "mix": "looking-glass",
        "partitions": 1,
        "clients": 1,
        "transactions": plan.transactions,
        "rounds": plan.rounds,
        "seed": plan.seed,
    });
    let mut results = Results::new(arguments.common.json.as_deref(), "limits", configuration)?;
    headline(&mut *out, &plan)?;
    let mut verdict = Verdict::Good;
    if arguments.measures.includes(MeasureKind::Instructions) {
        glassbox_lab::count::check()?;
    }
    if arguments.measures.includes(MeasureKind::Throughput) {
        check_memory(&plan)?;
        let bar = MeasurementBar::new();
        let measured = measure(&plan, &bar)?;
        bar.0.finish_and_clear();
        throughput::report(&mut *out, &mut results, &plan, &measured)?;
        if !throughput::checked(&mut *out, &mut results, &measured)? {
            verdict = Verdict::Bad;
        }
    }
    if arguments.measures.includes(MeasureKind::Instructions) && !exit::interrupted() {
        instructions::run(&mut *out, &mut results, arguments)?;
    }
    results.finish()?;
    Ok(verdict)
}

fn headline(out: &mut dyn Write, plan: &ThroughputPlan) -> std::io::Result<()> {
    let warehouses = plan.scale.warehouses;
    let plural = if warehouses == 1 { "" } else { "s" };
    let small = if plan.scale.items < 100_000 { " of reduced size" } else { "" };
    writeln!(
        out,
        "Limits: Looking Glass mix, {warehouses} warehouse{plural}{small}, 1 client thread, 1 partition\n\
         commit {}, on {}",
        glassbox_program::COMMIT,
        machine(),
    )
}

/// Rejects a measurement that would make the machine swap.
fn check_memory(plan: &ThroughputPlan) -> anyhow::Result<()> {
    let advice = "measure fewer --systems, --warehouses, --rounds or --transactions";
    shared::check_memory(memory_bytes(plan), &format!("{} systems", plan.systems.len()), advice)
}
