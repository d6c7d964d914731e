//! Every numeric setting at 0, at 1, at its limits and beyond them, on both engines: it works, or the error names the
//! setting, its value and what it can be.

use std::collections::BTreeSet;

use glassbox::io::MemoryFiles;
use glassbox::research::ConfigHooks;
use glassbox::{Architecture, Config, Error, LogKind};
use serde_json::{Value, json};

use crate::{engines, insert, items, open};

const MAX: u64 = u64::MAX;

/// A setting, and which values of it each engine takes and refuses. Values that take much memory are tried where they
/// are checked (`log/config.rs`).
struct Case {
    setting: &'static str,
    partitioned: (&'static [u64], &'static [u64]),
    classic: (&'static [u64], &'static [u64]),
}

const fn on_both(setting: &'static str, taken: &'static [u64], refused: &'static [u64]) -> Case {
    Case { setting, partitioned: (taken, refused), classic: (taken, refused) }
}

const CASES: [Case; 14] = [
    Case { setting: "partitions", partitioned: (&[1, 2, 64], &[0, 65, MAX]), classic: (&[1], &[0, 63, 65, MAX]) },
    on_both("in_flight", &[1, MAX], &[0]),
    on_both("segment_bytes", &[2 << 20], &[0, 1, 4095, 4097, 1 << 32, MAX]),
    Case {
        setting: "log_buffer_bytes",
        partitioned: (&[4096, 1 << 20], &[0, 1, 2048, 4097, 1 << 45, 1 << 63, MAX]),
        // Smaller ones do not take a page.
        classic: (&[1 << 15, 1 << 20], &[0, 1, 2048, 4096, 1 << 14, 1 << 45, 1 << 63, MAX]),
    },
    on_both("checkpoint_log_bytes", &[0, 1, MAX], &[]),
    Case { setting: "table_bytes", partitioned: (&[1, 2 << 20, MAX], &[0]), classic: (&[MAX], &[0, 1, 2 << 20]) },
    on_both("classic.page_bytes", &[4096, 32768], &[0, 1, 4095, 5000, 65536, MAX]),
    Case {
        setting: "classic.pool_bytes",
        // Not looked at there.
        partitioned: (&[0, 1, 1 << 45, MAX], &[]),
        classic: (&[0, 1, 1 << 20], &[1 << 45, MAX]),
    },
    on_both("classic.escalate_at", &[0, 1, MAX], &[]),
    on_both("classic.escalate_page_at", &[0, 1, MAX], &[]),
    on_both("classic.sessions", &[1, 1024], &[0, 1025, MAX]),
    on_both("classic.prepared_transactions", &[0, 1, 1024], &[1025, MAX]),
    on_both("classic.lock_timeout_ms", &[0, 1, MAX], &[]),
    on_both("classic.detect_deadlocks_every_ms", &[0, 1, MAX], &[]),
];

fn pointer(setting: &str) -> String {
    format!("/{}", setting.replace('.', "/"))
}

/// This configuration, but for one setting.
fn with(config: &Config, setting: &str, value: u64) -> Config {
    let mut all = serde_json::to_value(config).unwrap();
    *all.pointer_mut(&pointer(setting)).expect("there is such a setting") = json!(value);
    serde_json::from_value::<Config>(all).unwrap().with_log_threads(false)
}

fn numbers(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, field)| numbers(field, &format!("{path}/{name}"), found))
        }
        // The one that may be nothing.
        Value::Number(_) | Value::Null => drop(found.insert(path.to_owned())),
        _ => {}
    }
}

#[test]
fn every_numeric_setting_has_a_case() {
    let mut found = BTreeSet::new();
    numbers(&serde_json::to_value(Config::default()).unwrap(), "", &mut found);
    assert_eq!(found, CASES.iter().map(|case| pointer(case.setting)).collect());
}

#[test]
fn a_setting_works_or_its_error_says_what_it_can_be() {
    for (engine, config) in engines() {
        let config = config.with_segment_bytes(1 << 20).with_log_buffer_bytes(1 << 20);
        for Case { setting, partitioned, classic } in CASES {
            let (taken, refused) = if config.architecture == Architecture::Classic { classic } else { partitioned };
            for &value in taken {
                let files = MemoryFiles::new();
                let works = |config: &Config| -> Result<(), Error> {
                    let db = open(&files, config)?;
                    insert(&db, 0..50);
                    assert_eq!(items(&db, 0..50), 50);
                    assert_eq!(db.verify(), Vec::<String>::new());
                    db.close()?;
                    assert_eq!(items(&open(&files, config)?, 0..50), 50);
                    Ok(())
                };
                works(&with(&config, setting, value)).unwrap_or_else(|e| panic!("{engine}, {setting} {value}: {e}"));
            }
            for &value in refused {
                let files = MemoryFiles::new();
                let error = open(&files, &with(&config, setting, value)).map(drop).unwrap_err();
                let text = error.to_string();
                assert!(matches!(error, Error::Config(_)), "{engine}: {text}");
                assert!(text.contains(&format!("{setting} is {value}")), "{engine}: {text}");
                assert!(text.contains("must be "), "{engine}: {text}");
                assert_eq!(files.operations(), 0, "{engine}: no file was touched");
            }
        }
    }
}

#[test]
fn a_log_of_calls_is_refused_by_the_engine_that_writes_none() {
    for (engine, config) in engines() {
        let opened = open(&MemoryFiles::new(), &config.clone().with_log(LogKind::Commands));
        let is_classic = config.architecture == Architecture::Classic;
        assert_eq!(opened.is_err(), is_classic, "{engine}");
        if let Err(error) = opened {
            assert!(error.to_string().contains("log is commands: the classic engine logs changes of pages"), "{error}");
        }
    }
}
