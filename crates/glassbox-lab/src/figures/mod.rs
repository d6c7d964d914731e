//! Figures as SVG: the only part that knows the library that draws.
//!
//! What is drawn is plain (bars, texts, lines), placed here to the pixel rather than by a chart's layout: labels stand
//! at what they name, so that a figure can be read without its legend. Texts are placed by their anchors, because
//! without fonts nobody knows how wide they are.

mod bars;
mod canvas;
mod curves;
mod scale;
mod stacked;
mod waterfall;

pub use bars::{Bars, Line, bars};
pub use canvas::Colour;
pub use curves::{Curve, Curves, Stroke, curves};
pub use stacked::{Bar, Stacked, stacked};
pub use waterfall::{Step, Waterfall, waterfall};

#[cfg(test)]
mod tests;
