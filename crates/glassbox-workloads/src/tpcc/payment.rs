//! The Payment transaction (clause 2.5): a customer pays, perhaps to a warehouse that is not the customer's own.
//!
//! It aborts in one case only, which is below: a payment that no terminal would send changes nothing and is answered
//! with `None`. That has to be known before the first write; the customer is therefore changed first, so that its
//! absence is noticed in time. It also proves its warehouse and districts. That another warehouse exists is asked of
//! the replicated stock information: reading the warehouse's own row first would make two payments that lock it shared
//! wait for each other when both go on to change it.
//!
//! Where partitions are processes of their own, a payment to a warehouse of another partition is run by both, in one
//! round: the customer's, which is the home, changes the customer and enters the history, with names from the
//! replicated [`PlaceName`]; the warehouse's changes warehouse and district and answers their addresses
//! ([`Transaction::owns`]). The latter cannot know that the customer exists. If it does not the home aborts there,
//! where it would otherwise answer `None`.

use glassbox::procedure::{Aborts, Declared, KeySet, Mode, Place, Procedure, Stop, Transaction, run_in_place};
use glassbox::record::{Decimal, Prefix, Text, Timestamp};
use serde::{Deserialize, Serialize};

use super::find_customer::Customers;
use super::scale::DISTRICTS;
use super::schema::{Address, Customer, District, History, Money, PlaceName, Rate, StockInfo, Warehouse};

/// The abort of a payment, to a warehouse that is kept elsewhere, of a customer who does not exist.
pub const ABORT_NO_CUSTOMER: u32 = 3;

/// Enters a payment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Payment {
    /// Warehouse that is paid.
    pub w_id: u16,
    /// District that is paid.
    pub d_id: u8,
    /// Warehouse of the customer.
    pub c_w_id: u16,
    /// District of the customer.
    pub c_d_id: u8,
    /// Who pays.
    pub customer: Customers,
    /// How much, 1.00 to 5,000.00.
    pub amount: Money,
}

/// What the terminal shows for a payment (clause 2.5.3.3), besides what was entered.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PaymentReceipt {
    /// Address of the warehouse.
    pub warehouse: Address,
    /// Address of the district.
    pub district: Address,
    /// Number of the customer.
    pub c_id: u16,
    /// The customer's name: first, middle, last.
    pub c_name: (Text<16>, Text<2>, Text<16>),
    /// Address of the customer.
    pub c_address: Address,
    /// Telephone number of the customer.
    pub c_phone: Text<16>,
    /// Since when it is one.
    pub c_since: Timestamp,
    /// How much credit it may have.
    pub c_credit_lim: Money,
    /// Discount of the customer.
    pub c_discount: Rate,
    /// Balance after the payment.
    pub c_balance: Money,
    /// Credit, and what is shown for a bad one.
    pub c_credit: CreditData,
    /// When it was entered.
    pub date: Timestamp,
}

/// Credit of a customer, with the first 200 characters of C_DATA where it is bad.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[allow(clippy::large_enum_variant, reason = "nothing here allocates")]
pub enum CreditData {
    /// `GC`.
    Good,
    /// `BC`.
    Bad(Text<200>),
}

impl Procedure for Payment {
    const NAME: &'static str = "payment";
    const ABORTS: Aborts = Aborts::BeforeFirstWrite;
    type Output = Option<PaymentReceipt>;

    #[inline(always)]
    fn declare(&self, set: &mut impl KeySet) -> Declared {
        if self.w_id != self.c_w_id {
            set.read::<StockInfo>(&(self.w_id, 1));
        }
        self.customer.declare(self.c_w_id, self.c_d_id, Mode::Write, set);
        set.write::<Warehouse>(&self.w_id);
        set.write::<District>(&(self.w_id, self.d_id));
        set.cover::<PlaceName>((self.w_id, self.d_id)..=(self.w_id, self.d_id), Mode::Read);
        match self.customer {
            Customers::Id(c_id) => {
                set.cover::<History>(Prefix((self.c_w_id, self.c_d_id, c_id)), Mode::Insert);
                Declared::Complete
            }
            Customers::Last(_) => Declared::Partitions,
        }
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<Option<PaymentReceipt>, Stop> {
        run_in_place(self, tx)
    }

    fn answer<T: Transaction>(&self, tx: &mut T, place: &mut impl Place<Self::Output>) -> Result<(), Stop> {
        let &Self { w_id, d_id, c_w_id, c_d_id, amount, .. } = self;
        if !self.is_possible() || (w_id != c_w_id && tx.get::<StockInfo>(&(w_id, 1))?.is_none()) {
            place.put(None);
            return Ok(());
        }
        if !tx.owns::<Customer>(&(c_w_id, c_d_id, 0)) {
            place.put(self.receive(tx)?);
            return Ok(());
        }
        let Some(c_id) = self.customer.find(tx, Mode::Write, (c_w_id, c_d_id))? else {
            return self.no_customer(tx, place);
        };
        let date = tx.now();
        let mut shown = None;
        let paid = tx.update::<Customer, _>(&(c_w_id, c_d_id, c_id), |customer| {
            self.pay(customer);
            let receipt = place.put(Some(receipt(customer, date))).as_mut().expect("it was put just now");
            if has_bad_credit(customer) {
                receipt.c_credit = CreditData::Bad(Text::truncated(customer.data.as_str()));
            }
            shown = Some(receipt);
            customer.payment_cnt
        })?;
        let (Some(number), Some(receipt)) = (paid, shown) else { return self.no_customer(tx, place) };
        let (w_name, d_name) = if tx.owns::<Warehouse>(&w_id) {
            self.receive_here(tx, receipt)?
        } else {
            let names = tx.get::<PlaceName>(&(w_id, d_id))?;
            names.map(|names| (names.warehouse, names.district)).expect("a warehouse has ten districts with names")
        };
        let data = join(&w_name, &d_name);
        tx.insert(&History { c_w_id, c_d_id, c_id, number, w_id, d_id, date, amount, data })
    }

    fn merge(receipt: &mut Option<PaymentReceipt>, part: Option<PaymentReceipt>) {
        if let (Some(receipt), Some(part)) = (receipt, part) {
            (receipt.warehouse, receipt.district) = (part.warehouse, part.district);
        }
    }
}

impl Payment {
    /// Changes warehouse and district and shows their addresses; their names.
    #[inline(always)]
    fn receive_here<T: Transaction>(
        &self,
        tx: &mut T,
        receipt: &mut PaymentReceipt,
    ) -> Result<(Text<10>, Text<10>), Stop> {
        let &Self { w_id, d_id, amount, .. } = self;
        let w_name = tx.update::<Warehouse, _>(&w_id, |warehouse| {
            warehouse.ytd += amount;
            receipt.warehouse = warehouse.address();
            warehouse.name
        })?;
        let d_name = tx.update::<District, _>(&(w_id, d_id), |district| {
            district.ytd += amount;
            receipt.district = district.address();
            district.name
        })?;
        let w_name = w_name.expect("customers and stock have a warehouse");
        Ok((w_name, d_name.expect("a warehouse has ten districts")))
    }

    /// The part of a partition that has the warehouse, but not the customer.
    #[cold]
    fn receive<T: Transaction>(&self, tx: &mut T) -> Result<Option<PaymentReceipt>, Stop> {
        let mut receipt = PaymentReceipt {
            warehouse: Address::default(),
            district: Address::default(),
            c_id: 0,
            c_name: (Text::EMPTY, Text::EMPTY, Text::EMPTY),
            c_address: Address::default(),
            c_phone: Text::EMPTY,
            c_since: Timestamp::default(),
            c_credit_lim: Money::ZERO,
            c_discount: Rate::ZERO,
            c_balance: Money::ZERO,
            c_credit: CreditData::Good,
            date: tx.now(),
        };
        self.receive_here(tx, &mut receipt)?;
        Ok(Some(receipt))
    }

    /// There is no such customer: nothing is changed here, and must not be elsewhere.
    #[cold]
    fn no_customer<T: Transaction>(
        &self,
        tx: &mut T,
        place: &mut impl Place<Option<PaymentReceipt>>,
    ) -> Result<(), Stop> {
        if tx.owns::<Warehouse>(&self.w_id) {
            place.put(None);
            return Ok(());
        }
        Err(Stop::abort(ABORT_NO_CUSTOMER, "there is no such customer"))
    }

    /// Whether the arguments are within the specification's ranges, as far as they say.
    fn is_possible(&self) -> bool {
        let districts = 1..=DISTRICTS;
        let amounts = Decimal::from_whole(1)..=Decimal::from_whole(5_000);
        districts.contains(&self.d_id) && districts.contains(&self.c_d_id) && amounts.contains(&self.amount)
    }

    #[inline]
    fn pay(&self, customer: &mut Customer) {
        customer.balance -= self.amount;
        customer.ytd_payment += self.amount;
        customer.payment_cnt += 1;
        if has_bad_credit(customer) {
            self.note(customer);
        }
    }

    /// Puts this payment in front of C_DATA, whose end falls off (clause 2.5.2.2).
    fn note(&self, customer: &mut Customer) {
        let &Self { w_id, d_id, c_w_id, c_d_id, amount, .. } = self;
        let (amount, whole) = (amount.units().unsigned_abs(), Money::SCALE.unsigned_abs());
        let mut line = Note::new();
        for (number, behind) in [
            (customer.id.into(), b' '),
            (c_d_id.into(), b' '),
            (c_w_id.into(), b' '),
            (d_id.into(), b' '),
            (w_id.into(), b' '),
            (amount / whole, b'.'),
        ] {
            line.number(number, 1);
            line.byte(behind);
        }
        line.number(amount % whole, 2);
        line.byte(b'|');
        customer.data = Text::joined(&[line.as_str(), customer.data.as_str()]);
    }
}

#[inline(always)]
fn has_bad_credit(customer: &Customer) -> bool {
    customer.credit.padded() == b"BC"
}

/// What a receipt has of a customer of good credit; the rest is filled in later.
#[inline]
fn receipt(customer: &Customer, date: Timestamp) -> PaymentReceipt {
    PaymentReceipt {
        warehouse: Address::default(),
        district: Address::default(),
        c_id: customer.id,
        c_name: (customer.first, customer.middle, customer.last),
        c_address: customer.address(),
        c_phone: customer.phone,
        c_since: customer.since,
        c_credit_lim: customer.credit_lim,
        c_discount: customer.discount,
        c_balance: customer.balance,
        c_credit: CreditData::Good,
        date,
    }
}

/// H_DATA: both names, four spaces between.
fn join(warehouse: &Text<10>, district: &Text<10>) -> Text<24> {
    const GAP: Text<4> = Text::literal("    ");
    let mut data = Text::EMPTY;
    data.push(warehouse);
    data.push(&GAP);
    data.push(district);
    data
}

/// What a payment notes in front of C_DATA: numbers, written digit by digit, which takes a tenth of `write!`.
struct Note {
    bytes: [u8; 64],
    len: usize,
}

impl Note {
    const fn new() -> Self {
        Self { bytes: [0; 64], len: 0 }
    }

    #[inline]
    fn byte(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    /// In decimal, of `least` digits or more.
    #[inline]
    fn number(&mut self, mut number: u64, least: usize) {
        let (mut digits, mut first) = ([b'0'; 20], 20);
        while number > 0 || first > 20 - least {
            first -= 1;
            digits[first] = b'0' + (number % 10) as u8;
            number /= 10;
        }
        digits[first..].iter().for_each(|&digit| self.byte(digit));
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).expect("digits and signs")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_has_both_names() {
        let names = (Text::new("0123456789").unwrap(), Text::new("abcdefghij").unwrap());
        assert_eq!(join(&names.0, &names.1), "0123456789    abcdefghij");
    }

    #[test]
    fn writes_numbers() {
        let mut note = Note::new();
        for (number, least) in [(0, 1), (7, 2), (3_000, 1), (u64::MAX, 1)] {
            note.number(number, least);
            note.byte(b' ');
        }
        assert_eq!(note.as_str(), "0 07 3000 18446744073709551615 ");
    }
}
