//! A condition on a row: a column compared with a value.

use std::cmp::Ordering;

use anyhow::Context;
use glassbox::record::{ColumnSchema, TableSchema, parse};
use glassbox::research::inspect::encode_value;

/// A condition.
#[derive(Debug)]
pub struct Condition {
    column: ColumnSchema,
    comparison: Comparison,
    /// The value that the column is compared with, in the form that compares as values do.
    value: Vec<u8>,
    is_null: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    NotGreater,
    Greater,
    NotLess,
}

/// The comparisons, those of two characters first.
const COMPARISONS: [(&str, Comparison); 6] = [
    ("!=", Comparison::NotEqual),
    ("<=", Comparison::NotGreater),
    (">=", Comparison::NotLess),
    ("=", Comparison::Equal),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

/// The column with this name.
pub fn column_of<'s>(schema: &'s TableSchema, name: &str) -> anyhow::Result<&'s ColumnSchema> {
    let found = schema.columns.iter().find(|column| column.name == name);
    found.with_context(|| {
        let all = schema.columns.iter().map(|column| &*column.name).collect::<Vec<_>>().join(", ");
        format!("table `{}` has no column `{name}`; its columns are {all}", schema.name)
    })
}

impl Condition {
    /// Reads a condition such as `price >= 9.50`. The value may have quotes; without them, `null` is a missing value.
    ///
    /// # Errors
    /// When it has no comparison, the table has no such column, or the column no such value.
    pub fn parse(schema: &TableSchema, text: &str) -> anyhow::Result<Self> {
        let compared = || {
            let at = text.find(['=', '!', '<', '>'])?;
            let (sign, comparison) = COMPARISONS.into_iter().find(|(sign, _)| text[at..].starts_with(sign))?;
            Some((text[..at].trim(), comparison, text[at + sign.len()..].trim()))
        };
        let (name, comparison, value) = compared().with_context(|| {
            format!(
                "`{text}` compares nothing: give a column, one of = != < <= > >=, and a value, as in 'price >= 9.50'"
            )
        })?;
        let column = column_of(schema, name)?;
        let unquoted = ['"', '\''].into_iter().find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
        let is_null = unquoted.is_none() && value == "null";
        let stored = parse(column, (!is_null).then(|| unquoted.unwrap_or(value)))?;
        let mut value = Vec::new();
        encode_value(column, &stored, &mut value);
        Ok(Self { column: column.clone(), comparison, value, is_null })
    }

    /// Whether it is true of a row. A missing value is neither less nor greater than any.
    pub fn holds(&self, row: &[u8]) -> bool {
        let Self { column, comparison, value, is_null } = self;
        let stored = &row[column.offset..column.offset + column.width];
        let mut here = Vec::with_capacity(value.len());
        encode_value(column, stored, &mut here);
        let order = here.cmp(value);
        if *is_null || column.nullable && stored[0] == 0 {
            return match comparison {
                Comparison::Equal => order == Ordering::Equal,
                Comparison::NotEqual => order != Ordering::Equal,
                _ => false,
            };
        }
        match comparison {
            Comparison::Equal => order.is_eq(),
            Comparison::NotEqual => order.is_ne(),
            Comparison::Less => order.is_lt(),
            Comparison::NotGreater => order.is_le(),
            Comparison::Greater => order.is_gt(),
            Comparison::NotLess => order.is_ge(),
        }
    }
}

#[cfg(test)]
mod tests {
    use glassbox::Record;
    use glassbox::record::{Decimal, Text};

    use super::Condition;

    #[derive(Record, Clone, Copy)]
    #[record(key = id)]
    struct Item {
        id: i32,
        price: Decimal<2>,
        name: Option<Text<8>>,
        weight: f64,
    }

    #[test]
    fn rows_are_compared_by_value() {
        let name = |text| Some(Text::new(text).unwrap());
        let item = Item { id: -2, price: "9.50".parse().unwrap(), name: name("a = b"), weight: f64::NAN };
        let nameless = Item { name: None, ..item };
        let holds = |item: &Item, text: &str| {
            let mut row = vec![0; Item::ROW_WIDTH];
            item.store(&mut row);
            Condition::parse(&Item::SCHEMA, text).unwrap().holds(&row)
        };
        for text in
            ["id<0", "id = -2", "price >= 9.5", "price != 9.51", "name = 'a = b'", "name=a = b", "weight > 1e308"]
        {
            assert!(holds(&item, text), "{text}");
        }
        for text in ["id > -2", "id != -2", "price < 9.50", "name < a", "name = null", "weight < 5"] {
            assert!(!holds(&item, text), "{text}");
        }
        assert!(holds(&nameless, "name = null") && holds(&nameless, "name != a") && holds(&item, "name != null"));
        assert!(!holds(&nameless, "name < z") && !holds(&nameless, "name = 'null'"));
    }

    #[test]
    fn conditions_without_meaning_are_refused() {
        for (text, why) in [
            ("id", "`id` compares nothing"),
            ("idd = 1", "no column `idd`; its columns are id, price, name, weight"),
            ("id = x", "`x` is no value of column `id`, which is i32"),
            ("id = null", "`null` is no value of column `id`, which has no missing values"),
        ] {
            let refused = Condition::parse(&Item::SCHEMA, text).unwrap_err().to_string();
            assert!(refused.contains(why), "{refused}");
        }
    }
}
