//! What terminals enter: the next transaction and its arguments (clauses 2.4.1 to 2.8.1).
//!
//! Transactions are drawn from a deck of 100 cards that is shuffled when it is used up, so that a mix keeps its shares
//! exactly. Terminals are not bound to a district, as in the 2010 paper, unless [`Home::Terminal`] asks for it.

use glassbox::procedure::Procedure;
use glassbox::record::Decimal;

use super::mix::{Home, Kind, Mix, Settings};
use super::random::{Constants, Random, last_name};
use super::scale::{DISTRICTS, Scale};
use super::{Customers, Delivery, Line, NewOrder, OrderStatus, Payment, StockLevel};

/// The next input.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
#[allow(clippy::large_enum_variant, reason = "the largest is the most frequent, and nothing here allocates")]
pub enum Input {
    NewOrder(NewOrder),
    Payment(Payment),
    OrderStatus(OrderStatus),
    Delivery(Delivery),
    StockLevel(StockLevel),
}

/// Does something with a procedure, whichever it is: calls it on some engine, say.
pub trait Call {
    /// What that gives.
    type Answer;

    /// Called with the procedure of an [`Input`].
    fn call<P: Procedure + Copy>(&mut self, kind: Kind, procedure: &P) -> Self::Answer;
}

impl Input {
    /// Its type.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::NewOrder(_) => Kind::NewOrder,
            Self::Payment(_) => Kind::Payment,
            Self::OrderStatus(_) => Kind::OrderStatus,
            Self::Delivery(_) => Kind::Delivery,
            Self::StockLevel(_) => Kind::StockLevel,
        }
    }

    /// Whether it is an order for an unused item, in a database of this scale: it aborts.
    pub fn is_for_unused_item(&self, scale: &Scale) -> bool {
        matches!(self, Self::NewOrder(order) if order.lines.iter().any(|line| line.i_id > scale.items))
    }

    /// Gives `call` the procedure.
    #[inline(always)]
    pub fn give<C: Call>(&self, call: &mut C) -> C::Answer {
        let kind = self.kind();
        match self {
            Self::NewOrder(procedure) => call.call(kind, procedure),
            Self::Payment(procedure) => call.call(kind, procedure),
            Self::OrderStatus(procedure) => call.call(kind, procedure),
            Self::Delivery(procedure) => call.call(kind, procedure),
            Self::StockLevel(procedure) => call.call(kind, procedure),
        }
    }
}

/// The inputs of one client, without end.
#[derive(Debug, Clone)]
pub struct Inputs {
    settings: Settings,
    constants: Constants,
    random: Random,
    deck: [Kind; 100],
    dealt: usize,
}

impl Inputs {
    /// The inputs of client `client`; other clients' differ.
    pub fn new(settings: &Settings, client: u64) -> Self {
        let mut kinds =
            Kind::ALL.into_iter().flat_map(|kind| std::iter::repeat_n(kind, settings.mix.shares()[kind as usize]));
        Self {
            settings: *settings,
            constants: Constants::for_run(settings.load_seed, settings.seed),
            random: Random::of_part(settings.seed, [0x1496, client, 0]),
            deck: std::array::from_fn(|_| kinds.next().expect("shares sum to 100")),
            dealt: 100,
        }
    }

    /// The next input.
    #[inline]
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Input {
        if self.dealt == self.deck.len() {
            self.random.shuffle(&mut self.deck);
            self.dealt = 0;
        }
        self.dealt += 1;
        let (w_id, d_id) = self.home();
        match self.deck[self.dealt - 1] {
            Kind::NewOrder => Input::NewOrder(self.new_order(w_id, d_id)),
            Kind::Payment => Input::Payment(self.payment(w_id, d_id)),
            Kind::OrderStatus => Input::OrderStatus(OrderStatus { w_id, d_id, customer: self.customers() }),
            Kind::Delivery => Input::Delivery(Delivery { w_id, carrier_id: self.random.uniform(1, 10) as u8 }),
            Kind::StockLevel => {
                Input::StockLevel(StockLevel { w_id, d_id, threshold: self.random.uniform(10, 20) as i16 })
            }
        }
    }

    /// A New-Order for this warehouse and district.
    pub fn new_order(&mut self, w_id: u16, d_id: u8) -> NewOrder {
        let plain = self.settings.mix == Mix::LookingGlass;
        let c_id = self.customer();
        let count = if plain { 10 } else { self.random.uniform(5, 15) };
        let mut lines: crate::UpTo<15, Line> = (0..count).map(|_| self.line(w_id)).collect();
        if !plain && self.random.uniform(1, 100) == 1 {
            // An unused number in the last line makes the order roll back.
            lines.last_mut().expect("five or more").i_id = self.settings.scale.items + 1;
        }
        NewOrder { w_id, d_id, c_id, lines }
    }

    /// A Payment to this warehouse and district.
    pub fn payment(&mut self, w_id: u16, d_id: u8) -> Payment {
        let plain = self.settings.mix == Mix::LookingGlass;
        let remote = self.remote(self.settings.remote.payments);
        let (c_w_id, c_d_id) = match remote {
            true => (self.other_warehouse(w_id), self.random.uniform(1, DISTRICTS.into()) as u8),
            false => (w_id, d_id),
        };
        let customer = if plain { Customers::Id(self.customer()) } else { self.customers() };
        let amount = Decimal::from_units(self.random.uniform(100, 500_000) as i64);
        Payment { w_id, d_id, c_w_id, c_d_id, customer, amount }
    }

    fn line(&mut self, w_id: u16) -> Line {
        let i_id = self.constants.item(&mut self.random, self.settings.scale.items.into()) as u32;
        let remote = self.remote(self.settings.remote.order_lines);
        let supply_w_id = if remote { self.other_warehouse(w_id) } else { w_id };
        Line { i_id, supply_w_id, quantity: self.random.uniform(1, 10) as u8 }
    }

    fn home(&mut self) -> (u16, u8) {
        let warehouses = self.settings.scale.warehouses;
        let (first, last, step) = match self.settings.home {
            Home::Any => (1, warehouses, 1),
            Home::Between(first, last) => (first, last, 1),
            Home::OfPartition(remainder, partitions) => {
                (if remainder == 0 { partitions } else { remainder }, warehouses, partitions)
            }
            Home::Terminal(w_id, d_id) => return (w_id, d_id),
        };
        let w_id = first + self.random.uniform(0, ((last - first) / step).into()) as u16 * step;
        (w_id, self.random.uniform(1, DISTRICTS.into()) as u8)
    }

    fn remote(&mut self, percent: f64) -> bool {
        let possible = self.settings.scale.warehouses > 1 && self.settings.mix != Mix::LookingGlass;
        self.random.percent(percent) && possible
    }

    /// Any warehouse but this one.
    fn other_warehouse(&mut self, w_id: u16) -> u16 {
        let other = self.random.uniform(1, u64::from(self.settings.scale.warehouses) - 1) as u16;
        other + u16::from(other >= w_id)
    }

    fn customer(&mut self) -> u16 {
        self.constants.customer(&mut self.random, self.settings.scale.customers.into()) as u16
    }

    /// By last name in 60 of 100 cases, else by number.
    fn customers(&mut self) -> Customers {
        if self.random.uniform(1, 100) <= 60 {
            let names = self.settings.scale.last_names();
            Customers::Last(last_name(self.constants.last_name(&mut self.random, names)))
        } else {
            Customers::Id(self.customer())
        }
    }
}
