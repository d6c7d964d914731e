//! Items and stock.

use std::mem::offset_of;
use std::ops::Range;

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
#[repr(C)]
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
    /// The bytes in memory of [`StockInfo::dist`].
    #[inline]
    pub fn place_of_dist(d_id: u8) -> Range<usize> {
        // The ten are alike and follow each other, as a test checks.
        let at = offset_of!(StockInfo, dist_01) + size_of::<Text<24>>() * usize::from(d_id.clamp(1, 10) - 1);
        at..at + size_of::<Text<24>>()
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_dist_is_where_it_is() {
        let dist = |d_id: u8| Text::new(&d_id.to_string()).unwrap();
        let row = StockInfo {
            w_id: 1,
            i_id: 2,
            dist_01: dist(1),
            dist_02: dist(2),
            dist_03: dist(3),
            dist_04: dist(4),
            dist_05: dist(5),
            dist_06: dist(6),
            dist_07: dist(7),
            dist_08: dist(8),
            dist_09: dist(9),
            dist_10: dist(10),
            data: Text::EMPTY,
        };
        for d_id in 1..=10 {
            let offset = std::ptr::from_ref(row.dist(d_id)).addr() - std::ptr::from_ref(&row).addr();
            assert_eq!(StockInfo::place_of_dist(d_id), offset..offset + 24);
        }
    }
}
