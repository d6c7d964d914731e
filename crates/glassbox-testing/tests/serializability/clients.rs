//! The whole pipeline: clients in threads, their notes, the checker; on engines that are right and on broken ones.

use glassbox::config::{ClassicConfig, ExecutionPolicy, Granularity, HybridPolicy};
use glassbox::research::ConfigHooks;
use glassbox::stats::ProcedureExecution;
use glassbox::{Config, Database, LogKind};
use glassbox_testing::dice::seed;
use glassbox_testing::serializability::broken::{Broken, SeededBug, Stale};
use glassbox_testing::serializability::executor::{Executor, Serial, open};
use glassbox_testing::serializability::workload::{Forms, HistorySettings};
use glassbox_testing::serializability::{Class, Report, check, runner};

fn settings(forms: Forms, transactions: u32) -> HistorySettings {
    HistorySettings { seed: seed(1), clients: 4, transactions, forms, abort_one_in: 12 }
}

fn report(executor: &(impl Executor + ?Sized), settings: &HistorySettings) -> Report {
    check(&runner::run(executor, settings).unwrap_or_else(|what| panic!("{settings:?}: {what}")))
}

fn engine(partitions: usize, log: LogKind) -> Database {
    let config = Config::default().with_partitions(partitions).with_log(log);
    open(&config).expect("the configuration is right")
}

/// The classic engine with a pool that the data does not fit into, changed as a test wants it.
fn classic(change: impl FnOnce(&mut Config)) -> Database {
    let classic = ClassicConfig::default().with_page_bytes(4096).with_pool_bytes(256 << 10).with_sessions(4);
    let mut config = Config::classic(classic);
    change(&mut config);
    open(&config).expect("the configuration is right")
}

/// Right in all forms; and there were deadlocks, which were resolved.
fn classic_is_right(change: impl Fn(&mut Config)) {
    let run = |settings: &HistorySettings| {
        let database = classic(&change);
        is_right(&database, settings);
        assert_eq!(database.verify(), Vec::<String>::new());
        database.stats().rerun
    };
    let mut rerun: u64 =
        [Forms::Lists, Forms::Clubs, Forms::Both].iter().map(|forms| run(&settings(*forms, 4_000))).sum();
    // On few cores, transactions meet seldom.
    for more in 1..20 {
        if rerun > 0 {
            break;
        }
        let usual = settings(Forms::Both, 4_000);
        rerun += run(&HistorySettings { seed: usual.seed + more, ..usual });
    }
    println!("run again: {rerun}");
    assert!(rerun > 0, "there was no deadlock");
}

/// Strictly serializable, and not because nothing happened.
fn is_right(executor: &impl Executor, settings: &HistorySettings) {
    let report = report(executor, settings);
    println!("{settings:?}: {report}");
    assert!(report.is_strictly_serializable(), "{settings:?}: {report}");
    assert!(report.committed > u64::from(settings.transactions) * 8 / 10, "{report}");
    assert!(report.committed < report.transactions && report.writes > 100 && report.reads > 100, "{report}");
    assert!(settings.forms == Forms::Lists || report.scans > 100, "{report}");
    assert!(report.overlaps > 0, "no concurrency: {report}");
}

#[test]
fn the_model() {
    for forms in [Forms::Lists, Forms::Clubs, Forms::Both] {
        is_right(&Serial::default(), &settings(forms, 3_000));
    }
}

#[test]
fn one_partition() {
    for forms in [Forms::Lists, Forms::Clubs, Forms::Both] {
        is_right(&engine(1, LogKind::Values), &settings(forms, 5_000));
    }
}

#[test]
fn four_partitions() {
    for forms in [Forms::Lists, Forms::Clubs, Forms::Both] {
        is_right(&engine(4, LogKind::Commands), &settings(forms, 5_000));
    }
}

#[test]
fn classic_record_locks() {
    classic_is_right(|_| ());
}

#[test]
fn classic_page_locks() {
    classic_is_right(|config| config.classic.granularity = Granularity::Page);
}

#[test]
fn classic_page_and_leaf_locks() {
    classic_is_right(|config| config.classic.granularity = Granularity::PageAndLeaf);
}

#[test]
fn classic_early_escalation() {
    classic_is_right(|config| config.classic.escalate_at = 2);
}

#[test]
fn classic_early_escalation_to_pages() {
    classic_is_right(|config| {
        config.classic.escalate_page_at = 1;
        config.classic.escalate_at = 6;
    });
}

/// Under this policy, with locks of rows, of pages, and of leaves; and stages were what they should be.
fn policy_is_right(policy: ExecutionPolicy, has_run: impl Fn(&ProcedureExecution) -> bool) {
    for granularity in [Granularity::Record, Granularity::Page, Granularity::PageAndLeaf] {
        let mut seen = false;
        for forms in [Forms::Lists, Forms::Clubs, Forms::Both] {
            let database = classic(|config| {
                config.classic.granularity = granularity;
                config.classic.execution = policy;
                // So few that pages are missing.
                config.classic.sessions = 4;
                config.classic.pool_bytes = 0;
            });
            is_right(&database, &settings(forms, 4_000));
            assert_eq!(database.verify(), Vec::<String>::new());
            let executions = database.explain_execution().expect("the classic engine");
            println!("{executions:#?}");
            seen |= executions.iter().any(&has_run);
        }
        assert!(seen, "{granularity:?}: it was not executed so");
    }
}

#[test]
fn classic_in_two_stages() {
    policy_is_right(ExecutionPolicy::TwoStage, |it| it.executions > 1_000 && it.fetch_reads > 0.0);
}

#[test]
fn classic_optimistic() {
    policy_is_right(ExecutionPolicy::Optimistic, |it| it.conversions > 0 && it.conversions < it.executions * 3);
}

#[test]
fn classic_hybrid() {
    policy_is_right(ExecutionPolicy::Hybrid(HybridPolicy::default()), |it| it.executions > 1_000);
}

/// The canaries: runs until the fault shows, which may take a few histories, and more on a busy machine.
fn is_found_out(make: impl Fn() -> Box<dyn Executor>, settings: &HistorySettings, wanted: &[Class]) {
    for run in 0..100 {
        let settings = HistorySettings { seed: settings.seed + run, ..settings.clone() };
        // Under a fault the engine may stop by itself, which finds out nothing about the checker.
        let Ok(history) = runner::run(&*make(), &settings) else { continue };
        let report = check(&history);
        if wanted.iter().any(|class| report.anomalies.iter().any(|it| it.class == *class)) {
            return;
        }
    }
    panic!("none of {wanted:?} was found");
}

fn broken(fault: SeededBug) -> impl Fn() -> Box<dyn Executor> {
    move || Box::new(Broken { inner: engine(2, LogKind::Values), fault })
}

#[test]
fn read_locks_given_up_are_noticed() {
    let wanted = [Class::GSingle, Class::G2Item];
    is_found_out(broken(SeededBug::ReadsApart), &settings(Forms::Lists, 2_000), &wanted);
}

#[test]
fn unlocked_gaps_are_noticed() {
    let wanted = [Class::GSinglePredicate, Class::G2];
    is_found_out(broken(SeededBug::ScansApart), &settings(Forms::Clubs, 2_000), &wanted);
}

#[test]
fn locks_that_let_readers_in_are_noticed() {
    let make = || -> Box<dyn Executor> { Box::new(classic(|config| *config = config.clone().with_broken_locks(true))) };
    is_found_out(make, &settings(Forms::Lists, 2_000), &[Class::GSingle, Class::G2Item]);
    is_found_out(make, &settings(Forms::Clubs, 2_000), &[Class::GSinglePredicate, Class::G2, Class::GSingle]);
}

#[test]
fn transactions_in_pieces_are_noticed() {
    is_found_out(broken(SeededBug::StepsApart), &settings(Forms::Both, 2_000), &[Class::IntermediateRead]);
    is_found_out(broken(SeededBug::StepsApart), &settings(Forms::Both, 2_000), &[Class::G0, Class::G1c]);
}

#[test]
fn aborts_that_are_kept_are_noticed() {
    is_found_out(broken(SeededBug::AbortsKept), &settings(Forms::Both, 500), &[Class::AbortedRead]);
}

#[test]
fn a_stale_copy_is_noticed() {
    let stale = || -> Box<dyn Executor> {
        let (first, copy) = (engine(2, LogKind::Values), engine(2, LogKind::Values));
        Box::new(Stale::new(first, copy, 20))
    };
    is_found_out(stale, &settings(Forms::Both, 500), &[Class::GSingle]);
    // Only in real time, if no transaction both reads and writes: that is a database as it was some time ago.
    let settings = HistorySettings { clients: 1, ..settings(Forms::Lists, 300) };
    assert!(!report(&*stale(), &settings).is_strictly_serializable());
}
