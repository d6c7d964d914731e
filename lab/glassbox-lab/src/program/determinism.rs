//! `glassbox-lab determinism`: deterministic execution against two-phase locking, simulated.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, ensure};
use clap::Args;
use glassbox_lab::claim::outcomes;
use glassbox_lab::determinism::constants;
use glassbox_lab::determinism::here::{self, HerePlan};
use glassbox_lab::determinism::inputs::{ChangedInput, INPUTS};
use glassbox_lab::determinism::validate::{self, ValidationPlan, validate};
use glassbox_lab::determinism::{self, EXPERIMENT, EvaluationPlan, followers, put_claims, section, simulate, tables};
use glassbox_lab::points;
use serde_json::json;

use super::report::{self, DIRECTORY};
use super::shared::{Group, MeasurementBar, of_report, put_all, put_surprises};
use glassbox_program::exit::{self, Verdict};
use glassbox_program::results::report_to;

/// Compare deterministic execution with two-phase locking
///
/// Figures 1 to 8 and Table 1 of "An Evaluation of the Advantages and Disadvantages of Deterministic Database
/// Systems" (VLDB 2014), in virtual time, by a model of nodes with several cores; the same seed gives the same
/// numbers everywhere, but for Figures 1a and 1c with this machine's constants. Each claim of the paper and each goal
/// has a verdict, and the model is compared with production's code at some points. Writes a page and its numbers to
/// the directory of results. Fails if a claim does not hold for which no reason is known, or if the model differs from
/// production by more than its bounds.
#[derive(Args)]
pub struct DeterminismArguments {
    /// Simulate less: fewer points, each for a shorter time
    #[arg(long)]
    quick: bool,
    /// Simulate this figure only, such as "Figure 1a"
    #[arg(long, value_name = "NAME", conflicts_with = "here")]
    figure: Option<String>,
    /// Instead, run both systems with two partitions on this machine, and compare them with the simulator's prediction;
    /// a prediction that is wrong is reported, and is no failure
    #[arg(long)]
    here: bool,
    /// Instead, multiply one input of the model after the other by 1.2, and look for claims that move as much; fails if
    /// one of them counts as reproduced; half an hour, or 20 minutes with --quick
    #[arg(long, conflicts_with = "here")]
    inputs: bool,
    /// With --inputs: multiply only this one, such as "time of a lock"
    #[arg(long, value_name = "NAME", requires = "inputs")]
    input: Option<String>,
    /// Instead, only run the model in production's shape next to production's sequencers, executors, partitions and
    /// rows, at the same costs, and print the model's error; half a minute
    #[arg(long, conflicts_with_all = ["here", "inputs", "figure"])]
    validate: bool,
    /// Directory of the page and the results: determinism.html, determinism.jsonl; determinism-here… with --here,
    /// determinism-validated… with --validate
    #[arg(long, value_name = "DIR", default_value = DIRECTORY)]
    results: PathBuf,
    /// Also write the results as JSON lines to this file; -: to standard output, with the report on standard error
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Seed of all runs
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u64).range(..1 << 32))]
    seed: u64,
}

/// Does what the arguments say.
pub fn run(arguments: &DeterminismArguments) -> anyhow::Result<Verdict> {
    exit::handle_interrupts()?;
    let mut out = report_to(arguments.json.as_deref());
    let DeterminismArguments { quick, here, inputs, results, seed, .. } = arguments;
    std::fs::create_dir_all(results).with_context(|| format!("cannot create the directory {}", results.display()))?;
    if *here {
        return run_here(arguments, &mut *out);
    }
    let mut plan = EvaluationPlan::new(*quick, *seed);
    if let Some(figure) = &arguments.figure {
        let known = determinism::figures();
        ensure!(known.contains(&&**figure), "there is no figure \"{figure}\"; choose one of {}", known.join(", "));
        plan.figure = Some(figure.clone());
    }
    if *inputs {
        return run_inputs(&plan, arguments.input.as_deref(), &mut *out);
    }
    if arguments.validate {
        let (group, is_explained) = run_validation(arguments, &mut *out)?;
        store(arguments, validate::EXPERIMENT, &[group], "The model next to production's code", &mut *out)?;
        return Ok(verdict(is_explained));
    }
    let commit = glassbox_program::COMMIT;
    writeln!(out, "Deterministic execution, simulated; {} ms of virtual time\ncommit {commit}", plan.measured_ms)?;
    let bar = MeasurementBar::new();
    let mut points = simulate(&plan, &bar);
    bar.0.finish_and_clear();
    put_claims(&mut points);
    for table in tables(&points) {
        writeln!(out, "\n{}", of_report(&table))?;
    }
    for sentence in section(&points).notes {
        writeln!(out, "\n{sentence}")?;
    }
    let claims = determinism::claims(&points);
    let are_explained = put_surprises(&claims, &mut *out)?;
    writeln!(out, "\n{}", outcomes(&claims))?;
    let configuration = json!({
        "quick": quick,
        "virtual_ms": plan.measured_ms,
        "warm_up_ms": plan.warm_up_ms,
        "seed": plan.seed,
    });
    let group = Group { experiment: EXPERIMENT, simulated: true, configuration, points };
    let mut groups = vec![group];
    let mut is_valid = true;
    if arguments.figure.is_none() {
        let validation = run_validation(arguments, &mut *out)?;
        is_valid = validation.1;
        groups.extend([validation.0, run_constants(arguments, &mut *out)?]);
    }
    store(arguments, EXPERIMENT, &groups, "Deterministic execution", &mut *out)?;
    Ok(verdict(are_explained && is_valid))
}

fn verdict(is_good: bool) -> Verdict {
    if is_good { Verdict::Good } else { Verdict::Bad }
}

/// Compares the model with production's code; whether the model's errors are within their bounds.
fn run_validation(arguments: &DeterminismArguments, out: &mut dyn Write) -> anyhow::Result<(Group, bool)> {
    let DeterminismArguments { quick, seed, .. } = arguments;
    let plan = ValidationPlan::new(*quick, *seed);
    writeln!(out, "\nThe model in production's shape, next to production's code; {} ms", plan.measured_ms)?;
    let bar = MeasurementBar::new();
    let mut points = validate(&plan, &bar);
    bar.0.finish_and_clear();
    validate::put_claims(&mut points);
    for table in validate::tables(&points) {
        writeln!(out, "\n{}", of_report(&table))?;
    }
    let is_valid = put_surprises(&validate::claims(&points), out)?;
    let configuration = json!({
        "quick": quick,
        "virtual_ms": plan.measured_ms,
        "warm_up_ms": plan.warm_up_ms,
        "rows": plan.rows,
        "seed": plan.seed,
    });
    Ok((Group { experiment: validate::EXPERIMENT, simulated: true, configuration, points }, is_valid))
}

/// Measures this machine's constants, and simulates with them.
fn run_constants(arguments: &DeterminismArguments, out: &mut dyn Write) -> anyhow::Result<Group> {
    let DeterminismArguments { quick, seed, .. } = arguments;
    let times = constants::measure(*quick)?;
    let bar = MeasurementBar::new();
    let points = constants::simulate(&times, *quick, *seed, &bar);
    bar.0.finish_and_clear();
    for table in constants::tables(&points) {
        writeln!(out, "\n{}", of_report(&table))?;
    }
    let configuration = json!({ "quick": quick, "seed": seed });
    Ok(Group { experiment: constants::EXPERIMENT, simulated: true, configuration, points })
}

/// Changes each input, or one, and looks for claims that follow from it: with a larger one, and again with a smaller
/// one.
fn run_inputs(plan: &EvaluationPlan, only: Option<&str>, out: &mut dyn Write) -> anyhow::Result<Verdict> {
    let mut changes: Vec<_> = ChangedInput::all(FACTOR).collect();
    if let Some(only) = only {
        let names: Vec<_> = changes.iter().map(|changed| INPUTS[changed.input].name).collect();
        ensure!(names.contains(&only), "no input \"{only}\" can be multiplied; choose one of {}", names.join(", "));
        changes.retain(|changed| INPUTS[changed.input].name == only);
    }
    let run = |changed| {
        let bar = MeasurementBar::new();
        let points = simulate(&EvaluationPlan { changed, ..plan.clone() }, &bar);
        bar.0.finish_and_clear();
        determinism::claims(&points)
    };
    let claims = run(None);
    let mut verdict = Verdict::Good;
    for changed in changes {
        let more = run(Some(changed));
        let follow = claims.iter().zip(&more).filter(|(claim, moved)| claim.follows(moved, FACTOR)).count();
        writeln!(out, "{} times {FACTOR}: {follow} numbers move as much", INPUTS[changed.input].name)?;
        let mut found = followers(&claims, &more, FACTOR);
        if !found.is_empty() {
            // A number that moved by chance does not do it twice.
            let less = run(Some(ChangedInput { factor: 1.0 / FACTOR, ..changed }));
            let again = followers(&claims, &less, 1.0 / FACTOR);
            found.retain(|claim| again.contains(claim));
        }
        if exit::interrupted() {
            return Ok(Verdict::Good);
        }
        for claim in found {
            writeln!(out, "    {}, {}: it is by construction", claim.figure, claim.claim)?;
            verdict = Verdict::Bad;
        }
    }
    Ok(verdict)
}

/// The factor by which each input is multiplied.
const FACTOR: f64 = 1.2;

/// Two partitions on this machine.
fn run_here(arguments: &DeterminismArguments, out: &mut dyn Write) -> anyhow::Result<Verdict> {
    let DeterminismArguments { quick, seed, .. } = arguments;
    let plan = HerePlan::new(*quick, *seed);
    writeln!(out, "Deterministic execution on this machine: two partitions, {} rounds", plan.rounds)?;
    let bar = MeasurementBar::new();
    let points = here::measure(&plan, &bar);
    bar.0.finish_and_clear();
    let mut points = points?;
    here::put_claims(&mut points);
    for table in here::tables(&points) {
        writeln!(out, "\n{}", of_report(&table))?;
    }
    let configuration =
        json!({ "quick": quick, "ms": plan.time.as_millis() as u64, "rounds": plan.rounds, "seed": plan.seed });
    let group = Group { experiment: here::EXPERIMENT, simulated: false, configuration, points };
    store(arguments, here::EXPERIMENT, &[group], "Deterministic execution on this machine", out)?;
    Ok(Verdict::Good)
}

/// Writes the results, and the page of them.
fn store(
    arguments: &DeterminismArguments,
    name: &str,
    groups: &[Group],
    title: &str,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let [file, page] = ["jsonl", "html"].map(|kind| arguments.results.join(format!("{name}.{kind}")));
    for to in std::iter::once(&file).chain(&arguments.json) {
        put_all(to, groups)?;
    }
    report::write(&page, title, &points::read(&file)?)?;
    writeln!(out, "the page: {}\nits numbers: {}", page.display(), file.display())?;
    Ok(())
}
