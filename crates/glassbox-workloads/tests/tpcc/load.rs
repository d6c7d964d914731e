//! Loading at the specification's scale, and a load that fails.

use std::collections::BTreeMap;
use std::sync::Mutex;

use glassbox::record::Record;
use glassbox_workloads::tpcc::{Scale, Sink, load};

/// Counts rows of each table; refuses those of one.
struct Counts<'a>(&'a Mutex<BTreeMap<&'static str, u64>>, &'static str);

impl Sink for Counts<'_> {
    type Error = &'static str;
    fn row<R: Record>(&mut self, _row: &R) -> Result<(), &'static str> {
        if R::TABLE == self.1 {
            return Err(R::TABLE);
        }
        *self.0.lock().unwrap().entry(R::TABLE).or_default() += 1;
        Ok(())
    }
}

#[test]
fn a_full_warehouse_has_the_specifications_rows() {
    let counts = Mutex::default();
    load(&Scale::full(1), 1, 2, || Counts(&counts, "")).unwrap();
    let mut counts = counts.into_inner().unwrap();
    // 300,000 give or take, the sum of 30,000 uniform draws from 5 to 15.
    let lines = counts.remove("order_line").unwrap();
    assert!((297_000..303_000).contains(&lines), "{lines} order lines");
    let expected = [
        ("customer", 30_000),
        ("district", 10),
        ("history", 30_000),
        ("item", 100_000),
        ("new_order", 9_000),
        ("orders", 30_000),
        ("place_name", 10),
        ("stock", 100_000),
        ("stock_info", 100_000),
        ("warehouse", 1),
    ];
    assert!(counts.into_iter().eq(expected));
}

#[test]
fn the_first_error_of_a_sink_ends_the_load() {
    let counts = Mutex::default();
    let result = load(&Scale::small(50), 1, 2, || Counts(&counts, "stock"));
    assert_eq!(result, Err("stock"));
    assert!(counts.into_inner().unwrap()["warehouse"] <= 4, "the others stopped soon");
}

#[test]
fn an_impossible_scale_is_refused_by_name() {
    let error = Scale { customers: 3_001, ..Scale::full(1) }.check().unwrap_err();
    assert_eq!(error.to_string(), "a TPC-C database cannot have customers = 3001: it must be within 1 and 3000");
    assert_eq!(Scale::full(10).delivered(), 2_100);
}
