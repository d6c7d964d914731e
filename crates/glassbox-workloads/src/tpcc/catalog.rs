//! What TPC-C brings to a database.

use glassbox::Catalog;

use super::schema::{Customer, District, History, Item, Order, OrderLine, Stock, StockInfo, Undelivered, Warehouse};
use super::{Delivery, NewOrder, OrderStatus, Payment, StockLevel};

/// The ten tables and five procedures, for [`Database::open`](glassbox::Database::open).
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
        .procedure::<NewOrder>()
        .procedure::<Payment>()
        .procedure::<OrderStatus>()
        .procedure::<Delivery>()
        .procedure::<StockLevel>()
}
