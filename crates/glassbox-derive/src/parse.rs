//! The grammar of `#[record(...)]`: what was written, with its place, before anything is known of the struct.

use proc_macro2::Span;
use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Error, Ident, LitStr, Result, Token, parenthesized, token};

use crate::names::listed;

const OF_RECORD: [&str; 6] = ["table", "key", "partition_by", "replicated", "access", "index"];
const OF_INDEX: [&str; 3] = ["name", "columns", "unique"];
const OF_ACCESS: [&str; 2] = ["ordered", "point"];

/// One column name, or several in parentheses.
pub struct Columns(pub Vec<Ident>);

/// All `#[record(...)]` of a struct together.
#[derive(Default)]
pub struct Attributes {
    pub table: Option<LitStr>,
    pub key: Option<Columns>,
    pub partition_by: Option<Ident>,
    pub replicated: Option<Span>,
    /// `ordered` or `point`.
    pub access: Option<Ident>,
    pub indexes: Vec<IndexAttributes>,
}

/// One `index(...)`.
pub struct IndexAttributes {
    pub name: Ident,
    pub columns: Columns,
    pub unique: bool,
}

impl Parse for Columns {
    fn parse(input: ParseStream) -> Result<Self> {
        if !input.peek(token::Paren) {
            return Ok(Self(vec![input.call(Ident::parse_any)?]));
        }
        let inside;
        let parentheses = parenthesized!(inside in input);
        let names = Punctuated::<Ident, Token![,]>::parse_terminated_with(&inside, Ident::parse_any)?;
        if names.is_empty() {
            return Err(Error::new(parentheses.span.join(), "name at least one column"));
        }
        Ok(Self(names.into_iter().collect()))
    }
}

impl Attributes {
    /// Reads them.
    pub fn read(attributes: &[Attribute]) -> Result<Self> {
        let mut read = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("record")) {
            attribute.parse_nested_meta(|meta| read.one(&meta))?;
        }
        Ok(read)
    }

    fn one(&mut self, meta: &ParseNestedMeta) -> Result<()> {
        let name = name_of(meta, &OF_RECORD)?;
        match name.to_string().as_str() {
            "table" => once(&mut self.table, &name, meta.value()?.parse()?),
            "key" => once(&mut self.key, &name, meta.value()?.parse()?),
            "partition_by" => once(&mut self.partition_by, &name, meta.value()?.call(Ident::parse_any)?),
            "replicated" => once(&mut self.replicated, &name, name.span()),
            "access" => {
                let access: Ident = meta.value()?.parse()?;
                if !OF_ACCESS.iter().any(|known| access == known) {
                    let message = format!("unknown access `{access}`; known are {}", listed(OF_ACCESS));
                    return Err(Error::new(access.span(), message));
                }
                once(&mut self.access, &name, access)
            }
            "index" => {
                self.indexes.push(IndexAttributes::read(&name, meta)?);
                Ok(())
            }
            _ => unreachable!("name_of lets only known names pass"),
        }
    }
}

impl IndexAttributes {
    fn read(index: &Ident, meta: &ParseNestedMeta) -> Result<Self> {
        let (mut name, mut columns, mut unique) = (None, None, None);
        meta.parse_nested_meta(|meta| {
            let attribute = name_of(&meta, &OF_INDEX)?;
            match attribute.to_string().as_str() {
                "name" => once(&mut name, &attribute, meta.value()?.parse()?),
                "columns" => once(&mut columns, &attribute, meta.value()?.parse()?),
                _ => once(&mut unique, &attribute, ()),
            }
        })?;
        let missing = |what| Error::new(index.span(), format!("this index has no {what}"));
        Ok(Self {
            name: name.ok_or_else(|| missing("name: write `name = by_something`"))?,
            columns: columns.ok_or_else(|| missing("columns: write `columns = (a, b)`"))?,
            unique: unique.is_some(),
        })
    }
}

fn name_of(meta: &ParseNestedMeta, known: &[&str]) -> Result<Ident> {
    match meta.path.get_ident() {
        Some(name) if known.iter().any(|known| name == known) => Ok(name.clone()),
        _ => Err(meta.error(format!("unknown attribute; known are {}", listed(known)))),
    }
}

fn once<T>(place: &mut Option<T>, name: &Ident, value: T) -> Result<()> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(Error::new(name.span(), format!("`{name}` is given twice"))),
    }
}
