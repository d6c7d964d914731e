//! TPC-C, revision 5.11: schema, population, the five transactions, their mix, and the consistency conditions.
//!
//! Terminals, think times and the report are left out: a benchmark calls procedures back to back, as the papers
//! do.

mod catalog;
pub mod conditions;
mod delivery;
mod driver;
mod find_customer;
mod inputs;
mod loader;
mod mix;
mod new_order;
mod on_database;
mod order_status;
mod payment;
pub mod population;
pub mod random;
mod scale;
pub mod schema;
mod shards;
mod stock_level;
mod tally;

pub use catalog::{catalog, distributed_catalog, tables};
pub use delivery::{Delivery, DeliveryReceipt};
pub use driver::{Observer, run_client};
pub use find_customer::Customers;
pub use inputs::{Call, Input, Inputs};
pub use loader::load;
pub use mix::{Home, Kind, Mix, Remote, Settings};
pub use new_order::{ABORT_UNUSED_ITEM, ABORT_WRONG_ARGUMENTS, Line, NewOrder, NewOrderReceipt, ReceiptLine};
pub use on_database::{BatchClient, check_database, load_database, orders_in_database, scale_of_database};
pub use order_status::{OrderStatus, OrderStatusAnswer, OrderStatusLine};
pub use payment::{ABORT_NO_CUSTOMER, CreditData, Payment, PaymentReceipt};
pub use population::{Sink, stored_scale};
pub use scale::{BadScale, DISTRICTS, Scale};
pub use shards::{Found, Stored, Together, fill};
pub use stock_level::StockLevel;
pub use tally::{ClientTallies, LatencyTally, Recorder};

/// The seed of the initial rows, unless a load states another one.
pub const LOAD_SEED: u64 = 0;
