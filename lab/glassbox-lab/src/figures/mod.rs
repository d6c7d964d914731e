//! Figures as SVG: the only module that uses the drawing library.
//!
//! Figures consist of bars, texts and lines, placed to the pixel rather than by a chart's layout: labels are next to
//! the things that they name, so that a figure can be read without its legend. Texts are placed by their anchors,
//! because their width is unknown without fonts.

mod bars;
mod boxes;
mod canvas;
mod curves;
mod narrow;
mod stacked;
mod waterfall;

pub use bars::{BarRow, Bars, bars};
pub use boxes::{Boxes, TextBox, boxes};
pub use canvas::Colour;
pub use curves::{Curve, Curves, Stroke, curves};
#[cfg(test)]
use curves::{narrow, wide};
pub use stacked::{Bar, Stacked, stacked};
pub use waterfall::{Waterfall, WaterfallStep, waterfall};

#[cfg(test)]
mod tests;
