//! Which transactions are run, in which shares, and where (clause 5.2.3).

use super::LOAD_SEED;
use super::scale::Scale;

/// A type of transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Kind {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
}

impl Kind {
    /// All, in the order of the specification. `kind as usize` is its position.
    pub const ALL: [Self; 5] = [Self::NewOrder, Self::Payment, Self::OrderStatus, Self::Delivery, Self::StockLevel];

    /// The specification's name, for reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NewOrder => "New-Order",
            Self::Payment => "Payment",
            Self::OrderStatus => "Order-Status",
            Self::Delivery => "Delivery",
            Self::StockLevel => "Stock-Level",
        }
    }
}

/// Which transactions, in which shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mix {
    /// The specification's: 45 % New-Order, 43 % Payment, 4 % of each other.
    Full,
    /// That of *OLTP Through the Looking Glass*: half New-Order, of exactly ten items and without rollbacks, half
    /// Payment, by number; all within the home warehouse.
    LookingGlass,
    /// The specification's New-Order alone, as in the 2010 paper's figure 9.
    NewOrderOnly,
    /// That of *Charm*: 43 % New-Order, 43 % Payment, the rest the others, nearly as often each.
    Charm,
}

impl Mix {
    /// Cards of each [`Kind`] in a deck of 100.
    pub const fn shares(self) -> [usize; 5] {
        match self {
            Self::Full => [45, 43, 4, 4, 4],
            Self::LookingGlass => [50, 50, 0, 0, 0],
            Self::NewOrderOnly => [100, 0, 0, 0, 0],
            Self::Charm => [43, 43, 5, 4, 5],
        }
    }
}

/// How often another warehouse takes part, in percent. Never where there is only one, nor in [`Mix::LookingGlass`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Remote {
    /// Order lines supplied from another warehouse.
    pub order_lines: f64,
    /// Payments by customers of another warehouse.
    pub payments: f64,
}

impl Remote {
    /// The specification's.
    pub const SPECIFICATION: Self = Self { order_lines: 1.0, payments: 15.0 };
    /// No transaction leaves its warehouse.
    pub const NONE: Self = Self { order_lines: 0.0, payments: 0.0 };
}

/// Where transactions are entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Home {
    /// In any warehouse and district.
    Any,
    /// In these warehouses, from the first to the last, and any district.
    Between(u16, u16),
    /// In the warehouses of one of `n` partitions, and any district: those whose number leaves the remainder `r` when
    /// divided by `n`, as `OfPartition(r, n)`.
    OfPartition(u16, u16),
    /// At the terminal of one district, as the specification has it.
    Terminal(u16, u8),
}

/// What the inputs of all clients of a run have in common.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Sizes of the database.
    pub scale: Scale,
    /// Which transactions.
    pub mix: Mix,
    /// How often another warehouse takes part.
    pub remote: Remote,
    /// Where they are entered.
    pub home: Home,
    /// The seed that the database was loaded with.
    pub load_seed: u64,
    /// The seed of this run.
    pub seed: u64,
}

impl Settings {
    /// The specification's mix, entered anywhere.
    pub const fn new(scale: Scale) -> Self {
        Self { scale, mix: Mix::Full, remote: Remote::SPECIFICATION, home: Home::Any, load_seed: LOAD_SEED, seed: 0 }
    }

    /// The mix of *OLTP Through the Looking Glass*, all of it within the home warehouse.
    pub const fn looking_glass(scale: &Scale, seed: u64) -> Self {
        Self { mix: Mix::LookingGlass, remote: Remote::NONE, seed, ..Self::new(*scale) }
    }
}
