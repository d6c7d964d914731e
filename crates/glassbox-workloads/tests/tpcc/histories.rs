//! Thousands of transactions on the model leave every condition true, and every condition notices what it is for.

use crate::common::{Runner, assert_consistent, loaded, planted, violated};
use glassbox::procedure::{Stop, Transaction};
use glassbox::record::{Decimal, Timestamp};
use glassbox_testing::ModelTransaction;
use glassbox_workloads::tpcc::schema::{
    Customer, District, History, Item, Money, Order, OrderLine, Stock, StockInfo, Undelivered, Warehouse,
};
use glassbox_workloads::tpcc::{Customers, Input, Inputs, Kind, Mix, Payment, Remote, Scale, Settings};

const SCALE: Scale = Scale::small(2);

#[test]
fn the_population_has_its_sizes_and_is_consistent() {
    let mut database = loaded(&SCALE, 7, 2);
    assert_eq!(database.rows::<Item>().len(), 1_000);
    assert_eq!(database.rows::<Warehouse>().len(), 2);
    assert_eq!(database.rows::<District>().len(), 20);
    assert_eq!(database.rows::<Customer>().len(), 600);
    assert_eq!(database.rows::<History>().len(), 600);
    assert_eq!(database.rows::<Order>().len(), 600);
    assert_eq!(database.rows::<Undelivered>().len(), 20 * 9);
    assert_eq!((database.rows::<Stock>().len(), database.rows::<StockInfo>().len()), (2_000, 2_000));
    let original = database.rows::<Item>().iter().filter(|item| item.data.as_str().contains("ORIGINAL")).count();
    assert!((60..140).contains(&original), "{original} of 1,000 items are original");
    assert_consistent(&mut database, &SCALE);
}

#[test]
fn a_seed_gives_the_same_population_however_many_threads_load_it() {
    let (one, four, other) = (loaded(&SCALE, 7, 1), loaded(&SCALE, 7, 4), loaded(&SCALE, 8, 1));
    assert!(one.contents().eq(four.contents()));
    assert!(!one.contents().eq(other.contents()));
}

#[test]
fn the_full_mix_keeps_every_condition() {
    for (seed, remote) in [(1, Remote::SPECIFICATION), (2, Remote { order_lines: 10.0, payments: 50.0 })] {
        let mut database = loaded(&SCALE, seed, 2);
        let mut runner = Runner::new(&mut database);
        let mut inputs = Inputs::new(&Settings { load_seed: seed, seed, remote, ..Settings::new(SCALE) }, 0);
        (0..5_000).for_each(|_| runner.run(inputs.next()));
        assert_eq!(runner.committed[1..], [2_150, 200, 200, 200]);
        assert_eq!(runner.aborted[1..], [0; 4]);
        let rolled_back = runner.aborted[Kind::NewOrder as usize];
        assert!((5..50).contains(&rolled_back), "{rolled_back} of 2,250 orders rolled back");
        assert_consistent(&mut database, &SCALE);
        let remote = database.rows::<Stock>().iter().map(|stock| stock.remote_cnt).sum::<u32>();
        assert!(remote > 100, "{remote} order lines from the other warehouse");
    }
}

#[test]
fn the_looking_glass_mix_keeps_every_condition_and_stays_home() {
    let scale = Scale { customers: 100, orders: 100, ..Scale::small(2) };
    let mut database = loaded(&scale, 3, 2);
    let mut runner = Runner::new(&mut database);
    let mut inputs = Inputs::new(&Settings { mix: Mix::LookingGlass, load_seed: 3, ..Settings::new(scale) }, 0);
    (0..3_000).for_each(|_| runner.run(inputs.next()));
    assert_eq!((runner.committed, runner.aborted), ([1_500, 1_500, 0, 0, 0], [0; 5]));
    assert_consistent(&mut database, &scale);
    assert!(database.rows::<Stock>().iter().all(|stock| stock.remote_cnt == 0));
    let new_orders = database.rows::<Order>().into_iter().filter(|order| order.id > scale.orders);
    assert!(new_orders.map(|order| (order.ol_cnt, order.all_local)).all(|order| order == (10, true)));
}

#[test]
fn deliveries_skip_districts_that_have_none_waiting() {
    let scale = Scale { orders: 5, ..Scale::small(1) };
    let mut database = loaded(&scale, 1, 1);
    let delivery = glassbox_workloads::tpcc::Delivery { w_id: 1, carrier_id: 4 };
    let mut run = || database.run(&delivery, Default::default(), 0).unwrap();
    let first = run();
    assert_eq!((first.orders, first.skipped), ([5; 10], 0));
    let second = run();
    assert_eq!((second.orders, second.skipped), ([0; 10], 10));
    assert!(violated(&mut database, &scale).is_empty());
}

#[test]
fn a_payment_no_terminal_would_send_changes_nothing() {
    let mut database = loaded(&SCALE, 1, 1);
    let before: Vec<_> = database.contents().map(|(table, key, row)| (table, key.to_vec(), row.to_vec())).collect();
    let good =
        Payment { w_id: 1, d_id: 1, c_w_id: 2, c_d_id: 1, customer: Customers::Id(1), amount: Decimal::from_whole(10) };
    let unknown = glassbox::record::Text::new("UNKNOWN").unwrap();
    for bad in [
        Payment { w_id: 3, ..good },
        Payment { d_id: 11, ..good },
        Payment { c_w_id: 0, ..good },
        Payment { c_d_id: 0, ..good },
        Payment { customer: Customers::Id(31), ..good },
        Payment { customer: Customers::Last(unknown), ..good },
        Payment { amount: Decimal::from_units(i64::MAX), ..good },
    ] {
        assert_eq!(database.run(&bad, Default::default(), 0).unwrap(), None, "{bad:?}");
    }
    let after = database.contents().map(|(table, key, row)| (table, key.to_vec(), row.to_vec()));
    assert!(before.into_iter().eq(after));
    assert!(database.run(&good, Default::default(), 0).unwrap().is_some());
    assert!(violated(&mut database, &SCALE).is_empty());
}

#[test]
fn bad_credit_is_noted_in_front_of_the_customers_data() {
    let mut database = loaded(&SCALE, 1, 1);
    let customer = database.rows::<Customer>().into_iter().find(|customer| customer.credit == "BC").unwrap();
    let (c_w_id, c_d_id) = (customer.w_id, customer.d_id);
    let amount = "1234.05".parse().unwrap();
    let payment = Payment { w_id: 2, d_id: 7, c_w_id, c_d_id, customer: Customers::Id(customer.id), amount };
    database.run(&payment, Default::default(), 0).unwrap().unwrap();
    let data =
        database.transaction(|tx| Ok(tx.get::<Customer>(&(c_w_id, c_d_id, customer.id))?.unwrap().data)).unwrap();
    let noted = format!("{} {c_d_id} {c_w_id} 7 2 1234.05|{}", customer.id, customer.data);
    assert_eq!(data.as_str(), &noted[..noted.len().min(500)]);
}

#[test]
fn the_middle_customer_of_a_name_is_meant() {
    let mut database = loaded(&Scale { customers: 3_000, orders: 1, ..Scale::small(1) }, 1, 1);
    let mut named: Vec<_> = database.rows::<Customer>().into_iter().filter(|c| c.d_id == 1).collect();
    named.sort_by_key(|customer| (customer.last, customer.first));
    let mut inputs = Inputs::new(&Settings::new(Scale::full(1)), 0);
    for _ in 0..200 {
        let Payment { customer, .. } = inputs.payment(1, 1);
        let Customers::Last(last) = customer else { continue };
        let same: Vec<_> = named.iter().filter(|customer| customer.last == last).collect();
        let asked = glassbox_workloads::tpcc::OrderStatus { w_id: 1, d_id: 1, customer };
        let answer = database.run(&asked, Default::default(), 0).unwrap().unwrap();
        assert_eq!(answer.c_id, same[same.len().div_ceil(2) - 1].id);
    }
}

/// A change that breaks something, given an undelivered order.
type Plant = fn(&mut ModelTransaction<'_>, (u16, u8, u32)) -> Result<(), Stop>;

const CENT: Money = Decimal::from_units(1);

/// Changes, and the conditions that are to notice them.
const PLANTS: [(Plant, &[u8]); 13] = [
    (|tx, _| tx.update::<Warehouse, _>(&1, |row| row.ytd += CENT).map(drop), &[1, 8]),
    (|tx, _| tx.update::<District, _>(&(1, 2), |row| row.ytd += CENT).map(drop), &[1, 9]),
    (|tx, _| tx.update::<District, _>(&(1, 2), |row| row.next_o_id += 1).map(drop), &[2]),
    // The second of a district's undelivered orders.
    (|tx, (w_id, d_id, o_id)| tx.delete::<Undelivered>(&(w_id, d_id, o_id + 1)).map(drop), &[3, 5, 11]),
    (|tx, (w_id, d_id, o_id)| tx.delete::<OrderLine>(&(w_id, d_id, o_id, 1)).map(drop), &[4, 6]),
    (|tx, order| tx.update::<Order, _>(&order, |row| row.carrier_id = Some(1)).map(drop), &[5, 7]),
    (
        |tx, (w_id, d_id, o_id)| {
            let line = (w_id, d_id, o_id, 1);
            tx.update::<OrderLine, _>(&line, |row| row.delivery_d = Some(Timestamp::default())).map(drop)
        },
        &[7, 10, 12],
    ),
    (|tx, _| tx.update::<History, _>(&(1, 1, 1, 1), |row| row.amount += CENT).map(drop), &[8, 9, 10]),
    (|tx, _| tx.delete::<History>(&(1, 1, 1, 1)).map(drop), &[8, 9, 10]),
    (|tx, _| tx.update::<Customer, _>(&(1, 1, 1), |row| row.balance += CENT).map(drop), &[10, 12]),
    (|tx, _| tx.update::<Customer, _>(&(1, 1, 1), |row| row.delivery_cnt += 1).map(drop), &[11]),
    (|tx, _| tx.update::<Customer, _>(&(1, 1, 1), |row| row.ytd_payment += CENT).map(drop), &[12]),
    (|tx, _| tx.update::<Stock, _>(&(2, 3), |row| row.remote_cnt += 1).map(drop), &[13]),
];

#[test]
fn every_condition_notices_its_violation() {
    let mut database = loaded(&SCALE, 4, 2);
    let mut inputs = Inputs::new(&Settings { load_seed: 4, ..Settings::new(SCALE) }, 0);
    let mut runner = Runner::new(&mut database);
    // Few enough that the oldest undelivered order is the population's, whose lines condition 13 does not count.
    (0..100).for_each(|_| runner.run(inputs.next()));
    let oldest = database.rows::<Undelivered>()[0];
    for (number, (plant, noticed)) in PLANTS.into_iter().enumerate() {
        let found = planted(&mut database, &SCALE, |tx| plant(tx, (oldest.w_id, oldest.d_id, oldest.o_id)));
        assert_eq!(found, noticed, "plant {number}");
    }
    assert_consistent(&mut database, &SCALE);
}

#[test]
fn an_order_that_rolls_back_leaves_nothing() {
    let mut database = loaded(&SCALE, 5, 1);
    let before: Vec<_> = database.contents().map(|(_, _, row)| row.to_vec()).collect();
    let mut inputs = Inputs::new(&Settings { mix: Mix::NewOrderOnly, ..Settings::new(SCALE) }, 0);
    let Input::NewOrder(mut order) = inputs.next() else { panic!("only New-Orders") };
    order.lines.last_mut().unwrap().i_id = SCALE.items + 1;
    let abort = database.run(&order, Default::default(), 0).unwrap_err();
    assert_eq!(abort.to_string(), "Item number is not valid (code 1)");
    assert!(database.contents().map(|(_, _, row)| row).eq(before.iter().map(|row| &row[..])));
}
