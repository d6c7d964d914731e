//! Figure 3: the schema of TPC-C, as the database stores it.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use glassbox::io::{MemoryFiles, RealClock};
use glassbox::research::inspect::Inspector;
use glassbox::{Config, Database, Record};
use glassbox_workloads::tpcc::population::{self, Sink};
use glassbox_workloads::tpcc::{self, Scale};

use crate::figures::{Boxes, Colour, TextBox, boxes};
use crate::points::Points;
use crate::section::{Figure, Table};
use glassbox_workloads::format;

/// The figure of these numbers; rows are tables.
const SCHEMA: &str = "schema";
const ROWS: &str = "rows of a warehouse";
const BYTES: &str = "bytes of a row";
const COLUMNS: &str = "columns";
/// The start of a metric that ends with the names of columns, whose number is its value.
const KEY: &str = "key ";
const INDEX: &str = "index ";

/// The tables with their places in the figure.
const PLACES: [(&str, (u8, u8)); 11] = [
    ("warehouse", (0, 0)),
    ("district", (1, 0)),
    ("customer", (2, 0)),
    ("history", (3, 0)),
    ("stock", (0, 1)),
    ("place_name", (1, 1)),
    ("orders", (2, 1)),
    ("new_order", (3, 1)),
    ("item", (0, 2)),
    ("stock_info", (1, 2)),
    ("order_line", (2, 2)),
];

/// Which rows belong to a row of which table (clause 1.2).
const LINES: [(&str, &str); 9] = [
    ("warehouse", "district"),
    ("district", "customer"),
    ("customer", "history"),
    ("customer", "orders"),
    ("orders", "new_order"),
    ("orders", "order_line"),
    ("warehouse", "stock"),
    ("item", "stock"),
    ("district", "place_name"),
];

/// The tables whose rows do not grow with the warehouses.
const FIXED: [&str; 1] = ["item"];

/// Counts the rows of each table.
struct CountingSink<'a>(&'a mut BTreeMap<&'static str, u64>);

impl Sink for CountingSink<'_> {
    type Error = Infallible;

    fn row<R: Record>(&mut self, _: &R) -> Result<(), Infallible> {
        *self.0.entry(R::TABLE).or_default() += 1;
        Ok(())
    }
}

/// Adds the schema that a new database has stored, and the rows of a warehouse.
///
/// # Errors
/// When the database in memory fails.
pub fn put_schema(points: &mut Points) -> anyhow::Result<()> {
    let (scale, mut counts) = (Scale::full(1), BTreeMap::new());
    let Ok(()) = population::items(&scale, tpcc::LOAD_SEED, &mut CountingSink(&mut counts));
    let Ok(()) = population::warehouse(&scale, tpcc::LOAD_SEED, 1, &mut CountingSink(&mut counts));
    let files = Arc::new(MemoryFiles::new());
    let config = Config::default().with_partitions(1);
    Database::open_files(files.clone(), Box::new(RealClock::new()), config, tpcc::catalog())?.close()?;
    let inspector = Inspector::open_files(files, "in memory")?;
    for (at, schema) in inspector.manifest().tables.iter().enumerate() {
        let Some(rows) = counts.get(&*schema.name) else { continue };
        let names = |columns: &[usize]| {
            let names = columns.iter().map(|column| &*schema.columns[*column].name).collect::<Vec<_>>();
            names.join(", ")
        };
        let mut put = |metric: &str, value: usize, unit: &str| {
            points.put(SCHEMA, &schema.name, at as f64, metric, value as f64, unit);
        };
        put(ROWS, *rows as usize, "rows");
        put(BYTES, schema.row_width, "bytes");
        put(COLUMNS, schema.columns.len(), "columns");
        put(&format!("{KEY}{}", names(&schema.key)), schema.key.len(), "columns");
        for index in schema.indexes.iter() {
            put(&format!("{INDEX}{}", names(&index.columns)), index.columns.len(), "columns");
        }
    }
    Ok(())
}

/// The columns of a table's key or indexes.
fn columns<'a>(points: &'a Points, table: &str, kind: &str) -> Vec<&'a str> {
    let of_it = points.0.iter().filter(|point| point.figure == SCHEMA && point.row == table);
    of_it.filter_map(|point| point.metric.strip_prefix(kind)).collect()
}

/// The figure, if the schema is in the results.
pub(super) fn figure(points: &Points) -> Option<Figure> {
    let value = |table: &str, metric: &str| points.value(SCHEMA, table, metric);
    let rows_of = |table: &str| {
        let rows = format::count(value(table, ROWS)? as u64);
        Some(if FIXED.contains(&table) { rows } else { format!("W × {rows}") })
    };
    let mut drawn = Vec::new();
    for (table, at) in PLACES {
        let text = format!(
            "{} rows of {} bytes\nkey {}",
            rows_of(table)?,
            value(table, BYTES)?,
            columns(points, table, KEY).join("; "),
        );
        drawn.push(TextBox { at, title: table.to_owned(), text, colour: Colour(0x4e, 0x79, 0xa7) });
    }
    let place = |table: &str| PLACES.iter().position(|(name, _)| *name == table);
    let mut lines = Vec::new();
    for (from, to) in LINES {
        let many = value(to, ROWS)? / value(from, ROWS)?;
        // In one warehouse; each item is in every one.
        let many = match from {
            "item" => "W".to_owned(),
            _ if many >= 1.0 => format::count(many.round() as u64),
            _ => format::short(many),
        };
        lines.push((place(from)?, place(to)?, many));
    }
    let row = |(table, _): &(&str, _)| {
        let number = |metric| value(table, metric).map_or_else(String::new, |value| format::count(value as u64));
        vec![
            (*table).to_owned(),
            rows_of(table).unwrap_or_default(),
            number(BYTES),
            number(COLUMNS),
            columns(points, table, KEY).join("; "),
            columns(points, table, INDEX).join("; "),
        ]
    };
    let header = ["table", "rows of W warehouses", "bytes of a row", "columns", "key", "secondary indexes"];
    let bytes = |table: &&str| Some(value(table, ROWS)? * value(table, BYTES)?);
    let all: f64 = PLACES.iter().filter_map(|(table, _)| bytes(table)).sum();
    Some(Figure {
        title: "Figure 3. The schema of TPC-C, as the database stores it".to_owned(),
        svg: boxes(&Boxes { boxes: drawn, lines }),
        caption: format!(
            "Rows are those of the population, W is the number of warehouses; beside a line, how many rows belong to \
             one. The rows of one warehouse, with the items, are {}; in the paper about 100 MB, with Shore's records. \
             What stock and districts have that never changes is in tables of its own, stock_info and place_name, of \
             which every partition has a copy.",
            format::bytes(all as u64),
        ),
        table: Some(Table::new(&header, PLACES.iter().map(row).collect())),
    })
}
