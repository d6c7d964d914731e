//! Arguments and answers of the kernel's procedures.

/// Lines of an order in this mix.
pub(super) const LINES: usize = 10;

/// One line of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineInput {
    /// The item; an order with one that does not exist is rejected.
    pub i_id: u32,
    /// How many of it, 1 to 10.
    pub quantity: u8,
}

/// The arguments of a New-Order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewOrderInput {
    /// The time of entry, in microseconds since 1970.
    pub entry_d: i64,
    /// The lines; every one is supplied by the home warehouse.
    pub lines: [LineInput; LINES],
    /// The home warehouse.
    pub w_id: u16,
    /// The customer.
    pub c_id: u16,
    /// The district.
    pub d_id: u8,
}

/// The output of a New-Order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewOrderOutput {
    /// The order was placed.
    Placed {
        /// Its number.
        o_id: u32,
        /// What it costs, in cents, with discount and taxes.
        total: i64,
        /// Bit `i` is set when line `i` is of an original brand ("B", and "G" otherwise).
        originals: u32,
    },
    /// An item does not exist; no row was changed.
    UnknownItem,
}

/// The arguments of a Payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaymentInput {
    /// The time, in microseconds since 1970.
    pub date: i64,
    /// The amount, in cents.
    pub amount: i32,
    /// The warehouse that is paid.
    pub w_id: u16,
    /// The customer's warehouse.
    pub c_w_id: u16,
    /// The customer.
    pub c_id: u16,
    /// The district that is paid.
    pub d_id: u8,
    /// The customer's district.
    pub c_d_id: u8,
}

/// The output of a Payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaymentOutput {
    /// The customer's balance afterwards, in cents.
    pub balance: i64,
}

/// One transaction's arguments.
#[derive(Debug, Clone, Copy)]
pub enum KernelInput {
    /// Clause 2.4.
    NewOrder(NewOrderInput),
    /// Clause 2.5.
    Payment(PaymentInput),
}
