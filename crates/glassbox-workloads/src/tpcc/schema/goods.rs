//! Items and stock.

use glassbox::Record;
use glassbox::record::Text;

use super::Money;

/// ITEM: the same in all partitions, never changed.
#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(table = "item", key = id, replicated, access = point)]
pub struct Item {
    /// 1 to 100,000.
    pub id: u32,
    /// Identifies a picture.
    pub im_id: u32,
    /// Price of one.
    pub price: Money,
    /// Name.
    pub name: Text<24>,
    /// Brand information: holds `ORIGINAL` for one item in ten.
    pub data: Text<50>,
}

/// What orders change of STOCK.
#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(table = "stock", key = (w_id, i_id), partition_by = w_id, access = point)]
#[repr(C)]
pub struct Stock {
    /// Sum of ordered quantities.
    pub ytd: u64,
    /// The item.
    pub i_id: u32,
    /// Order lines so far.
    pub order_cnt: u32,
    /// Those from other warehouses.
    pub remote_cnt: u32,
    /// The warehouse.
    pub w_id: u16,
    /// How many are there.
    pub quantity: i16,
}

/// What orders only read of STOCK: the same in all partitions, never changed.
#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(table = "stock_info", key = (w_id, i_id), replicated, access = point)]
#[allow(missing_docs)]
pub struct StockInfo {
    /// The warehouse.
    pub w_id: u16,
    /// The item.
    pub i_id: u32,
    pub dist_01: Text<24>,
    pub dist_02: Text<24>,
    pub dist_03: Text<24>,
    pub dist_04: Text<24>,
    pub dist_05: Text<24>,
    pub dist_06: Text<24>,
    pub dist_07: Text<24>,
    pub dist_08: Text<24>,
    pub dist_09: Text<24>,
    pub dist_10: Text<24>,
    /// Brand information: holds `ORIGINAL` for one row in ten.
    pub data: Text<50>,
}

impl StockInfo {
    /// The text for a district; the first one's for a district that does not exist.
    #[inline]
    pub fn dist(&self, d_id: u8) -> &Text<24> {
        match d_id {
            2 => &self.dist_02,
            3 => &self.dist_03,
            4 => &self.dist_04,
            5 => &self.dist_05,
            6 => &self.dist_06,
            7 => &self.dist_07,
            8 => &self.dist_08,
            9 => &self.dist_09,
            10 => &self.dist_10,
            _ => &self.dist_01,
        }
    }
}
