//! The indexes against the standard library's; the variants against each other; the state against TPC-C's conditions.

use std::collections::{BTreeMap, HashMap};

use glassbox::record::Timestamp;
use glassbox_workloads::tpcc::{self, Inputs, Scale, Settings};

use crate::check::Checksum;
use crate::fields::is_original;
use crate::hash::Hash;
use crate::index::Index;
use crate::inputs::{KernelInput, NewOrderOutput, PaymentInput};
use crate::memory::{Pages, Row, Slab};
use crate::shared::load_shared;
use crate::store::{BTrees, HashTables, Indexes, Kernel, Sizing};
use crate::tree::Tree;

/// Scrambles numbers, one to one.
fn scrambled(number: u64) -> u64 {
    (number + 1).wrapping_mul(0xD134_2543_DE82_EF95).rotate_left(29)
}

/// Rows to point at: the value of row `i` is `i`.
fn rows(count: u64) -> (Slab<u64>, Vec<Row<u64>>) {
    let mut slab = Slab::new(count as usize, Pages::Small).unwrap();
    let rows = (0..count).map(|i| slab.push(i)).collect();
    (slab, rows)
}

fn agrees_with_map(keys: &[u64]) {
    let (_slab, rows) = rows(keys.len() as u64);
    let mut tree = Tree::with_capacity(keys.len(), Pages::Small).unwrap();
    let mut map = BTreeMap::new();
    for (key, row) in keys.iter().zip(&rows) {
        tree.insert(*key, *row);
        map.insert(*key, row.number());
    }
    let found: Vec<_> = tree.scan(0).map(|(key, row)| (key, row.number())).collect();
    assert_eq!(found, map.clone().into_iter().collect::<Vec<_>>());
    for key in keys.iter().flat_map(|key| [key.saturating_sub(1), *key, (key + 1).min(u64::MAX - 1)]) {
        assert_eq!(tree.find(key).map(Row::number), map.get(&key).copied(), "find {key}");
        let [step] = tree.begin(&[key]);
        assert_eq!(tree.finish(key, step).map(Row::number), map.get(&key).copied(), "begin and finish {key}");
        let from: Option<u64> = tree.scan(key).next().map(|(key, _)| key);
        assert_eq!(from, map.range(key..).next().map(|(key, _)| *key), "scan from {key}");
    }
}

#[test]
fn tree_agrees_with_btree_map() {
    agrees_with_map(&[]);
    agrees_with_map(&[7]);
    agrees_with_map(&(0..40_000).map(|i| scrambled(i) >> 1).collect::<Vec<_>>());
    agrees_with_map(&(0..20_000).collect::<Vec<_>>());
    agrees_with_map(&(0..20_000).rev().collect::<Vec<_>>());
    agrees_with_map(&(0..20_000).map(|i| i * 3).chain((0..20_000).map(|i| i * 3 + 1)).collect::<Vec<_>>());
    // Ascending runs that grow at fifty places in turn, as districts do.
    let runs = (0..400).flat_map(|i| (0..50).map(move |run| run << 32 | i));
    agrees_with_map(&runs.collect::<Vec<_>>());
}

#[test]
fn runs_are_the_same_as_single_insertions() {
    let (_slab, rows) = rows(200_000);
    let mut tree = Tree::with_capacity(200_000, Pages::Small).unwrap();
    let mut map = BTreeMap::new();
    for i in 0..20_000_u64 {
        let (key, first) = ((scrambled(i) % 50) << 32 | i << 4 | 1, i as usize * 10);
        tree.insert_run_at::<10>(tree.seek(key), key, rows[first]);
        map.extend((0..10).map(|line| (key + line, first as u32 + line as u32)));
    }
    assert!(tree.scan(0).map(|(key, row)| (key, row.number())).eq(map));
}

#[test]
fn hash_agrees_with_hash_map() {
    for keys in [(0..30_000).collect::<Vec<u64>>(), (0..30_000).map(|i| scrambled(i) >> 34).collect()] {
        let (_slab, rows) = rows(keys.len() as u64);
        let mut hash = Hash::with_capacity(keys.len(), Pages::Small).unwrap();
        let mut map = HashMap::new();
        for (key, row) in keys.iter().zip(&rows).filter(|(key, row)| map.insert(**key, row.number()).is_none()) {
            hash.insert(*key, *row);
        }
        for key in keys.iter().flat_map(|key| [*key, key + 1, key | 1 << 32]).chain([u64::from(u32::MAX), u64::MAX - 1])
        {
            let [step] = hash.begin(&[key]);
            assert_eq!(hash.find(key).map(Row::number), map.get(&key).copied());
            assert_eq!(hash.finish(key, step).map(Row::number), map.get(&key).copied());
        }
    }
}

#[test]
fn original_is_found_wherever_it_stands() {
    let mut data = [b'N'; 50];
    assert!(!is_original(&data));
    for at in 0..=42 {
        data = [b'G'; 50];
        data[at..at + 8].copy_from_slice(b"ORIGINAL");
        assert!(is_original(&data), "at {at}");
        data[at + 7] = b'l';
        assert!(!is_original(&data), "at {at}");
    }
}

const SCALE: Scale = Scale { warehouses: 2, items: 5_000, customers: 150, orders: 150 };

fn filled<I: Indexes, const PREFETCH: bool>(pages: Pages) -> Kernel<I, PREFETCH> {
    let mut kernel = Kernel::new(Sizing::of(&SCALE, 20_000), pages).unwrap();
    load_shared(&mut kernel, &SCALE, tpcc::LOAD_SEED);
    kernel
}

/// Inputs of the mix; one New-Order in fifty names an unknown item.
fn inputs(count: usize, seed: u64) -> Vec<KernelInput> {
    let mut source = Inputs::new(&Settings::looking_glass(&SCALE, seed), 0);
    let translated = (0..count).map(|at| {
        let input = KernelInput::from_shared(&source.next(), Timestamp::from_micros(at as i64)).unwrap();
        match input {
            KernelInput::NewOrder(mut order) if at % 50 == 0 => {
                order.lines[9].i_id = u32::MAX;
                KernelInput::NewOrder(order)
            }
            _ => input,
        }
    });
    translated.collect()
}

fn outcome<I: Indexes, const PREFETCH: bool>(pages: Pages) -> (i64, Checksum) {
    let mut kernel = filled::<I, PREFETCH>(pages);
    kernel.check().unwrap();
    let answers = kernel.run(&inputs(20_000, 2));
    kernel.check().unwrap();
    (answers, kernel.checksum())
}

#[test]
fn variants_agree_and_are_consistent() {
    let expected = outcome::<BTrees, false>(Pages::Small);
    assert_eq!(outcome::<BTrees, true>(Pages::Huge), expected);
    assert_eq!(outcome::<HashTables, false>(Pages::Huge), expected);
    assert_eq!(outcome::<HashTables, true>(Pages::Small), expected);
}

#[test]
fn sums_move_by_what_the_inputs_say() {
    let mut kernel = filled::<BTrees, false>(Pages::Small);
    let before = kernel.checksum();
    let inputs = inputs(5_000, 3);
    let (mut paid, mut payments, mut placed, mut ordered) = (0, 0, 0, 0);
    for input in &inputs {
        match input {
            KernelInput::Payment(input) => {
                kernel.payment(input);
                (paid, payments) = (paid + i64::from(input.amount), payments + 1);
            }
            KernelInput::NewOrder(input) => {
                if let NewOrderOutput::Placed { .. } = kernel.new_order(input) {
                    placed += 1;
                    ordered += input.lines.iter().map(|line| i64::from(line.quantity)).sum::<i64>();
                }
            }
        }
    }
    let refused = inputs.len() as i64 - payments - placed;
    assert!(refused > 0 && placed > 0);
    let after = kernel.checksum();
    let expected = Checksum {
        warehouse_ytd: before.warehouse_ytd + paid,
        district_ytd: before.district_ytd + paid,
        district_next_o_id: before.district_next_o_id + placed,
        customer_balance: before.customer_balance - paid,
        customer_ytd_payment: before.customer_ytd_payment + paid,
        customer_payment_cnt: before.customer_payment_cnt + payments,
        history_amount: before.history_amount + paid,
        history_rows: before.history_rows + payments,
        order_ol_cnt: before.order_ol_cnt + placed * 10,
        order_rows: before.order_rows + placed,
        new_order_rows: before.new_order_rows + placed,
        order_line_rows: before.order_line_rows + placed * 10,
        stock_ytd: before.stock_ytd + ordered,
        stock_order_cnt: before.stock_order_cnt + placed * 10,
        // These depend on rows the test does not look at; that they agree between variants is tested above.
        order_line_amount: after.order_line_amount,
        stock_quantity: after.stock_quantity,
    };
    assert_eq!(after, expected);
    assert!(after.order_line_amount > before.order_line_amount);
    assert_eq!((before.stock_quantity - ordered - after.stock_quantity) % 91, 0);
}

#[test]
fn bad_credit_writes_the_payment_before_the_data() {
    let mut kernel = filled::<BTrees, false>(Pages::Small);
    let customer = *kernel.customers.as_slice().iter().find(|row| row.credit == *b"BC").unwrap();
    let (w_id, d_id, c_id) = (customer.w_id, customer.d_id, customer.id);
    let input = PaymentInput { date: 0, amount: 123_405, w_id, c_w_id: w_id, c_id, d_id, c_d_id: d_id };
    let output = kernel.payment(&input);
    let after =
        kernel.customers.as_slice().iter().find(|row| (row.w_id, row.d_id, row.id) == (w_id, d_id, c_id)).unwrap();
    let line = format!("{c_id} {d_id} {w_id} {d_id} {w_id} 1234.05 ");
    assert_eq!(output.balance, customer.balance - 123_405);
    assert_eq!(&after.data[..line.len()], line.as_bytes());
    assert_eq!(after.data[line.len()..], customer.data[..500 - line.len()]);
}

#[test]
fn inconsistency_is_seen() {
    let mut kernel = filled::<BTrees, false>(Pages::Small);
    kernel.warehouses.get_mut(kernel.warehouse_by_id.find(1).unwrap()).ytd += 1;
    assert!(kernel.check().unwrap_err().to_string().contains("ytd of warehouse 1"));
}

#[test]
fn the_shared_population_and_inputs_fit() {
    let mut kernel = Kernel::<HashTables, true>::new(Sizing::of(&SCALE, 2_000), Pages::Small).unwrap();
    load_shared(&mut kernel, &SCALE, tpcc::LOAD_SEED);
    kernel.check().unwrap();
    let before = kernel.checksum();
    let mut source = Inputs::new(&Settings::looking_glass(&SCALE, 1), 0);
    let inputs: Vec<_> =
        (0..2_000).map(|at| KernelInput::from_shared(&source.next(), Timestamp::from_micros(at)).unwrap()).collect();
    kernel.run(&inputs);
    kernel.check().unwrap();
    assert_eq!(kernel.checksum().order_rows, before.order_rows + 1_000);
    assert_eq!(kernel.checksum().history_rows, before.history_rows + 1_000);
}
