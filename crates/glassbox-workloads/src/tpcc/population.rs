//! The initial population (clause 4.3.3.1), row by row into a [`Sink`].
//!
//! Every table of every district draws from a generator of its own, seeded with the table, warehouse and district. So
//! warehouses can be made in any order and in parallel, and a seed always gives the same rows.

use glassbox::procedure::{Stop, Transaction};
use glassbox::record::{Decimal, Record, Text, Timestamp};

use super::random::{Constants, LAST_NAMES, Random, last_name, nurand};
use super::scale::{DISTRICTS, Scale};
use super::schema::{
    Address, Customer, District, History, Item, Money, Order, OrderLine, PlaceName, Rate, Stock, StockInfo,
    Undelivered, Warehouse,
};

/// Takes the rows of the population.
pub trait Sink {
    /// Why a row could not be taken.
    type Error;

    /// Takes one row.
    ///
    /// # Errors
    /// The sink's own.
    fn row<R: Record>(&mut self, row: &R) -> Result<(), Self::Error>;
}

/// The date of everything in the population, 2026-01-01 00:00 UTC: fixed, so that a seed gives the same bytes on any
/// day.
pub const POPULATED_AT: Timestamp = Timestamp::from_micros(1_767_225_600_000_000);

/// Every customer's payment in the population.
const FIRST_PAYMENT: Money = Decimal::from_whole(10);

/// Names the generators' parts; stable, since the rows depend on them.
#[derive(Clone, Copy)]
enum Part {
    Items = 1,
    Warehouse,
    Stock,
    StockInfo,
    District,
    Customers,
    Orders,
}

fn generator(seed: u64, part: Part, w_id: u16, d_id: u8) -> Random {
    Random::of_part(seed, [part as u64, u64::from(w_id), u64::from(d_id)])
}

/// All items.
///
/// # Errors
/// The sink's.
pub fn items<S: Sink>(scale: &Scale, seed: u64, sink: &mut S) -> Result<(), S::Error> {
    let mut random = generator(seed, Part::Items, 0, 0);
    for id in 1..=scale.items {
        sink.row(&Item {
            id,
            im_id: random.uniform(1, 10_000) as u32,
            name: random.a_string(14, 24),
            price: Decimal::from_units(random.uniform(100, 10_000) as i64),
            data: random.data(),
        })?;
    }
    Ok(())
}

/// Everything of one warehouse.
///
/// # Errors
/// The sink's.
pub fn warehouse<S: Sink>(scale: &Scale, seed: u64, w_id: u16, sink: &mut S) -> Result<(), S::Error> {
    let mut random = generator(seed, Part::Warehouse, w_id, 0);
    let name = random.a_string(6, 10);
    let Address { street_1, street_2, city, state, zip } = address(&mut random);
    let tax = rate(&mut random, 2_000);
    let ytd = FIRST_PAYMENT.times(i64::from(scale.customers) * i64::from(DISTRICTS));
    sink.row(&Warehouse { ytd, tax, id: w_id, name, street_1, street_2, city, state, zip })?;
    stock(scale, seed, w_id, sink)?;
    for d_id in 1..=DISTRICTS {
        let district = district(scale, seed, w_id, d_id, sink)?;
        sink.row(&PlaceName { w_id, d_id, warehouse: name, district })?;
        customers(scale, seed, w_id, d_id, sink)?;
        orders(scale, seed, w_id, d_id, sink)?;
    }
    Ok(())
}

fn stock<S: Sink>(scale: &Scale, seed: u64, w_id: u16, sink: &mut S) -> Result<(), S::Error> {
    let mut random = generator(seed, Part::Stock, w_id, 0);
    for i_id in 1..=scale.items {
        let quantity = random.uniform(10, 100) as i16;
        sink.row(&Stock { ytd: 0, i_id, order_cnt: 0, remote_cnt: 0, w_id, quantity })?;
    }
    let mut random = generator(seed, Part::StockInfo, w_id, 0);
    for i_id in 1..=scale.items {
        let mut dist = || random.a_string(24, 24);
        sink.row(&StockInfo {
            w_id,
            i_id,
            dist_01: dist(),
            dist_02: dist(),
            dist_03: dist(),
            dist_04: dist(),
            dist_05: dist(),
            dist_06: dist(),
            dist_07: dist(),
            dist_08: dist(),
            dist_09: dist(),
            dist_10: dist(),
            data: random.data(),
        })?;
    }
    Ok(())
}

/// The district; its name.
fn district<S: Sink>(scale: &Scale, seed: u64, w_id: u16, d_id: u8, sink: &mut S) -> Result<Text<10>, S::Error> {
    let mut random = generator(seed, Part::District, w_id, d_id);
    let name = random.a_string(6, 10);
    let Address { street_1, street_2, city, state, zip } = address(&mut random);
    let tax = rate(&mut random, 2_000);
    let ytd = FIRST_PAYMENT.times(i64::from(scale.customers));
    let next_o_id = scale.orders + 1;
    sink.row(&District { ytd, tax, next_o_id, w_id, id: d_id, name, street_1, street_2, city, state, zip })?;
    Ok(name)
}

fn customers<S: Sink>(scale: &Scale, seed: u64, w_id: u16, d_id: u8, sink: &mut S) -> Result<(), S::Error> {
    let c_last = Constants::for_load(seed).c_last;
    let mut random = generator(seed, Part::Customers, w_id, d_id);
    for id in 1..=scale.customers {
        let number = match u64::from(id) - 1 {
            first @ ..LAST_NAMES => first,
            _ => nurand(&mut random, 255, c_last, 0, LAST_NAMES - 1),
        };
        let Address { street_1, street_2, city, state, zip } = address(&mut random);
        sink.row(&Customer {
            balance: -FIRST_PAYMENT,
            ytd_payment: FIRST_PAYMENT,
            discount: rate(&mut random, 5_000),
            payment_cnt: 1,
            delivery_cnt: 0,
            w_id,
            id,
            d_id,
            credit: text(if random.uniform(1, 10) == 1 { "BC" } else { "GC" }),
            last: last_name(number),
            middle: text("OE"),
            first: random.a_string(8, 16),
            since: POPULATED_AT,
            credit_lim: Decimal::from_whole(50_000),
            street_1,
            street_2,
            city,
            state,
            zip,
            phone: random.n_string(16, 16),
            data: random.a_string(300, 500),
        })?;
        sink.row(&History {
            c_w_id: w_id,
            c_d_id: d_id,
            c_id: id,
            number: 1,
            w_id,
            d_id,
            date: POPULATED_AT,
            amount: FIRST_PAYMENT,
            data: random.a_string(12, 24),
        })?;
    }
    Ok(())
}

fn orders<S: Sink>(scale: &Scale, seed: u64, w_id: u16, d_id: u8, sink: &mut S) -> Result<(), S::Error> {
    let mut random = generator(seed, Part::Orders, w_id, d_id);
    // Each customer orders once, in random order (again from the first, should a small scale have more orders).
    let mut customers: Vec<u16> = (1..=scale.customers).collect();
    random.shuffle(&mut customers);
    for (id, &c_id) in (1..=scale.orders).zip(customers.iter().cycle()) {
        let delivered = id <= scale.delivered();
        let order = Order {
            w_id,
            d_id,
            id,
            c_id,
            carrier_id: delivered.then(|| random.uniform(1, 10) as u8),
            ol_cnt: random.uniform(5, 15) as u8,
            all_local: true,
            entry_d: POPULATED_AT,
        };
        sink.row(&order)?;
        if !delivered {
            sink.row(&Undelivered { w_id, d_id, o_id: id })?;
        }
        for number in 1..=order.ol_cnt {
            sink.row(&order_line(scale, &mut random, &order, number))?;
        }
    }
    Ok(())
}

fn order_line(scale: &Scale, random: &mut Random, order: &Order, number: u8) -> OrderLine {
    let delivered = order.carrier_id.is_some();
    OrderLine {
        w_id: order.w_id,
        d_id: order.d_id,
        o_id: order.id,
        number,
        quantity: 5,
        supply_w_id: order.w_id,
        i_id: random.uniform(1, u64::from(scale.items)) as u32,
        amount: if delivered { Money::ZERO } else { Decimal::from_units(random.uniform(1, 999_999) as i64) },
        delivery_d: delivered.then_some(order.entry_d),
        dist_info: random.a_string(24, 24),
    }
}

fn address(random: &mut Random) -> Address {
    Address {
        street_1: random.a_string(10, 20),
        street_2: random.a_string(10, 20),
        city: random.a_string(10, 20),
        state: random.state(),
        zip: random.zip(),
    }
}

/// A rate between zero and so many ten-thousandths.
fn rate(random: &mut Random, most: u64) -> Rate {
    Decimal::from_units(random.uniform(0, most) as i64)
}

fn text<const N: usize>(text: &str) -> Text<N> {
    Text::new(text).expect("written to fit")
}

/// The scale that a database was loaded with, found out from its rows; `None` when no population was loaded.
///
/// A table that held it could say something else than the rows do. The keys are dense from 1, so a few dozen lookups
/// find their ends; the orders of the population are told from later ones by their date.
///
/// # Errors
/// [`Stop`], to be passed on.
pub fn stored_scale<T: Transaction>(tx: &mut T) -> Result<Option<Scale>, Stop> {
    let warehouses = last(u32::from(u16::MAX), |id| Ok(tx.get::<Warehouse>(&(id as u16))?.is_some()))? as u16;
    if warehouses == 0 {
        return Ok(None);
    }
    let items = last(1 << 20, |id| Ok(tx.get::<Item>(&id)?.is_some()))?;
    let customers = last(u32::from(u16::MAX), |id| Ok(tx.get::<Customer>(&(1, 1, id as u16))?.is_some()))? as u16;
    let orders = last(1 << 20, |id| {
        let order = tx.get::<Order>(&(1, 1, id))?;
        Ok(order.is_some_and(|order| order.entry_d == POPULATED_AT))
    })?;
    Ok(Some(Scale { warehouses, items, customers, orders }))
}

/// The last number, from 1 to `most`, that `there` affirms, given that it affirms all before that; 0: not even the
/// first.
fn last(most: u32, mut there: impl FnMut(u32) -> Result<bool, Stop>) -> Result<u32, Stop> {
    let (mut low, mut high) = (0, most + 1);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if there(middle)? {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_number_is_found_wherever_it_is() {
        for wanted in [0, 1, 2, 3, 99, 100] {
            assert_eq!(last(100, |id| Ok(id <= wanted)), Ok(wanted));
        }
    }
}
