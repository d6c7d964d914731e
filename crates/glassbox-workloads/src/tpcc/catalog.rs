//! TPC-C as a database's catalog, and its engine's bulk loader as a sink of the population.

use glassbox::record::Record;
use glassbox::{BulkLoad, Catalog, Error};

use super::population::Sink;
use super::schema::{
    Customer, District, History, Item, Order, OrderLine, PlaceName, Stock, StockInfo, Undelivered, Warehouse,
};
use super::{Delivery, NewOrder, OrderStatus, Payment, StockLevel};

/// The tables and procedures of TPC-C.
pub fn catalog() -> Catalog {
    Catalog::new()
        .table::<Warehouse>()
        .table::<District>()
        .table::<Customer>()
        .table::<History>()
        .table::<Undelivered>()
        .table::<Order>()
        .table::<OrderLine>()
        .table::<Item>()
        .table::<Stock>()
        .table::<StockInfo>()
        .table::<PlaceName>()
        .procedure::<NewOrder>()
        .procedure::<Payment>()
        .procedure::<OrderStatus>()
        .procedure::<Delivery>()
        .procedure::<StockLevel>()
}

impl Sink for &BulkLoad<'_> {
    type Error = Error;

    fn row<R: Record>(&mut self, row: &R) -> Result<(), Error> {
        self.insert(row)
    }
}
