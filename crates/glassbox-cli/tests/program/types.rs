//! `info` and `dump` of every newer type of column, and the options that choose rows and columns, on both engines.

use std::path::Path;

use glassbox::record::{Column, Date, Decimal, Text, TimeOfDay, Uuid};
use glassbox::{Architecture, Catalog, Config, Database, Record, Transaction};

use crate::common::{run, run_well, text};

#[derive(Column, Debug, Clone, Copy, PartialEq)]
enum Standing {
    Open = 1,
    Paid = 2,
}

#[derive(Record, Clone, Copy)]
#[record(key = mail, index(name = by_due, columns = due))]
struct Invoice {
    mail: Text<254>,
    reference: Uuid,
    standing: Standing,
    due: Option<Date>,
    at: TimeOfDay,
    large: u128,
    balance: i128,
    weight: f32,
    ratio: f64,
    price: Decimal<2>,
}

fn make(path: &Path, architecture: Architecture) {
    let config = Config::default().with_architecture(architecture).with_partitions(1);
    let db = Database::open(path, config, Catalog::new().table::<Invoice>()).unwrap();
    let first = Invoice {
        mail: Text::new("ann@example.org").unwrap(),
        reference: "67e55044-10b1-426f-9247-bb680e5fe0c8".parse().unwrap(),
        standing: Standing::Paid,
        due: Some("2024-02-29".parse().unwrap()),
        at: "09:30:00".parse().unwrap(),
        large: u128::MAX,
        balance: -1,
        weight: 0.1,
        ratio: f64::NEG_INFINITY,
        price: "9.50".parse().unwrap(),
    };
    let second = Invoice {
        mail: Text::new("bob@example.org").unwrap(),
        standing: Standing::Open,
        due: None,
        weight: 1e-40,
        ratio: -2.5,
        price: "9.51".parse().unwrap(),
        ..first
    };
    db.transaction(|tx| {
        tx.insert(&second)?;
        tx.insert(&first)
    })
    .unwrap();
    db.close().unwrap();
}

fn each(test: impl Fn(&Path)) {
    for architecture in [Architecture::Partitioned, Architecture::Classic] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        make(&path, architecture);
        test(&path);
    }
}

#[test]
fn every_type_is_shown() {
    each(|path| {
        let info = run_well(&["info", text(path)]).out;
        for line in [
            "mail       text(254)",
            "reference  uuid",
            "standing   enum(Open, Paid)",
            "due        date or null",
            "at         time of day",
            "large      u128",
            "balance    i128",
            "weight     f32",
            "ratio      f64",
        ] {
            assert!(info.contains(line), "no `{line}` in {info}");
        }
        let json = run_well(&["dump", text(path), "invoice"]).out;
        let lines: Vec<_> = json.lines().collect();
        assert_eq!(
            lines[0],
            "{\"mail\":\"ann@example.org\",\"reference\":\"67e55044-10b1-426f-9247-bb680e5fe0c8\",\
             \"standing\":\"Paid\",\"due\":\"2024-02-29\",\"at\":\"09:30:00.000000\",\
             \"large\":340282366920938463463374607431768211455,\"balance\":-1,\"weight\":0.1,\
             \"ratio\":\"-Infinity\",\"price\":\"9.50\"}"
        );
        assert!(lines[1].contains("\"due\":null") && lines[1].contains("\"weight\":1e-40,\"ratio\":-2.5,"), "{json}");
        assert!(lines.iter().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()), "{json}");
        let csv = run_well(&["dump", text(path), "invoice", "--format", "csv"]).out;
        let end = ",Open,,09:30:00.000000,340282366920938463463374607431768211455,-1,1e-40,-2.5,9.51\n";
        assert!(csv.ends_with(end), "{csv}");
        assert!(run_well(&["verify", text(path)]).out.contains("All is well."));
    });
}

#[test]
fn rows_and_columns_are_chosen() {
    each(|path| {
        let dump = |more: &[&str]| {
            let fixed = ["dump", text(path), "invoice", "--format", "csv", "--columns", "price,mail"];
            run_well(&[&fixed, more].concat()).out
        };
        let head = "price,mail\n";
        let ann = "9.50,ann@example.org\n";
        let bob = "9.51,bob@example.org\n";
        assert_eq!(dump(&[]), [head, ann, bob].concat());
        assert_eq!(dump(&["--limit", "1"]), [head, ann].concat());
        assert_eq!(dump(&["--limit", "0"]), head);
        for (condition, rows) in [
            ("price > 9.5", bob),
            ("due = null", bob),
            ("due <= 2024-02-29", ann),
            ("standing = Paid", ann),
            ("ratio < -3", ann),
            ("mail = 'bob@example.org'", bob),
            ("at = 10:00:00", ""),
        ] {
            assert_eq!(dump(&["--where", condition]), [head, rows].concat(), "{condition}");
        }
        assert_eq!(dump(&["--where", "price >= 9.5", "--where", "due != null"]), [head, ann].concat());
        assert_eq!(dump(&["--where", "price >= 9.51", "--limit", "1"]), [head, bob].concat());
        for (arguments, why) in [
            (["--where", "due = soon"], "`soon` is no value of column `due`, a date like 2024-02-29"),
            (["--where", "standing = Late"], "which is enum(Open, Paid)"),
            (["--columns", "prise"], "table `invoice` has no column `prise`; its columns are mail, "),
        ] {
            let ran = run(&[&["dump", text(path), "invoice"], &arguments[..]].concat());
            assert!(ran.status == Some(1) && ran.err.contains(why), "{}", ran.err);
        }
    });
}
