//! TPC-C as a database's catalog.

use glassbox::Catalog;

use super::schema::{
    Customer, District, History, Item, Order, OrderLine, PlaceName, Stock, StockInfo, Undelivered, Warehouse,
};
use super::{Delivery, NewOrder, OrderStatus, Payment, StockLevel};

/// The tables and procedures of TPC-C.
pub fn catalog() -> Catalog {
    tables()
        .procedure::<NewOrder>()
        .procedure::<Payment>()
        .procedure::<OrderStatus>()
        .procedure::<Delivery>()
        .procedure::<StockLevel>()
}

/// The tables and procedures of TPC-C, for a cluster.
#[inline] // compiled where it is used: the kinds of runs in a cluster are many
pub fn distributed_catalog() -> Catalog {
    tables()
        .distributed_procedure::<NewOrder>()
        .distributed_procedure::<Payment>()
        .distributed_procedure::<OrderStatus>()
        .distributed_procedure::<Delivery>()
        .distributed_procedure::<StockLevel>()
}

/// The tables of TPC-C.
pub fn tables() -> Catalog {
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
}
