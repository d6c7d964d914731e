//! The grammar of `#[record(...)]`: what was written, with its place, before anything is known of the struct.

use proc_macro2::Span;
use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Error, Ident, Lit, LitInt, LitStr, Result, Token, Type, parenthesized, token};

use crate::names::listed;

const OF_RECORD: [&str; 8] = ["table", "key", "partition_by", "replicated", "access", "index", "was", "dropped"];
const OF_FIELD: [&str; 3] = ["added", "default", "was"];
const OF_DROPPED: [&str; 3] = ["added", "default", "at"];
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
    /// Former names of the table.
    pub was: Vec<FormerName>,
    pub dropped: Vec<DroppedColumn>,
}

/// One `was("name", version)`.
pub struct FormerName {
    pub name: LitStr,
    /// The version since which it has another name.
    pub until: Version,
}

/// The number of a version of the schema.
#[derive(Clone, Copy)]
pub struct Version {
    pub number: u32,
    pub span: Span,
}

/// A default: the text of a literal.
pub struct DefaultText {
    pub text: String,
    pub span: Span,
}

/// All `#[record(...)]` of a field together.
#[derive(Default)]
pub struct FieldAttributes {
    pub added: Option<Version>,
    pub default: Option<DefaultText>,
    pub was: Vec<FormerName>,
}

/// One `dropped("name", type, …)`.
pub struct DroppedColumn {
    pub name: LitStr,
    pub kind: Type,
    pub added: Option<Version>,
    pub default: Option<DefaultText>,
    pub at: Version,
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
            "was" => {
                self.was.push(FormerName::read(meta)?);
                Ok(())
            }
            "dropped" => {
                self.dropped.push(DroppedColumn::read(&name, meta)?);
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

impl Parse for Version {
    fn parse(input: ParseStream) -> Result<Self> {
        let literal: LitInt = input.parse()?;
        let number = literal.base10_parse()?;
        if number < 2 {
            let message = "the first version is 1, so the first that changes something is 2";
            return Err(Error::new(literal.span(), message));
        }
        Ok(Self { number, span: literal.span() })
    }
}

impl Parse for DefaultText {
    fn parse(input: ParseStream) -> Result<Self> {
        let minus: Option<Token![-]> = input.parse()?;
        let literal: Lit = input.parse()?;
        let span = literal.span();
        let text = match (&literal, minus.is_some()) {
            (Lit::Int(number), _) => number.base10_digits().to_owned(),
            (Lit::Float(number), _) => number.base10_digits().to_owned(),
            (Lit::Str(text), false) => text.value(),
            (Lit::Bool(value), false) => value.value.to_string(),
            _ => return Err(Error::new(span, "a default is a number, a text, `true` or `false`")),
        };
        Ok(Self { text: if minus.is_some() { format!("-{text}") } else { text }, span })
    }
}

impl FormerName {
    fn read(meta: &ParseNestedMeta) -> Result<Self> {
        let inside;
        parenthesized!(inside in meta.input);
        let name = inside.parse()?;
        inside.parse::<Token![,]>()?;
        let until = inside.parse()?;
        if inside.is_empty() { Ok(Self { name, until }) } else { Err(inside.error("write `was(\"name\", version)`")) }
    }
}

impl FieldAttributes {
    /// Reads them.
    pub fn read(attributes: &[Attribute]) -> Result<Self> {
        let mut read = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("record")) {
            attribute.parse_nested_meta(|meta| {
                let name = name_of(&meta, &OF_FIELD)?;
                match name.to_string().as_str() {
                    "added" => once(&mut read.added, &name, meta.value()?.parse()?),
                    "default" => once(&mut read.default, &name, meta.value()?.parse()?),
                    _ => {
                        read.was.push(FormerName::read(&meta)?);
                        Ok(())
                    }
                }
            })?;
        }
        Ok(read)
    }
}

impl DroppedColumn {
    fn read(dropped: &Ident, meta: &ParseNestedMeta) -> Result<Self> {
        let inside;
        parenthesized!(inside in meta.input);
        let name = inside.parse()?;
        inside.parse::<Token![,]>()?;
        let kind = inside.parse()?;
        let mut added = None;
        let mut default = None;
        let mut at = None;
        while inside.parse::<Option<Token![,]>>()?.is_some() && !inside.is_empty() {
            let attribute = inside.call(Ident::parse_any)?;
            inside.parse::<Token![=]>()?;
            match attribute.to_string().as_str() {
                "added" => once(&mut added, &attribute, inside.parse()?)?,
                "default" => once(&mut default, &attribute, inside.parse()?)?,
                "at" => once(&mut at, &attribute, inside.parse()?)?,
                _ => {
                    let message = format!("unknown attribute; known are {}", listed(OF_DROPPED));
                    return Err(Error::new(attribute.span(), message));
                }
            }
        }
        let at = at.ok_or_else(|| {
            Error::new(dropped.span(), "say since which version the column is dropped: `at = version`")
        })?;
        Ok(Self { name, kind, added, default, at })
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
