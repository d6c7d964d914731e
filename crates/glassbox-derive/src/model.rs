//! A record whose attributes have been checked against its struct: names are positions now, and defaults are filled in.

use proc_macro2::Span;
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Fields, GenericArgument, Ident, PathArguments, Result, Type, Visibility};

use crate::names::{camel_case, listed, snake_case};
use crate::parse::{Attributes, Columns, DroppedColumn, FieldAttributes, FormerName, IndexAttributes};

/// The set of changed columns is a `u64`.
const MAX_COLUMNS: usize = 64;
/// Tuples are keys up to this many columns.
const MAX_KEY_COLUMNS: usize = 8;

/// A field.
pub struct Column {
    pub field: Ident,
    pub name: String,
    pub kind: Type,
    pub history: FieldAttributes,
}

/// A primary or secondary key.
pub struct Key {
    /// Positions of its columns in the record, in key order.
    pub columns: Vec<usize>,
    /// Where to report that it is too wide.
    pub span: Span,
}

/// A secondary index.
pub struct Index {
    pub name: String,
    /// The type made for it.
    pub kind: Ident,
    /// With the columns of the primary key that the index did not name, unless it is unique.
    pub key: Key,
    pub unique: bool,
}

/// Everything the code is written from.
pub struct Record {
    pub name: Ident,
    pub visibility: Visibility,
    pub table: String,
    pub columns: Vec<Column>,
    pub key: Key,
    /// Position in `columns`; `None`: replicated.
    pub partition_by: Option<usize>,
    /// `Ordered` or `Point`, a variant of `Access`.
    pub access: Ident,
    pub indexes: Vec<Index>,
    /// Former names of the table.
    pub was: Vec<FormerName>,
    pub dropped: Vec<DroppedColumn>,
}

impl Record {
    /// Reads and checks.
    pub fn read(input: &DeriveInput) -> Result<Self> {
        let columns = columns(input)?;
        let attributes = Attributes::read(&input.attrs)?;
        let Some(key) = &attributes.key else {
            return Err(Error::new(
                input.ident.span(),
                "a record needs a key: add `#[record(key = column)]` or `#[record(key = (a, b))]`",
            ));
        };
        let mut mistakes = Mistakes(None);
        let table = mistakes.keep(table_name(input, &attributes));
        let key = mistakes.keep(read_key(&columns, key));
        // What follows needs the key.
        let (Some(table), Some(key)) = (table, key) else { return Err(mistakes.0.expect("one was kept")) };
        let partition_by = mistakes.keep(partition_by(&columns, &key, &attributes));
        let indexes = mistakes.keep(read_indexes(input, &columns, &key, &attributes.indexes));
        let (Some(partition_by), Some(indexes)) = (partition_by, indexes) else {
            return Err(mistakes.0.expect("one was kept"));
        };
        check_unique(&columns, &key, partition_by, &indexes)?;
        check_history(&columns, &key, &attributes)?;
        let access = match &attributes.access {
            Some(access) if access == "point" => "Point",
            _ => "Ordered",
        };
        Ok(Self {
            name: input.ident.clone(),
            visibility: input.vis.clone(),
            table,
            columns,
            key,
            partition_by,
            access: Ident::new(access, Span::call_site()),
            indexes,
            was: attributes.was,
            dropped: attributes.dropped,
        })
    }
}

/// Gathers mistakes, so that one compilation shows all of them.
struct Mistakes(Option<Error>);

impl Mistakes {
    fn keep<T>(&mut self, result: Result<T>) -> Option<T> {
        match (result, &mut self.0) {
            (Ok(value), _) => return Some(value),
            (Err(error), Some(mistakes)) => mistakes.combine(error),
            (Err(error), none) => *none = Some(error),
        }
        None
    }
}

fn columns(input: &DeriveInput) -> Result<Vec<Column>> {
    const SHAPE: &str = "a record is a struct with named fields";
    let fields = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => &fields.named,
            Fields::Unnamed(_) | Fields::Unit => return Err(Error::new(input.ident.span(), SHAPE)),
        },
        Data::Enum(data) => return Err(Error::new(data.enum_token.span, SHAPE)),
        Data::Union(data) => return Err(Error::new(data.union_token.span, SHAPE)),
    };
    if let Some(parameter) = input.generics.params.first() {
        return Err(Error::new(parameter.span(), "a record has one fixed layout, so it cannot be generic"));
    }
    if let Some(extra) = fields.iter().nth(MAX_COLUMNS) {
        let message = format!("a record has at most {MAX_COLUMNS} columns, this one has {}", fields.len());
        return Err(Error::new(extra.ident.span(), message));
    }
    let mut mistakes = Mistakes(None);
    let columns = fields.iter().filter_map(|field| mistakes.keep(column(field))).collect();
    mistakes.0.map_or(Ok(columns), Err)
}

fn column(field: &syn::Field) -> Result<Column> {
    if option_of(&field.ty).and_then(option_of).is_some() {
        return Err(Error::new(field.ty.span(), "a column cannot be an Option of an Option"));
    }
    let ident = field.ident.clone().expect("the fields are named");
    let history = FieldAttributes::read(&field.attrs)?;
    Ok(Column { name: ident.unraw().to_string(), field: ident, kind: field.ty.clone(), history })
}

/// Refuses a history that contradicts itself or the columns.
fn check_history(columns: &[Column], key: &Key, attributes: &Attributes) -> Result<()> {
    let mut mistakes = Mistakes(None);
    for (at, column) in columns.iter().enumerate() {
        mistakes.keep(check_column_s_history(column, key.columns.contains(&at)));
    }
    mistakes.keep(check_former_names(&attributes.was, 1));
    for dropped in &attributes.dropped {
        mistakes.keep(check_dropped(dropped));
    }
    mistakes.0.map_or(Ok(()), Err)
}

fn check_column_s_history(column: &Column, is_of_key: bool) -> Result<()> {
    let FieldAttributes { added, default, was } = &column.history;
    let is_nullable = option_of(&column.kind).is_some();
    match (added, default) {
        (Some(added), _) if is_of_key => {
            Err(Error::new(added.span, "a column of the primary key cannot be added to a table that has rows"))
        }
        (Some(added), None) if !is_nullable => Err(Error::new(
            added.span,
            "say what the rows from before this version have in this column: `default = …`; or make it an `Option`",
        )),
        (None, Some(default)) => {
            Err(Error::new(default.span, "say since which version there is this column: `added = version`"))
        }
        _ => check_former_names(was, added.map_or(1, |added| added.number)),
    }
}

/// Former names end in ascending versions after that in which there is something to be named.
fn check_former_names(was: &[FormerName], since: u32) -> Result<()> {
    let mut since = since;
    for FormerName { name, until } in was {
        if until.number <= since {
            let message = format!(
                "`{}` cannot have ended with version {}: name former names in the order of their versions, after \
                 version {since}",
                name.value(),
                until.number
            );
            return Err(Error::new(until.span, message));
        }
        since = until.number;
    }
    Ok(())
}

fn check_dropped(dropped: &DroppedColumn) -> Result<()> {
    let DroppedColumn { kind, added, default, at, .. } = dropped;
    match (added, default) {
        (Some(added), _) if added.number >= at.number => {
            Err(Error::new(at.span, "a column cannot be dropped before the version that added it ended"))
        }
        (Some(added), None) if option_of(kind).is_none() => {
            Err(Error::new(added.span, "say what rows had in this column that were older: `default = …`"))
        }
        (None, Some(default)) => {
            Err(Error::new(default.span, "say since which version there was this column: `added = version`"))
        }
        _ => Ok(()),
    }
}

/// What the type is an option of, as far as its spelling tells; an alias is caught when the code is compiled.
fn option_of(kind: &Type) -> Option<&Type> {
    let Type::Path(path) = kind else { return None };
    let last = path.path.segments.last().filter(|segment| segment.ident == "Option")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first() {
        Some(GenericArgument::Type(inner)) => Some(inner),
        _ => None,
    }
}

fn table_name(input: &DeriveInput, attributes: &Attributes) -> Result<String> {
    let Some(table) = &attributes.table else { return Ok(snake_case(&input.ident.unraw().to_string())) };
    let name = table.value();
    let starts_well = name.starts_with(|first: char| first.is_alphabetic() || first == '_');
    if !starts_well || !name.chars().all(|letter| letter.is_alphanumeric() || letter == '_') {
        return Err(Error::new(
            table.span(),
            "a table's name is made of letters, digits and `_`, beginning with no digit",
        ));
    }
    Ok(name)
}

fn position(columns: &[Column], name: &Ident) -> Result<usize> {
    columns.iter().position(|column| column.field.unraw() == name.unraw()).ok_or_else(|| {
        let known = listed(columns.iter().map(|column| &column.name));
        Error::new(name.span(), format!("no column `{name}`; the columns are {known}"))
    })
}

fn read_key(columns: &[Column], names: &Columns) -> Result<Key> {
    let mut positions = Vec::new();
    for name in &names.0 {
        let position = position(columns, name)?;
        if positions.contains(&position) {
            return Err(Error::new(name.span(), format!("column `{name}` is in this key twice")));
        }
        positions.push(position);
    }
    let span = names.0[0].span();
    if positions.len() > MAX_KEY_COLUMNS {
        let message = format!("a key has at most {MAX_KEY_COLUMNS} columns, this one has {}", positions.len());
        return Err(Error::new(span, message));
    }
    Ok(Key { columns: positions, span })
}

fn partition_by(columns: &[Column], key: &Key, attributes: &Attributes) -> Result<Option<usize>> {
    match (&attributes.partition_by, attributes.replicated) {
        (Some(_), Some(replicated)) => Err(Error::new(
            replicated,
            "a table is either partitioned or replicated: remove `replicated` or `partition_by`",
        )),
        (None, Some(_)) => Ok(None),
        (None, None) => Ok(Some(key.columns[0])),
        (Some(name), None) => {
            let position = position(columns, name)?;
            if !key.columns.contains(&position) {
                let of_key = listed(key.columns.iter().map(|&column| &columns[column].name));
                let message = format!("`{name}` is not in the key; a table is partitioned by one of {of_key}");
                return Err(Error::new(name.span(), message));
            }
            Ok(Some(position))
        }
    }
}

fn read_indexes(
    input: &DeriveInput,
    columns: &[Column],
    primary: &Key,
    written: &[IndexAttributes],
) -> Result<Vec<Index>> {
    let mut indexes: Vec<Index> = Vec::new();
    let mut mistakes = Mistakes(None);
    for index in written {
        let name = index.name.unraw().to_string();
        if indexes.iter().any(|other| other.name == name) {
            mistakes.keep::<()>(Err(Error::new(index.name.span(), format!("two indexes are named `{name}`"))));
            continue;
        }
        indexes.extend(mistakes.keep(read_index(input, columns, primary, index, name)));
    }
    mistakes.0.map_or(Ok(indexes), Err)
}

/// Refuses unique indexes that enforce nothing, and those that a partition cannot check: two rows with the same key
/// must meet on one partition, because no partition looks at the others.
fn check_unique(columns: &[Column], primary: &Key, partition_by: Option<usize>, indexes: &[Index]) -> Result<()> {
    let mut mistakes = Mistakes(None);
    for index in indexes.iter().filter(|index| index.unique) {
        let name = |column: usize| &columns[column].name;
        let (own, unique) = (&index.key.columns, &index.name);
        let missing: Vec<usize> = primary.columns.iter().copied().filter(|column| !own.contains(column)).collect();
        let message = match partition_by {
            _ if missing.is_empty() => {
                let key = listed(primary.columns.iter().map(|&column| name(column)));
                format!(
                    "unique index `{unique}` enforces nothing: its columns contain the primary key ({key}), so no two \
                     rows can share them; {}",
                    keyed_table(columns, primary, index)
                        .map_or("remove `unique`".to_owned(), |table| format!("remove `unique`, or {table}"))
                )
            }
            Some(deciding) if !own.contains(&deciding) => {
                // With this column, too, it would contain the primary key.
                let within = if missing == [deciding] {
                    String::new()
                } else {
                    format!("add the column to make it unique within each `{}`, ", name(deciding))
                };
                let keyed = keyed_table(columns, primary, index).map_or(String::new(), |table| format!(", or {table}"));
                format!(
                    "unique index `{unique}` cannot be checked: it does not contain `{}`, the column that decides the \
                     partition, and no partition sees the rows of the others; {within}make the table \
                     `replicated`{keyed}",
                    name(deciding)
                )
            }
            _ => continue,
        };
        mistakes.keep::<()>(Err(Error::new(index.kind.span(), message)));
    }
    mistakes.0.map_or(Ok(()), Err)
}

/// How a table says that no two rows agree in the columns of an index, besides those of the primary key; `None`: there
/// are no others.
fn keyed_table(columns: &[Column], primary: &Key, index: &Index) -> Option<String> {
    let keyed: Vec<usize> =
        index.key.columns.iter().copied().filter(|column| !primary.columns.contains(column)).collect();
    let names: Vec<&str> = keyed.iter().map(|&column| columns[column].name.as_str()).collect();
    let key = match &names[..] {
        [] => return None,
        [one] => (*one).to_owned(),
        several => format!("({})", several.join(", ")),
    };
    let field = |&column: &usize| {
        let Column { name, kind, .. } = &columns[column];
        format!("{name}: {}", kind.to_token_stream().to_string().replace(' ', ""))
    };
    let fields: Vec<String> = keyed.iter().chain(&primary.columns).map(field).collect();
    Some(format!(
        "insert each row's key into a table keyed by what is to be unique: `#[record(key = {key})] struct {}Key \
         {{ {} }}`",
        index.kind,
        fields.join(", ")
    ))
}

fn read_index(
    input: &DeriveInput,
    columns: &[Column],
    primary: &Key,
    index: &IndexAttributes,
    name: String,
) -> Result<Index> {
    let mut key = read_key(columns, &index.columns)?;
    if !index.unique {
        let unnamed = primary.columns.iter().filter(|column| !key.columns.contains(column));
        let unnamed: Vec<usize> = unnamed.copied().collect();
        key.columns.extend(unnamed);
    }
    if key.columns.len() > MAX_KEY_COLUMNS {
        let message = format!(
            "with the columns of the primary key, which make its entries differ, this index has {} columns; \
             {MAX_KEY_COLUMNS} are allowed",
            key.columns.len()
        );
        return Err(Error::new(index.name.span(), message));
    }
    let kind = Ident::new(&format!("{}{}", input.ident.unraw(), camel_case(&name)), index.name.span());
    Ok(Index { name, kind, key, unique: index.unique })
}
