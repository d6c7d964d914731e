//! Reports: one page of HTML that needs nothing besides itself.
//!
//! Figures are part of the page as SVG, and the numbers that they were made of as JSON lines, so that a page can be
//! sent, read, printed and checked without this program.

mod page;

pub use page::page;

#[cfg(test)]
mod tests;
